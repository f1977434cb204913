/* sources.h : one loader for each source of samples. */
#ifndef SOURCES_H
#define SOURCES_H
#include "nn/data/dataset.h"

/* Each fills the sizes, the samples and their kind (d->samples) of *d (zeroed). arg: what follows
 * the colon of the spec; NULL where nothing does and nothing must. What has been allocated when it
 * fails belongs to *d as well. Returns 0 or a negative errno with one line. */
#define SOURCE(name, more, form, target, means) int name##_load(const char *arg, struct dataset *d);
#include "nn/data/sources.def"
#undef SOURCE

#endif
