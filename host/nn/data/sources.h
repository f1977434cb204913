/* sources.h : declares the loader of each source of samples, and the parser of generated ones. */
#ifndef SOURCES_H
#define SOURCES_H
#include "nn/data/dataset.h"
#include <stdint.h>

/* Fill sizes, samples and kind (d->samples) of the zeroed *d, which owns memory allocated before a
 * failure. arg: the spec after the colon, or NULL. Returns 0 or -errno (reported). */
#define SOURCE(name, more, form, target, means) int name##_load(const char *arg, struct dataset *d);
#include "nn/data/sources.def"
#undef SOURCE

enum { SOURCE_N_MIN = 40, SOURCE_N_MAX = 1000000 };

/* Parse "n,seed" of generated data. n: training images, a multiple of `multiple` from SOURCE_N_MIN
 * to SOURCE_N_MAX. arg NULL leaves *n and *seed unchanged. name: of the source. Returns 0 or
 * -EINVAL (reported). */
int source_spec(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed);

/* Cut ",NUMBER" off the end of a spec. Returns the number, or -1 if there is none. */
long source_cut_number(char *spec);

#endif
