/* cast_slots.h : defines the slots encode, scan_encode and decode of vec.h, which pass the
 * including file's `loops` to cast_drive.c.
 *
 * Includers that define UNCAST_SCALED also get encode_scaled and decode_scaled for codes of 4 and 8
 * bits, and provide:
 *
 *     STEP               elements per step
 *     scaled_loop()      casts x[i] * by[i / 8]. n: a multiple of STEP
 *     UNCAST_SCALED()    x[i] = value(codes[i]) * by[i / 8], likewise
 *
 * The last elements are copied to a step of their own. */
#ifndef CAST_SLOTS_H
#define CAST_SLOTS_H
#include "vec/cast/cast_drive.h"
#include "vec/fp_mode.h"

static uint32_t slot_scan_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at,
                                 int shift, uint8_t *codes)
{
    return cast_encode(&loops, cast, x, n, at, shift, codes);
}

static void slot_encode(const struct vec_cast *cast, const float *x, size_t n, size_t at, int shift,
                        uint8_t *codes)
{
    cast_encode(&loops, cast, x, n, at, shift, codes);
}

static void slot_decode(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift, float divisor,
                        float *x)
{
    cast_decode(&loops, fmt, codes, n, shift, divisor, x);
}

#ifdef UNCAST_SCALED
static __attribute__((noinline)) void scaled_in_ieee(const struct enc_plan *p,
                                                     enum cast_shape shape, const float *x,
                                                     size_t n, const float *by, uint8_t *codes)
{
    const struct enc_plan plan = *p; /* stays in registers, as codes cannot alias it */
    if (shape == CAST_8)
        scaled_loop(&plan, CAST_8, x, n, by, codes);
    else
        scaled_loop(&plan, CAST_4, x, n, by, codes);
}

static void encode_last(const struct enc_plan *p, enum cast_shape shape, const float *x, size_t n,
                        const float *by, uint8_t *codes)
{
    float in[STEP] = {0}, factors[STEP / 8] = {0};
    uint8_t out[STEP];
    memcpy(in, x, n * sizeof *x);
    memcpy(factors, by, (n + 7) / 8 * sizeof *by);
    scaled_in_ieee(p, shape, in, STEP, factors, out);
    memcpy(codes, out, cast_shape_bytes(shape, n));
}

static void decode_last(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                        size_t n, const float *by, float *x)
{
    uint8_t in[STEP] = {0};
    float out[STEP], factors[STEP / 8] = {0};
    memcpy(in, codes, cast_shape_bytes(shape, n));
    memcpy(factors, by, (n + 7) / 8 * sizeof *by);
    UNCAST_SCALED(p, shape, in, STEP, factors, out);
    memcpy(x, out, n * sizeof *x);
}

static bool slot_encode_scaled(const struct vec_cast *cast, const float *x, size_t n, int shift,
                               const float *by, uint8_t *codes)
{
    const struct enc_plan p = enc_plan_make(cast->fmt, cast->round, cast->overflow, shift);
    const unsigned width = mf_width(cast->fmt);
    const enum cast_shape shape = width == 8 ? CAST_8 : CAST_4;
    const size_t last = n % STEP, i = n - last;
    if (cast->trunc || p.way != ENC_ADD || (width != 8 && width != 4))
        return false;
    const uint64_t mode = fp_mode_ieee();
    scaled_in_ieee(&p, shape, x, i, by, codes);
    if (last)
        encode_last(&p, shape, x + i, last, by + i / 8, codes + cast_shape_bytes(shape, i));
    fp_mode_back(mode);
    return true;
}

static bool slot_decode_scaled(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift,
                               float divisor, const float *by, float *x)
{
    const struct dec_plan p = dec_plan_make(fmt, shift, divisor);
    const unsigned width = mf_width(fmt);
    const enum cast_shape shape = width == 8 ? CAST_8 : CAST_4;
    const size_t last = n % STEP, i = n - last;
    if (width != 8 && width != 4)
        return false;
    const uint64_t mode = fp_mode_ieee();
    UNCAST_SCALED(&p, shape, codes, i, by, x);
    if (last)
        decode_last(&p, shape, codes + cast_shape_bytes(shape, i), last, by + i / 8, x + i);
    fp_mode_back(mode);
    return true;
}
#endif

#endif
