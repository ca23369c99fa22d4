/* SPDX-License-Identifier: MIT
 *
 * Random programs on data: flows, partitions, the main program's own accesses, recordings, failures. One thread builds
 * and follows one program; nothing here asserts, the first thing that is wrong is noted as a sentence.
 */
#ifndef TESTS_STRESS_DATA_PROGRAMS_H
#define TESTS_STRESS_DATA_PROGRAMS_H

#include "data_model.h"

#include "exec/inside.h"
#include "exec/place_int.h"

#include <sched.h>

enum {
    OBJECTS_MOST = 24,
    VIEWS_MOST = 400,
    FLOWS_MOST = 3,
    RECORDED_MOST = 24,
    INNERS_MOST = 4,
    FAILURE = 77,
};

/* A flow inside of a task, on a handle of its own; perhaps with such a task in it. */
struct inner {
    struct data_program *program;
    thrum_data *data;
    uint64_t value, expected;
    int tasks;
    size_t window;
    int priority;
    struct inner *deeper;
};

/* What a task is told. */
struct step {
    struct data_program *program;
    const thrum_codelet *codelet;
    uint32_t number, uses;
    struct model_use use[ACCESSES_MOST];
    uint64_t seed, expected;
    uint64_t refused; /* workers that its can_run refuses, as bits */
    bool checked, fails;
    uint16_t spin;
    struct inner *inner;
};

struct program_flow {
    thrum_flow *flow;
    bool fails; /* a task that fails has been inserted */
};

struct data_program {
    struct random random;
    thrum_executor *ex;
    int workers, places; /* to which a codelet for processors can be sent; to which any other */
    size_t device_memory;
    bool fails, replays; /* some task fails; tasks are recorded and not run at once */
    bool has_failed;     /* content means nothing */
    bool failed_once;    /* what flows inside of tasks left is not known */
    struct object object[OBJECTS_MOST];
    struct view view[VIEWS_MOST];
    size_t objects, views;
    struct program_flow flow[FLOWS_MOST];
    size_t flows;
    struct inner inner[INNERS_MOST];
    size_t inners;
    struct step recorded[RECORDED_MOST];
    size_t recordings;
    uint32_t steps;
    thrum_flow *recording;
    atomic_bool wrong;
    char sentence[400];
};

/* With STRESS_TALK in the environment a program tells what it does. */
static inline bool program_talks(void)
{
    static int talks = -1;
    if (talks < 0)
        talks = getenv("STRESS_TALK") != NULL;
    return talks;
}

#define program_say(...)                                                                                               \
    do {                                                                                                               \
        if (program_talks())                                                                                           \
            fprintf(stderr, __VA_ARGS__);                                                                              \
    } while (0)

/* ---- What is wrong ----------------------------------------------------------------------------------------------- */

static inline void program_note(struct data_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void program_note(struct data_program *program, const char *format, ...)
{
    if (atomic_exchange(&program->wrong, true))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(program->sentence, sizeof program->sentence, format, args);
    va_end(args);
}

/* A flow with a task that failed takes nothing more. Others may miss what that task, and those left out behind it, did
 * not write: where devices are, that is noticed. */
static inline bool is_refused(const struct data_program *program, const struct program_flow *flow, int code)
{
    return (flow && flow->fails && code == FAILURE) || (program->fails && program->has_failed && code == THRUM_EDATA);
}

static inline bool program_ok(struct data_program *program, int code, const char *what)
{
    if (code)
        program_note(program, "%s returned %d: %s", what, code, thrum_message(NULL));
    return code == 0;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static inline void spin(unsigned count)
{
    for (volatile unsigned i = 0; i < count * 16; i++)
        ;
    if (count % 7 == 6)
        sched_yield();
}

static void inner_kernel(const thrum_buffer *b, const void *arg);
static const thrum_codelet inner_codelet = {.name = "inner", .cpu = inner_kernel};

static inline int inner_insert(const struct inner *inner, thrum_flow *flow)
{
    int err = 0;
    for (int i = 0; i < inner->tasks && !err; i++) {
        const struct inner *deeper = i == 0 ? inner->deeper : NULL;
        err = thrum_insert(flow, &inner_codelet, THRUM_RW(inner->data), THRUM_ARG(deeper),
                           THRUM_PRIORITY(i % 2 ? inner->priority : 0));
    }
    return err;
}

static inline void inner_run(const struct inner *inner)
{
    thrum_flow *flow = thrum_flow_new(inner->program->ex);
    if (!flow) {
        program_note(inner->program, "no flow inside of a task: %s", thrum_message(NULL));
        return;
    }
    if (inner->window)
        thrum_flow_set_window(flow, inner->window);
    program_ok(inner->program, inner_insert(inner, flow), "inserting inside of a task");
    program_ok(inner->program, thrum_flow_free(flow), "a flow inside of a task");
}

static void inner_kernel(const thrum_buffer *b, const void *arg)
{
    const struct inner *deeper = *(struct inner *const *)arg;
    uint64_t *value = b[0].ptr;
    *value = *value * 3 + 1;
    if (deeper)
        inner_run(deeper);
}

static inline void step_wrong(const struct step *step, const char *what, size_t use)
{
    program_note(step->program, "task %u, access %zu (mode %d, layout %d, %zu words): %s", step->number, use,
                 step->use[use].mode, step->use[use].view->object->kind, step->use[use].view->words, what);
}

static inline void scratch_fill(const struct step *step, const thrum_buffer *b)
{
    for (size_t i = 0; i < step->uses; i++)
        for (size_t k = 0; step->use[i].mode == THRUM_MODE_SCRATCH && k < step->use[i].view->words; k++)
            *word_at(&b[i], step->use[i].view->object, k) = step->seed + k;
}

static inline void scratch_check(const struct step *step, const thrum_buffer *b)
{
    for (size_t i = 0; i < step->uses; i++)
        for (size_t k = 0; step->use[i].mode == THRUM_MODE_SCRATCH && k < step->use[i].view->words; k++)
            if (*word_at(&b[i], step->use[i].view->object, k) != step->seed + k)
                step_wrong(step, "somebody else wrote to its scratch memory", i);
}

static inline bool is_given_right(const struct step *step, const thrum_buffer *b)
{
    for (size_t i = 0; i < step->uses; i++)
        if (!has_shape(&b[i], step->use[i].view)) {
            step_wrong(step, "the kernel was given something of another shape", i);
            return false;
        }
    return true;
}

static inline void gather(const struct step *step, const thrum_buffer *b, words_of_uses value)
{
    for (size_t i = 0; i < step->uses; i++) {
        const struct view *view = step->use[i].view;
        enum thrum_mode mode = step->use[i].mode;
        if (view->object->kind == CSR && step->checked && (mode_reads(mode) || mode == THRUM_MODE_COMMUTE) &&
            !has_structure(&b[i], view))
            step_wrong(step, "where rows begin, or the columns, are not as written", i);
        for (size_t k = 0; k < view->words; k++)
            value[i][k] = mode_reads(mode) || mode_adds(mode) ? *word_at(&b[i], view->object, k) : 0;
    }
}

static inline void scatter(const struct step *step, const thrum_buffer *b, words_of_uses value)
{
    for (size_t i = 0; i < step->uses; i++) {
        const struct view *view = step->use[i].view;
        enum thrum_mode mode = step->use[i].mode;
        if (mode == THRUM_MODE_W && view->object->kind == CSR)
            write_structure(&b[i], view);
        for (size_t k = 0; mode != THRUM_MODE_R && mode != THRUM_MODE_SCRATCH && k < view->words; k++)
            *word_at(&b[i], view->object, k) = value[i][k];
    }
}

/* Devices' workers have other numbers here. Who has none of the executor's own does what all of those may. */
static inline void check_worker(const struct step *step)
{
    const struct data_program *program = step->program;
    int worker = thrum_worker_index(), own = program->workers;
    if (own == 0 || (worker >= own && program->places > own))
        return;
    if (worker < own ? step->refused >> worker & 1 : step->refused & ((UINT64_C(1) << own) - 1))
        program_note(step->program, "task %u is run by worker %d, which its can_run refuses", step->number, worker);
}

static void step_kernel(const thrum_buffer *b, const void *arg)
{
    const struct step *step = arg;
    words_of_uses value;
    if (!is_given_right(step, b))
        return;
    scratch_fill(step, b);
    gather(step, b, value);
    spin(step->spin);
    uint64_t hash = effect(step->use, step->uses, step->seed, value);
    if (step->checked && hash != step->expected)
        program_note(step->program, "task %u read what the oracle does not", step->number);
    check_worker(step);
    if (step->inner)
        inner_run(step->inner);
    scatter(step, b, value);
    scratch_check(step, b);
    if (step->fails)
        thrum_fail(FAILURE, "task %u fails", step->number);
}

/* Adding up. The layout of custom handles is not known here, but where they are. */
static inline size_t words_of(const thrum_buffer *b, uint64_t **first)
{
    bool boxed = thrum_data_name(b->data)[0] == 'b' && b->node == 0;
    *first = boxed ? ((struct box *)b->ptr)->word : b->ptr;
    return b->elem / 8;
}

static inline uint64_t *element_at(const thrum_buffer *b, size_t element)
{
    size_t at = 0;
    for (uint32_t d = 0; d < b->dims; d++) {
        at += element % b->extent[d] * (d ? b->stride[d] : 1);
        element /= b->extent[d];
    }
    return (uint64_t *)b->ptr + at * (b->elem / 8);
}

static inline size_t element_count(const thrum_buffer *b)
{
    size_t count = 1;
    for (uint32_t d = 0; d < b->dims && !b->row_start; d++)
        count *= b->extent[d];
    return b->row_start ? b->extent[0] : count;
}

typedef void combine_fn(uint64_t *to, const uint64_t *from);

static inline void each_word(const thrum_buffer *b, const thrum_buffer *other, combine_fn *combine)
{
    uint64_t *to, *from = NULL;
    size_t words = words_of(&b[0], &to);
    if (other)
        words_of(other, &from);
    for (size_t e = 0; e < element_count(b); e++) {
        uint64_t *first = b->row_start ? to + e * words : b->dims ? element_at(b, e) : to;
        const uint64_t *second = !other             ? NULL
                                 : other->row_start ? from + e * words
                                 : other->dims      ? element_at(other, e)
                                                    : from;
        for (size_t k = 0; k < words; k++)
            combine(&first[k], second ? &second[k] : NULL);
    }
}

static inline void clear_word(uint64_t *to, const uint64_t *from)
{
    (void)from;
    *to = 0;
}

static inline void add_word(uint64_t *to, const uint64_t *from)
{
    *to += *from;
}

static void clear_kernel(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    each_word(b, NULL, clear_word);
}

static void add_kernel(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    each_word(b, b + 1, add_word);
}

/* Some workers may not run it. */
static bool is_not_refused(const thrum_place *place, const void *arg)
{
    return !(((const struct step *)arg)->refused >> place->worker & 1);
}

static const thrum_codelet everywhere = {.name = "step", .cpu = step_kernel, .emu = step_kernel};
static const thrum_codelet at_home = {.name = "step at home", .cpu = step_kernel};
static const thrum_codelet picky = {
    .name = "picky step", .cpu = step_kernel, .emu = step_kernel, .can_run = is_not_refused};
static const thrum_codelet picky_at_home = {
    .name = "picky step at home", .cpu = step_kernel, .can_run = is_not_refused};
static const thrum_codelet clear_codelet = {.name = "clear", .cpu = clear_kernel, .emu = clear_kernel};
static const thrum_codelet clear_at_home = {.name = "clear at home", .cpu = clear_kernel};
static const thrum_codelet add_codelet = {.name = "add", .cpu = add_kernel, .emu = add_kernel};

/* ---- Objects and views ------------------------------------------------------------------------------------------- */

static inline void add_object(struct data_program *program)
{
    if (program->objects == OBJECTS_MOST || program->views == VIEWS_MOST)
        return;
    struct object *object = &program->object[program->objects];
    struct view *view = &program->view[program->views];
    object_new(object, view, &program->random, program->ex);
    if (!view->data) {
        program_note(program, "a handle of layout %d was not registered: %s", object->kind, thrum_message(NULL));
        return;
    }
    if (object->kind == CUSTOM)
        thrum_data_set_name(view->data, "boxed");
    if (random_chance(&program->random, 50)) {
        object->reducible = true;
        const thrum_codelet *clear = random_chance(&program->random, 50) ? &clear_codelet : &clear_at_home;
        program_ok(program, thrum_data_set_reduction(view->data, clear, &add_codelet), "setting a reduction");
    }
    program->objects++;
    program->views++;
}

static inline bool is_usable(const struct view *view)
{
    return !view->gone && view->parts == 0;
}

/* Some view that tasks may name now; NULL if chance finds none. */
static inline struct view *pick_view(struct data_program *program)
{
    for (int tries = 0; tries < 20 && program->views; tries++) {
        struct view *view = &program->view[random_below(&program->random, program->views)];
        if (is_usable(view))
            return view;
    }
    return NULL;
}

static inline bool may_reduce(const struct view *view)
{
    const struct object *object = view->object;
    return object->reducible && !view->whole && (view->written || object->kind != CSR);
}

static inline enum thrum_mode pick_mode(struct data_program *program, const struct view *view)
{
    if (random_chance(&program->random, 8))
        return THRUM_MODE_SCRATCH;
    if (view->overlaps)
        return view->written ? THRUM_MODE_R : THRUM_MODE_SCRATCH;
    size_t which = random_below(&program->random, 100);
    if (may_reduce(view) && which < 30 && (view->written || !program->replays))
        return THRUM_MODE_REDUX;
    if (!view->written)
        return THRUM_MODE_W;
    return which < 40 ? THRUM_MODE_R : which < 50 ? THRUM_MODE_W : which < 80 ? THRUM_MODE_RW : THRUM_MODE_COMMUTE;
}

static inline bool uses_already(const struct step *step, const struct view *view)
{
    for (size_t i = 0; i < step->uses; i++)
        if (step->use[i].view == view)
            return true;
    return false;
}

static inline void pick_uses(struct data_program *program, struct step *step)
{
    size_t count = random_between(&program->random, 1, ACCESSES_MOST);
    for (size_t i = step->uses; i < count; i++) {
        struct view *view = pick_view(program);
        if (!view || uses_already(step, view))
            continue;
        step->use[step->uses++] = (struct model_use){view, pick_mode(program, view)};
    }
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

static inline struct program_flow *pick_flow(struct data_program *program)
{
    return &program->flow[random_below(&program->random, program->flows)];
}

/* A flow inside, with at most one inside of that. */
static inline struct inner *pick_inner(struct data_program *program)
{
    struct inner *outermost = NULL;
    while (program->inners < INNERS_MOST && random_chance(&program->random, outermost ? 40 : 10)) {
        struct inner *inner = &program->inner[program->inners];
        *inner =
            (struct inner){.program = program,
                           .tasks = (int)random_between(&program->random, 1, 12),
                           .window = random_chance(&program->random, 50) ? random_between(&program->random, 2, 5) : 0,
                           .priority = random_chance(&program->random, 30) ? 1 : 0,
                           .deeper = outermost};
        inner->data = thrum_data_variable(program->ex, &inner->value, sizeof inner->value);
        for (int i = 0; i < inner->tasks; i++)
            inner->expected = inner->expected * 3 + 1;
        program->inners++;
        outermost = inner;
    }
    return outermost;
}

/* Others of the kind may run while such a task waits (data.h), and `init` may be for processors only. */
static inline bool reduces(const struct step *step)
{
    for (size_t i = 0; i < step->uses; i++)
        if (step->use[i].mode == THRUM_MODE_REDUX)
            return true;
    return false;
}

/* Into a device's memory: else it must be left to processors. */
static inline bool fits(const struct data_program *program, const struct step *step)
{
    size_t bytes = 0;
    for (size_t i = 0; i < step->uses; i++)
        bytes += thrum_data_bytes(step->use[i].view->data) + 256;
    return bytes <= program->device_memory;
}

static inline size_t fill_items(struct data_program *program, const struct step *step, thrum_item *items)
{
    struct random *random = &program->random;
    size_t count = 0;
    for (size_t i = 0; i < step->uses; i++)
        items[count++] = THRUM_ACCESS(step->use[i].mode, step->use[i].view->data);
    items[count++] = THRUM_ARG_BYTES(step, sizeof *step);
    if (random_chance(random, 20))
        items[count++] = THRUM_PRIORITY((int)random_below(random, 7) - 3);
    if (random_chance(random, 10))
        items[count++] = THRUM_NAME("named");
    if (random_chance(random, 10))
        items[count++] = THRUM_NONE;
    bool anywhere = step->codelet == &everywhere && !reduces(step) && fits(program, step);
    int places = anywhere ? program->places : program->workers;
    int worker = places && random_chance(random, 10) ? (int)random_below(random, (size_t)places) : -1;
    if (worker >= 0 && !(step->refused >> worker & 1))
        items[count++] = THRUM_ON_WORKER(worker);
    return count;
}

static const char *const mode_names[] = {"", "R", "W", "RW", "SCRATCH", "REDUX", "COMMUTE"};

/* At least one of the processors may run what is picky: what reduces, or does not fit, can be run by nobody else. */
static inline void choose_codelet(struct data_program *program, struct step *step)
{
    struct random *random = &program->random;
    bool stays = step->inner || random_chance(random, 30), chooses = random_chance(random, 15);
    step->codelet = chooses ? (stays ? &picky_at_home : &picky) : stays ? &at_home : &everywhere;
    size_t processors = program->workers ? (size_t)program->workers : 1;
    step->refused = chooses ? random_next(random) & ~(UINT64_C(1) << random_below(random, processors)) : 0;
}

/* Whether it was taken: a flow that has failed takes nothing. */
static inline bool insert_step(struct data_program *program, struct program_flow *to, struct step *step)
{
    thrum_item items[ACCESSES_MOST + 6];
    choose_codelet(program, step);
    size_t count = fill_items(program, step, items);
    program_say("insert %u in flow %d%s:", step->number, to ? (int)(to - program->flow) : -1,
                step->fails ? " fails" : "");
    for (size_t i = 0; i < step->uses; i++)
        program_say(" %s view %d (layout %d)", mode_names[step->use[i].mode], (int)(step->use[i].view - program->view),
                    step->use[i].view->object->kind);
    program_say("\n");
    int code = thrum_insert_items(program->recording ? program->recording : to->flow, step->codelet, items, count);
    if (is_refused(program, to, code))
        return false;
    if (!program_ok(program, code, "thrum_insert"))
        return false;
    to->fails |= step->fails;
    program->has_failed |= step->fails;
    if (program->recording && program->recordings < RECORDED_MOST)
        program->recorded[program->recordings++] = *step;
    return true;
}

/* With an access to this view, if one is given. */
static inline void do_insert_with(struct data_program *program, struct view *view)
{
    struct step step = {.program = program, .number = program->steps++, .seed = random_next(&program->random)};
    if (view)
        step.use[step.uses++] = (struct model_use){view, pick_mode(program, view)};
    pick_uses(program, &step);
    step.checked = !program->fails && !program->replays;
    step.spin = random_chance(&program->random, 20) ? (uint16_t)random_below(&program->random, 60) : 0;
    step.fails = program->fails && !program->has_failed && random_chance(&program->random, 10);
    if (!program->replays && !reduces(&step))
        step.inner = pick_inner(program);
    bool written[ACCESSES_MOST];
    for (size_t i = 0; i < step.uses; i++)
        written[i] = step.use[i].view->written;
    if (!program->replays)
        step.expected = oracle_step(step.use, step.uses, step.seed, NULL, NULL);
    bool taken = insert_step(program, pick_flow(program), &step);
    for (size_t i = 0; i < step.uses; i++)
        step.use[i].view->written = taken ? written[i] || mode_writes(step.use[i].mode) : written[i];
}

static inline void do_insert(struct data_program *program)
{
    do_insert_with(program, NULL);
}

/* ---- The main program's own access ------------------------------------------------------------------------------- */

static inline void save_words(const struct view *view, uint64_t *words)
{
    for (size_t k = 0; k < view->words; k++)
        words[k] = view->object->value[view->index[k]];
}

static inline void compare_with(struct data_program *program, const struct view *view, const thrum_buffer *b,
                                const uint64_t *words)
{
    if (program->fails)
        return;
    for (size_t k = 0; k < view->words; k++)
        if (*word_at(b, view->object, k) != words[k]) {
            program_note(program, "word %zu of a handle of layout %d is not what the oracle says, after %u steps", k,
                         view->object->kind, program->steps);
            return;
        }
    if (view->object->kind == CSR && !has_structure(b, view))
        program_note(program, "where rows begin, or the columns, are not as written, after %u steps", program->steps);
}

static inline void compare_home(struct data_program *program, const struct view *view, const thrum_buffer *b)
{
    uint64_t words[WORDS_MOST];
    save_words(view, words);
    compare_with(program, view, b, words);
}

static inline void change_view(struct data_program *program, struct view *view)
{
    for (size_t k = 0; k < view->words; k++)
        view->object->value[view->index[k]] = random_next(&program->random);
    view->written = true;
}

static inline void write_home(const struct view *view, const thrum_buffer *b, const uint64_t *words)
{
    for (size_t k = 0; k < view->words; k++)
        *word_at(b, view->object, k) = words[k];
    if (view->object->kind == CSR)
        write_structure(b, view);
}

static inline enum thrum_mode pick_own_mode(struct data_program *program, const struct view *view)
{
    size_t which = random_below(&program->random, 3);
    if (view->overlaps)
        return THRUM_MODE_R;
    return !view->written || which == 0 ? THRUM_MODE_W : which == 1 ? THRUM_MODE_R : THRUM_MODE_RW;
}

/* What is inserted before the release finds what is written after the insertion, and not sooner. */
static inline void use_home(struct data_program *program, struct view *view, enum thrum_mode mode,
                            const thrum_buffer *b)
{
    uint64_t words[WORDS_MOST];
    if (mode != THRUM_MODE_W)
        compare_home(program, view, b);
    if (mode != THRUM_MODE_R)
        change_view(program, view);
    save_words(view, words);
    if (random_chance(&program->random, 50))
        do_insert_with(program, view);
    if (mode != THRUM_MODE_R)
        write_home(view, b, words);
    compare_with(program, view, b, words);
}

static inline void do_acquire(struct data_program *program)
{
    struct view *view = pick_view(program);
    void *ptr = NULL;
    thrum_buffer b;
    if (!view || (view->overlaps && !view->written))
        return;
    enum thrum_mode mode = pick_own_mode(program, view);
    program_say("acquire %s view %d\n", mode_names[mode], (int)(view - program->view));
    int code = thrum_data_acquire(view->data, mode, &ptr);
    if (is_refused(program, NULL, code) || !program_ok(program, code, "acquiring"))
        return;
    program_ok(program, thrum_data_describe(view->data, &b), "describing");
    if (ptr != b.ptr)
        program_note(program, "what was acquired is not where the handle says");
    use_home(program, view, mode, &b);
    program_ok(program, thrum_data_release(view->data), "releasing");
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

static inline size_t pick_cut(struct data_program *program, const struct view *view, thrum_cut *cut)
{
    struct random *random = &program->random;
    bool shadow = random_chance(random, 25);
    size_t parts = 1;
    *cut = (thrum_cut){.pieces = {0}};
    for (uint32_t d = 0; d < view->object->dims; d++) {
        size_t most = view->extent[d] < 4 ? view->extent[d] : 4;
        if ((view->object->kind == CSR && d == 0) || parts * most > PARTS_MOST)
            continue;
        cut->pieces[d] = random_below(random, most + 1);
        cut->shadow[d] = shadow ? random_below(random, 3) : 0;
        parts *= cut->pieces[d] ? cut->pieces[d] : 1;
    }
    return parts;
}

static inline void check_part(struct data_program *program, const struct view *part)
{
    size_t offset[THRUM_DIMS_MOST];
    thrum_buffer b;
    if (!part->data || thrum_data_offset(part->data, offset) || thrum_data_describe(part->data, &b)) {
        program_note(program, "there is no such part: %s", thrum_message(NULL));
        return;
    }
    for (uint32_t d = 0; d < part->object->dims; d++)
        if (offset[d] != part->offset[d] || b.extent[d] != part->extent[d])
            program_note(program, "a part is not where it should be, in dimension %u of layout %d", d,
                         part->object->kind);
}

static inline void add_parts(struct data_program *program, struct view *view, const thrum_cut *cut, size_t parts)
{
    if (thrum_data_parts(view->data) != parts)
        program_note(program, "%zu parts instead of %zu", thrum_data_parts(view->data), parts);
    for (size_t i = 0; i < parts; i++) {
        struct view *part = &program->view[program->views++];
        init_part(part, view, cut, i);
        part->data = thrum_data_part(view->data, i);
        check_part(program, part);
        view->part[i] = part;
    }
    view->parts = parts;
}

static inline int depth_of(const struct view *view)
{
    int depth = 0;
    for (; view->whole; view = view->whole)
        depth++;
    return depth;
}

/* Where rows begin has been written, by a task that was not left out. */
static inline bool has_rows(const struct data_program *program, const struct view *view)
{
    return view->written && view->words > 0 && (view->object->memory || !program->fails);
}

/* True if it has been cut. */
static inline bool do_partition_of(struct data_program *program, struct view *view)
{
    thrum_cut cut;
    if (!view || view->object->dims == 0 || depth_of(view) > 1 || program->views + PARTS_MOST > VIEWS_MOST ||
        (view->object->kind == CSR && !has_rows(program, view)))
        return false;
    size_t parts = pick_cut(program, view, &cut);
    struct program_flow *to = pick_flow(program);
    program_say("partition view %d in flow %d: parts from view %zu on, %zu\n", (int)(view - program->view),
                (int)(to - program->flow), program->views, parts);
    int code = thrum_partition(program->recording ? program->recording : to->flow, view->data, &cut);
    if (is_refused(program, to, code) || !program_ok(program, code, "thrum_partition"))
        return false;
    add_parts(program, view, &cut, parts);
    return true;
}

static inline bool has_cut_parts(const struct view *view)
{
    for (size_t i = 0; i < view->parts; i++)
        if (view->part[i]->parts)
            return true;
    return false;
}

static inline void forget_parts(struct view *view)
{
    bool written = true;
    for (size_t i = 0; i < view->parts; i++) {
        written &= view->part[i]->written;
        view->part[i]->gone = true;
    }
    view->written = written;
    view->parts = 0;
}

static inline void do_unpartition_of(struct data_program *program, struct view *view, struct program_flow *to)
{
    program_say("unpartition view %d in flow %d\n", (int)(view - program->view), to ? (int)(to - program->flow) : -1);
    int code = thrum_unpartition(program->recording ? program->recording : to->flow, view->data);
    if (is_refused(program, to, code))
        return;
    if (program_ok(program, code, "thrum_unpartition"))
        forget_parts(view);
}

static inline void do_unpartition(struct data_program *program)
{
    size_t from = random_below(&program->random, program->views);
    for (size_t i = 0; i < program->views; i++) {
        struct view *view = &program->view[(from + i) % program->views];
        if (view->gone || view->parts == 0 || has_cut_parts(view))
            continue;
        do_unpartition_of(program, view, pick_flow(program));
        return;
    }
}

/* Every view from this one on, the innermost first. */
static inline void unpartition_from(struct data_program *program, size_t from)
{
    for (size_t i = program->views; i-- > from && !program->wrong;)
        if (!program->view[i].gone && program->view[i].parts)
            do_unpartition_of(program, &program->view[i], &program->flow[0]);
}

/* ---- Coming and going -------------------------------------------------------------------------------------------- */

/* What thrum itself has is looked at before it goes. */
static inline void unregister_object(struct data_program *program, struct object *object)
{
    struct view *view = object->whole;
    thrum_buffer b;
    if (!object->memory && view->written && !program->fails &&
        program_ok(program, thrum_data_acquire(view->data, THRUM_MODE_R, NULL), "acquiring at the end")) {
        thrum_data_describe(view->data, &b);
        compare_home(program, view, &b);
        thrum_data_release(view->data);
    }
    program_say("unregister view %d\n", (int)(view - program->view));
    bool discards = random_chance(&program->random, 10);
    int code = discards ? thrum_data_discard(view->data) : thrum_data_unregister(view->data);
    if (!is_refused(program, NULL, code)) /* there is no content: then it is gone all the same */
        program_ok(program, code, "unregistering");
    if (object->memory && !discards && !program->fails && !memory_is_right(object))
        program_note(program, "the memory of a handle of layout %d is not what the oracle says, after %u steps",
                     object->kind, program->steps);
    view->gone = true;
    free_memory(object);
}

static inline void do_unregister(struct data_program *program)
{
    struct view *view = pick_view(program);
    if (!view || view->whole)
        return;
    unregister_object(program, view->object);
    add_object(program);
}

/* ---- Flows ------------------------------------------------------------------------------------------------------- */

static inline void check_outcome(struct data_program *program, struct program_flow *flow, int code)
{
    if (code != (flow->fails ? FAILURE : 0) && !(program->fails && code == THRUM_EDATA))
        program_note(program, "a flow's outcome is %d, which should be %d: %s", code, flow->fails ? FAILURE : 0,
                     thrum_message(NULL));
    flow->fails = false;
}

static inline void do_wait(struct data_program *program)
{
    struct program_flow *flow = pick_flow(program);
    program_say("wait for flow %d\n", (int)(flow - program->flow));
    check_outcome(program, flow, thrum_flow_wait(flow->flow));
}

static inline void wait_for_all(struct data_program *program)
{
    for (size_t i = 0; i < program->flows; i++)
        check_outcome(program, &program->flow[i], thrum_flow_wait(program->flow[i].flow));
}

static inline void set_window(struct data_program *program, thrum_flow *flow)
{
    static const size_t windows[] = {2, 3, 5, 16, 100, 4096};
    if (random_chance(&program->random, 50))
        thrum_flow_set_window(flow, windows[random_below(&program->random, COUNT_OF(windows))]);
}

static inline void make_flow(struct data_program *program, struct program_flow *flow)
{
    *flow = (struct program_flow){.flow = thrum_flow_new(program->ex)};
    if (!flow->flow)
        program_note(program, "no flow: %s", thrum_message(NULL));
    else
        set_window(program, flow->flow);
}

static inline void do_renew_flow(struct data_program *program)
{
    struct program_flow *flow = pick_flow(program);
    check_outcome(program, flow, thrum_flow_free(flow->flow));
    make_flow(program, flow);
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static inline void record(struct data_program *program, thrum_graph *graph, bool parts)
{
    size_t first_view = program->views;
    program->recording = thrum_flow_record(program->ex, graph);
    program->recordings = 0;
    if (!program->recording) {
        program_note(program, "no recording: %s", thrum_message(NULL));
        return;
    }
    struct view *cut = parts ? pick_view(program) : NULL;
    bool is_cut =
        cut && random_chance(&program->random, 70) && cut->object->kind != CSR && do_partition_of(program, cut);
    for (size_t i = random_between(&program->random, 1, RECORDED_MOST - 1); i > 0; i--)
        do_insert(program);
    if (is_cut) {
        unpartition_from(program, first_view);
        do_unpartition_of(program, cut, NULL);
        do_insert(program);
    }
    program_ok(program, thrum_flow_free(program->recording), "ending a recording");
    program->recording = NULL;
}

static inline void replay(struct data_program *program, thrum_graph *graph, const struct object *of,
                          struct object *instead)
{
    size_t times = random_between(&program->random, 1, 3);
    program_say("replay %zu times%s\n", times, of ? ", bound" : "");
    program_ok(program, thrum_run_n(program->ex, graph, times), "running a recorded flow");
    for (size_t n = 0; n < times; n++)
        for (size_t i = 0; i < program->recordings; i++)
            oracle_step(program->recorded[i].use, program->recorded[i].uses, program->recorded[i].seed, of, instead);
}

/* An object that the recording uses as a whole: replaced by another of its kind, and back. */
static inline void replay_bound(struct data_program *program, thrum_graph *graph)
{
    if (program->recordings == 0 || program->recorded[0].uses == 0 || program->objects == OBJECTS_MOST ||
        program->views == VIEWS_MOST)
        return;
    struct view *view = program->recorded[0].use[0].view;
    if (view->whole || view->gone)
        return;
    struct object *twin = &program->object[program->objects++];
    struct view *twin_view = &program->view[program->views++];
    object_twin(twin, twin_view, view->object, &program->random, program->ex);
    twin->reducible = false;
    thrum_data_set_name(twin_view->data, thrum_data_name(view->data));
    if (view->object->reducible)
        program_ok(program, thrum_data_set_reduction(twin_view->data, &clear_codelet, &add_codelet), "reducing a twin");
    if (program_ok(program, thrum_graph_bind(graph, view->data, twin_view->data), "binding"))
        replay(program, graph, view->object, twin);
    if (program_ok(program, thrum_graph_bind(graph, view->data, view->data), "binding back") &&
        random_chance(&program->random, 50))
        replay(program, graph, NULL, NULL);
}

static inline void do_record(struct data_program *program)
{
    if (program->fails || program->views + 2 * PARTS_MOST > VIEWS_MOST)
        return;
    wait_for_all(program);
    thrum_graph *graph = thrum_graph_new("recorded"), *clone = NULL;
    bool parts = random_chance(&program->random, 50);
    program->replays = true;
    program_say("record\n");
    record(program, graph, parts);
    if (!program->wrong)
        replay(program, graph, NULL, NULL);
    if (!program->wrong && !parts && random_chance(&program->random, 50))
        replay_bound(program, graph);
    if (!program->wrong && random_chance(&program->random, 30) && (clone = thrum_graph_clone(graph)))
        replay(program, clone, NULL, NULL);
    program->replays = false;
    program_ok(program, thrum_graph_free(graph), "freeing a recorded graph");
    program_ok(program, thrum_graph_free(clone), "freeing its copy");
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

static inline void do_something(struct data_program *program)
{
    size_t which = random_below(&program->random, 1000);
    if (which < 780)
        do_insert(program);
    else if (which < 830)
        do_acquire(program);
    else if (which < 890)
        do_partition_of(program, pick_view(program));
    else if (which < 940)
        do_unpartition(program);
    else if (which < 965)
        do_unregister(program);
    else if (which < 980)
        do_wait(program);
    else if (which < 990)
        do_renew_flow(program);
    else
        do_record(program);
}

static inline void program_begin(struct data_program *program, uint64_t seed, thrum_executor *ex, bool threadless,
                                 bool fails)
{
    *program = (struct data_program){.random = random_new(seed), .ex = ex, .fails = fails};
    program->workers = threadless ? 0 : thrum_executor_workers(ex);
    program->places = threadless ? 0 : thrum_executor_places(ex);
    thrum_node_stats stats = {.memory = 0};
    if (thrum_executor_nodes(ex) > 1)
        thrum_executor_node(ex, 1, &stats);
    program->device_memory = thrum_executor_nodes(ex) > 1 ? stats.memory : SIZE_MAX;
    program->failed_once = fails;
    size_t objects = random_between(&program->random, 1, 12);
    program->flows = random_between(&program->random, 1, FLOWS_MOST);
    for (size_t i = 0; i < program->flows; i++)
        make_flow(program, &program->flow[i]);
    for (size_t i = 0; i < objects; i++)
        add_object(program);
}

/* After a failure: what is written again is as it should be. */
static inline void recover(struct data_program *program)
{
    wait_for_all(program);
    unpartition_from(program, 0);
    for (size_t i = 0; i < program->objects && !program->wrong; i++) {
        struct view *view = program->object[i].whole;
        if (view->gone)
            continue;
        struct step step = {
            .program = program, .number = program->steps++, .seed = random_next(&program->random), .uses = 1};
        step.use[0] = (struct model_use){view, THRUM_MODE_W};
        oracle_step(step.use, 1, step.seed, NULL, NULL);
        insert_step(program, pick_flow(program), &step);
    }
    program->fails = program->has_failed = false;
}

/* Where there are replicas, their states fit together at any time. */
static inline void check_replicas(struct data_program *program, bool at_rest)
{
    thrum__space *space = thrum__executor_space(program->ex, "a check");
    if (space->places && thrum__places_check(space->places, at_rest))
        program_note(program, "after step %u%s: %s", program->steps, at_rest ? ", at rest" : "", thrum_message(NULL));
}

/* What data.h promises of a handle that nobody uses: one modified replica and no other, or shared ones. */
static inline void check_states(struct data_program *program, const struct view *view)
{
    int modified = 0, shared = 0;
    for (int node = 0; node < thrum_executor_nodes(program->ex); node++) {
        int state = thrum_data_state(view->data, node);
        modified += state == THRUM_MODIFIED;
        shared += state == THRUM_SHARED;
        if (state < 0)
            program_note(program, "no state on node %d: %s", node, thrum_message(NULL));
    }
    if (modified > 1 || (modified && shared) || (view->written && !program->fails && modified + shared == 0))
        program_note(program, "%d modified and %d shared replicas of a handle, %s", modified, shared,
                     view->written ? "which was written" : "which nobody wrote");
}

static inline void check_at_rest(struct data_program *program)
{
    wait_for_all(program);
    for (size_t i = 0; i < program->views && !program->wrong; i++)
        if (is_usable(&program->view[i]))
            check_states(program, &program->view[i]);
}

static inline void go_on(struct data_program *program, size_t steps)
{
    for (size_t i = 0; i < steps && !program->wrong; i++) {
        do_something(program);
        check_replicas(program, false);
    }
}

static inline void program_end(struct data_program *program)
{
    if (!program->wrong && random_chance(&program->random, 30))
        check_at_rest(program);
    if (!program->wrong)
        unpartition_from(program, 0);
    if (random_chance(&program->random, 50))
        wait_for_all(program);
    for (size_t i = 0; i < program->objects && !program->wrong; i++)
        if (!program->object[i].whole->gone)
            unregister_object(program, &program->object[i]);
    for (size_t i = 0; i < program->flows && !program->wrong; i++)
        check_outcome(program, &program->flow[i], thrum_flow_free(program->flow[i].flow));
    for (size_t i = 0; i < program->inners && !program->wrong; i++) {
        program_ok(program, thrum_data_unregister(program->inner[i].data), "unregistering what a task's flow used");
        if (program->inner[i].value != program->inner[i].expected && !program->failed_once)
            program_note(program, "a flow inside of a task left another value than expected");
    }
}

static inline void program_run(struct data_program *program, uint64_t seed, thrum_executor *ex, bool threadless,
                               bool fails)
{
    program_begin(program, seed, ex, threadless, fails);
    go_on(program, random_between(&program->random, 5, 120));
    if (fails && !program->wrong) {
        recover(program);
        go_on(program, random_between(&program->random, 1, 40));
    }
    program_end(program);
}

#endif
