/* counts_c.c : sums numbers -1, 0 and 1 in plain C. */
#include "vec/fp_mode.h"
#include "vec/pack.h"
#include "vec/list/vec_counts.h"
#include <assert.h>

enum { BLOCK = 256 };

static size_t less(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void add(const struct counts_rule *r, bool wide, int32_t *acc, const uint8_t *codes,
                size_t n, bool first)
{
    const uint32_t bits = wide ? r->bits : COUNTS_DRAW_BITS;
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = less(n - i, BLOCK);
        pack_read(bits, codes + i / 8 * bits, k, words);
        for (size_t j = 0; j < k && first; j++)
            acc[i + j] = 0;
        for (size_t j = 0; j < k && wide; j++)
            acc[i + j] += (int32_t)words[j] - r->n_ranks;
        for (size_t j = 0; j < k && !wide; j++) /* code: | negative | not 0 | */
            acc[i + j] += (int32_t)(words[j] & 1) - (int32_t)(words[j] & words[j] >> 1) * 2;
    }
}

static void spill(const struct counts_rule *r, const int32_t *acc, size_t n, uint8_t *codes)
{
    uint32_t words[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = less(n - i, BLOCK);
        for (size_t j = 0; j < k; j++)
            words[j] = (uint32_t)(acc[i + j] + r->n_ranks);
        pack_write(r->bits, words, k, codes + i / 8 * r->bits);
    }
}

static void sum(const struct counts_rule *r, const uint8_t *const *parts, int n_parts, size_t n,
                uint8_t *codes)
{
    int32_t sums[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t k = less(n - i, BLOCK);
        for (int p = 0; p < n_parts; p++)
            add(r, false, sums, parts[p] + i / 8 * COUNTS_DRAW_BITS, k, p == 0);
        spill(r, sums, k, codes + i / 8 * r->bits);
    }
}

/* Not inlined, since it runs in IEEE mode (fp_mode.h). */
static __attribute__((noinline)) void decode_one(const struct counts_rule *r,
                                                 const struct counts_out *out)
{
    const float n_ranks = (float)r->n_ranks;
    uint32_t words[BLOCK];
    float *x = out->x;
    assert(out->type == VEC_FLOAT);
    for (size_t i = 0; i < out->n; i += BLOCK) {
        const size_t k = less(out->n - i, BLOCK);
        pack_read(r->bits, out->codes + i / 8 * r->bits, k, words);
        for (size_t j = 0; j < k; j++)
            x[i + j] = (float)((int32_t)words[j] - r->n_ranks) / n_ranks * out->max;
    }
}

static void decode(const struct counts_rule *r, const struct counts_out *outs, int n_outs)
{
    const uint64_t was = fp_mode_ieee();
    for (int i = 0; i < n_outs; i++)
        decode_one(r, &outs[i]);
    fp_mode_back(was);
}

const struct vec_counts counts_c = {.sum = sum, .add = add, .spill = spill, .decode = decode};
