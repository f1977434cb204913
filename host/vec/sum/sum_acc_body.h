/* sum_acc_body.h : Adds codes to accumulators of another format (vec_sum.acc) for sum_body.h. The
 * format's values include those of the codes, so the additions of sum_lanes.h apply. */
#ifndef SUM_ACC_BODY_H
#define SUM_ACC_BODY_H

BODY_INLINE uint32_t body_add_to(enum body_adder adder, const struct lane_fmt *k,
                                 const struct lane_fmt *from, uint32_t a, uint32_t b)
{
    return adder == BODY_32 ? lane_add_to32(k, from, a, b) : lane_add_to64(k, from, a, b);
}

BODY_INLINE void body_acc_words(enum body_adder adder, struct lane_fmt k, struct lane_fmt from,
                                uint32_t *restrict acc, const uint32_t *restrict codes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        acc[i] = body_add_to(adder, &k, &from, acc[i], codes[i]);
}

/* acc holds pairs, as in body_accumulate_kahan(). */
BODY_INLINE void body_acc_kahan(enum body_adder adder, struct lane_fmt k, struct lane_fmt from,
                                uint32_t *restrict acc, const uint32_t *restrict codes, size_t n)
{
    const uint32_t minus = 1u << k.sign;
    for (size_t i = 0; i < n; i++) {
        const uint32_t s = acc[2 * i],
                       y = body_add_to(adder, &k, &from, acc[2 * i + 1] ^ minus, codes[i]);
        const uint32_t t = body_add(adder, &k, s, y);
        acc[2 * i + 1] = body_add(adder, &k, body_add(adder, &k, t, s ^ minus), y ^ minus);
        acc[2 * i] = t;
    }
}

BODY_APART void body_acc_accumulate(const struct vec_sum *sum, void *acc, const uint8_t *codes,
                                    size_t n)
{
    const bool fits32 = lane_fits32(sum->acc);
    const struct lane_fmt k = (fits32 ? lane_fmt32 : lane_fmt64)(sum->acc, sum->overflow),
                          from = (fits32 ? lane_fmt32 : lane_fmt64)(sum->in, sum->overflow);
    const size_t step = sum->rule == VEC_KAHAN ? 2 : 1;
    uint32_t block[BODY_BLOCK];
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BODY_BLOCK ? n - i : BODY_BLOCK;
        uint32_t *a = (uint32_t *)acc + step * i;
        pack_read(mf_width(sum->in), codes + vec_bytes(sum->in, i), m, block);
        if (step == 2 && fits32)
            body_acc_kahan(BODY_32, k, from, a, block, m);
        else if (step == 2)
            body_acc_kahan(BODY_64, k, from, a, block, m);
        else if (fits32)
            body_acc_words(BODY_32, k, from, a, block, m);
        else
            body_acc_words(BODY_64, k, from, a, block, m);
    }
}

#endif
