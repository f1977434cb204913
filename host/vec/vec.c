/* vec.c : what all backends share: sizes of accumulators and of wide partial sums. */
#include "vec/vec.h"

size_t vec_acc_bytes(const struct vec_sum *sum, size_t n)
{
    switch (sum->rule) {
    case VEC_EXACT:
        return n * sizeof(uint64_t);
    case VEC_KAHAN:
        return n * 2 * sizeof(uint32_t);
    default:
        return n * sizeof(uint32_t);
    }
}

size_t vec_wide_bytes(const struct vec_sum *sum, size_t n)
{
    int bits = mf_acc_bits(sum->in, (unsigned)sum->n_ranks) + 2;
    return n * (size_t)((bits + 7) / 8);
}
