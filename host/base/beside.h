/* beside.h : programs that are built together lie in one folder. */
#ifndef BESIDE_H
#define BESIDE_H
#include <limits.h>

/* The path of the program `name` beside this program's own file, if there is one, else its name
 * alone, for PATH to find. */
const char *beside(const char *name, char path[PATH_MAX]);

#endif
