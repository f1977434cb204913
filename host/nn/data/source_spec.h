/* source_spec.h : parses specs of generated data. */
#ifndef SOURCE_SPEC_H
#define SOURCE_SPEC_H
#include <stdint.h>

enum { SOURCE_N_MIN = 40, SOURCE_N_MAX = 1000000 };

/* Parse "n,seed". n: training images, a multiple of `multiple` from SOURCE_N_MIN to SOURCE_N_MAX.
 * arg NULL leaves *n and *seed unchanged. name: of the source. Returns 0 or -EINVAL (reported). */
int source_spec(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed);

#endif
