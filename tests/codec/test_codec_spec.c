/* test_codec_spec.c : tests specs of codec_parse() and codec_settle(). */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

enum { ALL = 0, EXACT = REDUCE_WIDE, RING = REDUCE_PARTS };

/* n_ranks 0: codec_parse() refuses it; otherwise codec_settle(). */
static const struct refusal {
    struct codec_spec spec;
    int n_ranks;
    unsigned needs;
    const char *says;
} refusals[] = {
    {{.format = "e9m2"},
     0,
     0,
     "unknown --format \"e9m2\": need one of fp32 fp16 bf16 e5m2 e4m3 e4m3fn e3m0 or eXmY"},
    {{.format = "e0m2"}, 0, 0, "unknown --format \"e0m2\""},
    {{.format = "e5m24"}, 0, 0, "X 1..8 and Y 0..23"},
    {{.format = "e5m02"}, 0, 0, "unknown --format \"e5m02\""},
    {{.format = "e5m2 "}, 0, 0, "unknown --format \"e5m2 \""},
    {{.format = "e4m3fnx"}, 0, 0, "unknown --format \"e4m3fnx\""},
    {{.format = "e3m0fn"}, 0, 0, "unknown --format \"e3m0fn\""},
    {{.format = "e8m7f"}, 0, 0, "unknown --format \"e8m7f\""},
    {{.format = "e4m3F"}, 0, 0, "unknown --format \"e4m3F\""},
    {{.format = ""}, 0, 0, "unknown --format \"\""},
    {{.format = "e1m0"},
     0,
     0,
     "cannot use --format \"e1m0\": its only number is 0; the smallest formats are e1m1 and e1m0f"},
    {{.out_format = "e1m0"}, 0, 0, "cannot use --out-format \"e1m0\""},
    {{.out_format = "fp9"}, 0, 0, "unknown --out-format \"fp9\""},
    {{.format = "mxfp4"},
     0,
     0,
     "cannot use --format \"mxfp4\", which has a scale for every 32 elements: need --codec "
     "mx:e2m1, or e2m1f with --scale aps-tight:32"},
    {{.format = "NVFP4"}, 0, 0, "a scale for every 16 elements: need --codec nvfp4, or e2m1f"},
    {{.codec = "mx"}, 0, 0, "bad --codec \"mx\": need mx:e4m3, e5m2, e2m3, e3m2 or e2m1"},
    {{.codec = "mx:e4m3fn"}, 0, 0, "bad --codec \"mx:e4m3fn\": need mx:e4m3"},
    {{.codec = "mx:e2m1"},
     2,
     EXACT,
     "cannot add codec \"mx:e2m1\" of 2 ranks, whose blocks have scales of their own: need "
     "--format e2m1f --scale aps-tight:32"},
    {{.codec = "mx:e4m3", .scale = "aps"}, 0, 0, "leave it out with --codec mx"},
    {{.codec = "nvfp4:16"}, 0, 0, "bad --codec \"nvfp4:16\": nvfp4 has no options"},
    {{.codec = "nvfp4", .format = "e2m1f"}, 0, 0, "leave it out with --codec nvfp4"},
    {{.codec = "nvfp4"}, 781, EXACT, "cannot add codec \"nvfp4\" of 781 ranks: an int32 holds"},
    {{.format = "e2m5f", .acc_format = "e2m6", .sum = "nearest"},
     0,
     0,
     "need e3m5 or more of both"},
    {{.scale = "APS"},
     0,
     0,
     "unknown --scale \"APS\": need none, const:K, aps[:G], aps-tight[:G] or quantile"},
    {{.scale = "aps:"}, 0, 0, "bad --scale \"aps:\": need 16, 32, 64 or 128 elements"},
    {{.scale = "aps:8"}, 0, 0, "bad --scale \"aps:8\": need 16, 32, 64 or 128 elements"},
    {{.scale = "aps-tight:+32"}, 0, 0, "such as aps-tight:32"},
    {{.scale = "aps:32,64"}, 0, 0, "bad --scale \"aps:32,64\""},
    {{.format = "bf16", .scale = "aps:32"}, 0, 0, "format bf16 has more than the 6 exponent bits"},
    {{.scale = "aps:32", .sum = "nearest", .rescale = true},
     0,
     0,
     "--rescale is impossible with --scale aps:32"},
    {{.out_format = "e4m3:5"}, 0, 0, "bad --out-format \"e4m3:5\": need 16, 32, 64 or 128"},
    {{.out_format = "bf16:32"}, 0, 0, "--out-format bf16:32 is impossible"},
    {{.out_format = ":32"}, 0, 0, "unknown --out-format \":32\""},
    {{.out_format = "auto:32"}, 0, 0, "unknown --out-format \"auto:32\""},
    {{.out_format = "e4m3:32", .sum = "nearest"},
     4,
     ALL,
     "--out-format e4m3:32 needs exact sums, which give its exponents: --sum nearest"},
    {{.format = "e4m3", .scale = "quantile", .out_format = "e4m3:32"},
     4,
     ALL,
     "--out-format e4m3:32 is impossible with --scale quantile"},
    {{.scale = "const"}, 0, 0, "unknown --scale \"const\""},
    {{.scale = ""}, 0, 0, "unknown --scale \"\""},
    {{.scale = "const:"},
     0,
     0,
     "bad --scale \"const:\": K of const:K must be a power of two from 2^-149 to 2^127"},
    {{.scale = "const:3"}, 0, 0, "bad --scale \"const:3\""},
    {{.scale = "const:-2"}, 0, 0, "bad --scale \"const:-2\""},
    {{.scale = "const:0"}, 0, 0, "bad --scale \"const:0\""},
    {{.scale = "const:inf"}, 0, 0, "bad --scale \"const:inf\""},
    {{.scale = "const:nan"}, 0, 0, "bad --scale \"const:nan\""},
    {{.scale = "const:8x"}, 0, 0, "bad --scale \"const:8x\""},
    {{.scale = "const:0x1p128"}, 0, 0, "bad --scale \"const:0x1p128\""},
    {{.scale = "const:0x1p-150"}, 0, 0, "bad --scale \"const:0x1p-150\""},
    {{.sum = "exactly"},
     0,
     0,
     "unknown --sum \"exactly\": need auto, exact, fp32, nearest, kahan or trunc"},
    {{.codec = "minifloats"}, 0, 0, "no codec \"minifloats\": need one of minifloat"},
    {{.codec = "minifloat:e4m3"}, 0, 0, "bad --codec \"minifloat:e4m3\""},
    {{.codec = "qsgd"}, 0, 0, "bad --codec \"qsgd\": need qsgd:B with B = 1, 2, 4, 8 or 16 bits"},
    {{.codec = "qsgd:3"}, 0, 0, "bad --codec \"qsgd:3\": need qsgd:B with B = 1, 2, 4, 8 or 16"},
    {{.codec = "qsgd:4:2"}, 0, 0, "bad --codec \"qsgd:4:2\": need qsgd:B"},
    {{.codec = "qsgd:"}, 0, 0, "bad --codec \"qsgd:\": need qsgd:B"},
    {{.codec = "qsgd:-4"}, 0, 0, "bad --codec \"qsgd:-4\": need qsgd:B"},
    {{.codec = "qsgd:4,bucket=0"},
     0,
     0,
     "bucket=D must be a multiple of 32 elements, from 32 to 16384"},
    {{.codec = "qsgd:4,bucket=48"}, 0, 0, "bucket=D must be a multiple of 32 elements"},
    {{.codec = "qsgd:4,bucket=32768"}, 0, 0, "bucket=D must be a multiple of 32 elements"},
    {{.codec = "qsgd:4,bucket=64x"}, 0, 0, "bucket=D must be a multiple of 32 elements"},
    {{.codec = "qsgd:4,bucket="}, 0, 0, "qsgd:B may be followed by bucket=D, norm=max or 2"},
    {{.codec = "qsgd:4,norm=1"}, 0, 0, "bad --codec \"qsgd:4,norm=1\": qsgd:B may be followed by"},
    {{.codec = "qsgd:4,"}, 0, 0, "bad --codec \"qsgd:4,\": qsgd:B may be followed by"},
    {{.codec = "qsgd:1,levels=sign"}, 0, 0, "with one bit there is no level besides the sign"},
    {{.codec = "qsgd:4", .format = "e4m3"},
     0,
     0,
     "--format e4m3 applies only to minifloat: leave it out with --codec qsgd"},
    {{.codec = "qsgd:4", .round = "zero"},
     0,
     0,
     "--round zero applies only to minifloat: leave it out with --codec qsgd"},
    {{.codec = "onebit:0"},
     0,
     0,
     "D of onebit:D must be a multiple of 32 elements, from 32 to 16384"},
    {{.codec = "onebit:65"},
     0,
     0,
     "bad --codec \"onebit:65\": D of onebit:D must be a multiple of 32"},
    {{.codec = "onebit:64k"}, 0, 0, "bad --codec \"onebit:64k\": D of onebit:D"},
    {{.codec = "onebit:"}, 0, 0, "bad --codec \"onebit:\": need onebit, onebit:D or onebit:column"},
    {{.codec = "onebit:columns"}, 0, 0, "bad --codec \"onebit:columns\": need onebit"},
    {{.codec = "onebit:64,residual=mine"},
     0,
     0,
     "optionally followed by ,residual=both, own or none"},
    {{.codec = "onebit:64,"}, 0, 0, "bad --codec \"onebit:64,\": need onebit"},
    {{.codec = "onebit", .scale = "aps"},
     0,
     0,
     "--scale aps applies only to minifloat: leave it out with --codec onebit"},
    {{.codec = "ternary:2.5"}, 0, 0, "need ternary, or ternary:clip=X with X from 1 to 1e6"},
    {{.codec = "ternary:clip=0.9"}, 0, 0, "from 1 to 1e6"},
    {{.codec = "ternary:clip=nan"}, 0, 0, "bad --codec \"ternary:clip=nan\": need ternary"},
    {{.codec = "ternary:clip=3x"}, 0, 0, "bad --codec \"ternary:clip=3x\": need ternary"},
    {{.codec = "ternary:clip="}, 0, 0, "bad --codec \"ternary:clip=\": need ternary"},
    {{.codec = "ternary", .sum = "exact"},
     0,
     0,
     "--sum exact applies only to minifloat: leave it out with --codec ternary"},
    {{.overflow = "wrap"}, 0, 0, "unknown --overflow \"wrap\": need saturate or inf"},
    {{.round = "up"}, 0, 0, "unknown --round \"up\": need nearest, stochastic or zero"},

    {{.sum = "exact"},
     4,
     RING,
     "cannot add by --sum exact with algorithm \"algo\", which adds by nearest, trunc"},
    {{.sum = "fp32"},
     4,
     EXACT,
     "cannot add by --sum fp32 with algorithm \"algo\", which adds by exact"},
    {{.sum = "kahan"}, 4, RING, "cannot add by --sum kahan"},
    {{.format = "e6m2"},
     4,
     EXACT,
     "cannot find a sum for format e6m2: algorithm \"algo\" adds only by exact"},
    {{.format = "e6m2", .sum = "exact"},
     4,
     ALL,
     "cannot add format e6m2 of 4 ranks exactly: the sums take 67 bits"},
    {{.format = "e5m23", .sum = "exact"},
     512,
     ALL,
     "cannot add format e5m23 of 512 ranks exactly: the sums take 63 bits; need at most 62, and "
     "e <= 5"},
    {{.format = "fp32", .sum = "exact"},
     1,
     ALL,
     "cannot add format fp32 exactly: use format e3m23"},
    {{.format = "fp16", .sum = "exact"},
     (1 << 21) + 1,
     ALL,
     "of 2097153 ranks exactly: the sums take 63 bits"},
    {{.format = "e4m3", .sum = "trunc"},
     4,
     ALL,
     "--sum trunc cannot add format e4m3: it needs e5m2"},
    {{.sum = "trunc", .round = "zero"}, 4, ALL, "--round has no effect with --sum trunc"},
    {{.sum = "trunc", .overflow = "inf"}, 4, ALL, "--overflow inf is impossible with --sum trunc"},
    {{.format = "e3m0", .scale = "aps"},
     64,
     ALL,
     "--scale aps with format e3m0 has no room for 64 ranks, only for 63"},
    {{.format = "e2m1", .scale = "aps"}, 8, ALL, "only for 7"},
    {{.format = "e1m1", .scale = "aps"}, 2, ALL, "only for 1"},
    {{.scale = "aps-tight"}, 4, RING, "--scale aps-tight needs exact sums: --sum nearest"},
    {{.scale = "aps-tight", .sum = "fp32"},
     4,
     ALL,
     "--scale aps-tight needs exact sums: --sum fp32"},
    {{.format = "bf16", .scale = "aps-tight"},
     4,
     ALL,
     "--scale aps-tight needs exact sums: --sum fp32"},
    {{.format = "e5m2"}, -1, ALL, "cannot settle codec for -1 ranks"},
};

static int parse_and_settle(const struct refusal *r, struct codec *c)
{
    int rc = codec_parse(&r->spec, c);
    if (r->n_ranks == 0)
        return rc;
    if (rc < 0)
        return -1000;
    struct codec before = *c;
    rc = codec_settle(c, r->n_ranks, &(struct codec_adder){.name = "algo", .needs = r->needs});
    return rc < 0 && memcmp(&before, c, sizeof before) != 0 ? -1001 : rc;
}

static void check_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = refusals + i;
        struct codec c;
        struct capture capture;
        memset(&c, 0x5a, sizeof c);
        capture_begin(&capture);
        int rc = parse_and_settle(r, &c);
        const char *text = capture_end(&capture);
        CHECK(rc == -EINVAL, "%s: got %d", r->says, rc);
        CHECK(strstr(text, r->says), "said \"%s\", want \"%s\"", text, r->says);
        CHECK(capture_lines(text) == 1, "one line, not \"%s\"", text);
        if (r->n_ranks == 0)
            CHECK(((unsigned char *)&c)[0] == 0x5a, "%s: output written on failure", r->says);
    }
}

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
     ALL,
     VEC_EXACT,
     "fp32",
     0},
    {{.format = "e4m3", .scale = "aps-tight"}, 4, ALL, VEC_EXACT, "e4m3", 2},
    {{.format = "e4m3", .scale = "aps-tight"}, 5, ALL, VEC_EXACT, "e4m3", 3},
    {{.format = "e4m3", .scale = "aps-tight"}, 256, ALL, VEC_EXACT, "e4m3", 8},
    {{.format = "e4m3", .scale = "aps-tight", .out_format = "e4m3:16"},
     5,
     ALL,
     VEC_EXACT,
     "e4m3:16",
     0},
    {{.format = "e2m3f", .scale = "aps-tight:32"}, 5, ALL, VEC_EXACT, "e2m3f:32", 0},
    {{.format = "e2m1f", .scale = "aps-tight:32"}, 5, ALL, VEC_EXACT, "e4m3", 3},
    {{.format = "e2m1f", .scale = "aps-tight:32", .out_format = "e3m4"},
     5,
     ALL,
     VEC_EXACT,
     "e3m4",
     3},
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
     ALL,
     VEC_EXACT,
     "e4m3",
     0},
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
        {"relgrad:of=gradient,q=0.1,eps=1e-3",
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
    check_refusals();
    check_choices();
    check_words();
    check_describe();
    check_names();
    DONE();
}
