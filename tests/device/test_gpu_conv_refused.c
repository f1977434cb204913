/* test_gpu_conv_refused.c : impossible convolutions and unknown values of NARROWCAST_CONV are
 * refused in one line. */
#include "gpu_layers.h"

static void check_refused(struct layers *g)
{
    const struct nn_window bad = {{8, 8, 4}, {9, 8, 4}, 3, 1, 1, 1, 0, 1};
    size_t bytes;
    CHECK(g->nn->conv_plan(g->d, &bad, true, true, 2, &bytes) < 0,
          "an output larger than its input allows was planned");
}

static void check_words(const struct layers *g)
{
    static const struct {
        const char *word;
        bool good;
    } words[] = {{"first", true}, {"fastest", true}, {"any", true}, {"all", false}, {"", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct dev_nn *d = NULL;
        CHECK(setenv("NARROWCAST_CONV", words[i].word, 1) == 0, "setenv");
        const int rc = g->nn->open(NN_FP32, g->s, &d);
        CHECK((rc == 0) == words[i].good, "NARROWCAST_CONV=%s: %d", words[i].word, rc);
        if (rc == 0)
            g->nn->close(d);
    }
}

int main(void)
{
    struct layers g;
    layers_open(&g, 21);
    for (int math = NN_FP32; math <= NN_FP16_PURE; math++) {
        layers_math(&g, (enum nn_math)math);
        check_refused(&g);
    }
    check_words(&g);
    layers_close(&g);
    DONE();
}
