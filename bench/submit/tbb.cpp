/* SPDX-License-Identifier: MIT
 *
 * oneTBB leaves open how to wait for an enqueued function. Each pass tries the two ways that give the processor back in
 * the end, its task group's wait and a condition variable, and answers with the faster one, so that thrum is compared
 * with the best that a user could have picked. A caller that burns its processor on a flag is a work of its own.
 */
#include "submit.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace {

/* No slot of the arena is kept for the caller and the limit counts it on top: as many threads as workers may run what
 * was enqueued, and the caller is not among them. */
struct submit_state {
    bench_request request;
    tbb::global_control limit;
    tbb::task_arena arena;
    tbb::task_group group;
    std::mutex mutex;
    std::condition_variable condition;
    std::atomic<bool> ready{false};
    alignas(SUBMIT_OWN_LINE) volatile uint64_t done = 0;

    submit_state(const bench_request &r, int callers)
        : request(r), limit(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(r.workers + callers)),
          arena(r.workers, callers ? 0 : 1)
    {
    }
};

void raise_done(submit_state *state)
{
    state->done = state->done + 1;
}

/* The group's own wait, outside of the arena: the caller cannot take the function itself. */
void enqueue_and_wait_for_group(void *arg)
{
    auto *state = static_cast<submit_state *>(arg);
    state->arena.enqueue(state->group.defer([state] { raise_done(state); }));
    state->group.wait();
}

void enqueue_and_watch_a_flag(void *arg)
{
    auto *state = static_cast<submit_state *>(arg);
    state->ready.store(false, std::memory_order_relaxed);
    state->arena.enqueue([state] {
        raise_done(state);
        state->ready.store(true, std::memory_order_release);
    });
    while (!state->ready.load(std::memory_order_acquire))
        __builtin_ia32_pause();
}

void enqueue_and_wait_for_a_condition(void *arg)
{
    auto *state = static_cast<submit_state *>(arg);
    state->ready.store(false, std::memory_order_relaxed);
    state->arena.enqueue([state] {
        raise_done(state);
        std::lock_guard<std::mutex> lock(state->mutex);
        state->ready.store(true, std::memory_order_relaxed);
        state->condition.notify_one();
    });
    std::unique_lock<std::mutex> lock(state->mutex);
    state->condition.wait(lock, [state] { return state->ready.load(std::memory_order_relaxed); });
}

void run_and_wait(void *arg)
{
    auto *state = static_cast<submit_state *>(arg);
    state->group.run_and_wait([state] { raise_done(state); });
}

void *open_submit(const bench_request *request)
{
    return new submit_state(*request, request->variant == SUBMIT_CALLER ? 0 : 1);
}

double pass_with(submit_state *state, void (*once)(void *))
{
    return submit_pass(state->request.variant, state->request.shrink, once, state, &state->done);
}

double pass_submit(void *arg)
{
    auto *state = static_cast<submit_state *>(arg);
    if (state->request.variant == SUBMIT_CALLER)
        return pass_with(state, run_and_wait);
    if (state->request.variant == SUBMIT_HOT_SPIN)
        return pass_with(state, enqueue_and_watch_a_flag);
    return std::min(pass_with(state, enqueue_and_wait_for_group), pass_with(state, enqueue_and_wait_for_a_condition));
}

void close_submit(void *arg)
{
    delete static_cast<submit_state *>(arg);
}

bench_work works[] = {
    {"submit-hot", SUBMIT_HOT, open_submit, pass_submit, close_submit, nullptr},
    {"submit-hot-spin", SUBMIT_HOT_SPIN, open_submit, pass_submit, close_submit, nullptr},
    {"submit-idle", SUBMIT_IDLE, open_submit, pass_submit, close_submit, nullptr},
    {"submit-caller", SUBMIT_CALLER, open_submit, pass_submit, close_submit, nullptr},
};

} // namespace

BENCH_WORKS(works)
