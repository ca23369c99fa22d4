/* SPDX-License-Identifier: MIT */
#include "kernels.h"
#include "../common/runner.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Values of cblas.h, which are the same in all libraries. */
enum { COLUMN_MAJOR = 102, NO_TRANS = 111, TRANS = 112, LOWER = 122, NON_UNIT = 131, RIGHT = 142 };

static struct {
    void (*set_threads)(int count);
    int (*get_threads)(void);
    void (*potrf)(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length);
    void (*trsm)(int order, int side, int uplo, int trans, int diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb);
    void (*syrk)(int order, int uplo, int trans, int n, int k, double alpha, const double *a, int lda, double beta,
                 double *c, int ldc);
    void (*gemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);
} blas;

static const struct {
    const char *name;
    void *place;
} symbols[] = {
    {"openblas_set_num_threads", &blas.set_threads},
    {"openblas_get_num_threads", &blas.get_threads},
    {"dpotrf_", &blas.potrf},
    {"cblas_dtrsm", &blas.trsm},
    {"cblas_dsyrk", &blas.syrk},
    {"cblas_dgemm", &blas.gemm},
};

static int find_symbols(void *library)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found) {
            bench_bad("libopenblas.so.0 has no %s", symbols[i].name);
            return -1;
        }
        *(void **)symbols[i].place = found;
    }
    return 0;
}

/* The name by which OpenBLAS knows kernels that fit this processor; NULL: it knows best. */
static const char *fitting_core(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

static void *open_library(void)
{
    return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

/* On a processor that is newer than itself OpenBLAS takes its oldest kernels, which are four times slower: with them
 * every runtime would look as good as another. So it is told what fits, unless the user has. It looks when it is
 * loaded. */
static void *open_with_fitting_kernels(void)
{
    void *library = open_library();
    const char *(*core_name)(void) = NULL;
    if (library)
        *(void **)&core_name = dlsym(library, "openblas_get_corename");
    if (!core_name || strcmp(core_name(), "Prescott") != 0 || getenv("OPENBLAS_CORETYPE") || !fitting_core())
        return library;
    dlclose(library);
    setenv("OPENBLAS_CORETYPE", fitting_core(), 1);
    return open_library();
}

int kernels_load(void)
{
    if (blas.gemm)
        return 0;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = open_with_fitting_kernels();
    if (!library) {
        bench_bad("OpenBLAS is needed: %s (Debian: libopenblas-dev)", dlerror());
        return -1;
    }
    if (find_symbols(library) != 0)
        return -1;
    blas.set_threads(1);
    if (blas.get_threads() == 1)
        return 0;
    bench_bad("OpenBLAS cannot be kept to one thread");
    return -1;
}

/* What is not positive definite becomes a wrong result, which is noticed. */
void kernel_potrf(int n, double *a)
{
    int info;
    blas.potrf("L", &n, a, &n, &info, 1);
}

void kernel_trsm(int n, const double *l, double *b)
{
    blas.trsm(COLUMN_MAJOR, RIGHT, LOWER, TRANS, NON_UNIT, n, n, 1, l, n, b, n);
}

void kernel_syrk(int n, const double *a, double *c)
{
    blas.syrk(COLUMN_MAJOR, LOWER, NO_TRANS, n, n, -1, a, n, 1, c, n);
}

void kernel_gemm(int n, const double *a, const double *b, double *c)
{
    blas.gemm(COLUMN_MAJOR, NO_TRANS, TRANS, n, n, n, -1, a, n, b, n, 1, c, n);
}
