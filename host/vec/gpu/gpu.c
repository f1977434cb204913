/* gpu.c : loads the GPU library and counts the openings of its device. The library stays loaded:
 * CUDA keeps threads and exit handlers in it. */
#include "vec/gpu/gpu.h"
#include "base/err.h"
#include "base/plugin.h"
#include "vec/gpu/gpu_lane.h"
#include "vec/gpu/gpu_libs.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIBRARY "libnarrowcast_cuda.so"

static struct {
    pthread_mutex_t lock;
    const struct dev_library *library; /* NULL: not loaded yet */
    char path[PATH_MAX];
    int n_open;
    struct dev_info info;
    _Atomic bool quiet;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .info = {.before = -1}};

struct cause {
    char text[PLUGIN_WHY_BYTES];
    int code;
};

static int fail(struct cause *why, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int fail(struct cause *why, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(why->text, sizeof why->text, format, ap);
    va_end(ap);
    why->code = code;
    return code;
}

/* Without a driver our library would spend a tenth of a second on loading cuDNN. */
static bool has_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver)
        dlclose(driver);
    return driver != NULL;
}

static int load(struct cause *why)
{
    static const struct plugin plugin = {LIBRARY,           "NARROWCAST_CUDA", "where nvcc is",
                                         "narrowcast_cuda", DEV_VERSION,       gpu_libs_fetch};
    char path[PATH_MAX];
    const void *table;
    bool is_beside;
    if (state.library)
        return 0;
    why->code = plugin_find(&plugin, path, &is_beside, why->text);
    if (!why->code && is_beside && !has_driver())
        return fail(why, -ENODEV, "no NVIDIA driver on this machine");
    if (!why->code)
        why->code = plugin_open(&plugin, path, &table, why->text);
    if (why->code)
        return why->code;
    snprintf(state.path, sizeof state.path, "%s", path);
    state.library = table;
    return 0;
}

/* Keeps a line in `unsaid` instead of printing it. The caller holds state.lock. */
static char unsaid[256];
static int keep_line(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int keep_line(int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(unsaid, sizeof unsaid, format, ap);
    va_end(ap);
    return code;
}

static int no_device(struct cause *why)
{
    struct dev_info info;
    snprintf(unsaid, sizeof unsaid, "no GPU that this build supports");
    if (state.library->run->open(-1, 0, keep_line, &info) == 0)
        state.library->run->close();
    return fail(why, -ENODEV, "%s", unsaid);
}

bool gpu_here(bool layers, char *why, size_t size)
{
    struct cause cause = {.code = 0};
    pthread_mutex_lock(&state.lock);
    if (state.n_open == 0 && load(&cause) == 0 && state.library->run->count() == 0)
        (void)no_device(&cause);
    if (cause.code == 0 && layers && !state.library->nn)
        (void)fail(&cause, -ENODEV, "the GPU library was built without cuDNN or cuBLAS");
    pthread_mutex_unlock(&state.lock);
    if (cause.code < 0 && size > 0)
        snprintf(why, size, "%s", cause.text);
    return cause.code == 0;
}

static int say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int say(int code, const char *format, ...)
{
    char line[384];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    return state.quiet ? code : ERR(code, "%s", line);
}

static int open_device(int rank_on_node)
{
    const struct dev_run_ops *run = state.library->run;
    const int ordinal = rank_on_node == GPU_CURRENT ? run->current(-1) : -1;
    TRY(run->open(ordinal, rank_on_node, say, &state.info));
    const int rc = gpu_lanes_open(run);
    if (rc < 0)
        run->close();
    gpu_forget();
    return rc;
}

int gpu_open(int rank_on_node)
{
    struct cause why = {.code = 0};
    pthread_mutex_lock(&state.lock);
    int rc = state.n_open > 0 ? 0 : load(&why);
    if (rc < 0)
        (void)ERR(rc, "cannot use a GPU: %s", why.text);
    else if (state.n_open == 0)
        rc = open_device(rank_on_node);
    state.n_open += rc == 0;
    pthread_mutex_unlock(&state.lock);
    return rc;
}

void gpu_close(void)
{
    pthread_mutex_lock(&state.lock);
    if (state.n_open == 1) {
        gpu_lanes_close();
        state.library->run->close();
    }
    state.n_open -= state.n_open > 0;
    pthread_mutex_unlock(&state.lock);
}

const struct dev_library *gpu(void)
{
    return state.n_open > 0 ? state.library : NULL;
}

const struct dev_info *gpu_info(void)
{
    return &state.info;
}

int gpu_enter(void)
{
    return state.library ? state.library->run->current(-1) : -1;
}

void gpu_leave(int before)
{
    if (before < 0) /* loaded during the call */
        before = state.info.before;
    if (before >= 0)
        state.library->run->restore(before);
}

void gpu_quiet(bool on)
{
    state.quiet = on;
}

const char *gpu_library_path(void)
{
    return state.path;
}
