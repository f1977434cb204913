/* plugin.h : a shared object of ours that is loaded when it is asked for, because it needs libraries
 * that not every machine has. */
#ifndef PLUGIN_H
#define PLUGIN_H
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct plugin {
    const char *library;     /* "libnarrowcast_cuda.so" */
    const char *environment; /* the variable that may name another file */
    const char *where;       /* "where nvcc is": where `make` builds it */
};

enum { PLUGIN_WHY_BYTES = 384 };

/* The file to load: what the environment names, or what lies beside the program, or the library's name
 * for the loader to find. Returns 0, or -ENOENT with why [PLUGIN_WHY_BYTES]: what is named cannot be
 * read. *beside: it is the second. */
int plugin_find(const struct plugin *p, char path[PATH_MAX], bool *beside, char *why);

/* dlopen() of such a path. Returns 0, or with why [PLUGIN_WHY_BYTES] -ENOENT (there is none) or
 * -ELIBACC (it lacks something). */
int plugin_open(const struct plugin *p, const char *path, void **handle, char *why);

#endif
