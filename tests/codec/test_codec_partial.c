/* test_codec_partial.c : tests options for partial sums. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

struct refusal {
    struct codec_spec spec;
    const char *says;
};
static const struct refusal refusals[] = {
    {{.acc_format = "e6m9"},
     "--acc-format e6m9 has no effect with --sum auto, whose partial sums are not rounded, or "
     "by "
     "a rule of e5m2; need --sum nearest or kahan"},
    {{.sum = "exact", .acc_format = "e6m9"}, "--acc-format e6m9 has no effect with --sum exact"},
    {{.sum = "fp32", .acc_format = "fp32"}, "--acc-format fp32 has no effect with --sum fp32"},
    {{.sum = "trunc", .acc_format = "e6m9"}, "--acc-format e6m9 has no effect with --sum trunc"},
    {{.sum = "nearest", .acc_format = "e6m1"},
     "--acc-format must represent every number of e5m2, which e6m1 does not: need e5m2 or more of "
     "both"},
    {{.sum = "nearest", .acc_format = "e4m9"}, "every number of e5m2, which e4m9 does not"},
    {{.format = "e4m3fn", .sum = "kahan", .acc_format = "e4m3"}, "need e5m3 or more of both"},
    {{.sum = "nearest", .acc_format = "e4m3fn"}, "every number of e5m2, which e4m3fn does not"},
    {{.sum = "nearest", .acc_format = "e9m2"}, "unknown --acc-format \"e9m2\""},
    {{.codec = "qsgd:4", .acc_format = "e6m9"},
     "--acc-format e6m9 applies only to minifloat: leave it out with --codec qsgd"},
    {{.codec = "relgrad", .sum = "nearest", .acc_format = "e6m9"},
     "--acc-format e6m9 applies only to minifloat: leave it out with --codec relgrad"},
    {{.rescale = true},
     "--rescale needs --scale aps: --scale none finds no exponent that it could adapt"},
    {{.scale = "aps-tight", .rescale = true}, "--rescale needs --scale aps: --scale aps-tight"},
    {{.codec = "onebit", .rescale = true},
     "--rescale applies only to minifloat: leave it out with --codec onebit"},
};

static const struct settled {
    int n_ranks, group;
    struct refusal refusal;
} settled[] = {
    {8, 2, {{.scale = "aps", .rescale = true}, "--rescale has no effect with --sum exact"}},
    {8,
     2,
     {{.scale = "aps", .sum = "kahan", .rescale = true},
      "--rescale has no effect with --sum kahan, which does not cast sums again between groups; "
      "need "
      "--sum nearest"}},
    {8,
     0,
     {{.scale = "aps", .sum = "nearest", .rescale = true},
      "--rescale is impossible with algorithm \"test\": need group-master:K or group-scatter:K "
      "with K of at least 2 and at least 2 groups of the 8 ranks"}},
    {8,
     8,
     {{.scale = "aps", .sum = "nearest", .rescale = true},
      "algorithm \"test\" in such groups: need"}},
    {8,
     1,
     {{.scale = "aps", .sum = "nearest", .rescale = true},
      "algorithm \"test\" in such groups: need"}},
    {128,
     2,
     {{.format = "e3m0", .scale = "aps", .sum = "nearest", .rescale = true},
      "--scale aps with format e3m0 has no room for 64 ranks, only for 63"}},
};

static void check_refusal(const struct refusal *r, int n_ranks, int group)
{
    struct codec c;
    struct capture capture;
    capture_begin(&capture);
    int rc = codec_parse(&r->spec, &c);
    const bool parsed = rc == 0;
    if (parsed)
        rc = codec_settle(&c, n_ranks, &(struct codec_adder){.name = "test", .group = group});
    const char *text = capture_end(&capture);
    CHECK(rc == -EINVAL && parsed == (n_ranks > 0), "%s: got %d", r->says, rc);
    CHECK(strstr(text, r->says), "said \"%s\", want \"%s\"", text, r->says);
    CHECK(capture_lines(text) == 1, "one line, not \"%s\"", text);
}

static void check_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal(&refusals[i], 0, 0);
    for (size_t i = 0; i < sizeof settled / sizeof settled[0]; i++)
        check_refusal(&settled[i].refusal, settled[i].n_ranks, settled[i].group);
}

static void check_acc(const char *format, const char *acc, int e, int m)
{
    struct codec c;
    const struct codec_spec spec = {.format = format, .sum = "nearest", .acc_format = acc};
    CHECK(codec_parse(&spec, &c) == 0 &&
              codec_settle(&c, 4, &(struct codec_adder){.name = "test"}) == 0,
          "%s in %s", format, acc);
    CHECK(codec_sum(&c)->acc.e == e && codec_sum(&c)->acc.m == m, "%s in %s: e%dm%d", format, acc,
          codec_sum(&c)->acc.e, codec_sum(&c)->acc.m);
    const struct codec f = codec_fp32(&c, &(struct codec_adder){.name = "test"});
    CHECK(codec_sum(&f)->acc.e == 0, "fp32 beside it");
}

/* The first exponent leaves headroom for a group, the second for the groups. */
static void check_rescale(void)
{
    struct codec c, one;
    const struct codec_spec spec = {
        .format = "e4m3", .scale = "aps", .sum = "nearest", .rescale = true};
    struct codec_spec plain = spec;
    char text[CODEC_TEXT_BYTES];
    plain.rescale = false;
    const struct codec_adder by = {.name = "test", .group = 4};
    CHECK(codec_parse(&spec, &c) == 0 && codec_parse(&plain, &one) == 0 &&
              codec_settle(&c, 32, &by) == 0 && codec_settle(&one, 32, &by) == 0,
          "settled");
    CHECK(codec_exponent(&c, 0x3f800000) == 2 && codec_exponent(&one, 0x3f800000) == 5, "of 1: %d",
          codec_exponent(&c, 0x3f800000));
    CHECK(codec_rescales(&c) && !codec_rescales(&one), "which rescales");
    CHECK(codec_rescaled(&c, 3) == 7 - 3 && codec_rescaled(&c, CODEC_ALL_ZERO) == 0 &&
              codec_rescaled(&c, CODEC_NOT_FINITE) == 0 && codec_rescaled(&one, 3) == 0,
          "shifts");
    CHECK(
        !strcmp(codec_describe(&c, text), "e4m3, scale aps, nearest sums in e4m3, groups rescaled"),
        "\"%s\"", text);
    const struct codec f = codec_fp32(&c, &by);
    CHECK(!codec_rescales(&f) && codec_exponent(&f, 0x3f800000) == 5, "fp32 beside it");
}

int main(void)
{
    check_refusals();
    check_rescale();
    check_acc("e5m2", "e6m9", 6, 9);
    check_acc("e5m2", "fp16", 5, 10);
    check_acc("e4m3fn", "e5m3", 5, 3);
    check_acc("e5m2", "auto", 0, 0);
    check_acc("e5m2", "e5m2", 0, 0); /* the addends' own format counts as none */
    check_acc("e4m3fn", "e4m3fn", 0, 0);
    DONE();
}
