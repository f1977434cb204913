/* gpu_fixture.h : selects the GPU of a test: a real one, else the emulator (tests/emu).
 *
 * The library is NARROWCAST_CUDA if set, else $B/libnarrowcast_cuda.so if it finds a GPU, else
 * $B/emu/libnarrowcast_cuda.so. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H
#include "device/run/dev.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gpu_fixture {
    const struct dev_library *lib;
    struct dev_info info;
    bool emulated;
};

static inline int gpu_fixture_say(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return code;
}

static inline const struct dev_library *gpu_fixture_load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return handle ? (const struct dev_library *)dlsym(handle, "narrowcast_cuda") : NULL;
}

static inline const struct dev_library *gpu_fixture_need(const char *path)
{
    const struct dev_library *lib = gpu_fixture_load(path);
    if (!lib)
        fprintf(stderr, "FAIL %s does not load: %s\n", path, dlerror()), exit(1);
    if (lib->version != DEV_VERSION)
        fprintf(stderr, "FAIL %s is of another build: make builds it\n", path), exit(1);
    return lib;
}

/* Sets NARROWCAST_CUDA, which gpu_open() of host/vec reads. With a GPU the real library must
 * work. Skips the test if there is no library. */
static inline const struct dev_library *gpu_fixture_choose(void)
{
    const char *b = getenv("B"), *set = getenv("NARROWCAST_CUDA");
    const struct dev_library *lib;
    char path[PATH_MAX];
    if (set && *set)
        return gpu_fixture_need(set);
    const char *shown = getenv("CUDA_VISIBLE_DEVICES"); /* "" and -1 hide all GPUs */
    const bool hidden = access("/dev/nvidiactl", F_OK) || (shown && (!*shown || *shown == '-'));
    snprintf(path, sizeof path, "%s/libnarrowcast_cuda.so", b && *b ? b : "build");
    if (!hidden && (lib = gpu_fixture_need(path))->run->count() == 0)
        fprintf(stderr, "FAIL a GPU is here (/dev/nvidiactl), but CUDA finds none\n"), exit(1);
    if (hidden && (!(lib = gpu_fixture_load(path)) || lib->run->count() == 0)) {
        snprintf(path, sizeof path, "%s/emu/libnarrowcast_cuda.so", b && *b ? b : "build");
        if (access(path, R_OK)) {
            printf("skip: no GPU, and no %s (make builds it)\n", path);
            exit(77);
        }
        lib = gpu_fixture_need(path);
    }
    setenv("NARROWCAST_CUDA", path, 1);
    return lib;
}

/* For a rank of over_ranks.h: loads the emulator for NARROWCAST_CUDA, and makes one of its GPUs
 * current. Its memory is the host's. Returns NULL if it is not built. */
static inline const struct dev_library *gpu_fixture_emulated(int device)
{
    const char *b = getenv("B");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/emu/libnarrowcast_cuda.so", b && *b ? b : "build");
    if (access(path, R_OK))
        return NULL;
    setenv("NARROWCAST_CUDA", path, 1);
    setenv("EMU_DEVICES", "8", 0);
    const struct dev_library *lib = gpu_fixture_need(path);
    (void)lib->run->current(device);
    return lib;
}

/* Also prints the GPU's name (under mpirun on rank 0). Exits on failure. */
static inline struct gpu_fixture gpu_fixture_open(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"),
               *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    struct gpu_fixture f = {.lib = gpu_fixture_choose()};
    if (f.lib->version != DEV_VERSION ||
        f.lib->run->open(-1, local ? atoi(local) : 0, gpu_fixture_say, &f.info) < 0)
        exit(1);
    f.emulated = strcmp(f.info.name, "emulated") == 0;
    if (!rank || atoi(rank) == 0) {
        printf("device: %s\n", f.info.name);
        fflush(stdout);
    }
    return f;
}
static inline const struct dev_library *gpu_fixture(void)
{
    return gpu_fixture_open().lib;
}

#endif
