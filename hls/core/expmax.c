/* expmax.c : finds the largest magnitude and the exponent of a block of fp32, 16 values per
 * clock. */
#include "hls/core/expmax.h"

/* Magnitudes are compared as bits: inf and nan are above all finite values. */
static uint32_t absmax_of(struct beat b, uint32_t left, uint32_t so_far)
{
    uint32_t max = so_far;
    for (uint32_t i = 0; i < 16u; i++) {
        uint32_t mag = i < left ? b.w[i] & 0x7fffffffu : 0u;
        max = mag > max ? mag : max;
    }
    return max;
}

static int32_t exponent_of(uint32_t absmax, uint32_t n_ranks)
{
    if (absmax == 0u)
        return EXPMAX_ALL_ZERO;
    if (absmax >= 0x7f800000u)
        return EXPMAX_NOT_FINITE;
    int e = mf_exp_up_times(absmax, n_ranks);
    return e > EXPMAX_MAX ? EXPMAX_MAX : e < -EXPMAX_MAX ? -EXPMAX_MAX : e;
}

void expmax_kernel(const struct beat *x, uint32_t n, uint32_t n_ranks, int32_t *exponent,
                   uint32_t *absmax, uint32_t *status)
{
#pragma HLS INTERFACE m_axi port = x bundle = gmem0 offset = slave max_read_burst_length = 64
#pragma HLS INTERFACE s_axilite port = n
#pragma HLS INTERFACE s_axilite port = n_ranks
#pragma HLS INTERFACE m_axi port = exponent bundle = gmem1 offset = slave
#pragma HLS INTERFACE m_axi port = absmax bundle = gmem1 offset = slave
#pragma HLS INTERFACE m_axi port = status bundle = gmem1 offset = slave
#pragma HLS INTERFACE s_axilite port = return
#pragma HLS AGGREGATE variable = x compact = bit
    uint32_t max = 0u, n_beats = n / 16u + (n % 16u != 0u ? 1u : 0u);
beats:
    for (uint32_t i = 0; i < n_beats; i++) {
#pragma HLS PIPELINE II = 1
        max = absmax_of(x[i], n - 16u * i, max);
    }
    *exponent = n_ranks != 0u ? exponent_of(max, n_ranks) : 0;
    *absmax = max;
    *status = n_ranks != 0u ? 0u : (uint32_t)EXPMAX_REFUSED;
}
