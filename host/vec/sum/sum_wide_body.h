/* sum_wide_body.h : sums packed codes to wide words, and wide words to codes.
 *
 * The including file defines
 *
 *     WIDE_NAME(way)                    the functions' names; way: to, of
 *     WIDE_FLOATS, WIDE_ZERO            a vector of LANES / 4 floats; its zero
 *     WIDE_CODES                        a vector of codes
 *     WIDE_ROOM                         this many words take at least WIDE_SLACK bytes, and the
 *                                       bytes that additions read beyond a block
 *     store_words(), store_long_words() convert sums of one and two windows to words
 *     add_words(), add_long_words()     add words of one and two windows to sums
 *     word_places()                     makes the constants of these four
 *     round_all(), round_long_sums()    round sums of one and two windows to codes */
#ifndef SUM_WIDE_BODY_H
#define SUM_WIDE_BODY_H
#include "vec/fp_mode.h"

EXACT_INLINE void all_to_wide(struct sum_exact plan, bool two, bool nibbles, int bits,
                              const uint8_t *const *parts, int n_parts, size_t n, uint8_t *wide)
{
    uint8_t rest[WIDE_BLOCK + WIDE_SLACK] = {0};
    const struct word_places places = word_places(bits);
    WIDE_FLOATS low[4], high[4];
    plan.two = two;
    plan.nibbles = nibbles;
    for (size_t i = 0; i < n; i += LANES) {
        const bool last = n - i < LANES + WIDE_ROOM; /* no room for the slack */
        const size_t k = n - i < LANES ? n - i : LANES;
        uint8_t *to = wide + i / 8 * (size_t)bits;
        add_parts(&plan, parts, n_parts, i, k, low, high);
        if (two)
            store_long_words(&plan, low, high, bits, &places, last ? rest : to);
        else
            store_words(&plan, low, bits, &places, last ? rest : to);
        if (last) {
            const size_t n_bits = k * (size_t)bits;
            rest[n_bits / 8] &= (uint8_t)((1u << n_bits % 8) - 1);
            memcpy(to, rest, (n_bits + 7) / 8);
        }
    }
}

EXACT_INLINE void all_of_wide(const struct sum_exact *plan, bool two, int bits,
                              const uint8_t *const *wides, int n_parts, size_t n, uint8_t *codes)
{
    uint8_t rest[WIDE_BLOCK + WIDE_SLACK] = {0};
    const struct word_places places = word_places(bits);
    for (size_t i = 0; i < n; i += LANES) {
        const bool last = n - i < LANES + WIDE_ROOM;
        const size_t k = n - i < LANES ? n - i : LANES;
        int64_t long_sums[LANES] = {0};
        float special[LANES] = {0};
        WIDE_FLOATS sums[4];
        WIDE_CODES c[4];
        for (int j = 0; j < 4; j++)
            sums[j] = WIDE_ZERO;
        for (int r = 0; r < n_parts; r++) {
            const uint8_t *from = wides[r] + i / 8 * (size_t)bits;
            if (last)
                from = memcpy(rest, from, (k * (size_t)bits + 7) / 8);
            if (two)
                add_long_words(from, bits, &places, long_sums, special);
            else
                add_words(plan, from, bits, &places, sums);
        }
        if (two)
            round_long_sums(plan, long_sums, special, c);
        else
            round_all(plan, sums, c);
        store_codes(plan, c, codes + i * plan->out_width / 8, k);
    }
}

/* Constant arguments give each kind of codes its own loop. */
static __attribute__((noinline)) void to_wide_in_ieee(const struct sum_exact *plan, int bits,
                                                      const uint8_t *const *parts, int n_parts,
                                                      size_t n, uint8_t *wide)
{
    if (plan->two)
        all_to_wide(*plan, true, false, bits, parts, n_parts, n, wide);
    else if (plan->nibbles)
        all_to_wide(*plan, false, true, bits, parts, n_parts, n, wide);
    else
        all_to_wide(*plan, false, false, bits, parts, n_parts, n, wide);
}

static __attribute__((noinline)) void of_wide_in_ieee(const struct sum_exact *plan, int bits,
                                                      const uint8_t *const *wides, int n_parts,
                                                      size_t n, uint8_t *codes)
{
    if (plan->two)
        all_of_wide(plan, true, bits, wides, n_parts, n, codes);
    else
        all_of_wide(plan, false, bits, wides, n_parts, n, codes);
}

/* n_terms: of the whole sum */
static bool wide_plan(const struct vec_sum *sum, int n_terms, struct mf_fmt out, int shift,
                      struct sum_exact *plan)
{
    return sum_exact_plan(sum, n_terms, out, shift, plan) && !plan->halves &&
           plan->out_width <= 16 &&
           mf_wide_bits(sum->in, (unsigned)sum->n_ranks) <= (plan->two ? LONG_MAX : WIDE_MAX);
}

bool WIDE_NAME(to)(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                   uint8_t *wide)
{
    struct sum_exact plan;
    if (!wide_plan(sum, n_parts, sum->in, 0, &plan))
        return false;
    const uint64_t mode = fp_mode_ieee();
    to_wide_in_ieee(&plan, mf_wide_bits(sum->in, (unsigned)sum->n_ranks), parts, n_parts, n, wide);
    fp_mode_back(mode);
    return true;
}

bool WIDE_NAME(of)(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts, size_t n,
                   struct mf_fmt out, int shift, uint8_t *codes)
{
    struct sum_exact plan;
    if (!wide_plan(sum, n_parts * sum->n_ranks, out, shift, &plan))
        return false;
    const uint64_t mode = fp_mode_ieee();
    of_wide_in_ieee(&plan, mf_wide_bits(sum->in, (unsigned)sum->n_ranks), wides, n_parts, n, codes);
    fp_mode_back(mode);
    return true;
}

#endif
