/* beside.c : programs that are built together lie in one folder; installed, libraries lie in lib/ beside
 * bin/. */
#include "base/beside.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder that a file lies in, with its slash; false: it says none. */
static bool folder_of(char path[PATH_MAX])
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = 0;
    return slash;
}

/* Is it there? Then path is it. */
static bool is_there(char path[PATH_MAX], const char *name)
{
    const size_t n = strlen(path), n_name = strlen(name) + 1;
    if (n + n_name > PATH_MAX)
        return false;
    memcpy(path + n, name, n_name);
    return access(path, X_OK) == 0;
}

static bool program_folder(char path[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = 0;
    return folder_of(path);
}

/* Of the library, where this is in one; else of the program. */
static bool library_folder(char path[PATH_MAX])
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !info.dli_fname)
        return false;
    snprintf(path, PATH_MAX, "%s", info.dli_fname);
    return folder_of(path);
}

const char *beside(const char *name, char path[PATH_MAX])
{
    if (program_folder(path) && is_there(path, name))
        return path;
    if (library_folder(path) && is_there(path, name))
        return path;
    if (program_folder(path) && is_there(path, "../lib/") && is_there(path, name))
        return path;
    return name;
}

bool beside_installed(void)
{
    char path[PATH_MAX];
    const size_t n = program_folder(path) ? strlen(path) : 0;
    return n >= 5 && !strcmp(path + n - 5, "/bin/");
}
