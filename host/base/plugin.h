/* plugin.h : loads a shared object of this project on demand, for libraries not every machine has.
 *
 * Such libraries may also be slow to load. The object exports one symbol, a table of functions
 * whose first field is `int version`. */
#ifndef PLUGIN_H
#define PLUGIN_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct plugin {
    const char *library;             /* "libnarrowcast_cuda.so" */
    const char *environment;         /* variable that may name another file */
    const char *where;               /* "where nvcc is": where `make` builds it */
    const char *symbol;              /* "narrowcast_cuda": the table */
    int version;                     /* required version of the table */
    bool (*fetch)(const char *name); /* loads a library that the loader cannot find; or NULL */
};

enum { PLUGIN_WHY_BYTES = 384 };

/* Find the file to load: named by the environment, next to the program (*beside is true), or
 * the plain library name for the loader. Returns 0, or -ENOENT with why [PLUGIN_WHY_BYTES]
 * if the named file cannot be read. */
int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *beside, char *why);

/* Load path, and the missing dependencies that p->fetch can find, until the process ends. *table is
 * its table. Returns 0, or with why [PLUGIN_WHY_BYTES] -ENOENT (no such library), -ELIBACC (it
 * lacks a dependency) or -ELIBBAD (another build). */
int plugin_open(const struct plugin *p, const char *path, const void **table, char *why);

/* Extract from a dlerror() message the missing dependency, lacks [NAME_MAX + 1]. Returns
 * false if the message is another one. */
bool plugin_lacks(const char *said, char *lacks);

/* ---- files beside this program ---- */

/* Find the program or library `name` beside this program's file, beside the library that contains
 * this function, or, when installed, in lib/ beside the program's bin/. Returns its path, or the
 * plain name for PATH or the loader to search. */
const char *beside(const char *name, char path[PATH_MAX]);

/* Return true if this program is installed in a folder bin/, not in its build folder. */
bool beside_installed(void);

#endif
