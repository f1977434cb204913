/* source_words.h : parses the spec of generated data. */
#ifndef SOURCE_WORDS_H
#define SOURCE_WORDS_H
#include <stdint.h>

enum { SOURCE_N_MIN = 40, SOURCE_N_MAX = 1000000 };

/* Parse "n,seed": n training images, a multiple of `multiple` in SOURCE_N_MIN..SOURCE_N_MAX; arg
 * NULL: leave *n and *seed. name: the source's. Returns 0 or -EINVAL (reported). */
int source_words(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed);

#endif
