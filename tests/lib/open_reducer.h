/* open_reducer.h : opens a reducer from options as a job does, or exits. */
#ifndef OPEN_REDUCER_H
#define OPEN_REDUCER_H
#include "reduce/reducer.h"
#include <stdlib.h>

struct reducer_words {
    struct codec_spec codec;
    const char *algo;
    size_t bucket_bytes;
    bool overlap;
    uint64_t seed;
};

/* layers [n_layers]. *group: set to K if the algorithm is NAME:K, else to 0; may be NULL. */
static inline struct reducer *open_reducer_of(struct comm *c, const struct reducer_words *words,
                                              const struct reducer_layer *layers, int n_layers,
                                              int *group)
{
    const struct algo *algo;
    struct codec codec;
    struct reducer *r = NULL;
    int k;
    if (codec_parse(&words->codec, &codec) < 0 ||
        algo_find(words->algo, comm_n_ranks(c), &algo, &k) < 0)
        exit(1);
    codec.seed = words->seed;
    if (algo_settle(algo, k, comm_n_ranks(c), &codec) < 0 ||
        reducer_open(c, &codec, algo, k, words->bucket_bytes, layers, n_layers, &r) < 0 ||
        reducer_set_overlap(r, words->overlap) < 0)
        exit(1);
    if (group)
        *group = k;
    return r;
}

#endif
