/* plugin.h : loads a shared object of this project on demand, because a machine may lack the
 * libraries that it needs, or they load slowly.
 *
 * The object exports one symbol, a table of functions whose first field is `int version`. */
#ifndef PLUGIN_H
#define PLUGIN_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct plugin {
    const char *library;     /* "libnarrowcast_cuda.so" */
    const char *environment; /* variable that may name another file */
    const char *where;       /* ends "`make` builds it ...": "where nvcc is" */
    const char *symbol;      /* "narrowcast_cuda": the table */
    int version;             /* required of the table */
    /* loads a library that the loader cannot find; may be NULL */
    bool (*fetch)(const char *name);
};

enum { PLUGIN_WHY_BYTES = 384 };

/* Find the file to load: the environment's, else one in the program's folder (sets *beside), else
 * the plain library name, for the loader. Returns 0, or -ENOENT with the reason in why
 * [PLUGIN_WHY_BYTES] if the named file cannot be read. */
int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *beside, char *why);

/* Load path until the process ends, with those missing dependencies that p->fetch can find.
 * *table: the object's table. Returns 0, or a code with the reason in why [PLUGIN_WHY_BYTES]:
 * -ENOENT (no such library), -ELIBACC (it lacks a dependency) or -ELIBBAD (it belongs to another
 * build). */
int plugin_open(const struct plugin *p, const char *path, const void **table, char *why);

/* plugin_find() and plugin_open() of what was found. */
int plugin_load(const struct plugin *p, const void **table, char *why);

/* Extract the missing dependency from a dlerror() message to lacks [NAME_MAX + 1]. Returns false if
 * there is none. */
bool plugin_lacks(const char *said, char *lacks);

/* ---- files in this program's folders ---- */

/* Find the program or library `name` in the folder of this program or library; if installed, also
 * in lib/ next to bin/. Returns its path, or the plain name, for PATH or the loader's path. */
const char *beside(const char *name, char path[PATH_MAX]);

/* Return true if this program runs from an installed bin/, not from its build folder. */
bool beside_installed(void);

#endif
