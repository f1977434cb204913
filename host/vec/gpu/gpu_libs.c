/* gpu_libs.c : where device/run/libs.sh looks when the GPU library is built, the same when it is loaded: a
 * library that was installed, or has come from another machine, does not know this one's folders.
 *
 * The order: CUDA's folder; Python's packages of $PYTHONPATH, of the environment that is active, the
 * user's, the system's. Python itself is not asked: a rank that MPI has started better starts no other
 * program. */
#include "vec/gpu/gpu_libs.h"
#include "base/plugin.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A library that needs another, which needs another. */
enum { DEEPEST = 4 };

static bool fetch(const char *name, int depth);

/* One file, and what it lacks. No pipe, of which the loader would wait for a writer. */
static bool load(const char *path, int depth)
{
    char lacks[NAME_MAX + 1], last[NAME_MAX + 1] = "";
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    while (!dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
        if (!plugin_lacks(dlerror(), lacks) || !strcmp(lacks, last) || depth == DEEPEST ||
            !fetch(lacks, depth + 1))
            return false;
        memcpy(last, lacks, sizeof last);
    }
    return true;
}

/* For qsort(): python3.12 before python3.9. */
static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* The files of a pattern, that of the newest Python first. */
static bool load_any(const char *pattern, int depth)
{
    glob_t found;
    bool is_loaded = false;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return false;
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, newest_first);
    for (size_t i = 0; i < found.gl_pathc && !is_loaded; i++)
        is_loaded = load(found.gl_pathv[i], depth);
    globfree(&found);
    return is_loaded;
}

/* Each folder of a list with colons: FOLDER below/name. A pattern's signs in FOLDER stand for
 * themselves. */
static bool load_below(const char *folders, const char *below, const char *name, int depth)
{
    char pattern[3 * PATH_MAX];
    for (; folders && *folders; folders += strcspn(folders, ":"), folders += *folders == ':') {
        const size_t n = strcspn(folders, ":");
        char *to = pattern;
        if (*folders != '/' || n > PATH_MAX)
            continue;
        for (size_t i = 0; i < n; i++) {
            if (strchr("*?[\\", folders[i]))
                *to++ = '\\';
            *to++ = folders[i];
        }
        snprintf(to, PATH_MAX, "%s/%s", below, name);
        if (load_any(pattern, depth))
            return true;
    }
    return false;
}

static bool fetch(const char *name, int depth)
{
    static const char cuda[] = "/lib*", bare[] = "/nvidia/*/lib",
                      site[] = "/lib/python3*/site-packages/nvidia/*/lib",
                      opt[] = "/*/lib/python3*/site-packages/nvidia/*/lib",
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
           load_below("/usr/local:/usr", site, name, depth) || load_below("/opt", opt, name, depth);
}

bool gpu_libs_fetch(const char *name)
{
    return fetch(name, 0);
}
