/* SPDX-License-Identifier: MIT
 *
 * Loads the module of the dense applications and hands over.
 */
#include "dense.h"
#include "verbs.h"

#include "tools/common.h"

#include <thrum/version.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char missing[] = "it needs OpenBLAS and LAPACKE, and thrum was built or installed without them "
                              "(on Debian they are the packages libopenblas-dev and liblapacke-dev)";

static int not_here(const char *verb, int argc, char **argv)
{
    const char *why = dlerror();
    if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return tool_fail(verb, "%s: %s.", missing, why ? why : "the module was not found");
    printf("usage: thrum %s [OPTIONS]\n\nNot here: %s.\n", verb, missing);
    return TOOL_DONE;
}

/* The module lies where libthrum lies, in the build and where it is installed; so does the text of its version, which
 * unlike a function cannot have a stand-in in the command. */
static void *load(void)
{
    char path[4096];
    Dl_info library;
    bool found = dladdr(thrum_version(), &library) != 0 && library.dli_fname;
    const char *end = found ? strrchr(library.dli_fname, '/') : NULL;
    if (!end)
        return NULL;
    int folder = (int)(end - library.dli_fname);
    snprintf(path, sizeof path, "%.*s/libthrum-dense.so", folder, library.dli_fname);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int hand_over(const char *verb, const char *symbol, int argc, char **argv)
{
    /* OpenBLAS reads it when it is loaded: tasks are what runs at the same time. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *module = load();
    int (*run)(int, char **) = NULL;
    if (!module)
        return not_here(verb, argc, argv);
    *(void **)&run = dlsym(module, symbol);
    return run ? run(argc, argv) : not_here(verb, argc, argv);
}

int thrum_cmd_cholesky(int argc, char **argv)
{
    return hand_over("cholesky", "app_cholesky", argc, argv);
}

int thrum_cmd_qr(int argc, char **argv)
{
    return hand_over("qr", "app_qr", argc, argv);
}
