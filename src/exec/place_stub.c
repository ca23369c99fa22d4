/* SPDX-License-Identifier: MIT
 * To be deleted as soon as place.c is here. */
#include "exec/place.h"
size_t thrum__placing_bytes(const thrum__places *p, uint32_t a)
{
    (void)p;
    (void)a;
    return 0;
}
void thrum__placing_init(thrum__job *j, void *m)
{
    (void)j;
    (void)m;
}
void thrum__place_push(thrum__places *p, thrum__job *j)
{
    (void)p;
    (void)j;
}
bool thrum__place_help(thrum__places *p)
{
    (void)p;
    return false;
}
int thrum__places_can_run(const thrum__places *p, const thrum_codelet *c, const void *a, int w)
{
    (void)p;
    (void)c;
    (void)a;
    (void)w;
    return 0;
}
int thrum__replicas_new(thrum__places *p, thrum_data *d, bool h)
{
    (void)p;
    (void)d;
    (void)h;
    return 0;
}
void thrum__replicas_free(thrum__places *p, thrum_data *d)
{
    (void)p;
    (void)d;
}
int thrum__replica_state(const thrum_data *d, int n)
{
    (void)d;
    (void)n;
    return 0;
}
