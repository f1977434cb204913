/* cast_slots.h : defines the slots encode, scan_encode and decode of vec.h, which pass the
 * including file's `loops` to cast_drive.c.
 *
 * Includers that define UNCAST_SCALED also get encode_scaled and decode_scaled for codes of 4 and 8
 * bits, and provide:
 *
 *     STEP               elements per step
 *     scaled_loop()      casts x[i] * by[i / 8]. n: a multiple of STEP
 *     UNCAST_SCALED()    x[i] = value(codes[i]) * by[i / 8], likewise */
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
static __attribute__((noinline)) void scaled_in_ieee(const struct enc_plan *p, unsigned width,
                                                     const float *x, size_t n, const float *by,
                                                     uint8_t *codes)
{
    if (width == 8)
        scaled_loop(p, CAST_8, x, n, by, codes);
    else
        scaled_loop(p, CAST_4, x, n, by, codes);
}

static bool slot_encode_scaled(const struct vec_cast *cast, const float *x, size_t n, int shift,
                               const float *by, uint8_t *codes)
{
    const struct enc_plan p = enc_plan_make(cast->fmt, cast->round, cast->overflow, shift);
    const unsigned width = mf_width(cast->fmt);
    if (cast->trunc || p.way != ENC_ADD || (width != 8 && width != 4) || n % STEP)
        return false;
    const uint64_t mode = fp_mode_ieee();
    scaled_in_ieee(&p, width, x, n, by, codes);
    fp_mode_back(mode);
    return true;
}

static bool slot_decode_scaled(struct mf_fmt fmt, const uint8_t *codes, size_t n, int shift,
                               float divisor, const float *by, float *x)
{
    const struct dec_plan p = dec_plan_make(fmt, shift, divisor);
    const unsigned width = mf_width(fmt);
    if ((width != 8 && width != 4) || n % STEP)
        return false;
    const uint64_t mode = fp_mode_ieee();
    UNCAST_SCALED(&p, width == 8 ? CAST_8 : CAST_4, codes, n, by, x);
    fp_mode_back(mode);
    return true;
}
#endif

#endif
