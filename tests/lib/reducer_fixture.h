/* reducer_fixture.h : makes layers of many kinds and a reducer for them. Each rank has all ranks'
 * gradients. */
#ifndef REDUCER_FIXTURE_H
#define REDUCER_FIXTURE_H
#include "check.h"
#include "hls/arith/philox.h"
#include "open_reducer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 8, N_LAYERS = 10, N_MAX = 700 };
enum { SEED = 31337 };

/* ZERO: two layers; ONE_RANK: zero on the others; SUBNORMAL: of fp32 (f > 127); HUGE_VALUES: near
 * the top of fp32. */
enum kind { NORMAL, ZERO, ONE_RANK, SUBNORMAL, HUGE_VALUES };
static const struct {
    size_t n;
    enum kind kind;
    double size;
} shape[N_LAYERS] = {{1, NORMAL, 1},          {7, ZERO, 0},          {8, NORMAL, 1e-3},
                     {9, ONE_RANK, 0.25},     {N_MAX, NORMAL, 3e-2}, {333, SUBNORMAL, 1e-41},
                     {64, HUGE_VALUES, 1e37}, {257, NORMAL, 1e-12},  {40, NORMAL, 1},
                     {5, NORMAL, 0.3}};

static struct {
    struct comm *c;
    int n_ranks, rank;
    float grads[MAX_RANKS][N_LAYERS][N_MAX];
    float mine[N_LAYERS][N_MAX];
    float *at[N_LAYERS];
    struct reducer_layer layers[N_LAYERS];
} t;

/* tame: all formats hold the values unscaled. */
static inline void make_grads(uint32_t step, bool tame)
{
    for (int r = 0; r < t.n_ranks; r++)
        for (int l = 0; l < N_LAYERS; l++) {
            const uint64_t key = philox_key(SEED, step, (uint32_t)l, (uint32_t)r, 1);
            const bool zero =
                shape[l].kind == ZERO || (shape[l].kind == ONE_RANK && r != t.n_ranks / 2);
            const double size = zero ? 0 : tame ? 1 : shape[l].size;
            for (size_t i = 0; i < shape[l].n; i++) {
                double u = (double)philox_u32(key, 2 * i) / 4294967296.0 - 0.5,
                       v = (double)philox_u32(key, 2 * i + 1) / 4294967296.0;
                t.grads[r][l][i] = (float)(size * u * v * v * 2);
            }
        }
}

static inline void take_mine(void)
{
    for (int l = 0; l < N_LAYERS; l++)
        memcpy(t.mine[l], t.grads[t.rank][l], sizeof t.mine[l]);
}

static inline bool mine_unchanged(void)
{
    bool same = true;
    for (int l = 0; l < N_LAYERS; l++)
        same = same && memcmp(t.mine[l], t.grads[t.rank][l], sizeof t.mine[l]) == 0;
    return same;
}

static inline struct reducer *open_reducer(const struct codec_spec *spec, const char *algo_word,
                                           size_t bucket_bytes, struct codec *codec)
{
    const struct reducer_words words = {
        .codec = *spec, .algo = algo_word, .bucket_bytes = bucket_bytes};
    return open_reducer_of(t.c, &words, t.layers, N_LAYERS, codec);
}

static inline struct reducer_step run(struct reducer *r, uint64_t step)
{
    struct reducer_step s = {.skipped = true};
    take_mine();
    CHECK(reducer_run(r, step, t.at, &s) == 0, "step %d", (int)step);
    CHECK(s.skipped || comm_check_equal(t.c, t.mine, sizeof t.mine, "the mean") == 0, "step %d",
          (int)step);
    return s;
}

static inline void reducer_fixture_open(void)
{
    t.c = open_ranks(SEED, &t.n_ranks, &t.rank);
    for (int l = 0; l < N_LAYERS; l++) {
        t.layers[l] = (struct reducer_layer){.name = "layer", .n = shape[l].n};
        t.at[l] = t.mine[l];
    }
}
#endif
