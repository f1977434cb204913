/* vectors_words.h : vectors of codes that are no minifloats: QSGD's levels, signs with two
 * means, ternary numbers. */
#ifndef VECTORS_WORDS_H
#define VECTORS_WORDS_H
#include "vec/list/vec_counts.h"
#include "vec/list/vec_levels.h"
#include "vec/list/vec_signs.h"
#include "vectors_sums.h"

enum { WORDS_MAX = 128, PARTS_MAX = 4 };

struct floats {
    float x[WORDS_MAX];
    size_t n;
};

static void line_floats(const char *name, const float *x, size_t n)
{
    uint32_t bits[WORDS_MAX];
    memcpy(bits, x, n * sizeof *x);
    line_words(name, bits, n, 8);
}

/* Numbers of either sign with exponents from `low` to `low` + 7, some zeros. */
static void put_floats(struct floats *v, size_t n, uint64_t seed, int low)
{
    v->n = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = philox_u32(seed, i);
        const int e = low + (int)(w >> 23 & 7);
        v->x[i] =
            float_of(w % 13 == 0 ? w & 1u << 31
                                 : (w & 0x807fffff) | (uint32_t)(127 + (e < 127 ? e : 127)) << 23);
    }
}

static void line_parts(const char *name, uint8_t parts[PARTS_MAX][1024], int n, size_t bytes)
{
    fprintf(line_to, ",\"%s\":[", name);
    for (int p = 0; p < n; p++) {
        fputs(p ? "," : "", line_to);
        line_bare_bytes(parts[p], bytes);
    }
    fputc(']', line_to);
}

/* ---- QSGD ---- */

static void qsgd_rule(const struct levels_rule *r, size_t n)
{
    line_int("bits", (long)r->scheme.bits);
    line_text("levels", r->scheme.even ? "even" : "sign");
    line_text("norm", r->norm2 ? "2" : "max");
    line_int("bucket", (long)r->bucket);
    line_int("n", (long)n);
}

static void qsgd_line(size_t k, const struct levels_rule *r, size_t n, int low)
{
    static uint8_t parts[PARTS_MAX][1024], sum[1024];
    const uint8_t *list[PARTS_MAX];
    struct floats v;
    float back[WORDS_MAX];
    const uint64_t key = philox_key(9, 1, (uint32_t)k, 2, 0x63617374);
    const size_t bytes = levels_bytes(r, n), at = 2 * (size_t)r->bucket;
    char id[64];
    for (int p = 0; p < 3; p++) {
        put_floats(&v, n, 200 + 4 * k + (uint64_t)p, low);
        if (k == 1)
            memset(v.x, 0, r->bucket * sizeof *v.x);
        levels_c.encode(r, v.x, n, at, key, parts[p]);
        list[p] = parts[p];
    }
    snprintf(id, sizeof id, "qsgd/%zu/encode", k);
    line_open(id, "qsgd_encode",
              r->scheme.even ? (r->norm2 ? "R50 R52 R53 R55 R56" : "R50 R51 R53 R55 R56")
              : r->norm2     ? "R50 R52 R53 R54 R56"
                             : "R50 R51 R53 R54 R56");
    qsgd_rule(r, n);
    line_u64("key", key);
    line_int("at", (long)at);
    line_floats("x", v.x, n);
    line_bytes("codes", parts[2], bytes);
    line_close();
    levels_c.sum(r, list, 3, 0, n, at, key ^ 1, sum);
    snprintf(id, sizeof id, "qsgd/%zu/sum", k);
    line_open(id, "qsgd_sum", "R57 R58");
    qsgd_rule(r, n);
    line_u64("key", key ^ 1);
    line_int("at", (long)at);
    line_parts("parts", parts, 3, bytes);
    line_bytes("codes", sum, bytes);
    levels_c.decode(r, sum, n, 3, back);
    line_int("divisor", 3);
    line_floats("x", back, n);
    line_close();
}

static void root_line(void)
{
    struct floats v;
    float root[WORDS_MAX];
    v.n = 0;
    for (int e = -80; e < 126; e += 9, v.n += 2) {
        v.x[v.n] = float_of((uint32_t)(e + 127) << 23);
        v.x[v.n + 1] = float_of(bits_of(v.x[v.n]) | (philox_u32(8, v.n) & 0x7fffff));
    }
    v.x[v.n++] = float_of(0x3feb797a); /* 3 Newton steps give other bits */
    v.x[v.n++] = float_of(0x3ff68d36);
    for (size_t i = 0; i < v.n; i++)
        root[i] = level_sqrt(v.x[i]);
    line_open("qsgd/root", "root", "R52");
    line_floats("x", v.x, v.n);
    line_floats("root", root, v.n);
    line_close();
}

/* Numbers beside an integer: within the slack they become it, whatever the random bits. */
static void draw_line(void)
{
    static const uint32_t random[] = {0, 0x7fffffff, 0x80000000, 0xffffff00, 0xffffffff};
    struct floats at, slack;
    uint32_t words[WORDS_MAX], codes[WORDS_MAX];
    at.n = 0;
    at.x[0] = 1 + 255 * 0x1p-22f; /* as far from 1 as the slack of 8 bits, `even` */
    slack.x[0] = 255 * 0x1p-22f;
    words[0] = 0;
    codes[0] = level_draw(at.x[0], slack.x[0], words[0]);
    at.n++;
    for (uint32_t i = 0; i < 60; i++) {
        const float whole = (float)(1 + i % 7);
        const uint32_t off = i / 5 % 6, bits = bits_of(whole);
        at.x[at.n] = off < 3   ? float_of(bits + off)
                     : off < 5 ? float_of(bits - off + 2)
                               : whole + 0.5f;
        slack.x[at.n] = level_times(at.x[at.n], 0x1p-22f);
        words[at.n] = random[i % 5];
        codes[at.n] = level_draw(at.x[at.n], slack.x[at.n], words[at.n]);
        at.n++;
    }
    line_open("qsgd/draw", "draw", "R56");
    line_floats("at", at.x, at.n);
    line_floats("slack", slack.x, at.n);
    line_words("random", words, at.n, 8);
    line_words("codes", codes, at.n, 1);
    line_close();
}

/* Scales at which a value's rounding errors would exceed the scale. */
static void value_lines(void)
{
    static const struct level_scheme schemes[] = {{4, 0}, {8, 0}, {4, 1}};
    char id[64];
    for (size_t k = 0; k < 3; k++) {
        struct floats scale, value;
        const uint32_t code = k == 2 ? 15 : (1u << (schemes[k].bits - 1)) - 1;
        scale.n = 0;
        for (uint32_t i = 0; i < 100000 && scale.n < 8; i++) {
            const float s = float_of((philox_u32(11 + k, i) & 0x7fffff) | 127u << 23);
            const struct level_grid g = level_grid_of(schemes[k], s);
            if (scale.n < 4 && level_times(g.half, g.step) <= g.most)
                continue;
            scale.x[scale.n] = s;
            value.x[scale.n++] =
                k == 2 ? level_value_even(g, code) : level_value_sign(schemes[k].bits, g, code);
        }
        snprintf(id, sizeof id, "qsgd/value-%zu", k);
        line_open(id, "qsgd_value", "R53 R57");
        line_int("bits", (long)schemes[k].bits);
        line_text("levels", schemes[k].even ? "even" : "sign");
        line_words("code", &code, 1, 2);
        line_floats("scale", scale.x, scale.n);
        line_floats("x", value.x, scale.n);
        line_close();
    }
}

/* Buckets whose norm depends on the order of additions, or would be below the largest number. */
static void norm_lines(void)
{
    const struct levels_rule r = {{2, 0}, 32, true};
    struct floats v;
    uint8_t codes[64];
    char id[64];
    for (uint32_t k = 0, i = 0; k < 6 && i < 100000; i++) {
        float plain = 0, scale;
        if (k < 4) {
            v.n = 32;
            for (uint32_t j = 0; j < v.n; j++) {
                v.x[j] = float_of((philox_u32(700 + i, j) & 0x807fffff) | 126u << 23);
                plain += level_times(v.x[j], v.x[j]);
            }
            plain = level_sqrt(plain);
        } else {
            v.n = 1;
            v.x[0] = float_of((philox_u32(15, i) & 0x7fffff) | 127u << 23);
            plain = level_sqrt(level_times(v.x[0], v.x[0]));
        }
        levels_c.encode(&r, v.x, v.n, 0, 1, codes);
        memcpy(&scale, codes, sizeof scale);
        if (k < 4 ? plain == scale : plain >= scale)
            continue;
        snprintf(id, sizeof id, "qsgd/norm-%u", k++);
        line_open(id, "qsgd_encode", "R52");
        qsgd_rule(&r, v.n);
        line_u64("key", 1);
        line_int("at", 0);
        line_floats("x", v.x, v.n);
        line_bytes("codes", codes, levels_bytes(&r, v.n));
        line_close();
    }
}

static uint32_t code_of(struct level_scheme scheme, struct level_grid g, float x, uint32_t random)
{
    return scheme.even ? level_code_even(g, x, random)
                       : level_code_sign(scheme.bits, g, fabsf(x), bits_of(x) >> 31, random);
}

/* For numbers x of a bucket with the scale s, the random words between which the code changes. */
static void code_line(const char *id, struct level_scheme scheme, float s, const float *x, size_t n)
{
    const struct level_grid g = level_grid_of(scheme, s);
    uint32_t words[WORDS_MAX], codes[WORDS_MAX];
    struct floats v = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        uint32_t low = 0, high = UINT32_MAX;
        for (int end = 0; end < 2; end++) {
            while (end && high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if (code_of(scheme, g, x[i], middle) == codes[v.n - 1])
                    low = middle;
                else
                    high = middle;
            }
            v.x[v.n] = x[i];
            words[v.n] = end ? low : 0;
            codes[v.n] = code_of(scheme, g, x[i], words[v.n]);
            v.n++;
        }
        v.x[v.n] = x[i];
        words[v.n] = high;
        codes[v.n] = code_of(scheme, g, x[i], high);
        v.n++;
    }
    line_open(id, "qsgd_code", scheme.even ? "R52 R53 R55 R56" : "R52 R53 R54 R56");
    line_int("bits", (long)scheme.bits);
    line_text("levels", scheme.even ? "even" : "sign");
    line_floats("scale", &s, 1);
    line_floats("x", v.x, v.n);
    line_words("random", words, v.n, 8);
    line_words("codes", codes, v.n, 2);
    line_close();
}

static void code_lines(void)
{
    static const float scales[] = {1, 0x1p40f, 0x1.3c0ca5p0f, 0x1.6e14b7p127f, 0x1.99999ap-140f};
    static const struct level_scheme schemes[] = {{8, 0}, {8, 1}};
    char id[64];
    for (size_t k = 0; k < 10; k++) {
        const float s = scales[k / 2], top = k % 2 ? 127.5f : 127;
        /* shares of the scale; beside the levels 1 and 129, tiny */
        const float x[] = {s,
                           -s,
                           s * 0.37f,
                           s * -0.61f,
                           s * 0.83f,
                           s * 0.05f,
                           s / top * (1 + 0x1p-18f),
                           s / top * (1.5f + 0x1p-18f),
                           s / top * -(126.5f - 0x1p-16f),
                           0x1p-70f < s ? 0x1p-70f : 0};
        snprintf(id, sizeof id, "qsgd/code-%zu", k);
        code_line(id, schemes[k % 2], s, x, sizeof x / sizeof *x);
    }
}

static void qsgd_lines(void)
{
    static const struct {
        struct levels_rule rule;
        size_t n;
        int low;
    } done[] = {{{{4, 0}, 32, false}, 41, -6},   {{{8, 0}, 32, false}, 41, -6},
                {{{2, 0}, 64, false}, 70, -120}, {{{16, 0}, 32, false}, 41, 40},
                {{{1, 1}, 32, false}, 41, -6},   {{{4, 1}, 32, false}, 41, -100},
                {{{4, 0}, 32, true}, 41, -6},    {{{4, 0}, 32, true}, 41, -125},
                {{{8, 1}, 32, true}, 41, 100},   {{{2, 0}, 32, true}, 41, -60},
                {{{4, 0}, 32, false}, 41, 126},  {{{4, 0}, 32, true}, 41, 126}};
    root_line();
    draw_line();
    code_lines();
    value_lines();
    norm_lines();
    for (size_t k = 0; k < sizeof done / sizeof *done; k++)
        qsgd_line(k, &done[k].rule, done[k].n, done[k].low);
}

/* ---- 1bitSGD ---- */

static void onebit_rule(const struct signs_rule *r, size_t n, size_t padded)
{
    line_int("column", (long)r->column);
    line_int("stride", (long)r->stride);
    line_int("n", (long)n);
    line_int("padded", (long)padded);
}

static void onebit_line(size_t k, const struct signs_rule *r, size_t n, int low, bool keeps)
{
    static uint8_t parts[PARTS_MAX][1024], sum[1024];
    const uint8_t *list[PARTS_MAX];
    const size_t run = r->column * r->stride, padded = (n + run - 1) / run * run,
                 bytes = signs_bytes(r, padded);
    struct floats v, was, owner;
    float next[WORDS_MAX], back[WORDS_MAX];
    char id[64];
    put_floats(&was, n, 300 + 4 * k, low - 3);
    put_floats(&owner, n, 303 + 4 * k, low - 2);
    for (int p = 0; p < 3; p++) {
        put_floats(&v, n, 301 + 4 * k + (uint64_t)p, low);
        const struct signs_left left = {keeps ? was.x : NULL, keeps ? next : NULL};
        signs_c.encode(r, v.x, n, padded, left, parts[p]);
        list[p] = parts[p];
    }
    snprintf(id, sizeof id, "onebit/%zu/encode", k);
    line_open(id, "onebit_encode", keeps ? "R59 R60 R61 R62" : "R59 R60 R61");
    onebit_rule(r, n, padded);
    line_floats("x", v.x, n);
    if (keeps)
        line_floats("residual", was.x, n);
    line_bytes("codes", parts[2], bytes);
    if (keeps)
        line_floats("next", next, n);
    line_close();
    const struct signs_left left = {keeps ? owner.x : NULL, keeps ? next : NULL};
    signs_c.sum(r, list, 3, 0, n, padded, left, sum);
    signs_c.decode(r, sum, n, 3, back);
    snprintf(id, sizeof id, "onebit/%zu/sum", k);
    line_open(id, "onebit_sum", "R63 R64");
    onebit_rule(r, n, padded);
    line_parts("parts", parts, 3, bytes);
    if (keeps)
        line_floats("residual", owner.x, n);
    line_bytes("codes", sum, bytes);
    if (keeps)
        line_floats("next", next, n);
    line_int("divisor", 3);
    line_floats("x", back, n);
    line_close();
}

static void onebit_lines(void)
{
    static const struct {
        struct signs_rule rule;
        size_t n;
        int low;
        bool keeps;
    } done[] = {{{32, 1}, 45, -6, true},  {{3, 4}, 29, -6, true},   {{20, 2}, 50, -6, true},
                {{64, 1}, 64, -6, false}, {{32, 1}, 40, 120, true}, {{5, 1}, 1, -6, true},
                {{64, 1}, 64, 127, true}, {{1, 1}, 24, 127, false}};
    for (size_t k = 0; k < sizeof done / sizeof *done; k++)
        onebit_line(k, &done[k].rule, done[k].n, done[k].low, done[k].keeps);
}

/* ---- TernGrad ---- */

static void ternary_clip_lines(void)
{
    static const int lows[] = {-6, -126, 30, 110};
    char id[64];
    for (size_t k = 0; k < 7; k++) {
        struct floats v;
        struct vec_span s;
        put_floats(&v, 40, 400 + k, lows[k % 4]);
        if (k == 4)
            memset(v.x, 0, sizeof v.x);
        if (k < 3)
            v.x[7] *= 64;
        if (k > 4)
            v.x[9] = k == 5 ? -INFINITY : float_of(0x7fc00001);
        memset(&s, 0, sizeof s);
        s.x = v.x;
        s.n = v.n;
        level_lists_each.clipped(&vec_plain, 2.5f, &s, 1);
        const float times = 2.5f, clip = float_of(s.absmax);
        snprintf(id, sizeof id, "ternary/clip-%zu", k);
        line_open(id, "ternary_clip", "R65");
        line_floats("times", &times, 1);
        line_floats("x", v.x, v.n);
        line_floats("own_max", &clip, 1);
        line_close();
    }
}

static void ternary_step_line(size_t k, int n_ranks)
{
    static uint8_t parts[PARTS_MAX][1024], sums[1024], card[1024];
    const uint8_t *list[PARTS_MAX];
    const struct codec_spec spec = {.codec = "ternary"};
    const struct codec c = codec_for(&spec, n_ranks);
    struct counts_rule r = {n_ranks, COUNTS_DRAW_BITS};
    struct floats v;
    float back[WORDS_MAX];
    const float max = 1.75f, own = k ? 1.75f : 1.25f;
    const uint64_t key = philox_key(4, (uint32_t)k, 1, 0, 0x63617374);
    char id[64];
    enum { N = 21 };
    while (1u << r.bits < 2u * (unsigned)n_ranks + 1)
        r.bits++;
    for (int p = 0; p < n_ranks; p++) {
        put_floats(&v, N, 410 + 8 * k + (uint64_t)p, -7);
        levels_c.draw(COUNTS_DRAW_BITS, max, own, v.x, N, 24, 8, key + (uint64_t)p, parts[p]);
        list[p] = parts[p];
        snprintf(id, sizeof id, "ternary/%zu/draw-%d", k, p);
        line_open(id, "ternary_draw", "R66");
        line_floats("max", &max, 1);
        line_floats("own_max", &own, 1);
        line_u64("key", key + (uint64_t)p);
        line_int("at", 8);
        line_int("padded", 24);
        line_floats("x", v.x, N);
        line_bytes("codes", parts[p], 6);
        line_close();
    }
    counts_c.sum(&r, list, n_ranks, 24, sums);
    const struct counts_out out = {back, VEC_FLOAT, sums, N, max};
    counts_c.decode(&r, &out, 1);
    snprintf(id, sizeof id, "ternary/%zu/sum", k);
    line_open(id, "ternary_sum", "R67 R68");
    line_int("ranks", n_ranks);
    line_parts("parts", parts, n_ranks, 6);
    line_bytes("sums", sums, (size_t)(24 * r.bits + 7) / 8);
    line_floats("max", &max, 1);
    line_int("n", N);
    line_floats("x", back, N);
    line_close();
    snprintf(id, sizeof id, "ternary/%zu/card", k);
    line_open(id, "ternary_card", "R69");
    line_int("ranks", n_ranks);
    line_bytes("codes", parts[0], 6);
    codec_to_card(&c, parts[0], 0, 24, card);
    line_bytes("contribution", card, 12);
    for (int i = 0; i < 24; i++)
        card[i] =
            (uint8_t)(i % (2 * n_ranks + 1) < n_ranks ? 128 | (n_ranks - i % (2 * n_ranks + 1))
                                                      : i % (2 * n_ranks + 1) - n_ranks);
    codec_from_card(&c, card, 0, 24, sums);
    line_bytes("result", card, 24);
    line_bytes("sums", sums, (size_t)(24 * r.bits + 7) / 8);
    line_close();
}

static void ternary_lines(void)
{
    ternary_clip_lines();
    ternary_step_line(0, 3);
    ternary_step_line(1, 4);
}

#endif
