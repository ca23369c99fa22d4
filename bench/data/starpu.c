/* SPDX-License-Identifier: MIT
 *
 * StarPU's starpu_task_insert, with the policy that it takes by itself or with BENCH_STARPU_POLICY.
 *
 * Its settings are environment variables, which are set here, so that the user's own do not matter. The models of
 * kernels are measured before anything is timed, the way its manual has it: a first factorisation calibrates, StarPU is
 * shut down and writes the models to its folder; then it begins again and only reads them. The folder is a temporary
 * one.
 */
#include "cholesky.h"
#include "insert.h"

#include <starpu.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static char home[64]; /* "": there is none */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_home(void)
{
    if (home[0])
        nftw(home, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    home[0] = '\0';
}

static int make_home(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(home, sizeof home, "%.40s/bench-starpu-XXXXXX", folder && strlen(folder) <= 40 ? folder : "/tmp");
    if (mkdtemp(home))
        return 0;
    bench_bad("no folder %s can be made", home);
    home[0] = '\0';
    return -1;
}

/* Workers are bound to processors, one each; the thread that inserts is free to be where it can. */
static int start(int workers, int calibrate)
{
    char count[16];
    snprintf(count, sizeof count, "%d", workers);
    setenv("STARPU_HOME", home, 1);
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_NCPU", count, 1);
    setenv("STARPU_NCUDA", "0", 1);
    setenv("STARPU_NOPENCL", "0", 1);
    setenv("STARPU_CALIBRATE", calibrate ? "1" : "0", 1);
#ifdef BENCH_STARPU_POLICY
    setenv("STARPU_SCHED", BENCH_STARPU_POLICY, 1);
#else
    unsetenv("STARPU_SCHED");
#endif
    int error = starpu_init(NULL);
    if (error == 0 && (int)starpu_cpu_worker_get_count() == workers)
        return 0;
    bench_bad("StarPU does not start with %d workers", workers);
    if (error == 0)
        starpu_shutdown();
    return -1;
}

const char *bench_about(void)
{
    static char text[128];
    int version[3];
    starpu_get_version(&version[0], &version[1], &version[2]);
#ifdef BENCH_STARPU_POLICY
    const char *policy = BENCH_STARPU_POLICY;
#else
    const char *policy = "its own choice";
#endif
    snprintf(text, sizeof text, "StarPU %d.%d.%d, policy: %s, compiler %s", version[0], version[1], version[2], policy,
             __VERSION__);
    return text;
}

/* ---- Insertion --------------------------------------------------------------------------------------------------- */

static insert_body *body; /* of the flow in use */

struct insert_runtime {
    const insert_flow *flow;
    starpu_data_handle_t handles[INSERT_HANDLES];
};

/* The last of a task's data is the one that it writes. */
static void run_1(void *data[], void *arg)
{
    (void)arg;
    body((void *)STARPU_VARIABLE_GET_PTR(data[0]));
}

static void run_3(void *data[], void *arg)
{
    (void)arg;
    body((void *)STARPU_VARIABLE_GET_PTR(data[2]));
}

static void run_8(void *data[], void *arg)
{
    (void)arg;
    body((void *)STARPU_VARIABLE_GET_PTR(data[7]));
}

/* Without models: all tasks are alike, so there is nothing that dmda could learn from them. */
static struct starpu_codelet codelet_1 = {.cpu_funcs = {run_1}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "one"};
static struct starpu_codelet codelet_3 = {
    .cpu_funcs = {run_3}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}, .name = "three"};
static struct starpu_codelet codelet_8 = {
    .cpu_funcs = {run_8},
    .nbuffers = 8,
    .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_RW},
    .name = "eight"};

uint32_t insert_divisor(int accesses, int workers)
{
    (void)accesses;
    (void)workers;
    return 1;
}

insert_runtime *insert_begin(const insert_flow *flow, int workers)
{
    if (make_home() != 0 || start(workers, 0) != 0) {
        remove_home();
        return NULL;
    }
    remove_home();
    insert_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->flow = flow;
    for (int i = 0; i < INSERT_HANDLES; i++)
        starpu_variable_data_register(&runtime->handles[i], STARPU_MAIN_RAM, (uintptr_t)&flow->cells[i],
                                      sizeof(uint64_t));
    return runtime;
}

static int insert_1(starpu_data_handle_t *h, const uint16_t *at)
{
    return starpu_task_insert(&codelet_1, STARPU_RW, h[at[0]], 0);
}

static int insert_3(starpu_data_handle_t *h, const uint16_t *at)
{
    return starpu_task_insert(&codelet_3, STARPU_R, h[at[0]], STARPU_R, h[at[1]], STARPU_RW, h[at[2]], 0);
}

static int insert_8(starpu_data_handle_t *h, const uint16_t *at)
{
    return starpu_task_insert(&codelet_8, STARPU_R, h[at[0]], STARPU_R, h[at[1]], STARPU_R, h[at[2]], STARPU_R,
                              h[at[3]], STARPU_R, h[at[4]], STARPU_R, h[at[5]], STARPU_R, h[at[6]], STARPU_RW, h[at[7]],
                              0);
}

double insert_run(insert_runtime *runtime)
{
    const insert_flow *flow = runtime->flow;
    int (*insert)(starpu_data_handle_t *, const uint16_t *) = flow->accesses == 1   ? insert_1
                                                              : flow->accesses == 3 ? insert_3
                                                                                    : insert_8;
    body = flow->body;
    int failed = 0;
    for (uint32_t task = 0; task < flow->tasks; task++)
        failed |= insert(runtime->handles, insert_accesses(flow, task));
    double inserted = bench_now();
    starpu_task_wait_for_all();
    if (failed)
        bench_bad("a task could not be inserted");
    return inserted;
}

void insert_end(insert_runtime *runtime)
{
    for (int i = 0; i < INSERT_HANDLES; i++)
        starpu_data_unregister(runtime->handles[i]);
    starpu_shutdown();
    free(runtime);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

struct cholesky_runtime {
    const cholesky *matrix;
    int least, most; /* priorities of the policy */
    int failed;
    starpu_data_handle_t *handles; /* of the tiles */
};

static int tile_size; /* of the matrix in use */

static double *tile_of(void *data)
{
    return (double *)STARPU_MATRIX_GET_PTR(data);
}

static void run_potrf(void *data[], void *arg)
{
    (void)arg;
    kernel_potrf(tile_size, tile_of(data[0]));
}

static void run_trsm(void *data[], void *arg)
{
    (void)arg;
    kernel_trsm(tile_size, tile_of(data[0]), tile_of(data[1]));
}

static void run_syrk(void *data[], void *arg)
{
    (void)arg;
    kernel_syrk(tile_size, tile_of(data[0]), tile_of(data[1]));
}

static void run_gemm(void *data[], void *arg)
{
    (void)arg;
    kernel_gemm(tile_size, tile_of(data[0]), tile_of(data[1]), tile_of(data[2]));
}

#define MODEL(kernel)                                                                                                  \
    (struct starpu_perfmodel)                                                                                          \
    {                                                                                                                  \
        .type = STARPU_HISTORY_BASED, .symbol = "bench_" kernel                                                        \
    }

static struct starpu_perfmodel models[4];
static struct starpu_codelet potrf = {
    .cpu_funcs = {run_potrf}, .nbuffers = 1, .modes = {STARPU_RW}, .model = &models[0], .name = "potrf"};
static struct starpu_codelet trsm = {
    .cpu_funcs = {run_trsm}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .model = &models[1], .name = "trsm"};
static struct starpu_codelet syrk = {
    .cpu_funcs = {run_syrk}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .model = &models[2], .name = "syrk"};
static struct starpu_codelet gemm = {.cpu_funcs = {run_gemm},
                                     .nbuffers = 3,
                                     .modes = {STARPU_R, STARPU_R, STARPU_RW},
                                     .model = &models[3],
                                     .name = "gemm"};

/* A policy that has fewer priorities gets the most urgent ones as its highest. */
static int priority_for(const cholesky_runtime *runtime, cholesky_step step)
{
    int priority = cholesky_priority(runtime->matrix, step);
    return priority < runtime->least ? runtime->least : priority > runtime->most ? runtime->most : priority;
}

static inline CHOLESKY_INLINE void insert_step(cholesky_step step, void *ctx)
{
    cholesky_runtime *runtime = ctx;
    int priority = priority_for(runtime, step);
    starpu_data_handle_t tile = runtime->handles[cholesky_index(step.i, step.j)];
    starpu_data_handle_t left = runtime->handles[cholesky_index(step.i, step.k)];
    starpu_data_handle_t other = runtime->handles[cholesky_index(step.j, step.k)];
    if (step.i == step.k)
        runtime->failed |= starpu_task_insert(&potrf, STARPU_PRIORITY, priority, STARPU_RW, tile, 0);
    else if (step.j == step.k)
        runtime->failed |= starpu_task_insert(&trsm, STARPU_PRIORITY, priority, STARPU_R, other, STARPU_RW, tile, 0);
    else if (step.i == step.j)
        runtime->failed |= starpu_task_insert(&syrk, STARPU_PRIORITY, priority, STARPU_R, left, STARPU_RW, tile, 0);
    else
        runtime->failed |=
            starpu_task_insert(&gemm, STARPU_PRIORITY, priority, STARPU_R, left, STARPU_R, other, STARPU_RW, tile, 0);
}

void cholesky_run(cholesky_runtime *runtime)
{
    cholesky_insert_all(runtime->matrix, insert_step, runtime);
    starpu_task_wait_for_all();
    if (runtime->failed)
        bench_bad("a task could not be inserted");
}

static void register_tiles(cholesky_runtime *runtime)
{
    const cholesky *c = runtime->matrix;
    uint32_t n = (uint32_t)c->tile;
    for (int i = 0; i < c->tiles; i++)
        for (int j = 0; j <= i; j++)
            starpu_matrix_data_register(&runtime->handles[cholesky_index(i, j)], STARPU_MAIN_RAM,
                                        (uintptr_t)cholesky_tile(c, i, j), n, n, n, sizeof(double));
}

static void unregister_tiles(cholesky_runtime *runtime)
{
    for (size_t i = 0; i < cholesky_tile_count(runtime->matrix); i++)
        starpu_data_unregister(runtime->handles[i]);
}

static int start_cholesky(cholesky_runtime *runtime, int workers, int calibrate)
{
    models[0] = MODEL("potrf");
    models[1] = MODEL("trsm");
    models[2] = MODEL("syrk");
    models[3] = MODEL("gemm");
    if (start(workers, calibrate) != 0)
        return -1;
    runtime->least = starpu_sched_get_min_priority();
    runtime->most = starpu_sched_get_max_priority();
    register_tiles(runtime);
    return 0;
}

/* StarPU trusts a model from ten measurements on. */
static void calibrate(cholesky_runtime *runtime)
{
    for (int potrfs = 0; potrfs < 20; potrfs += runtime->matrix->tiles) {
        cholesky_fill(runtime->matrix);
        cholesky_run(runtime);
    }
}

static int start_calibrated(cholesky_runtime *runtime, int workers)
{
    if (start_cholesky(runtime, workers, 1) != 0)
        return -1;
    calibrate(runtime);
    unregister_tiles(runtime);
    starpu_shutdown();
    if (start_cholesky(runtime, workers, 0) != 0)
        return -1;
    cholesky_fill(runtime->matrix);
    cholesky_run(runtime); /* reads the models */
    return 0;
}

uint32_t cholesky_divisor(int tile)
{
    return tile == 32 ? 8 : 1;
}

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    if (make_home() != 0)
        return NULL;
    cholesky_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->matrix = c;
    runtime->handles = bench_alloc(cholesky_tile_count(c), sizeof *runtime->handles);
    tile_size = c->tile;
    int failed = start_calibrated(runtime, workers);
    remove_home();
    if (!failed)
        return runtime;
    free(runtime->handles);
    free(runtime);
    return NULL;
}

void cholesky_end(cholesky_runtime *runtime)
{
    unregister_tiles(runtime);
    starpu_shutdown();
    free(runtime->handles);
    free(runtime);
}
