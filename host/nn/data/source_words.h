/* source_words.h : what generated data are asked for. */
#ifndef SOURCE_WORDS_H
#define SOURCE_WORDS_H
#include <stdint.h>

enum { SOURCE_N_MIN = 40, SOURCE_N_MAX = 1000000 };

/* arg: "n,seed", n training images, a multiple of `multiple`, SOURCE_N_MIN..SOURCE_N_MAX; NULL:
 * leaves *n and *seed. name: of the source. Returns 0 or -EINVAL with a line. */
int source_words(const char *name, const char *arg, unsigned multiple, uint64_t *n, uint64_t *seed);

#endif
