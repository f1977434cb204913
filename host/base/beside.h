/* beside.h : programs that are built together lie in one folder; installed, libraries lie in lib/ beside
 * bin/. */
#ifndef BESIDE_H
#define BESIDE_H
#include <limits.h>
#include <stdbool.h>

/* The path of the program or library `name` beside this program's own file, beside the library that
 * this is in, or in ../lib of the program, if there is one, else its name alone, for PATH or the loader
 * to find. */
const char *beside(const char *name, char path[PATH_MAX]);

/* Is this program installed, in a folder bin/, and not where it was built? */
bool beside_installed(void);

#endif
