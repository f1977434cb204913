/* test_codec_partial.c : tests the options for partial sums, and their refusals. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

struct refusal {
    struct codec_words words;
    const char *says;
};
/* Refused when parsed. */
static const struct refusal refusals[] = {
    {{.acc_format = "e6m9"},
     "cannot take --acc-format e6m9 with --sum auto: these sums are not rounded as they grow, or "
     "by "
     "a rule of e5m2; need --sum nearest or kahan"},
    {{.sum = "exact", .acc_format = "e6m9"}, "cannot take --acc-format e6m9 with --sum exact"},
    {{.sum = "fp32", .acc_format = "fp32"}, "cannot take --acc-format fp32 with --sum fp32"},
    {{.sum = "trunc", .acc_format = "e6m9"}, "cannot take --acc-format e6m9 with --sum trunc"},
    {{.sum = "nearest", .acc_format = "e6m1"},
     "cannot add e5m2 in --acc-format e6m1, which lacks some of its numbers: need e5m2 or more of "
     "both"},
    {{.sum = "nearest", .acc_format = "e4m9"}, "cannot add e5m2 in --acc-format e4m9"},
    {{.format = "e4m3fn", .sum = "kahan", .acc_format = "e4m3"}, "need e5m3 or more of both"},
    {{.sum = "nearest", .acc_format = "e4m3fn"}, "cannot add e5m2 in --acc-format e4m3fn"},
    {{.sum = "nearest", .acc_format = "e9m2"}, "unknown --acc-format \"e9m2\""},
    {{.codec = "qsgd:4", .acc_format = "e6m9"},
     "--acc-format e6m9 does not go with --codec qsgd: it is minifloat's"},
    {{.codec = "relgrad", .sum = "nearest", .acc_format = "e6m9"},
     "--acc-format e6m9 does not go with --codec relgrad"},
    {{.rescale = true},
     "cannot take --rescale with --scale none: it finds a second exponent as aps finds the first; "
     "need --scale aps"},
    {{.scale = "aps-tight", .rescale = true}, "cannot take --rescale with --scale aps-tight"},
    {{.codec = "onebit", .rescale = true},
     "--rescale does not go with --codec onebit: it is minifloat's"},
};

/* Refused, or accepted, for n_ranks in groups of `group`. */
static const struct settled {
    int n_ranks, group;
    struct refusal refusal;
} settled[] = {
    {8, 2, {{.scale = "aps", .rescale = true}, "cannot take --rescale with --sum exact"}},
    {8,
     2,
     {{.scale = "aps", .sum = "kahan", .rescale = true},
      "cannot take --rescale with --sum kahan: these sums are not cast again between groups; need "
      "--sum nearest"}},
    {8,
     0,
     {{.scale = "aps", .sum = "nearest", .rescale = true},
      "cannot take --rescale with algorithm \"test\": need group-master:K or group-scatter:K, "
      "where "
      "groups of K = 2 or more are 2 or more of the 8 ranks"}},
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
      "cannot use --scale aps with format e3m0 on 64 ranks: it leaves room for 63"}},
};

static void check_refusal(const struct refusal *r, int n_ranks, int group)
{
    struct codec c;
    struct capture capture;
    capture_begin(&capture);
    int rc = codec_parse(&r->words, &c);
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
    const struct codec_words words = {.format = format, .sum = "nearest", .acc_format = acc};
    CHECK(codec_parse(&words, &c) == 0 &&
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
    const struct codec_words words = {
        .format = "e4m3", .scale = "aps", .sum = "nearest", .rescale = true};
    struct codec_words plain = words;
    char text[CODEC_TEXT_BYTES];
    plain.rescale = false;
    const struct codec_adder by = {.name = "test", .group = 4};
    CHECK(codec_parse(&words, &c) == 0 && codec_parse(&plain, &one) == 0 &&
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
    check_acc("e5m2", "e5m2", 0, 0); /* its own format is no separate one */
    check_acc("e4m3fn", "e4m3fn", 0, 0);
    DONE();
}
