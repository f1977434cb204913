/* plugin.c : loads a shared object of this project on demand. */
#include "base/plugin.h"
#include "base/err.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LACKS_MAX = 16 };

/* Only regular files are accepted: opening a pipe would wait for a writer. */
static const char *not_a_library(const char *path)
{
    struct stat st;
    if (stat(path, &st) || access(path, R_OK))
        return strerror(errno);
    return S_ISREG(st.st_mode) ? NULL : "it is not a regular file";
}

int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *is_beside, char *why)
{
    const char *word = getenv(p->environment);
    *is_beside = false;
    if (word && *word) {
        snprintf(path, PATH_MAX, "%s%s", strchr(word, '/') ? "" : "./", word);
        const char *cannot = not_a_library(path);
        if (!cannot)
            return 0;
        snprintf(
            why, PLUGIN_WHY_BYTES,
            "%s names \"%s\", which cannot be read (%s): unset it, or set it to the path of %s",
            p->environment, word, cannot, p->library);
        return -ENOENT;
    }
    *is_beside = beside(p->library, path) == path;
    if (!*is_beside)
        snprintf(path, PATH_MAX, "%s", p->library);
    return 0;
}

static int find_table(const struct plugin *p, const char *path, void *handle, const void **table,
                      char *why)
{
    const int *version = dlsym(handle, p->symbol); /* first field of the table */
    if (version && *version == p->version) {
        *table = version;
        return 0;
    }
    if (version)
        snprintf(why, PLUGIN_WHY_BYTES,
                 "\"%s\" belongs to another build (version %d, this program needs %d): build both "
                 "together",
                 path, *version, p->version);
    else
        snprintf(why, PLUGIN_WHY_BYTES, "\"%s\" is not %s: it lacks the symbol %s", path,
                 p->library, p->symbol);
    dlclose(handle);
    return -ELIBBAD;
}

bool plugin_lacks(const char *said, char *lacks)
{
    static const char nowhere[] = ": cannot open shared object file: No such file";
    const size_t n = said ? strcspn(said, ":") : 0;
    if (n == 0 || n > NAME_MAX || memchr(said, '/', n) ||
        strncmp(said + n, nowhere, sizeof nowhere - 1))
        return false;
    memcpy(lacks, said, n);
    lacks[n] = '\0';
    return true;
}

int plugin_open(const struct plugin *p, const char *path, const void **table, char *why)
{
    char lacks[NAME_MAX + 1], text[PATH_MAX + 256];
    for (int i = 0; i < LACKS_MAX; i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return find_table(p, path, handle, table, why);
        const char *reason = dlerror(); /* valid until the next dlopen */
        snprintf(text, sizeof text, "%s", reason ? reason : "no reason given");
        if (!p->fetch || !plugin_lacks(text, lacks) || !strcmp(lacks, path) || !p->fetch(lacks))
            break;
    }
    const char *said = text;
    const size_t n = strlen(p->library);
    if (!strchr(path, '/') && !strncmp(said, p->library, n) && said[n] == ':') {
        snprintf(why, PLUGIN_WHY_BYTES,
                 "no %s beside this program or on the loader's path: `make` builds it %s, or "
                 "%s=PATH names it",
                 p->library, p->where, p->environment);
        return -ENOENT;
    }
    const size_t named = strlen(path);
    if (!strncmp(said, path, named) && !strncmp(said + named, ": ", 2))
        said += named + 2;
    snprintf(why, PLUGIN_WHY_BYTES, "\"%s\" does not load: %s", path, said);
    return -ELIBACC;
}

int plugin_load(const struct plugin *p, const void **table, char *why)
{
    char path[PATH_MAX];
    bool is_beside;
    const int rc = plugin_find(p, path, &is_beside, why);
    return rc ? rc : plugin_open(p, path, table, why);
}

static bool folder_of(char path[PATH_MAX])
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = 0;
    return slash;
}

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

/* folder of the library or, if linked statically, of the program */
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
