/* plugin.c : a shared object of ours that is loaded when it is asked for. */
#include "base/plugin.h"
#include "base/beside.h"
#include "base/err.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *is_beside, char *why)
{
    const char *word = getenv(p->environment);
    *is_beside = false;
    if (word && *word) {
        snprintf(path, PATH_MAX, "%s", word);
        if (!access(path, R_OK))
            return 0;
        snprintf(why, PLUGIN_WHY_BYTES,
                 "%s names \"%s\", which cannot be read (%s): unset it, or set it to %s",
                 p->environment, word, strerror(errno), p->library);
        return -ENOENT;
    }
    *is_beside = beside(p->library, path) == path;
    if (!*is_beside)
        snprintf(path, PATH_MAX, "%s", p->library);
    return 0;
}

int plugin_open(const struct plugin *p, const char *path, void **handle, char *why)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*handle)
        return 0;
    const char *said = dlerror();
    const size_t n = strlen(p->library);
    said = said ? said : "no reason given";
    if (!strchr(path, '/') && !strncmp(said, p->library, n) && said[n] == ':') {
        snprintf(why, PLUGIN_WHY_BYTES,
                 "no %s beside this program or on the loader's path: `make` builds it %s, "
                 "%s=PATH names it",
                 p->library, p->where, p->environment);
        return -ENOENT;
    }
    snprintf(why, PLUGIN_WHY_BYTES, "\"%s\" does not load: %s", path, said);
    return -ELIBACC;
}
