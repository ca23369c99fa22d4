/* SPDX-License-Identifier: MIT
 *
 * What the applications would do, as workloads for simulation: the same insertions in the same order, with the sizes of
 * their data and the work of their kernels, but nothing is computed and no memory is filled. OpenBLAS is not needed.
 */
#ifndef THRUM_APPS_WORKLOADS_H
#define THRUM_APPS_WORKLOADS_H

#include <thrum/thrum.h>

/* 0 and NULL: what the verb of the application takes if nothing is said. */
struct app_workload_size {
    uint64_t n;        /* cholesky, qr: rows and columns; life: cells each way; kmeans: points */
    uint64_t tile;     /* cholesky, qr: of a tile; life: cells of a block each way; kmeans: points of a block */
    uint64_t steps;    /* life: steps; kmeans: turns of its loop */
    uint64_t inner;    /* qr: reflectors that are applied at once */
    uint64_t dims;     /* kmeans: coordinates of a point */
    uint64_t clusters; /* kmeans */
    /* Which kernels devices have: "all", "none", or names without the application's, "gemm,syrk". NULL: as the verb has
     * it: cholesky gemm, qr all but geqrt, life its only one, kmeans assign. */
    const char *on_device;
    bool buckets; /* each task is given the number of its kernel, in the order of the names below, as its bucket */
};

/* NULL with a sentence in thrum_message(NULL): no such application, a size that is too large, a kernel that it does not
 * have. */
thrum_workload *app_workload(const char *app, const struct app_workload_size *size);

/* Number 0, 1, ...: the name of an application, and its kernels ("potrf,trsm,syrk,gemm"; codelets are called
 * "cholesky-potrf"); NULL after the last. */
const char *app_workload_at(int number, const char **kernels);

#endif
