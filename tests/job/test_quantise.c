/* test_quantise.c : --quantise keeps the smallest layers (below 1 % of all elements) in fp32. */
#include "base/err.h"
#include "capture.h"
#include "check.h"
#include "job/job.h"
#include <string.h>

enum { N_MAX = 6 };

static const struct {
    size_t n[N_MAX];
    bool fp32[N_MAX], want[N_MAX];
} cases[] = {
    {{9900, 49, 50, 1}, {false}, {false, true, false, true}}, /* 50, and 100 with the next one */
    {{9901, 49, 49, 1}, {false}, {false, true, true, true}},  /* 99 of 10000 */
    {{9900, 50, 50}, {false}, {false, true, false}},
    {{100, 100, 100}, {false}, {false, false, false}},
    {{5}, {false}, {false}},
    {{500, 9430, 70},
     {true, false, false},
     {true, false, true}}, /* already in fp32: does not count */
};

static void check_cases(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct reducer_layer layers[N_MAX];
        int n = 0;
        for (; n < N_MAX && cases[k].n[n]; n++)
            layers[n] = (struct reducer_layer){.n = cases[k].n[n], .fp32 = cases[k].fp32[n]};
        CHECK(quantise_leave_small(layers, n) == 0, "case %zu", k);
        for (int i = 0; i < n; i++)
            CHECK(layers[i].fp32 == cases[k].want[i] && layers[i].n == cases[k].n[i],
                  "case %zu, layer %d of %zu: fp32 %d", k, i, layers[i].n, layers[i].fp32);
    }
}

/* A search of all layers for each small one would take a minute. */
static void check_many(void)
{
    enum { N = 100000 };
    static struct reducer_layer layers[N];
    for (int i = 0; i < N; i++)
        layers[i].n = i ? 1 : (size_t)1 << 40;
    CHECK(quantise_leave_small(layers, N) == 0, "many layers");
    for (int i = 0; i < N; i++)
        if (layers[i].fp32 != (i > 0))
            CHECK(false, "layer %d of %d", i, N);
}

static void check_words(void)
{
    static const struct {
        const char *codec, *word;
        bool want;
    } words[] = {{"minifloat", NULL, false},      {"minifloat", "large", true},
                 {"qsgd:4", NULL, true},          {"qsgd:4", "auto", true},
                 {"qsgd:4", "all", false},        {"onebit", "auto", true},
                 {"onebit:column", "all", false}, {"ternary", NULL, true}};
    struct codec codec;
    bool small;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        small = !words[i].want;
        CHECK(codec_parse(&(struct codec_spec){.codec = words[i].codec}, &codec) == 0 &&
                  quantise_parse(words[i].word, &codec, &small) == 0 && small == words[i].want,
              "%s: %s", words[i].codec, words[i].word ? words[i].word : "NULL");
    }
    struct capture capture;
    capture_begin(&capture);
    const int rc = quantise_parse("Large", &codec, &small);
    const char *text = capture_end(&capture);
    CHECK(rc == -EINVAL && strstr(text, "unknown --quantise \"Large\": need auto, large or all"),
          "%d, \"%s\"", rc, text);
}

int main(void)
{
    check_cases();
    check_many();
    check_words();
    DONE();
}
