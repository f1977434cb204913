/* plugin.h : a shared object of ours that is loaded when it is asked for, because it needs libraries
 * that not every machine has, or that take their time to load. It has one symbol, a table of calls
 * whose first field is `int version`. */
#ifndef PLUGIN_H
#define PLUGIN_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct plugin {
    const char *library;             /* "libnarrowcast_cuda.so" */
    const char *environment;         /* the variable that may name another file */
    const char *where;               /* "where nvcc is": where `make` builds it */
    const char *symbol;              /* "narrowcast_cuda": the table */
    int version;                     /* that the table must have */
    bool (*fetch)(const char *name); /* or NULL: loads a library that the loader has not found */
};

enum { PLUGIN_WHY_BYTES = 384 };

/* The file to load: what the environment names, or what lies beside the program, or the library's name
 * for the loader to find. Returns 0, or -ENOENT with why [PLUGIN_WHY_BYTES]: what is named cannot be
 * read. *beside: it is the second. */
int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *beside, char *why);

/* Loads such a path, and what p->fetch finds of that which it lacks, until the process ends: *table is
 * its table. Returns 0, or with why [PLUGIN_WHY_BYTES] -ENOENT (there is none), -ELIBACC (it lacks
 * something) or -ELIBBAD (it is of another build). */
int plugin_open(const struct plugin *p, const char *path, const void **table, char *why);

/* Of what dlerror() said: does a library lack another, lacks [NAME_MAX + 1], which is nowhere? */
bool plugin_lacks(const char *said, char *lacks);

/* ---- programs that are built together lie in one folder; installed, libraries lie in lib/ beside
 * bin/ ---- */

/* The path of the program or library `name` beside this program's own file, beside the library that
 * this is in, or in ../lib of the program, if there is one, else its name alone, for PATH or the loader
 * to find. */
const char *beside(const char *name, char path[PATH_MAX]);

/* Is this program installed, in a folder bin/, and not where it was built? */
bool beside_installed(void);

#endif
