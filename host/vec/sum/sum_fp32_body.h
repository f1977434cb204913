/* sum_fp32_body.h : Sums fp32 or bf16 codes in fp32 (VEC_FP32), for sum_body.h. */
#ifndef SUM_FP32_BODY_H
#define SUM_FP32_BODY_H

static bool body_is_fp32(const struct vec_sum *sum, struct mf_fmt out)
{
    return BODY_LITTLE && sum->rule == VEC_FP32 && sum->in.e == 8 && out.e == 8 &&
           (sum->in.m == 23 || sum->in.m == 7) && sum->in.m == out.m;
}

BODY_INLINE void body_load_fp32(unsigned width, const uint8_t *codes, size_t n, float *x)
{
    uint16_t halves[BODY_BLOCK];
    memcpy(width == 16 ? (void *)halves : (void *)x, codes, n * width / 8);
    for (size_t j = 0; j < n && width == 16; j++)
        x[j] = lane_f32((uint32_t)halves[j] << 16);
}

/* No sum is -0. A bf16 is the upper half of an fp32; a carry out of its mantissa gives the next
 * exponent, or inf. */
BODY_INLINE void body_store_fp32(unsigned width, uint32_t beyond, const float *sums, size_t n,
                                 uint8_t *codes)
{
    const unsigned drop = 32 - width;
    const uint32_t half = width == 16 ? 0x7fff : 0, sign = 0x80000000 >> drop;
    uint32_t words[BODY_BLOCK];
    uint16_t halves[BODY_BLOCK];
    for (size_t j = 0; j < n; j++) {
        const uint32_t bits = lane_u32(sums[j]), mag = bits & 0x7fffffff;
        const uint32_t up = width == 16 ? half + (mag >> drop & 1) : 0, r = (mag + up) >> drop;
        const uint32_t over = lane_above32(r, (0x7f800000u >> drop) - 1);
        const uint32_t kept = lane_pick32(over, beyond, r);
        const uint32_t code = kept | (bits >> drop & sign);
        words[j] = lane_pick32(lane_above32(mag, 0x7f800000), 0x7fffffff >> drop, code);
    }
    for (size_t j = 0; j < n && width == 16; j++)
        halves[j] = (uint16_t)words[j];
    memcpy(codes, width == 16 ? (void *)halves : (void *)words, n * width / 8);
}

BODY_INLINE void body_sum_as(unsigned width, const struct vec_sum *sum, const uint8_t *const *parts,
                             int n_parts, size_t n, uint8_t *codes)
{
    const uint32_t beyond = sum->overflow == MF_SATURATE ? mf_max(sum->in) : mf_inf(sum->in);
    const size_t bytes = width / 8;
    float acc[BODY_BLOCK], x[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        memset(acc, 0, sizeof acc);
        for (int p = 0; p < n_parts; p++) {
            body_load_fp32(width, parts[p] + bytes * i, m, x);
            for (size_t j = 0; j < m; j++)
                acc[j] += x[j];
        }
        body_store_fp32(width, beyond, acc, m, codes + bytes * i);
    }
}

BODY_APART void body_sum_fp32(const struct vec_sum *sum, const uint8_t *const *parts, int n_parts,
                              size_t n, uint8_t *codes)
{
    if (sum->in.m == 7)
        body_sum_as(16, sum, parts, n_parts, n, codes);
    else
        body_sum_as(32, sum, parts, n_parts, n, codes);
}

#endif
