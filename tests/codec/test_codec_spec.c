/* test_codec_spec.c : codec_parse() and codec_settle() read words, choose sums, and name both. */
#include "base/err.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

enum { ALL = 0, RING = REDUCE_PARTS };

static const struct choice {
    struct codec_spec spec;
    int n_ranks;
    unsigned needs;
    enum vec_rule rule;
    const char *out;
    int out_shift;
} choices[] = {
    {{0}, 4, ALL, VEC_EXACT, "e5m2", 0},
    {{.format = "e5m2"}, 4, RING, VEC_NEAREST, "e5m2", 0},
    {{.format = "e5m2", .sum = "trunc"}, 4, RING, VEC_TRUNC, "e5m2", 0},
    {{.format = "bf16"}, 4, ALL, VEC_FP32, "bf16", 0},
    {{.format = "fp32"}, 4, ALL, VEC_FP32, "fp32", 0},
    {{.format = "fp16"}, 1 << 21, ALL, VEC_EXACT, "fp16", 0},
    {{.format = "fp16"}, (1 << 21) + 1, ALL, VEC_FP32, "fp16", 0},
    {{.format = "e8m23", .sum = "nearest"}, 4, RING, VEC_NEAREST, "fp32", 0},
    {{.format = "e3m0"}, 4, ALL, VEC_EXACT, "e4m3", 0},
    {{.format = "e3m0", .sum = "fp32"}, 4, ALL, VEC_FP32, "e4m3", 0},
    {{.format = "e3m0"}, 4, RING, VEC_NEAREST, "e3m0", 0},
    {{.format = "e3m0", .sum = "kahan"}, 4, ALL, VEC_KAHAN, "e3m0", 0},
    {{.format = "e3m0", .sum = "nearest", .acc_format = "e5m2"}, 4, RING, VEC_NEAREST, "e4m3", 0},
    {{.format = "e3m0", .sum = "nearest", .acc_format = "e3m0"}, 4, RING, VEC_NEAREST, "e3m0", 0},
    {{.format = "e2m1", .out_format = "e2m1"}, 4, ALL, VEC_EXACT, "e2m1", 0},
    {{.format = "e3m1"}, 4, ALL, VEC_EXACT, "e3m1", 0},
    {{.format = "e3m0", .scale = "aps"}, 63, ALL, VEC_EXACT, "e4m3", 0},
    {{.format = "e1m1", .scale = "aps"}, 1, ALL, VEC_EXACT, "e4m3", 0},
    {{.format = "bf16", .scale = "aps"}, 1 << 30, ALL, VEC_FP32, "bf16", 0},
    {{.format = "e4m3fn", .scale = "aps-tight", .out_format = "fp32"},
     1,
     .rule = VEC_EXACT,
     .out = "fp32"},
    {{.format = "e4m3", .scale = "aps-tight"}, 4, ALL, VEC_EXACT, "e4m3", 2},
    {{.format = "e4m3", .scale = "aps-tight"}, 5, ALL, VEC_EXACT, "e4m3", 3},
    {{.format = "e4m3", .scale = "aps-tight"}, 256, ALL, VEC_EXACT, "e4m3", 8},
    {{.format = "e4m3", .scale = "aps-tight", .out_format = "e4m3:16"},
     5,
     .rule = VEC_EXACT,
     .out = "e4m3:16"},
    {{.format = "e2m3f", .scale = "aps-tight:32"}, 5, ALL, VEC_EXACT, "e2m3f:32", 0},
    {{.format = "e2m1f", .scale = "aps-tight:32"}, 5, ALL, VEC_EXACT, "e4m3", 3},
    {{.format = "e2m1f", .scale = "aps-tight:32", .out_format = "e3m4"},
     5,
     .rule = VEC_EXACT,
     .out = "e3m4",
     .out_shift = 3},
    {{.format = "e2m1f", .scale = "aps:128", .sum = "nearest"}, 4, RING, VEC_NEAREST, "e2m1f", 0},
    {{.format = "e4m3", .scale = "quantile"}, 5, ALL, VEC_EXACT, "e4m3", 3},
    {{.format = "e3m0", .scale = "quantile:q=0.5"}, 4, RING, VEC_NEAREST, "e3m0", 0},
    {{.format = "bf16", .scale = "quantile"}, 4, ALL, VEC_FP32, "bf16", 0},
    {{.codec = "relgrad"}, 5, ALL, VEC_TRUNC, "e5m2", 0},
    {{.codec = "relgrad", .sum = "auto"}, 5, ALL, VEC_TRUNC, "e5m2", 0},
    {{.codec = "relgrad", .sum = "exact"}, 5, ALL, VEC_EXACT, "e5m2", 3},
    {{.codec = "relgrad", .sum = "nearest"}, 5, RING, VEC_NEAREST, "e5m2", 0},
    {{.format = "e4m3", .scale = "const:1024", .round = "stochastic", .overflow = "inf"},
     6,
     .rule = VEC_EXACT,
     .out = "e4m3"},
};

static void check_choices(void)
{
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        const struct choice *w = choices + i;
        struct codec c;
        char out[CODEC_NAME_BYTES];
        int rc = codec_parse(&w->spec, &c);
        for (int twice = 0; twice < 2 && rc == 0; twice++)
            rc = codec_settle(&c, w->n_ranks,
                              &(struct codec_adder){.name = "algo", .needs = w->needs});
        CHECK(rc == 0, "choice %zu refused", i);
        CHECK(codec_sum(&c)->rule == w->rule, "choice %zu: rule %s", i,
              codec_rule_name(codec_sum(&c)->rule));
        CHECK(strcmp(codec_result_name(codec_sum(&c), out), w->out) == 0,
              "choice %zu: out format %s", i, out);
        CHECK(codec_sum(&c)->out_shift == w->out_shift && codec_sum(&c)->n_ranks == w->n_ranks,
              "choice %zu: shift %d", i, codec_sum(&c)->out_shift);
        const bool inf = w->spec.overflow && strcmp(w->spec.overflow, "inf") == 0;
        CHECK(codec_sum(&c)->overflow == (inf ? MF_INF : MF_SATURATE), "choice %zu: overflow", i);
    }
}

static void check_words(void)
{
    const struct codec_spec spec = {.format = "e6m9",
                                    .scale = "const:0.25",
                                    .sum = "kahan",
                                    .out_format = "bf16",
                                    .overflow = "inf",
                                    .round = "zero"};
    struct codec c;
    static const char *const others_words[][2] = {
        {"onebit", "onebit:64,residual=both"},
        {"onebit:column,residual=own", "onebit:column,residual=own"},
        {"onebit:residual=none,512", "onebit:512,residual=none"},
        {"relgrad", "relgrad:eps=1e-05,q=0.95,every=100,samples=1024,of=weights, trunc sums"},
        {"relgrad:of=gradient,q=0.1",
         "relgrad:q=0.1,every=100,samples=1024,of=gradient, trunc sums"},
        {"relgrad:samples=1,every=1e9,eps=0.001,q=0.9999999999999999",
         "relgrad:eps=0.001,q=0.9999999999999999,every=1000000000,samples=1,of=weights, trunc "
         "sums"},
        {"mx:e3m2", "mx:e3m2"},
        {"nvfp4", "nvfp4"},
        {"ternary", "ternary:clip=2.5"},
        {"ternary:clip=1e6", "ternary:clip=1000000"},
        {"qsgd:1", "qsgd:1,bucket=128,norm=max,levels=even"},
        {"qsgd:2", "qsgd:2,bucket=128,norm=max,levels=sign"},
        {"qsgd:8,norm=2", "qsgd:8,bucket=512,norm=2,levels=sign"},
        {"qsgd:16,levels=even", "qsgd:16,bucket=8192,norm=max,levels=even"},
        {"qsgd:4,bucket=64,norm=max", "qsgd:4,bucket=64,norm=max,levels=sign"}};
    for (size_t i = 0; i < sizeof others_words / sizeof others_words[0]; i++) {
        char text[CODEC_TEXT_BYTES];
        CHECK(codec_parse(&(struct codec_spec){.codec = others_words[i][0]}, &c) == 0 &&
                  strcmp(codec_describe(&c, text), others_words[i][1]) == 0,
              "%s", others_words[i][0]);
    }
    CHECK(codec_parse(&spec, &c) == 0, "words");
    CHECK(codec_sum(&c)->in.e == 6 && codec_sum(&c)->in.m == 9 && codec_sum(&c)->in.flavour == 0 &&
              codec_sum(&c)->out.e == 8 && codec_sum(&c)->out.m == 7 && !minifloat_of(&c)->out_auto,
          "formats");
    CHECK(minifloat_of(&c)->scale == CODEC_CONST && minifloat_of(&c)->const_shift == -2 &&
              !minifloat_of(&c)->sum_auto && codec_sum(&c)->rule == VEC_KAHAN,
          "scale and sum");
    CHECK(codec_sum(&c)->overflow == MF_INF && minifloat_of(&c)->round == MF_ZERO &&
              c.ops == vec_best(),
          "policies");
    CHECK(codec_parse(&(struct codec_spec){.codec = "minifloat"}, &c) == 0 &&
              c.kind == &codec_minifloat,
          "a kind by its name");
    CHECK(codec_parse(&(struct codec_spec){0}, &c) == 0, "defaults");
    CHECK(codec_sum(&c)->in.e == 5 && codec_sum(&c)->in.m == 2 && minifloat_of(&c)->out_auto &&
              minifloat_of(&c)->sum_auto && minifloat_of(&c)->scale == CODEC_NONE,
          "defaults");
    CHECK(codec_sum(&c)->overflow == MF_SATURATE && minifloat_of(&c)->round == MF_NEAREST &&
              c.seed == 0,
          "defaults");
    static const struct {
        const char *word;
        int shift;
    } scales[] = {{"const:1", 0},
                  {"const:1024", 10},
                  {"const:0x1p-149", -149},
                  {"const:0x1p127", 127},
                  {"const:1e0", 0}};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        CHECK(codec_parse(&(struct codec_spec){.scale = scales[i].word}, &c) == 0, "%s",
              scales[i].word);
        CHECK(minifloat_of(&c)->const_shift == scales[i].shift, "%s is 2^%d", scales[i].word,
              minifloat_of(&c)->const_shift);
    }
}

static void check_describe(void)
{
    static const struct codec_spec same[] = {
        {.format = "fp16", .scale = "const:1024", .sum = "nearest"},
        {.format = "e5m10", .scale = "const:0x1p10", .sum = "nearest", .acc_format = "fp16"}};
    static const struct codec_spec others[] = {
        {.format = "e4m3"},
        {.format = "e4m3fn"},
        {.format = "e4m3", .scale = "aps"},
        {.scale = "const:2"},
        {.scale = "const:4"},
        {.format = "e4m3", .sum = "fp32"},
        {.out_format = "fp16"},
        {.overflow = "inf"},
        {.sum = "exact"},
        {.round = "stochastic"},
        {.round = "zero"},
        {.scale = "quantile"},
        {.scale = "quantile:q=0.9"},
        {.scale = "quantile:every=1"},
        {.scale = "quantile:samples=1"},
        {.codec = "relgrad"},
        {.codec = "relgrad", .sum = "exact"},
        {.codec = "relgrad:eps=1e-3"},
        {.sum = "nearest"},
        {.sum = "nearest", .acc_format = "e6m9"},
        {.sum = "nearest", .acc_format = "e5m10"},
        {.sum = "kahan", .acc_format = "e6m9"},
        {.out_format = "e5m2"},
    };
    enum { N = sizeof others / sizeof others[0] };
    char text[2][CODEC_TEXT_BYTES], all[N][CODEC_TEXT_BYTES];
    struct codec c;
    for (int i = 0; i < 2; i++) {
        CHECK(codec_parse(&same[i], &c) == 0, "words");
        codec_describe(&c, text[i]);
    }
    CHECK(strcmp(text[0], text[1]) == 0, "\"%s\" is not \"%s\"", text[0], text[1]);
    for (int i = 0; i < N; i++) {
        CHECK(codec_parse(&others[i], &c) == 0, "words");
        codec_describe(&c, all[i]);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(all[i], all[j]) != 0, "two codecs are \"%s\"", all[i]);
    }
    CHECK(codec_settle(&c, 4, &(struct codec_adder){.name = "test"}) == 0 &&
              strcmp(codec_describe(&c, text[0]), "e5m2, scale none, exact sums in e5m2") == 0,
          "settled: \"%s\"", text[0]);
}

static void check_names(void)
{
    int named = 0;
    for (unsigned e = 1; e <= 8; e++)
        for (unsigned m = 0; m <= 23; m++)
            for (uint8_t flavour = MF_IEEE; flavour <= (e < 8 ? MF_NUMBERS : MF_IEEE); flavour++) {
                const struct mf_fmt fmt = {(uint8_t)e, (uint8_t)m, flavour};
                struct mf_fmt back;
                if (mf_max(fmt) == 0 || (m == 0 && flavour == MF_NO_INF))
                    continue;
                char name[CODEC_NAME_BYTES];
                CHECK(codec_format_parse("x", codec_format_name(fmt, name), &back) == 0, "%s",
                      name);
                CHECK(memcmp(&fmt, &back, sizeof fmt) == 0, "%s reads as e%um%u", name, back.e,
                      back.m);
                named += name[0] != 'e';
            }
    static const char *const others[][2] = {{"fp8", "e4m3fn"},       {"float8_e4m3fn", "e4m3fn"},
                                            {"float8_e5m2", "e5m2"}, {"FP8_E5M2", "e5m2"},
                                            {"fp6_e2m3", "e2m3f"},   {"float6_e3m2fn", "e3m2f"},
                                            {"fp4", "e2m1f"},        {"float4_e2m1fn", "e2m1f"},
                                            {"bfloat16", "bf16"},    {"float8_e4m3", "e4m3"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct mf_fmt fmt;
        char name[CODEC_NAME_BYTES];
        CHECK(codec_format_parse("x", others[i][0], &fmt) == 0 &&
                  strcmp(codec_format_name(fmt, name), others[i][1]) == 0,
              "%s is %s", others[i][0], name);
    }
    CHECK(named == 3, "fp32, fp16 and bf16 have names of their own, not %d", named);
}

int main(void)
{
    check_choices();
    check_words();
    check_describe();
    check_names();
    DONE();
}
