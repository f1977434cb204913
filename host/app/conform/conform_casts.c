/* conform_casts.c : plays vectors of casts to a library: nc_cast() and nc_uncast(). */
#include "app/conform/conform_library.h"
#include "base/bits.h"
#include "base/err.h"
#include "hls/arith/level.h"
#include "vec/pack.h"
#include <math.h>
#include <string.h>

static float in[CONFORM_N];
static uint8_t bytes[4 * CONFORM_N], wanted[4 * CONFORM_N];

static int compare_bytes(struct conform_play *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != wanted[i])
            return conform_compare(p, "a byte of nc_cast", &(uint32_t){bytes[i]},
                                   &(uint32_t){wanted[i]}, 1, false);
    return CONFORM_PASSED;
}

/* Cast x [n] to codes [n] of the vector. */
static int casts(struct conform_play *p, size_t n)
{
    static uint32_t got[CONFORM_N];
    const unsigned width = mf_width(p->format);
    const int64_t n_bytes = ((int64_t)n * width + 7) / 8;
    double scale = 0;
    memcpy(in, p->x, n * sizeof *p->x);
    int64_t rc = p->call.nc_cast(&p->options, NULL, n, NULL, NULL);
    if (rc != n_bytes)
        return conform_returns(p, "nc_cast without codes", rc, n_bytes);
    rc = p->call.nc_cast(&p->options, in, n, &scale, bytes);
    if (rc != n_bytes)
        return conform_returns(p, "nc_cast", rc, n_bytes);
    if (scale != ldexp(1, p->shift))
        return conform_returns(p, "log2 of nc_cast's scale", lrint(log2(scale)), p->shift);
    pack_read(width, bytes, n, got);
    pack_write(width, p->codes, n, wanted);
    const int result = conform_compare(p, "nc_cast", got, p->codes, n, false);
    return result == CONFORM_PASSED ? compare_bytes(p, (size_t)n_bytes) : result;
}

int conform_cast(struct conform_play *p)
{
    char scale[CONFORM_WORD];
    if (!p->n_x || p->n_codes != p->n_x || !p->options.format || !p->options.round)
        return conform_malformed(p->in);
    if (!strcmp(p->options.round, "stochastic"))
        return conform_leave(p, conform_no_random);
    if (!conform_power(p, p->shift, scale))
        return conform_leave(p, "no scale has its shift");
    for (size_t i = 0; i < p->n_x && p->format.flavour == MF_NUMBERS; i++)
        if ((p->x[i] & 0x7fffffff) >= 0x7f800000)
            p->x[i] = p->codes[i] = 0; /* refused */
    return casts(p, p->n_x);
}

/* The largest number, inf, nan, the smallest normal and -0, each as the cast of an fp32. */
int conform_format(struct conform_play *p)
{
    const struct mf_fmt f = p->format;
    const uint32_t x[] = {0x7f7fffff, 0x7f800000, 0x7fffffff, mf_dec(f, 1u << f.m, 0), 0x80000000};
    if (!p->options.format ||
        conform_words(jsonl_in_value(p->in, "max_inf_nan_normal_sign"), p->codes, 5) != 5)
        return conform_malformed(p->in);
    memcpy(p->x, x, sizeof x);
    if (f.flavour == MF_NUMBERS)
        p->x[1] = p->x[2] = p->codes[1] = p->codes[2] = 0; /* refused */
    p->options.round = "zero";
    p->options.overflow = "inf";
    return casts(p, 5);
}

int conform_refused(struct conform_play *p)
{
    const int64_t rc = p->call.nc_cast(&p->options, NULL, 1, NULL, NULL);
    return rc == -EINVAL ? CONFORM_PASSED : conform_returns(p, "nc_cast", rc, -EINVAL);
}

int conform_uncast(struct conform_play *p)
{
    const size_t n = p->n_x;
    static uint32_t out[CONFORM_N];
    if (!n || p->n_codes != n || !p->options.format)
        return conform_malformed(p->in);
    for (size_t i = 0; i < n; i++)
        p->codes[i] &= (uint32_t)((1ull << mf_width(p->format)) - 1); /* bytes have no bits above */
    pack_write(mf_width(p->format), p->codes, n, bytes);
    const int rc = p->call.nc_uncast(&p->options, bytes, n, ldexp(1, -p->shift), in);
    if (rc)
        return conform_returns(p, "nc_uncast", rc, 0);
    memcpy(out, in, sizeof out);
    return conform_compare(p, "nc_uncast", out, p->x, n, false);
}

/* Casts layers of one element m. aps: P ranks with m have the scale of one with P m. */
int conform_scale(struct conform_play *p)
{
    enum { VALUES = 64 };
    double exponents[VALUES], shifts[VALUES], agreed[VALUES], scale;
    size_t n = conform_words(jsonl_in_value(p->in, "absmax"), p->x, VALUES), n_shifts, zero = 0, k;
    if (!n || !p->options.scale || !jsonl_in_list(p->in, "exponents", exponents, VALUES, &k) ||
        k != n || !jsonl_in_list(p->in, "shifts", shifts, VALUES, &n_shifts) ||
        !jsonl_in_list(p->in, "agreed", agreed, VALUES, &k) || n_shifts != k || !k || k > VALUES)
        return conform_malformed(p->in);
    while (zero + 1 < k && agreed[zero] != 0)
        zero++;
    for (size_t i = 0; i < n; i++) {
        const double m =
            (double)float_of(p->x[i]) * (strcmp(p->options.scale, "aps") ? 1 : p->ranks);
        const float one = (float)m;
        const double shift = strncmp(p->options.scale, "aps", 3) || one == 0
                                 ? shifts[0]
                                 : shifts[zero] - exponents[i];
        if (!isfinite(one) || one != m)
            continue;
        const int64_t rc = p->call.nc_cast(&p->options, &one, 1, &scale, bytes);
        if (rc < 0)
            return conform_returns(p, "nc_cast", rc, 1);
        if (scale != ldexp(1, (int)shift))
            return conform_returns(p, "log2 of nc_cast's scale", lrint(log2(scale)), (int)shift);
    }
    return CONFORM_PASSED;
}

int conform_clip(struct conform_play *p)
{
    uint32_t times, own;
    char codec[CONFORM_WORD];
    double scale = -1;
    if (!p->n_x || conform_words(jsonl_in_value(p->in, "times"), &times, 1) != 1 ||
        conform_words(jsonl_in_value(p->in, "own_max"), &own, 1) != 1)
        return conform_malformed(p->in);
    for (size_t i = 0; i < p->n_x; i++)
        if ((p->x[i] & 0x7fffffff) >= 0x7f800000)
            return conform_leave(p, "nc_cast refuses inf and nan");
    snprintf(codec, sizeof codec, "ternary:clip=%.9g", (double)float_of(times));
    memcpy(in, p->x, sizeof in);
    p->options.codec = codec;
    const int64_t rc = p->call.nc_cast(&p->options, in, p->n_x, &scale, bytes);
    return rc < 0 ? conform_returns(p, "nc_cast", rc, 1)
                  : conform_compare(p, "nc_cast's scale", &(uint32_t){bits_of((float)scale)}, &own,
                                    1, false);
}

int conform_signs(struct conform_play *p)
{
    int column, stride;
    char codec[CONFORM_WORD];
    double scale;
    const int n = conform_bytes(jsonl_in_value(p->in, "codes"), wanted, CONFORM_N);
    if (!p->n_x || n <= 0 || !conform_int(p, "column", &column) ||
        !conform_int(p, "stride", &stride))
        return conform_malformed(p->in);
    if (jsonl_in_value(p->in, "residual") || stride != 1)
        return conform_leave(p, conform_no_residual);
    if (column % LEVEL_BUCKET_UNIT)
        return conform_leave(p, "no codec has its columns");
    snprintf(codec, sizeof codec, "onebit:%d,residual=none", column);
    memcpy(in, p->x, sizeof in);
    p->options.codec = codec;
    const int64_t rc = p->call.nc_cast(&p->options, in, p->n_x, &scale, bytes);
    return rc == n ? compare_bytes(p, (size_t)n) : conform_returns(p, "nc_cast", rc, n);
}

/* Uncasts the first element of a bucket of 32, for each scale. */
int conform_level(struct conform_play *p)
{
    static uint32_t scales[CONFORM_N];
    uint32_t code, out[CONFORM_N];
    int bits;
    char levels[CONFORM_WORD], codec[2 * CONFORM_WORD];
    if (!p->n_x || conform_words(jsonl_in_value(p->in, "scale"), scales, CONFORM_N) != p->n_x ||
        conform_words(jsonl_in_value(p->in, "code"), &code, 1) != 1 ||
        !conform_int(p, "bits", &bits) || !conform_text(p, "levels", levels))
        return conform_malformed(p->in);
    snprintf(codec, sizeof codec, "qsgd:%d,bucket=32,levels=%s", bits, levels);
    p->options.codec = codec;
    p->options.scale = NULL;
    memcpy(bytes + 4, &code, 4);
    for (size_t i = 0; i < p->n_x; i++) {
        memcpy(bytes, &scales[i], 4);
        const int rc = p->call.nc_uncast(&p->options, bytes, 1, (double)float_of(scales[i]), in);
        if (rc)
            return conform_returns(p, "nc_uncast", rc, 0);
        out[i] = bits_of(in[0]);
    }
    return conform_compare(p, "nc_uncast", out, p->x, p->n_x, false);
}
