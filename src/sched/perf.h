/* SPDX-License-Identifier: MIT
 *
 * Performance models: how long codelets take, measured or told; one memory for the whole process.
 *
 * Whoever runs a codelet notes what it took; whoever places one asks what to expect. What is known is kept in a file
 * (THRUM_MODELS): read at the first use, written when an executor is freed, and never in between. Any thread may call
 * anything here; each call takes a short lock.
 */
#ifndef THRUM_SCHED_PERF_H
#define THRUM_SCHED_PERF_H

#include <thrum/codelet.h>

/* The shapes of all data of a job in one number, and its bytes. Begins as zeros; each access is added in its order,
 * with the footprint and the packed size of its handle (model/data.h). It depends on the job's data alone: work it out
 * once a job. */
typedef struct thrum__perf_shape {
    uint64_t footprint;
    size_t bytes;
} thrum__perf_shape;

static inline void thrum__perf_shape_add(thrum__perf_shape *shape, uint64_t footprint, size_t bytes)
{
    uint64_t x = (shape->footprint ^ footprint) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    shape->footprint = x ^ (x >> 31);
    shape->bytes += bytes;
}

/* Seconds that the codelet is going to take on this place, by its own kind of model; negative: nobody knows (yet).
 * `buffers` (with ptr NULL) and `arg` are for models that are functions; others do not look at them. */
double thrum__perf_expect(const thrum_codelet *codelet, const thrum_place *place, const thrum__perf_shape *shape,
                          const thrum_buffer *buffers, int count, const void *arg);

/* It took this long: the kernel alone, without transfers and waiting. Not for kernels that failed, were left out, or
 * only slept (timing mode). */
void thrum__perf_note(const thrum_codelet *codelet, enum thrum_arch arch, const thrum__perf_shape *shape,
                      double seconds);

/* Writes what is new to the file, putting it together with what other processes have written meanwhile. 0, or an error
 * with a sentence: whoever frees an executor goes on all the same. */
int thrum__perf_save(void);

/* For tests: forgets everything, as at the start of the process. */
void thrum__perf_forget(void);

#endif
