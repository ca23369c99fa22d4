/* SPDX-License-Identifier: MIT */
#include "base/fault.h"

#include "base/alloc.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last[512];
static _Thread_local int last_code;

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
    {THRUM_OK, "THRUM_OK", "no error"},
    {THRUM_EINVAL, "THRUM_EINVAL", "an argument is wrong"},
    {THRUM_ENOMEM, "THRUM_ENOMEM", "no memory"},
    {THRUM_EBUSY, "THRUM_EBUSY", "it is in use by a run"},
    {THRUM_ECYCLE, "THRUM_ECYCLE", "tasks wait for each other in a circle"},
    {THRUM_ENOSOURCE, "THRUM_ENOSOURCE", "no task can start"},
    {THRUM_EDEADLOCK, "THRUM_EDEADLOCK", "a task would wait for itself"},
    {THRUM_EFORK, "THRUM_EFORK", "the executor belongs to the parent of this process"},
    {THRUM_ELIMIT, "THRUM_ELIMIT", "more than thrum can count, or too deep for the stack"},
    {THRUM_EOPTION, "THRUM_EOPTION", "an option is unknown or has a bad value"},
    {THRUM_ESYSTEM, "THRUM_ESYSTEM", "the operating system refused"},
    {THRUM_ECHOICE, "THRUM_ECHOICE", "a condition named a successor that it does not have"},
    {THRUM_ECANCELLED, "THRUM_ECANCELLED", "it was cancelled"},
    {THRUM_ERACE, "THRUM_ERACE", "a condition and other predecessors race for a task"},
    {THRUM_ESEMAPHORE, "THRUM_ESEMAPHORE", "a run gave back more or fewer tokens than it had taken"},
    {THRUM_EEVENT, "THRUM_EEVENT", "an event was released twice, or is none"},
    {THRUM_EDATA, "THRUM_EDATA", "data is used against its rules"},
    {THRUM_EDEVICE, "THRUM_EDEVICE", "a device failed, or data does not fit into its memory"},
    {THRUM_EPOLICY, "THRUM_EPOLICY", "a policy broke its contract"},
};

static size_t find_code(int code)
{
    size_t i = 0;
    while (i < sizeof codes / sizeof codes[0] && codes[i].code != code)
        i++;
    return i;
}

const char *thrum_error_name(int code)
{
    size_t i = find_code(code);
    return i < sizeof codes / sizeof codes[0] ? codes[i].name : "user error";
}

const char *thrum_error_text(int code)
{
    size_t i = find_code(code);
    return i < sizeof codes / sizeof codes[0] ? codes[i].text : "user error";
}

/* The last sentence may be part of the new one. */
int thrum__vfault(int code, const char *format, va_list args)
{
    char text[sizeof last];
    vsnprintf(text, sizeof text, format, args);
    memcpy(last, text, sizeof last);
    last_code = code;
    return code;
}

int thrum__fault(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    thrum__vfault(code, format, args);
    va_end(args);
    return code;
}

const char *thrum__last_fault(void)
{
    return last;
}

int thrum__last_code(void)
{
    return last_code;
}

static _Atomic(thrum__cancelled_fn *) on_cancelled;

void thrum__on_cancelled(thrum__cancelled_fn *fn)
{
    atomic_store_explicit(&on_cancelled, fn, memory_order_relaxed);
}

/* Stands for a sentence that there was no memory for. */
static char unsaid[] = "";

static void drop_text(char *text)
{
    if (text != unsaid)
        thrum__free(text);
}

static void keep_text(thrum__root *root, const char *text)
{
    char *copy = thrum__copy_text(text);
    drop_text(__atomic_exchange_n(&root->message, copy ? copy : unsaid, __ATOMIC_ACQ_REL));
}

/* Two tasks may fail at once: the exchange of `code` decides whose error it is, and only the winner writes `message`.
 * The release lets whoever reads the message (thrum__root_text) see its characters. For tasks that start `attention`
 * needs no order: one that starts a moment later than it could have known is one that had started. Those that wait are
 * told, by a function that was set before anything could run. */
void thrum__root_fail(thrum__root *root, int code, const char *text)
{
    int32_t none = 0;
    if (__atomic_compare_exchange_n(&root->code, &none, code, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        keep_text(root, text);
    uint32_t before = __atomic_fetch_or(&root->attention, THRUM__CANCELLED, __ATOMIC_RELAXED);
    thrum__cancelled_fn *fn = atomic_load_explicit(&on_cancelled, memory_order_relaxed);
    if (fn && !thrum__is_cancelled(before))
        fn(root);
}

/* Whoever has set the code sets the sentence next, and waits for nobody in between: so it is waited for here, by those
 * who look while others still run. */
static const char *await_text(const thrum__root *root)
{
    const char *text;
    while (!(text = __atomic_load_n(&root->message, __ATOMIC_ACQUIRE)) && thrum__root_code(root))
        sched_yield();
    return text;
}

const char *thrum__root_text(const thrum__root *root)
{
    const char *text = await_text(root);
    if (text && text != unsaid)
        return text;
    int code = thrum__root_code(root);
    return code ? thrum_error_text(code) : "";
}

void thrum__root_clear(thrum__root *root)
{
    drop_text(root->message);
    root->message = NULL;
    root->code = 0;
    root->attention = 0;
}

const char *thrum_message(const void *object)
{
    if (!object)
        return last;
    const thrum__object *o = object;
    switch (o->kind) {
    case THRUM__KIND_GRAPH:
        return thrum__graph_message(o);
    case THRUM__KIND_HANDLE:
    case THRUM__KIND_EXECUTOR:
    case THRUM__KIND_FLOW:
        return thrum__root_text(&o->root);
    default:
        return "thrum_message: the argument is not a graph, a handle, a flow or an executor";
    }
}

const char *thrum_version(void)
{
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
    return TEXT(THRUM_VERSION_MAJOR) "." TEXT(THRUM_VERSION_MINOR) "." TEXT(THRUM_VERSION_PATCH);
}
