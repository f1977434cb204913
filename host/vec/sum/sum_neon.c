/* sum_neon.c : sums codes with NEON. sum_step.h's tables add 16 codes of m <= 2 at a time.
 * add_neon() adds halves and other 8-bit codes. sum_exact_neon() makes all sums that
 * sum_exact_plan() accepts. */
#include "vec/vec_isa.h"
#ifdef VEC_ARM
#include "vec/sum/sum_neon.h"
#include "vec/sum/sum_body.h"

#define ADD_INLINE static inline __attribute__((always_inline))

enum { LANES = 16 };

/* a format's tables and constants in registers */
struct step_neon {
    int8x16_t renumber, back, beyond;
    int8x16x4_t same, differ;
    uint8x16_t minus_one;
    int inf, nan;
};

ADD_INLINE struct step_neon step_neon(const struct sum_step_fmt *f)
{
    const struct sum_step *t = f->step;
    struct step_neon s = {.renumber = vld1q_s8(t->renumber),
                          .back = vld1q_s8(t->back),
                          .beyond = vdupq_n_s8((int8_t)f->beyond),
                          .minus_one = vld1q_u8(t->minus_one),
                          .inf = f->inf,
                          .nan = f->nan};
    for (int row = 0; row < 4; row++) {
        s.same.val[row] = vld1q_s8(t->same[row]);
        s.differ.val[row] = vld1q_s8(t->differ[row]);
    }
    return s;
}

/* magnitudes and, in bit 7, signs; bits 0..6 of the latter are not used */
struct lanes {
    uint8x16_t mag, sign;
};

/* x or y may be inf or nan. Signs of nans in *sign are cleared. */
ADD_INLINE int8x16_t with_specials(const struct step_neon *s, struct lanes x, struct lanes y,
                                   int8x16_t mag, uint8x16_t *sign)
{
    const uint8x16_t inf = vdupq_n_u8((uint8_t)s->inf);
    const uint8x16_t x_inf = vcgeq_u8(x.mag, inf), y_inf = vcgeq_u8(y.mag, inf),
                     clash = vandq_u8(vandq_u8(x_inf, y_inf), veorq_u8(x.sign, y.sign));
    const uint8x16_t nan = vorrq_u8(vorrq_u8(vcgtq_u8(x.mag, inf), vcgtq_u8(y.mag, inf)),
                                    vcltzq_s8(vreinterpretq_s8_u8(clash)));
    *sign = vbicq_u8(*sign, nan);
    return vbslq_s8(nan, vdupq_n_s8((int8_t)s->nan),
                    vbslq_s8(vorrq_u8(x_inf, y_inf), s->beyond, mag));
}

/* vqtbl*() give 0 for indices beyond the table. */
ADD_INLINE uint8x16_t add16(const struct step_neon *s, bool trunc, struct lanes x, struct lanes y)
{
    const int8x16_t xr = vaddq_s8(vreinterpretq_s8_u8(x.mag), vqtbl1q_s8(s->renumber, x.mag)),
                    yr = vaddq_s8(vreinterpretq_s8_u8(y.mag), vqtbl1q_s8(s->renumber, y.mag));
    const int8x16_t big = vmaxq_s8(xr, yr);
    const uint8x16_t apart = vreinterpretq_u8_s8(vabdq_s8(xr, yr)),
                     far = vcgtq_u8(apart, vdupq_n_u8(15)), ubig = vreinterpretq_u8_s8(big),
                     differ = veorq_u8(x.sign, y.sign);
    /* bits 0 and 1: the table's row, bit 2: the table */
    const uint8x16_t row = vbslq_u8(vdupq_n_u8(3), ubig, vshrq_n_u8(differ, 5));
    const uint8x16_t at = vorrq_u8(vsliq_n_u8(apart, row, 4), far);
    int8x16_t step =
        vorrq_s8(vqtbl4q_s8(s->same, at), vqtbl4q_s8(s->differ, veorq_u8(at, vdupq_n_u8(0x40))));
    if (trunc) {
        const uint8x16_t until = vqtbl1q_u8(s->minus_one, vandq_u8(ubig, vdupq_n_u8(3))),
                         near = vandq_u8(far, vcltq_u8(apart, until));
        const int8x16_t signs = vreinterpretq_s8_u8(vandq_u8(near, differ));
        step = vorrq_s8(step, vshrq_n_s8(signs, 7));
    }
    int8x16_t mag = vqaddq_s8(big, step);
    const int8x16_t four = vdupq_n_s8(4),
                    low = vqtbl1q_s8(s->back, vreinterpretq_u8_s8(vaddq_s8(mag, four)));
    mag = vminq_s8(vbslq_s8(vcltq_s8(mag, four), low, mag), s->beyond);
    uint8x16_t sign = vbslq_u8(vcgtq_u8(y.mag, x.mag), y.sign, x.sign);
    if (__builtin_expect(vmaxvq_s8(big) >= s->inf, 0))
        mag = with_specials(s, x, y, mag, &sign);
    const uint8x16_t code = vbslq_u8(vdupq_n_u8(0x80), sign, vreinterpretq_u8_s8(mag));
    return vandq_u8(code, vtstq_s8(mag, mag)); /* zero has no sign */
}

ADD_INLINE void add_lanes(const struct step_neon *s, bool trunc, uint8_t *acc, const uint8_t *codes)
{
    const uint8x16_t a = vld1q_u8(acc), b = vld1q_u8(codes), all = vdupq_n_u8(0x7f);
    const struct lanes x = {vandq_u8(a, all), a}, y = {vandq_u8(b, all), b};
    vst1q_u8(acc, add16(s, trunc, x, y));
}

ADD_INLINE void add_bytes(struct sum_step_fmt f, bool trunc, uint8_t *acc, const uint8_t *codes,
                          size_t n)
{
    const struct step_neon s = step_neon(&f);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        add_lanes(&s, trunc, acc + i, codes + i);
    if (i < n) {
        uint8_t a[LANES] = {0}, b[LANES] = {0};
        memcpy(a, acc + i, n - i);
        memcpy(b, codes + i, n - i);
        add_lanes(&s, trunc, a, b);
        memcpy(acc + i, a, n - i);
    }
}

static bool add_first(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n)
{
    return add_neon(sum, acc, codes, n) || add_nibble_neon(sum, acc, codes, n);
}

#define SUM_ADD_FIRST  add_first
#define SUM_FIRST      sum_nibble_neon
#define SUM_NAME(what) sum_neon_##what
#define SUM_EXACT      sum_exact_neon
#define SUM_WIDE(way)  sum_##way##_wide_neon
#include "vec/sum/sum_fast_body.h"
#endif
