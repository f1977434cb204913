/* sum_x86.h : Declares the x86 sums, and selects the formats that the step tables add. */
#ifndef SUM_X86_H
#define SUM_X86_H
#include "vec/sum/sum_exact.h"
#include "vec/sum/sum_step.h"
#include "vec/vec.h"
#include <immintrin.h>

/* A format's constants for the step tables. Codes of every width have their sign in bit 7. */
struct sum_step_fmt {
    const struct sum_step *step;
    int inf, beyond, nan; /* magnitudes */
};

/* Returns false, except for formats of 8 and 4 bits with m <= 2. */
static inline bool sum_step_fmt(const struct vec_sum *sum, struct sum_step_fmt *out)
{
    const struct mf_fmt f = sum->in;
    const bool trunc = sum->rule == VEC_TRUNC;
    if ((mf_width(f) != 8 && mf_width(f) != 4) || f.m > 2 || f.flavour != MF_IEEE)
        return false;
    out->step = trunc ? &sum_step_trunc : &sum_step_nearest[f.m];
    out->inf = (int)mf_inf(f);
    out->beyond = (int)(trunc || sum->overflow == MF_SATURATE ? mf_max(f) : mf_inf(f));
    out->nan = (int)mf_nan(f) - trunc; /* trunc's own nan */
    return true;
}

/* other 8-bit formats: rounded sums of two are made as exact sums of two */
static inline bool sum_exact_add_plan(const struct vec_sum *sum, struct sum_exact *out)
{
    const struct vec_sum exact = {.rule = VEC_EXACT, .overflow = sum->overflow, .in = sum->in};
    return sum->rule == VEC_NEAREST && mf_width(sum->in) == 8 && sum->in.m > 2 &&
           sum_exact_plan(&exact, 2, sum->in, 0, out);
}

/* plan: made for n_parts */
void sum_exact_avx2(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                    size_t n, uint8_t *codes);
void sum_exact_avx512(const struct sum_exact *plan, const uint8_t *const *parts, int n_parts,
                      size_t n, uint8_t *codes);

/* vec_ops' sum_to_wide and sum_of_wide, for AVX2 and above */
bool sum_to_wide_avx2(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                      uint8_t *wide);
bool sum_of_wide_avx2(const struct vec_sum *sum, const uint8_t *const *wides, int n_parts, size_t n,
                      struct mf_fmt out, int shift, uint8_t *codes);

/* AVX-512's slots, which VBMI uses for sums that it does not speed up */
void sum_avx512_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n);
void sum_avx512_sum(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts, size_t n,
                    struct mf_fmt out, int shift, uint8_t *codes);

#endif
