/* test_codec_partial.c : tests options for partial sums. */
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

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
    check_rescale();
    check_acc("e5m2", "e6m9", 6, 9);
    check_acc("e5m2", "fp16", 5, 10);
    check_acc("e4m3fn", "e5m3", 5, 3);
    check_acc("e5m2", "auto", 0, 0);
    check_acc("e5m2", "e5m2", 0, 0); /* the addends' own format counts as none */
    check_acc("e4m3fn", "e4m3fn", 0, 0);
    DONE();
}
