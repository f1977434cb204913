/* sources.h : declares the loader of each source of samples. */
#ifndef SOURCES_H
#define SOURCES_H
#include "nn/data/dataset.h"

/* Fill sizes, samples and kind (d->samples) of the zeroed *d, which owns memory allocated before a
 * failure. arg: the spec after the colon, or NULL. Returns 0 or -errno (reported). */
#define SOURCE(name, more, form, target, means) int name##_load(const char *arg, struct dataset *d);
#include "nn/data/sources.def"
#undef SOURCE

#endif
