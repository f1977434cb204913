/* beside.c : programs that are built together lie in one folder. */
#include "base/beside.h"
#include <string.h>
#include <unistd.h>

const char *beside(const char *name, char path[PATH_MAX])
{
    const size_t n_name = strlen(name) + 1;
    const ssize_t n = n_name < PATH_MAX ? readlink("/proc/self/exe", path, PATH_MAX - n_name) : -1;
    if (n <= 0)
        return name;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + n_name > PATH_MAX)
        return name;
    memcpy(slash + 1, name, n_name);
    return access(path, X_OK) ? name : path;
}
