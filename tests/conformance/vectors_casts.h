/* vectors_casts.h : vectors of formats, casts, uncasts, random bits and packing. */
#ifndef VECTORS_CASTS_H
#define VECTORS_CASTS_H
#include "base/bits.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include "hls/arith/relative.h"
#include "hls/core/beat.h"
#include "vec/pack.h"
#include "vector_line.h"
#include <math.h>
#include <string.h>

enum { CASTS_MAX = 2048 };

static const char *const cast_formats[] = {"fp32",   "fp16", "bf16", "e5m2",  "e4m3",
                                           "e4m3fn", "e3m0", "e2m1", "e2m1f", "e2m3f",
                                           "e3m2f",  "e1m2", "e6m9", "e2m5",  "e8m0"};
enum { CAST_FORMATS = sizeof cast_formats / sizeof *cast_formats };

static struct mf_fmt format_of(const char *name)
{
    struct mf_fmt f = {0, 0, 0};
    if (codec_format_parse("format", name, &f) < 0)
        abort();
    return f;
}

/* ---- formats ---- */

static void format_lines(void)
{
    static const char *const flavours[] = {"ieee", "fn", "f"};
    static const char *const refused[] = {"e0m2",   "e9m2",  "e5m24",  "e05m2", "e1m0",
                                          "e8m3fn", "e8m3f", "e4m0fn", "E5M2x"};
    char id[64];
    for (int i = 0; i < CAST_FORMATS; i++) {
        const struct mf_fmt f = format_of(cast_formats[i]);
        const int digits = line_digits(f);
        const uint32_t codes[] = {mf_max(f), mf_inf(f), mf_nan(f), 1u << f.m, 1u << (f.e + f.m)};
        snprintf(id, sizeof id, "format/%s", cast_formats[i]);
        line_open(id, "format", f.m == 0 || f.e == 1 ? "R1 R2 R3 R4 R5" : "R1 R2 R3 R4");
        line_text("format", cast_formats[i]);
        line_int("e", f.e);
        line_int("m", f.m);
        line_text("flavour", flavours[f.flavour]);
        line_int("width", (long)mf_width(f));
        line_int("bias", mf_bias(f));
        line_words("max_inf_nan_normal_sign", codes, 5, digits);
        line_close();
    }
    err_hold();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct mf_fmt f;
        if (codec_format_parse("format", refused[i], &f) == 0)
            abort();
        snprintf(id, sizeof id, "format/no-%s", refused[i]);
        line_open(id, "format_refused", "R1");
        line_text("format", refused[i]);
        line_close();
    }
    err_release(false);
}

/* ---- casts ---- */

struct inputs {
    uint32_t x[CASTS_MAX];
    size_t n;
};

static void put_input(struct inputs *in, uint32_t bits)
{
    if (in->n < CASTS_MAX)
        in->x[in->n++] = bits;
}

/* zero, subnormals and limits of fp32, inf, nans */
static void put_edges(struct inputs *in)
{
    static const uint32_t edges[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                                     0x00800000, 0x3f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0xff800001, 0x7fffffff};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        put_input(in, edges[i]);
}

/* A code's value, the middle between it and the next one, and the fp32 beside the middle that is
 * rounded the other way. After the largest number the distance is that before it. */
static void put_around(struct inputs *in, struct mf_fmt f, uint32_t code, bool values)
{
    const double v = (double)float_of(mf_dec(f, code, 0)),
                 next = code < mf_max(f) ? (double)float_of(mf_dec(f, code + 1, 0))
                        : code           ? 2 * v - (double)float_of(mf_dec(f, code - 1, 0))
                                         : 0;
    const float middle = (float)(v + (next - v) / 2);
    const uint32_t bits = bits_of(middle), sign = (code & 1u) << 31;
    if (values)
        put_input(in, bits_of((float)v) | sign);
    if (f.m == 23 || isinf(middle))
        return;
    put_input(in, bits | sign);
    put_input(in, (code & 1u ? bits - 1 : bits + 1) | sign);
}

/* all codes of narrow formats, else those around the borders of binades and 12 others */
static void put_codes(struct inputs *in, struct mf_fmt f, uint32_t step, bool values)
{
    const uint32_t first = 1u << f.m, max = mf_max(f);
    if (mf_width(f) <= 8) {
        for (uint32_t code = 0; code <= max; code += step)
            put_around(in, f, code, values);
        return;
    }
    const uint32_t some[] = {
        0, 1, 2, 3, first - 2, first - 1, first, first + 1, 2 * first - 1, 2 * first, max - 1, max};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i] <= max)
            put_around(in, f, some[i], values);
    for (uint32_t i = 0; i < 12; i++)
        put_around(in, f, (uint32_t)((uint64_t)philox_u32(1, i) * max >> 32), values);
}

static void cast_line(const char *id, const char *rules, const char *name, enum mf_round round,
                      enum mf_overflow overflow, int shift, const struct inputs *in,
                      const uint32_t *random)
{
    static const char *const rounds[] = {"nearest", "stochastic", "zero"};
    static uint32_t codes[CASTS_MAX];
    const struct mf_fmt f = format_of(name);
    for (size_t i = 0; i < in->n; i++)
        codes[i] = mf_enc(f, in->x[i], shift, round, overflow, random ? random[i] : 0);
    line_open(id, "cast", rules);
    line_text("format", name);
    line_text("round", rounds[round]);
    line_text("overflow", overflow == MF_INF ? "inf" : "saturate");
    line_int("shift", shift);
    line_words("x", in->x, in->n, 8);
    if (random)
        line_words("random", random, in->n, 8);
    line_words("codes", codes, in->n, line_digits(f));
    line_close();
}

/* For each x the two random words between which its code changes, if there are such. */
static void put_random(struct inputs *in, uint32_t *random, struct mf_fmt f, uint32_t x)
{
    const uint32_t up = mf_enc(f, x, 0, MF_STOCHASTIC, MF_SATURATE, 0),
                   down = mf_enc(f, x, 0, MF_STOCHASTIC, MF_SATURATE, UINT32_MAX);
    uint32_t low = 0, high = UINT32_MAX; /* up with low, down with high */
    while (up != down && high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (mf_enc(f, x, 0, MF_STOCHASTIC, MF_SATURATE, middle) == up)
            low = middle;
        else
            high = middle;
    }
    random[in->n] = low;
    put_input(in, x);
    random[in->n] = high;
    put_input(in, x);
}

static void stochastic_lines(const char *name)
{
    static struct inputs in;
    static uint32_t random[CASTS_MAX];
    const struct mf_fmt f = format_of(name);
    const uint32_t max = mf_dec(f, mf_max(f), 0), least = mf_dec(f, 1, 0);
    char id[64];
    in.n = 0;
    for (uint32_t i = 0; i < 7; i++) {
        const uint32_t code = (uint32_t)((uint64_t)philox_u32(2, i) * mf_max(f) >> 32);
        put_random(&in, random, f,
                   mf_dec(f, code, 0) + (philox_u32(3, i) >> (f.m + 9u)) + (i & 1u ? 1u << 31 : 0));
    }
    put_random(&in, random, f, max);
    put_random(&in, random, f, max + 1);
    put_random(&in, random, f, least);
    put_random(&in, random, f, least > 1 ? least - 1 : 0);
    put_random(&in, random, f, least > 0x02000000 ? least - 0x01800000 : 1);
    put_random(&in, random, f, least > 0x03000000 ? least - 0x02800000 + 0x2aaaab : 1);
    put_random(&in, random, f, 0x7fc00000);
    put_random(&in, random, f, 0);
    snprintf(id, sizeof id, "cast/%s/stochastic", name);
    cast_line(id, "R11", name, MF_STOCHASTIC, MF_SATURATE, 0, &in, random);
}

static void trunc_line(void)
{
    static struct inputs in;
    static uint32_t codes[CASTS_MAX];
    static const int shifts[] = {0, -3};
    const struct mf_fmt half = mf_half();
    in.n = 0;
    put_edges(&in);
    put_codes(&in, half, 1, false);
    put_codes(&in, mf_e5m2(), 9, true);
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < in.n; i++)
            codes[i] = mf_e5m2_trunc_enc(in.x[i], shifts[s]);
        line_open(s ? "cast/trunc/shift" : "cast/trunc", "cast_trunc", "R16");
        line_int("shift", shifts[s]);
        line_words("x", in.x, in.n, 8);
        line_words("codes", codes, in.n, 2);
        line_close();
    }
}

static void cast_lines(void)
{
    static struct inputs in;
    char id[64];
    for (int i = 0; i < CAST_FORMATS; i++) {
        const char *name = cast_formats[i];
        const struct mf_fmt f = format_of(name);
        in.n = 0;
        put_edges(&in);
        put_codes(&in, f, f.e == 2 && f.m == 5 ? 4 : f.flavour == MF_NO_INF ? 2 : 1, true);
        snprintf(id, sizeof id, "cast/%s/nearest", name);
        cast_line(id, f.m ? "R7 R8 R12 R13 R14 R15" : "R7 R8 R9 R12 R13 R14 R15", name, MF_NEAREST,
                  MF_SATURATE, 0, &in, NULL);
        in.n = 0;
        put_edges(&in);
        put_codes(&in, f, 9, false);
        snprintf(id, sizeof id, "cast/%s/zero", name);
        cast_line(id, "R10 R12 R13", name, MF_ZERO, MF_INF, 0, &in, NULL);
        in.n = 0;
        put_edges(&in);
        for (uint32_t c = mf_max(f) > 2 ? mf_max(f) - 2 : 0; c <= mf_max(f); c++)
            put_around(&in, f, c, true);
        snprintf(id, sizeof id, "cast/%s/inf", name);
        cast_line(id, "R12 R13 R14", name, MF_NEAREST, MF_INF, 0, &in, NULL);
        if (f.m < 23 && f.e < 8)
            stochastic_lines(name);
        if (i % 3 && f.e != 4)
            continue;
        in.n = 0;
        put_edges(&in);
        for (uint32_t c = 0; c < 8 && c <= mf_max(f); c++)
            put_around(&in, f, c, true);
        snprintf(id, sizeof id, "cast/%s/up", name);
        cast_line(id, "R7", name, MF_NEAREST, MF_SATURATE, 140, &in, NULL);
        snprintf(id, sizeof id, "cast/%s/down", name);
        cast_line(id, "R7", name, MF_NEAREST, MF_SATURATE, -9, &in, NULL);
    }
    in.n = 0; /* the product as an fp32 would be a tie */
    put_input(&in, 0x3f800001);
    put_input(&in, 0xbf800001);
    put_input(&in, 0x403fffff);
    cast_line("cast/bf16/once", "R7", "bf16", MF_NEAREST, MF_SATURATE, -134, &in, NULL);
    trunc_line();
}

static void uncast_above_line(void);

static void uncast_lines(void)
{
    static const int shifts[] = {0, 17, -150, 127};
    static uint32_t codes[CASTS_MAX], x[CASTS_MAX];
    char id[64];
    for (int i = 0; i < CAST_FORMATS; i++)
        for (size_t s = 0; s < sizeof shifts / sizeof *shifts; s++) {
            const struct mf_fmt f = format_of(cast_formats[i]);
            const uint32_t all = mf_width(f) < 32 ? 1u << mf_width(f) : 0;
            const bool every = mf_width(f) <= 8 && f.e != 2 && s == 0;
            const size_t n = every ? all : mf_width(f) < 6 ? all : 16;
            for (size_t k = 0; k < n; k++) {
                const uint32_t drawn = philox_u32(4 + s, k);
                codes[k] = n == all ? (uint32_t)k
                           : k == 0 ? mf_max(f)
                           : k == 1 ? mf_inf(f)
                           : k == 2 ? mf_nan(f)
                           : k == 3 ? mf_special(f) + (f.m > 0)
                           : k == 4 ? 1
                           : k == 5 ? 1u << f.m
                           : k == 6 ? mf_nan(f) + 1
                           : k < 11 ? (uint32_t)k - 4
                           : all    ? drawn % all
                                    : drawn;
                codes[k] &= all - 1u;
                x[k] = mf_dec(f, codes[k], shifts[s]);
            }
            snprintf(id, sizeof id, "uncast/%s/%d", cast_formats[i], shifts[s]);
            line_open(id, "uncast", s ? "R17" : "R2 R3 R4 R6 R17");
            line_text("format", cast_formats[i]);
            line_int("shift", shifts[s]);
            line_words("codes", codes, n, line_digits(f));
            line_words("x", x, n, 8);
            line_close();
        }
    uncast_above_line();
}

/* codes in words of 8 bits, whose upper bits are ignored */
static void uncast_above_line(void)
{
    const struct mf_fmt f = format_of("e3m0");
    uint32_t codes[32], x[32];
    for (uint32_t k = 0; k < 32; k++) {
        codes[k] = k * 0x10 % 0xf0 + 0x10 + k % 16;
        x[k] = mf_dec(f, codes[k], 0);
    }
    line_open("uncast/e3m0/above", "uncast", "R2");
    line_text("format", "e3m0");
    line_int("shift", 0);
    line_words("codes", codes, 32, 2);
    line_words("x", x, 32, 8);
    line_close();
}

/* ---- random bits ---- */

/* The keys that a rank has for a layer in a step. */
static void layer_key_lines(void)
{
    static const uint64_t steps[] = {3, 1000, 0x100000003};
    const struct codec_spec spec = {.codec = "qsgd:4"};
    struct codec c;
    char id[64];
    if (codec_parse(&spec, &c) < 0)
        abort();
    for (size_t k = 0; k < 3; k++) {
        const uint32_t layer = 2, rank = 1;
        const uint64_t cast = codec_key(&c, steps[k], layer, rank);
        snprintf(id, sizeof id, "random/layer-%zu", k);
        line_open(id, "layer_keys", "R22");
        line_u64("seed", c.seed);
        line_u64("step", steps[k]);
        line_int("layer", (long)layer);
        line_int("rank", (long)rank);
        line_u64("cast", cast);
        line_u64("sums", philox_key(c.seed, (uint32_t)steps[k], layer, 0, 0x73756d73));
        line_u64("samples", relative_samples_key(cast));
        line_close();
    }
}

static void random_lines(void)
{
    static const uint32_t counters[][6] = {
        {0, 0, 0, 0, 0, 0},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0}};
    static const uint64_t at[] = {0, 1,  2,  3,  4,           7,           8,
                                  9, 15, 16, 31, 0x3ffffffff, 0x400000000, 0x800000007};
    enum { N = sizeof at / sizeof *at };
    uint32_t words[N], bits[N];
    char id[64];
    layer_key_lines();
    for (int i = 0; i < 3; i++) {
        const uint32_t *c = counters[i];
        const struct philox_block block = {{c[0], c[1], c[2], c[3]}};
        const struct philox_block x = philox_rounds(c[4] | (uint64_t)c[5] << 32, block);
        snprintf(id, sizeof id, "random/block-%d", i);
        line_open(id, "philox_block", "R18");
        line_u64("key", c[4] | (uint64_t)c[5] << 32);
        line_words("counter", c, 4, 8);
        line_words("block", x.w, 4, 8);
        line_close();
    }
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t seed = i ? 0x1122334455667788 : 1;
        const uint32_t four[] = {i ? 7 : 0, i, i ? 3 : 0, i == 2 ? 0x73756d73 : 0x63617374};
        const uint64_t key = philox_key(seed, four[0], four[1], four[2], four[3]);
        snprintf(id, sizeof id, "random/key-%u", i);
        line_open(id, "stream_key", "R19 R22");
        line_u64("seed", seed);
        line_words("tuple", four, 4, 8);
        line_u64("key", key);
        line_close();
        for (size_t k = 0; k < N; k++) {
            words[k] = philox_u32(key, at[k]);
            bits[k] = philox_round_u32(key, at[k]);
        }
        snprintf(id, sizeof id, "random/words-%u", i);
        line_open(id, "stream_words", "R20 R21");
        line_u64("key", key);
        fputs(",\"at\":\"", line_to);
        for (size_t k = 0; k < N; k++)
            fprintf(line_to, "%s%016llx", k ? " " : "", (unsigned long long)at[k]);
        fputc('"', line_to);
        line_words("words", words, N, 8);
        line_words("rounding", bits, N, 8);
        line_close();
    }
}

/* a vector cast with the bits of its stream */
static void stream_cast_lines(void)
{
    static const char *const names[] = {"e5m2", "e3m0", "e2m3f"};
    enum { N = 40, AT = 16 };
    uint32_t x[N], codes[N];
    uint8_t bytes[4 * N];
    char id[64];
    for (size_t k = 0; k < 3; k++) {
        const struct mf_fmt f = format_of(names[k]);
        const uint64_t key = philox_key(5, 1, 2, 3, 0x63617374);
        for (uint32_t i = 0; i < N; i++) {
            x[i] = (philox_u32(6, i) & 0x807fffff) | (122u + i % 6) << 23;
            codes[i] =
                mf_enc(f, x[i], 1, MF_STOCHASTIC, MF_SATURATE, philox_round_u32(key, AT + i));
        }
        pack_write(mf_width(f), codes, N, bytes);
        snprintf(id, sizeof id, "cast/%s/stream", names[k]);
        line_open(id, "cast_stream", "R11 R21 R23");
        line_text("format", names[k]);
        line_u64("key", key);
        line_int("at", AT);
        line_int("shift", 1);
        line_words("x", x, N, 8);
        line_bytes("packed", bytes, (N * mf_width(f) + 7) / 8);
        line_close();
    }
}

/* ---- packing ---- */

static void packing_lines(void)
{
    static const unsigned widths[] = {2, 3, 4, 5, 6, 8, 12, 16, 19, 32};
    static const size_t counts[] = {16, 13, 1};
    uint32_t codes[16];
    uint8_t bytes[64];
    char id[64];
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t c = 0; c < 3; c++) {
            const unsigned width = widths[w];
            for (uint32_t i = 0; i < counts[c]; i++)
                codes[i] = philox_u32(7 + w, i) >> (32 - width);
            pack_write(width, codes, counts[c], bytes);
            snprintf(id, sizeof id, "pack/%u/%zu", width, counts[c]);
            line_open(id, "pack", "R23");
            line_int("width", (long)width);
            line_words("codes", codes, counts[c], (int)(width + 3) / 4);
            line_bytes("packed", bytes, (counts[c] * width + 7) / 8);
            line_close();
        }
}

#endif
