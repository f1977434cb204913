/* open_reducer.h : opens ranks, memory, and a reducer from options as a job does, or exits. */
#ifndef OPEN_REDUCER_H
#define OPEN_REDUCER_H
#include "reduce/reducer.h"
#include <stdio.h>
#include <stdlib.h>

/* Rank 0 prints the seed. */
static inline struct comm *open_ranks(int seed, int *n_ranks, int *rank)
{
    struct comm *c;
    if (comm_open(120, &c) < 0)
        exit(1);
    *n_ranks = comm_n_ranks(c);
    *rank = comm_rank(c);
    if (*rank == 0)
        printf("seed %d\n", seed);
    return c;
}

/* n zeros */
static inline float *floats(size_t n)
{
    float *x = calloc(n, sizeof *x);
    if (!x)
        exit(1);
    return x;
}

struct reducer_words {
    struct codec_spec codec;
    const char *algo;
    size_t bucket_bytes;
    bool overlap;
    uint64_t seed;
};

/* layers [n_layers]. codec: may be NULL. */
static inline struct reducer *open_reducer_of(struct comm *c, const struct reducer_words *words,
                                              const struct reducer_layer *layers, int n_layers,
                                              struct codec *codec)
{
    const struct algo *algo;
    struct codec here, *out = codec ? codec : &here;
    struct reducer *r = NULL;
    int k;
    if (codec_parse(&words->codec, out) < 0 ||
        algo_find(words->algo, comm_n_ranks(c), &algo, &k) < 0)
        exit(1);
    out->seed = words->seed ? words->seed : out->seed;
    const struct reducer_spec spec = {.comm = c,
                                      .codec = out,
                                      .algo = algo,
                                      .group = k,
                                      .bucket_bytes = words->bucket_bytes,
                                      .layers = layers,
                                      .n_layers = n_layers};
    if (algo_settle(algo, k, comm_n_ranks(c), out) < 0 || reducer_open(&spec, &r) < 0 ||
        reducer_set_overlap(r, words->overlap) < 0)
        exit(1);
    return r;
}

#endif
