/* SPDX-License-Identifier: MIT */
#include "sched/perf.h"

double thrum__perf_expect(const thrum_codelet *codelet, const thrum_place *place, const thrum__perf_shape *shape,
                          const thrum_buffer *buffers, int count, const void *arg)
{
    (void)shape;
    return codelet->model == THRUM_BY_FUNCTION && codelet->seconds ? codelet->seconds(place, buffers, count, arg) : -1;
}

void thrum__perf_note(const thrum_codelet *codelet, enum thrum_arch arch, const thrum__perf_shape *shape,
                      double seconds)
{
    (void)codelet, (void)arch, (void)shape, (void)seconds;
}

int thrum__perf_save(void)
{
    return 0;
}

void thrum__perf_forget(void)
{
}

int thrum_models_visit(thrum_model_fn *visit, void *arg)
{
    (void)visit, (void)arg;
    return 0;
}
