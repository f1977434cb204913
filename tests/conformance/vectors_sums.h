/* vectors_sums.h : vectors of exponents and shifts, of sums by every rule, wide words and means. */
#ifndef VECTORS_SUMS_H
#define VECTORS_SUMS_H
#include "hls/core/reduce.h"
#include "vectors_casts.h"
#include "vec/vec.h"

static struct codec codec_for(const struct codec_spec *spec, int n_ranks)
{
    struct codec c;
    if (codec_parse(spec, &c) < 0 ||
        codec_settle(&c, n_ranks, &(struct codec_adder){.name = "vectors"}) < 0)
        abort();
    return c;
}

/* ---- exponents, shifts ---- */

static const struct {
    const char *format, *scale;
    int ranks;
} scaled[] = {{"e5m2", "aps", 4},
              {"e4m3", "aps", 3},
              {"e4m3fn", "aps", 4},
              {"e2m1f", "aps", 2},
              {"e3m0", "aps", 63},
              {"e5m2", "aps-tight", 4},
              {"e4m3", "aps-tight", 5},
              {"e4m3fn", "aps-tight", 4},
              {"e2m1f", "aps-tight", 3},
              {"e3m0", "aps-tight", 256},
              {"e1m2", "aps-tight", 2},
              {"e5m2", "none", 4},
              {"e5m2", "const:1024", 4},
              {"e5m2", "const:0.125", 4},
              {"e5m2", "const:1.4012984643248171e-45", 4}};

static void scale_line(size_t k)
{
    const struct codec_spec spec = {.format = scaled[k].format, .scale = scaled[k].scale};
    const struct codec c = codec_for(&spec, scaled[k].ranks);
    static const int agreed[] = {-128, 127, 0, 1, -1, 7, 126, -126};
    static uint32_t x[] = {0x00000000, 0x00000001, 0x00000003, 0x007fffff, 0x00800000, 0x3f800000,
                           0x3f800001, 0x3f7fffff, 0x3fe00000, 0x3fe00001, 0x3fc00000, 0x3fd00000,
                           0x3ff00000, 0x3ff00001, 0x40000000, 0x3daaaaab, 0x3eaaaaab, 0x7e800000,
                           0x7f7fffff, 0x7f800000, 0x7fc00000};
    enum { N = sizeof x / sizeof *x, M = sizeof agreed / sizeof *agreed };
    int e[N], shifts[M];
    char id[80];
    const bool aps = !strcmp(spec.scale, "aps"), tight = !strcmp(spec.scale, "aps-tight");
    for (size_t i = 0; i < N; i++)
        e[i] = codec_exponent(&c, x[i]);
    for (size_t i = 0; i < M; i++)
        shifts[i] = codec_shift(&c, (int8_t)agreed[i]);
    snprintf(id, sizeof id, "scale/%s/%s", spec.format, spec.scale);
    line_open(id, "scale", aps ? "R25 R26 R29 R31" : tight ? "R25 R27 R29 R31" : "R25 R26 R29");
    line_text("format", spec.format);
    line_text("scale", spec.scale);
    line_int("ranks", scaled[k].ranks);
    line_words("absmax", x, N, 8);
    line_ints("exponents", e, N);
    line_ints("agreed", agreed, M);
    line_ints("shifts", shifts, M);
    line_int("out_shift", codec_sum(&c)->out_shift);
    line_close();
}

/* of a layer that needs a quantile of all ranks, as note_absmax() of host/reduce/reducer_scan.c */
static void quantile_exponent_line(void)
{
    const struct codec_spec spec = {.format = "e4m3", .scale = "quantile"};
    const struct codec c = codec_for(&spec, 4);
    const struct codec_layer layer = {.n = 1};
    static const uint32_t x[] = {0, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000};
    int e[5];
    for (size_t i = 0; i < 5; i++) {
        e[i] = codec_exponent(&c, x[i]);
        if (e[i] != CODEC_NOT_FINITE && codec_asks_max(&c, &layer))
            e[i] = CODEC_MAX_FOLLOWS;
    }
    line_open("scale/e4m3/quantile", "exponent", "R25 R28");
    line_text("format", "e4m3");
    line_text("scale", spec.scale);
    line_int("ranks", 4);
    line_words("absmax", x, 5, 8);
    line_ints("exponents", e, 5);
    line_close();
}

/* exponents of two layers from four ranks */
static void agree_lines(void)
{
    static const int ranks[][8] = {{-3, -128, -7, -128, 2, -128, -126, -128},
                                   {-3, 5, 127, 5, 2, 5, -128, -128},
                                   {-3, 5, 2, 127, 2, 5, -128, -128}};
    for (int k = 0; k < 3; k++) {
        int most[2] = {-128, -128};
        for (int i = 0; i < 8; i++)
            most[i % 2] = ranks[k][i] > most[i % 2] ? ranks[k][i] : most[i % 2];
        line_open(k == 0   ? "scale/agree"
                  : k == 1 ? "scale/agree-not-finite"
                           : "scale/agree-second",
                  "agree", "R28 R30");
        line_int("layers", 2);
        line_ints("of_ranks", ranks[k], 8);
        line_ints("agreed", most, 2);
        line_int("skipped", most[0] == 127 || most[1] == 127);
        line_close();
    }
}

static void settle_lines(void)
{
    static const struct {
        const char *format, *scale, *sum;
        int ranks;
        const char *acc;
    } tried[] = {
        {"e3m0", "none", "fp32", 4, NULL},         {"e2m1f", "none", "nearest", 4, "e3m3"},
        {"e3m0", "aps", NULL, 63, NULL},           {"e3m0", "aps", NULL, 64, NULL},
        {"e2m1f", "aps", NULL, 15, NULL},          {"e2m1f", "aps", NULL, 16, NULL},
        {"e3m0", "aps-tight", NULL, 64, NULL},     {"e4m3", "aps-tight", "nearest", 4, NULL},
        {"e2m3f", "aps", NULL, 4, NULL},           {"e4m3", "none", NULL, 4, NULL},
        {"e3m0", "none", "nearest", 4, NULL},      {"e5m10", "none", "exact", 1048576, NULL},
        {"e5m10", "none", "exact", 1048577, NULL}, {"e5m10", "none", "exact", 2097153, NULL},
        {"e5m23", "none", "exact", 257, NULL},     {"e3m23", "none", "exact", 257, NULL},
        {"e6m9", "none", "exact", 2, NULL},        {"e5m2", "none", "nearest", 4, "e4m3"},
        {"e5m2", "const:2", "kahan", 4, "e4m3"},   {"e5m2", "aps", "nearest", 4, "e4m3"},
        {"e5m2", "aps", "nearest", 3, "e5m4"}};
    char id[80], name[CODEC_NAME_BYTES];
    err_hold();
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct codec c;
        const struct codec_spec spec = {.format = tried[i].format,
                                        .scale = tried[i].scale,
                                        .sum = tried[i].sum,
                                        .acc_format = tried[i].acc};
        const bool good =
            codec_parse(&spec, &c) == 0 &&
            codec_settle(&c, tried[i].ranks, &(struct codec_adder){.name = "vectors"}) == 0;
        const bool names_sum = i < 2 || (tried[i].acc && i > 2);
        snprintf(id, sizeof id, "settle/%s/%s/%s%s%d", spec.format, spec.scale,
                 names_sum ? spec.sum : "", names_sum ? "-" : "", tried[i].ranks);
        line_open(id, "settle",
                  tried[i].ranks > 256 || tried[i].ranks == 2 ? "R35"
                  : i > 2 && tried[i].acc                     ? "R33 R40"
                                                              : "R32 R33");
        line_text("format", spec.format);
        line_text("scale", spec.scale);
        line_text("sum", spec.sum ? spec.sum : "exact");
        if (spec.acc_format)
            line_text("acc", spec.acc_format);
        line_int("ranks", tried[i].ranks);
        line_int("refused", !good);
        if (good)
            line_text("out", codec_format_name(codec_sum(&c)->out, name));
        line_close();
    }
    err_release(false);
}

static void scale_lines(void)
{
    for (size_t k = 0; k < sizeof scaled / sizeof *scaled; k++)
        scale_line(k);
    quantile_exponent_line();
    agree_lines();
    settle_lines();
}

/* ---- sums ---- */

enum { SUM_RANKS = 16, SUM_CODES = 64 };

struct addends {
    uint32_t codes[SUM_RANKS][SUM_CODES];
    int n_ranks;
    size_t n;
};

/* Elements: random codes of all kinds, of finite numbers, of numbers near the largest, of small
 * ones, and chosen cases: only zeros, -0, one inf, both, nan, a number and its negative. */
static void put_addends(struct addends *a, struct mf_fmt f, int n_ranks, uint64_t seed)
{
    const uint32_t sign = 1u << (f.e + f.m), max = mf_max(f);
    a->n_ranks = n_ranks;
    a->n = 30;
    for (uint32_t r = 0; r < (uint32_t)n_ranks; r++)
        for (uint32_t i = 0; i < a->n; i++) {
            const uint32_t w = philox_u32(seed, r * 64 + i), some = w & (2 * sign - 1),
                           small = w & (sign >> 1 ? (sign >> 1) - 1 : 0),
                           finite = (small * 2 + (w >> 31)) % (max + 1);
            const uint32_t s = w >> 30 & 1u ? sign : 0;
            const uint32_t chosen[] = {0,
                                       sign,
                                       r == 0 ? sign : 0,
                                       r == 1 ? mf_inf(f) : 1,
                                       r == 0   ? mf_inf(f)
                                       : r == 1 ? mf_inf(f) | sign
                                                : 1,
                                       r == 1 ? mf_nan(f) | sign : max,
                                       r % 2 ? 1 | sign : 1,
                                       r == 0 ? 1 | sign : 0,
                                       max,
                                       max | sign};
            a->codes[r][i] = i < 10   ? chosen[i]
                             : i < 12 ? some
                             : i < 20 ? finite | s
                             : i < 25 ? (max - (w & 3u) % (max + 1)) | s
                                      : ((w & 15u) % (max + 1)) | s;
        }
}

static const char *rule_word(enum vec_rule rule)
{
    return codec_rule_name(rule);
}

static void sum_line(const char *id, const char *rules, const struct vec_sum *sum,
                     const struct addends *a)
{
    static uint8_t parts[SUM_RANKS][4 * SUM_CODES], packed[4 * SUM_CODES];
    const uint8_t *list[SUM_RANKS];
    uint32_t codes[SUM_CODES], status[SUM_CODES];
    char name[CODEC_NAME_BYTES];
    for (int r = 0; r < a->n_ranks; r++) {
        pack_write(mf_width(sum->in), a->codes[r], a->n, parts[r]);
        list[r] = parts[r];
    }
    vec_plain.sum(sum, list, a->n_ranks, a->n, sum->out, sum->out_shift, packed);
    pack_read(mf_width(sum->out), packed, a->n, codes);
    line_open(id, "sum", rules);
    line_text("sum", rule_word(sum->rule));
    line_text("in", codec_format_name(sum->in, name));
    line_text("acc", codec_format_name(vec_acc_fmt(sum), name));
    line_text("out", codec_format_name(sum->out, name));
    line_text("overflow", sum->overflow == MF_INF ? "inf" : "saturate");
    line_int("out_shift", sum->out_shift);
    fputs(",\"addends\":[", line_to);
    for (int r = 0; r < a->n_ranks; r++) {
        fputs(r ? "," : "", line_to);
        line_bare_words(a->codes[r], a->n, line_digits(sum->in));
    }
    fputc(']', line_to);
    line_words("codes", codes, a->n, line_digits(sum->out));
    if (sum->rule == VEC_EXACT) {
        for (size_t i = 0; i < a->n; i++) {
            uint64_t acc = 0;
            for (int r = 0; r < a->n_ranks; r++)
                acc = mf_acc_add(sum->in, acc, a->codes[r][i]);
            status[i] = reduce_status(sum->in, acc, (uint32_t)sum->out_shift, sum->out);
        }
        line_words("status", status, a->n, 1);
    }
    line_close();
}

static void exact_lines(void)
{
    static const struct {
        const char *in, *out;
        int ranks, shift;
        enum mf_overflow overflow;
    } done[] = {{"e5m2", "e5m2", 4, 0, MF_SATURATE},   {"e5m2", "e5m2", 4, 0, MF_INF},
                {"e5m2", "e5m2", 3, 2, MF_SATURATE},   {"e4m3", "e4m3", 16, 4, MF_SATURATE},
                {"e4m3", "e5m2", 5, 0, MF_SATURATE},   {"e5m2", "e4m3", 4, 0, MF_INF},
                {"e4m3fn", "e4m3fn", 4, 0, MF_INF},    {"e4m3fn", "e4m3fn", 4, 1, MF_SATURATE},
                {"e3m0", "e4m3", 7, 0, MF_SATURATE},   {"e3m0", "e3m0", 4, 2, MF_SATURATE},
                {"e2m1f", "e4m3", 4, 0, MF_SATURATE},  {"e2m3f", "e2m3f", 6, 3, MF_INF},
                {"e1m2", "e1m2", 2, 0, MF_SATURATE},   {"fp16", "fp16", 4, 0, MF_SATURATE},
                {"e3m23", "e3m23", 4, 0, MF_SATURATE}, {"e3m23", "fp32", 3, 2, MF_SATURATE},
                {"fp16", "e5m2", 4, 2, MF_SATURATE},   {"e2m1", "e2m5", 16, 4, MF_SATURATE},
                {"e4m3", "fp32", 4, 0, MF_SATURATE},   {"e4m3", "e4m3", 1, 0, MF_SATURATE},
                {"e2m5", "e3m0", 4, 0, MF_SATURATE},   {"e2m5f", "e2m5f", 4, 0, MF_SATURATE},
                {"e2m1f", "e2m1f", 4, 0, MF_INF}};
    static struct addends a;
    char id[80];
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        const struct vec_sum sum = {.rule = VEC_EXACT,
                                    .overflow = done[i].overflow,
                                    .in = format_of(done[i].in),
                                    .out = format_of(done[i].out),
                                    .out_shift = done[i].shift,
                                    .n_ranks = done[i].ranks};
        put_addends(&a, sum.in, done[i].ranks, 20 + i);
        snprintf(id, sizeof id, "sum/exact/%s-%s-%d-%d-%s", done[i].in, done[i].out, done[i].ranks,
                 done[i].shift, done[i].overflow == MF_INF ? "inf" : "saturate");
        sum_line(id, "R34 R36 R37 R38 R95", &sum, &a);
    }
}

static void rounded_sum_lines(void)
{
    static const struct {
        enum vec_rule rule;
        const char *in, *acc, *out;
        enum mf_overflow overflow;
        const char *rules;
    } done[] = {{VEC_NEAREST, "e5m2", "e5m2", "e5m2", MF_SATURATE, "R39"},
                {VEC_NEAREST, "e5m2", "e5m2", "e5m2", MF_INF, "R39"},
                {VEC_NEAREST, "e4m3fn", "e4m3fn", "e4m3fn", MF_INF, "R39"},
                {VEC_NEAREST, "e3m0", "e3m0", "e3m0", MF_SATURATE, "R39"},
                {VEC_NEAREST, "e6m9", "e6m9", "e6m9", MF_INF, "R39"},
                {VEC_NEAREST, "e4m3", "e5m10", "e4m3", MF_SATURATE, "R39 R40 R41"},
                {VEC_NEAREST, "e2m1f", "e3m1", "e4m3", MF_INF, "R39 R40 R41"},
                {VEC_NEAREST, "e4m3", "e4m3", "e3m0", MF_SATURATE, "R39 R41"},
                {VEC_FP32, "e5m2", NULL, "e5m2", MF_SATURATE, "R41 R42"},
                {VEC_FP32, "bf16", NULL, "bf16", MF_INF, "R41 R42"},
                {VEC_FP32, "fp32", NULL, "fp32", MF_INF, "R41 R42"},
                {VEC_KAHAN, "e5m2", "e5m2", "e5m2", MF_SATURATE, "R43"},
                {VEC_KAHAN, "e4m3", "e4m3", "e4m3", MF_INF, "R43"},
                {VEC_KAHAN, "e4m3", "e5m7", "e4m3", MF_SATURATE, "R40 R41 R43"},
                {VEC_TRUNC, "e5m2", NULL, "e5m2", MF_SATURATE, "R44"},
                /* accumulators that do not hold the addends */
                {VEC_NEAREST, "e5m2", "e4m3", "e5m2", MF_SATURATE, "R39 R40 R41"},
                {VEC_NEAREST, "e4m3", "e3m0", "e4m3", MF_INF, "R39 R40 R41"},
                {VEC_KAHAN, "e4m3fn", "e4m3", "e4m3fn", MF_SATURATE, "R40 R41 R43"}};
    static struct addends a;
    char id[80];
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        struct vec_sum sum = {.rule = done[i].rule,
                              .overflow = done[i].overflow,
                              .in = format_of(done[i].in),
                              .out = format_of(done[i].out),
                              .n_ranks = 5};
        if (done[i].acc && strcmp(done[i].acc, done[i].in))
            sum.acc = format_of(done[i].acc);
        put_addends(&a, sum.in, 5, 50 + i);
        snprintf(id, sizeof id, "sum/%s/%s-%s-%s-%s", rule_word(sum.rule), done[i].in,
                 done[i].acc ? done[i].acc : "", done[i].out,
                 done[i].overflow == MF_INF ? "inf" : "saturate");
        sum_line(id, done[i].rules, &sum, &a);
    }
}

static void width_lines(void)
{
    static const int ranks[] = {1, 2, 3, 4, 5, 16, 17, 64, 8192};
    enum { N = sizeof ranks / sizeof *ranks };
    static const char *const names[] = {"e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1f", "fp16", "e1m2"};
    int bits[N], wide[N];
    char id[64];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const struct mf_fmt f = format_of(names[k]);
        for (size_t i = 0; i < N; i++) {
            bits[i] = mf_acc_bits(f, (unsigned)ranks[i]);
            wide[i] = mf_wide_bits(f, (unsigned)ranks[i]);
        }
        snprintf(id, sizeof id, "width/%s", names[k]);
        line_open(id, "widths", "R35 R45");
        line_text("format", names[k]);
        line_ints("addends", ranks, N);
        line_ints("bits", bits, N);
        line_ints("wide", wide, N);
        line_close();
    }
}

static void holds_line(void)
{
    static const char *const pairs[][2] = {
        {"e5m10", "e4m3"}, {"e4m3", "e4m3fn"}, {"e5m3", "e4m3fn"}, {"e3m1", "e2m1f"},
        {"e2m1", "e2m1f"}, {"e8m23", "e5m2"},  {"e5m2", "e5m3"},   {"e4m4", "e5m2"},
        {"e4m3", "e4m3"},  {"e2m1f", "e2m1f"}, {"e4m3fn", "e3m3"}};
    char id[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        snprintf(id, sizeof id, "holds/%s-%s", pairs[i][0], pairs[i][1]);
        line_open(id, "holds", "R40");
        line_text("acc", pairs[i][0]);
        line_text("in", pairs[i][1]);
        line_int("holds", mf_holds(format_of(pairs[i][0]), format_of(pairs[i][1])));
        line_close();
    }
}

static void sum_lines(void)
{
    exact_lines();
    rounded_sum_lines();
    width_lines();
    holds_line();
}

/* ---- wide words ---- */

static void wide_lines(void)
{
    static const struct {
        const char *format;
        int most;
    } done[] = {{"e5m2", 8}, {"e4m3", 5}, {"e4m3fn", 4}, {"e3m0", 64}, {"e1m2", 1}, {"fp16", 4}};
    static struct addends a;
    uint8_t wide[2][8 * SUM_CODES];
    uint64_t acc[SUM_CODES];
    char id[64], name[CODEC_NAME_BYTES];
    for (size_t k = 0; k < sizeof done / sizeof *done; k++) {
        const struct mf_fmt f = format_of(done[k].format);
        const struct vec_sum sum = {.rule = VEC_EXACT, .in = f, .out = f, .n_ranks = done[k].most};
        const int half = done[k].most > 1 ? 2 : 1;
        size_t bytes;
        put_addends(&a, f, 2 * half, 80 + k);
        a.n = 19;
        bytes = vec_wide_bytes(&sum, a.n);
        for (int h = 0; h < 2; h++) {
            memset(acc, 0, sizeof acc);
            for (int r = 0; r < half; r++)
                for (size_t i = 0; i < a.n; i++)
                    acc[i] = mf_acc_add(f, acc[i], a.codes[half * h + r][i]);
            vec_plain.spill(&sum, acc, a.n, wide[h]);
        }
        snprintf(id, sizeof id, "wide/%s-%d", done[k].format, done[k].most);
        line_open(id, "wide", half > 1 ? "R45 R46 R47" : "R45 R46");
        line_text("format", codec_format_name(f, name));
        line_int("most_addends", done[k].most);
        for (int h = 0; h < (half > 1 ? 2 : 1); h++) {
            fprintf(line_to, ",\"addends_%c\":[", 'a' + h);
            for (int r = 0; r < half; r++) {
                fputs(r ? "," : "", line_to);
                line_bare_words(a.codes[half * h + r], a.n, line_digits(f));
            }
            fputc(']', line_to);
            line_bytes(h ? "wide_b" : "wide_a", wide[h], bytes);
        }
        if (half > 1) {
            uint8_t codes[4 * SUM_CODES];
            vec_plain.accumulate_wide(&sum, acc, wide[0], a.n, true);
            vec_plain.accumulate_wide(&sum, acc, wide[1], a.n, false);
            vec_plain.spill(&sum, acc, a.n, wide[0]);
            vec_plain.finish(&sum, acc, a.n, f, 1, codes);
            line_bytes("wide_sum", wide[0], bytes);
            line_bytes("rounded", codes, vec_bytes(f, a.n));
        }
        line_close();
    }
}

/* ---- means ---- */

static void mean_lines(void)
{
    static const struct {
        const char *format;
        int shift;
        float divisor;
    } done[] = {{"e5m2", 0, 4},     {"e5m2", -20, 3},   {"e4m3", -140, 3}, {"e4m3", 118, 4},
                {"e4m3", 121, 12},  {"e5m2", 114, 7},   {"e4m3", 5, 1},    {"e2m1f", 125, 6},
                {"e4m3fn", 119, 3}, {"e4m3", 126, 256}, {"bf16", 0, 5},    {"fp32", 1, 3},
                {"e4m3", 122, 3},   {"e4m3fn", 120, 3}, {"e4m3", -152, 3}};
    uint32_t codes[24], x[24];
    uint8_t packed[96];
    float mean[24];
    char id[64];
    for (size_t k = 0; k < sizeof done / sizeof *done; k++) {
        const struct mf_fmt f = format_of(done[k].format);
        const uint32_t all = mf_width(f) < 32 ? (1u << mf_width(f)) - 1u : UINT32_MAX;
        for (uint32_t i = 0; i < 24; i++) {
            codes[i] = i == 0   ? mf_max(f)
                       : i == 1 ? mf_inf(f)
                       : i == 2 ? 1
                       : i == 3 ? 0
                       : i == 4 ? mf_max(f) | (1u << (f.e + f.m))
                       : i == 5 ? mf_max(f) >> f.m << f.m
                                : philox_u32(90 + k, i) & all;
            if ((codes[i] & mf_nan(f)) > mf_last_not_nan(f)) /* a nan's bits are free */
                codes[i] = i;
        }
        pack_write(mf_width(f), codes, 24, packed);
        vec_plain.decode(f, packed, 24, done[k].shift, done[k].divisor, mean);
        memcpy(x, mean, sizeof x);
        snprintf(id, sizeof id, "mean/%s/%d/%d", done[k].format, done[k].shift,
                 (int)done[k].divisor);
        line_open(id, "mean", done[k].shift > 100 ? "R48 R49" : "R48");
        line_text("format", done[k].format);
        line_int("shift", done[k].shift);
        line_int("divisor", (long)done[k].divisor);
        line_words("codes", codes, 24, line_digits(f));
        line_words("x", x, 24, 8);
        line_close();
    }
}

#endif
