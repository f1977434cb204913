/* test_nn_columns.c : every network's parameters divide into whole columns. */
#include "check.h"
#include "nn/model_graph.h"
#include <string.h>

static const char *const names[] = {
#define MODEL(name, build, depth) #name,
#include "nn/zoo/models.def"
#undef MODEL
};

static const struct {
    const char *model, *param;
    size_t column, stride;
} known[] = {
    {"lenet5", "conv2.weight", 5, 6},          {"lenet5", "hidden1.weight", 120, 3136},
    {"resnet20", "classifier.weight", 10, 64}, {"resnet20", "classifier.bias", 10, 1},
    {"caffenet", "conv2.weight", 5, 48},       {"caffenet", "conv5.weight", 3, 192},
    {"alexnet", "conv2.weight", 5, 96},        {"vgg19", "hidden1.weight", 4096, 2048},
    {"resnet50", "s3b2.conv3.weight", 1, 512}, {"resnet50", "s3b2.norm3.gamma", 2048, 1},
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

int main(void)
{
    int n_found = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct nn_model m;
        const bool sequences = strstr(names[i], "lstm") || strstr(names[i], "gpt");
        const struct nn_shape in = {64, sequences ? 1 : 64, sequences ? 363 : 3};
        if (graph_init(&m, &nn_cpu, in, 1) < 0 || graph_by_name(&m, names[i], 10) < 0)
            return 1;
        const struct nn_param *p = m.params;
        const int n_params = m.n_params;
        for (int k = 0; k < n_params; k++) {
            const size_t run = p[k].column * p[k].stride;
            CHECK(run > 0 && p[k].n % run == 0, "%s %s: columns of %zu, %zu apart, of %zu",
                  names[i], p[k].name, p[k].column, p[k].stride, p[k].n);
            CHECK(p[k].decay || (p[k].column == p[k].n && p[k].stride == 1), "%s %s", names[i],
                  p[k].name);
            CHECK(p[k].bias == (strstr(p[k].name, ".bias") != NULL), "%s %s: bias %d", names[i],
                  p[k].name, p[k].bias);
            for (int w = 0; w < N_KNOWN; w++)
                if (!strcmp(known[w].model, names[i]) && !strcmp(known[w].param, p[k].name)) {
                    n_found++;
                    CHECK(p[k].column == known[w].column && p[k].stride == known[w].stride,
                          "%s %s: columns of %zu, %zu apart", names[i], p[k].name, p[k].column,
                          p[k].stride);
                }
        }
        graph_fini(&m);
    }
    CHECK(n_found == N_KNOWN, "%d of %d known columns are there", n_found, N_KNOWN);
    DONE();
}
