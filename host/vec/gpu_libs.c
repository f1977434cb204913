/* gpu_libs.c : where device/libs.sh looks when the GPU library is built, the same when it is loaded: a
 * library that was installed, or has come from another machine, does not know this one's folders.
 *
 * The order: CUDA's folder; Python's packages of $PYTHONPATH, of the environment that is active, the
 * user's, the system's. Python itself is not asked: a rank that MPI has started better starts no other
 * program. */
#include "vec/gpu_libs.h"
#include "base/plugin.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A library that needs another, which needs another. */
enum { DEEPEST = 4 };

static bool fetch(const char *name, int depth);

/* One file. */
static bool load(const char *path, int depth)
{
    char lacks[NAME_MAX + 1];
    if (dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        return true;
    return plugin_lacks(dlerror(), lacks) && depth < DEEPEST && fetch(lacks, depth + 1) &&
           dlopen(path, RTLD_LAZY | RTLD_LOCAL) != NULL;
}

/* The files of a pattern, the last by name first: that of the newest Python. */
static bool load_any(const char *pattern, int depth)
{
    glob_t found;
    bool is_loaded = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i > 0 && !is_loaded; i--)
        is_loaded = load(found.gl_pathv[i - 1], depth);
    globfree(&found);
    return is_loaded;
}

/* Each folder of a list with colons: FOLDER below/name. */
static bool load_below(const char *folders, const char *below, const char *name, int depth)
{
    char pattern[PATH_MAX];
    for (; folders && *folders; folders += strcspn(folders, ":"), folders += *folders == ':') {
        const int n = snprintf(pattern, sizeof pattern, "%.*s%s/%s", (int)strcspn(folders, ":"),
                               folders, below, name);
        if (pattern[0] == '/' && n < (int)sizeof pattern && load_any(pattern, depth))
            return true;
    }
    return false;
}

static bool fetch(const char *name, int depth)
{
    static const char cuda[] = "/lib64", bare[] = "/nvidia/*/lib",
                      site[] = "/lib/python3*/site-packages/nvidia/*/lib",
                      dist[] = "/lib/python3*/dist-packages/nvidia/*/lib";
    const char *home = getenv("HOME");
    char user[PATH_MAX];
    snprintf(user, sizeof user, "%s/.local", home ? home : "");
    return load_below(getenv("CUDA_HOME"), cuda, name, depth) ||
           load_below("/usr/local/cuda", cuda, name, depth) ||
           load_below(getenv("PYTHONPATH"), bare, name, depth) ||
           load_below(getenv("VIRTUAL_ENV"), site, name, depth) ||
           load_below(getenv("CONDA_PREFIX"), site, name, depth) ||
           load_below(user, site, name, depth) ||
           load_below("/usr/local:/usr", dist, name, depth) ||
           load_below("/usr/local:/usr:/opt/*", site, name, depth);
}

bool gpu_libs_fetch(const char *name)
{
    return fetch(name, 0);
}
