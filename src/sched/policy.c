/* SPDX-License-Identifier: MIT
 *
 * Which policies there are: those of the library, those that the program has registered, those in shared libraries.
 *
 * A policy that has become known stays so for the life of the process: executors keep pointers to it. So does a library
 * that was loaded. A plug-in is known by its path alone and is not in the list: its name need not differ from others.
 */
#include "sched/policy_int.h"
#include "sched/policy_settings.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sys/park.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const thrum_policy *const built_in[] = {
    &thrum__policy_fifo,  &thrum__policy_prio,       &thrum__policy_random,
    &thrum__policy_ws,    &thrum__policy_lws,        &thrum__policy_dmda,
    &thrum__policy_dmdas, &thrum__policy_heteroprio, &thrum__policy_laheteroprio,
};
enum { BUILT_IN = sizeof built_in / sizeof built_in[0] };

/* The program's own, the oldest first. Both with the lock; what is in the list stays there. */
typedef struct registered {
    const thrum_policy *policy;
    struct registered *next;
} registered;
static registered *first_registered;
static thrum__lock list_lock;

static const thrum_policy *at_locked(int number)
{
    if (number < 0)
        return NULL;
    if (number < BUILT_IN)
        return built_in[number];
    const registered *r = first_registered;
    for (number -= BUILT_IN; r && number; number--)
        r = r->next;
    return r ? r->policy : NULL;
}

const thrum_policy *thrum_policy_at(int number)
{
    thrum__lock_take(&list_lock);
    const thrum_policy *policy = at_locked(number);
    thrum__lock_give(&list_lock);
    return policy;
}

static const thrum_policy *find_locked(const char *name)
{
    const thrum_policy *policy;
    for (int i = 0; (policy = at_locked(i)); i++)
        if (strcmp(policy->name, name) == 0)
            return policy;
    return NULL;
}

/* ---- Registering ------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            return false;
    return *name;
}

/* What every policy must have, wherever it comes from; `where` begins the sentence. */
static int check(const thrum_policy *policy, const char *where)
{
    if (!policy->name || !is_name(policy->name))
        return thrum__fault(THRUM_EINVAL,
                            "%s: the policy's name is '%s'; it must consist of letters, digits, '-' and '_'", where,
                            policy->name ? policy->name : "(null)");
    if (!policy->push || !policy->pop)
        return thrum__fault(THRUM_EINVAL, "%s: the policy '%s' has no function '%s'; push and pop must be there", where,
                            policy->name, policy->push ? "pop" : "push");
    return 0;
}

static int append_locked(registered *entry)
{
    const char *name = entry->policy->name;
    if (strcmp(name, "steal") == 0)
        return thrum__fault(THRUM_EINVAL, "thrum_policy_register: 'steal' is the built-in stealing; take another name");
    if (find_locked(name))
        return thrum__fault(THRUM_EINVAL, "thrum_policy_register: there is a policy '%s' already; take another name",
                            name);
    registered **end = &first_registered;
    while (*end)
        end = &(*end)->next;
    *end = entry;
    return 0;
}

int thrum_policy_register(const thrum_policy *policy)
{
    if (!policy)
        return thrum__fault(THRUM_EINVAL, "thrum_policy_register: the policy is NULL");
    int err = check(policy, "thrum_policy_register");
    if (err)
        return err;
    registered *entry = thrum__zalloc(sizeof *entry);
    if (!entry)
        return thrum__fault(THRUM_ENOMEM, "thrum_policy_register: no memory for the policy '%s'", policy->name);
    entry->policy = policy;
    thrum__lock_take(&list_lock);
    err = append_locked(entry);
    thrum__lock_give(&list_lock);
    if (err)
        thrum__free(entry);
    return err;
}

/* ---- Plug-ins ---------------------------------------------------------------------------------------------------- */

/* NODELETE: the library stays. */
static const thrum_policy *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        thrum__fault(THRUM_EINVAL, "the policy's library '%s' cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    const thrum_policy *policy = dlsym(library, "thrum_policy_plugin");
    dlclose(library);
    if (!policy) {
        thrum__fault(THRUM_EINVAL,
                     "the library '%s' exports no thrum_policy_plugin; a policy's library has a line like "
                     "'const thrum_policy thrum_policy_plugin = {.name = ...};'",
                     path);
        return NULL;
    }
    char where[400];
    snprintf(where, sizeof where, "the policy's library '%.300s'", path);
    return check(policy, where) ? NULL : policy;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static void unknown(const char *name)
{
    char names[300] = "";
    const thrum_policy *policy;
    thrum__lock_take(&list_lock);
    for (int i = 0; (policy = at_locked(i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", policy->name);
    }
    thrum__lock_give(&list_lock);
    thrum__fault(THRUM_EINVAL, "there is no policy '%s'; there are: %s; the path of a library has a '/' in it", name,
                 names + 2);
}

static const thrum_policy *find(const char *name)
{
    if (strchr(name, '/'))
        return load(name);
    thrum__lock_take(&list_lock);
    const thrum_policy *policy = find_locked(name);
    thrum__lock_give(&list_lock);
    if (!policy)
        unknown(name);
    return policy;
}

/* "name", or "name;settings". */
const thrum_policy *thrum_policy_find(const char *text)
{
    char name[4096];
    if (!text) {
        thrum__fault(THRUM_EINVAL, "thrum_policy_find: the name is NULL");
        return NULL;
    }
    size_t length = strcspn(text, ";");
    if (length >= sizeof name) {
        thrum__fault(THRUM_EINVAL, "the policy's name '%.40s...' is too long", text);
        return NULL;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    const thrum_policy *policy = find(name);
    return policy && text[length] && thrum__policy_settings_check(policy, text + length + 1) ? NULL : policy;
}
