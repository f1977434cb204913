/* test_codec_partial.c : the words for partial sums, and the lines that refuse them. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include <string.h>

static const struct refusal {
    struct codec_words words;
    const char *says;
} refusals[] = {
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
};

static void check_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = refusals + i;
        struct codec c;
        struct capture capture;
        capture_begin(&capture);
        const int rc = codec_parse(&r->words, &c);
        const char *text = capture_end(&capture);
        CHECK(rc == -EINVAL, "%s: got %d", r->says, rc);
        CHECK(strstr(text, r->says), "said \"%s\", want \"%s\"", text, r->says);
        CHECK(capture_lines(text) == 1, "one line, not \"%s\"", text);
    }
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

int main(void)
{
    check_refusals();
    check_acc("e5m2", "e6m9", 6, 9);
    check_acc("e5m2", "fp16", 5, 10);
    check_acc("e4m3fn", "e5m3", 5, 3);
    check_acc("e5m2", "auto", 0, 0);
    check_acc("e5m2", "e5m2", 0, 0); /* its own is none */
    check_acc("e4m3fn", "e4m3fn", 0, 0);
    DONE();
}
