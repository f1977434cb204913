/* gpu_libs.c : searches for NVIDIA's libraries at run time, as device/run/libs.sh does at build
 * time: a GPU library built elsewhere lacks this machine's folders.
 *
 * The order is: CUDA's folder, then the Python packages of $PYTHONPATH, the active environment, the
 * user and the system. Python is not run, because ranks of MPI should not start programs. */
#include "vec/gpu/gpu_libs.h"
#include "base/plugin.h"
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* limit on chains of libraries that need each other */
enum { DEEPEST = 4 };

static bool fetch(const char *name, int depth);

/* Pipes are refused: the loader would wait for a writer. */
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

/* for qsort(): python3.12 comes before python3.9 */
static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

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

/* FOLDER + below + "/" + name is the pattern; each FOLDER is taken literally. */
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
