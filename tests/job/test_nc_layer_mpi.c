/* test_nc_layer_mpi.c : onebit:column cuts a layer by its columns; relgrad divides by its
 * weights. */
/* RANKS: 1 3 4 */
#include <narrowcast.h>
#include "capture.h"
#include "check.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { OUT = 20, IN = 50, KERNEL = 3, N_FC = OUT * IN, N_CONV = 30 * KERNEL, N_BIAS = 40 };
enum { N_ALL = N_FC + N_CONV + N_BIAS, N_LAYERS = 3 };
static float grads[N_ALL], weights[N_ALL];
static float *const list[] = {grads, grads + N_FC, grads + N_FC + N_CONV};
static const struct nc_layer layers[] = {
    {.name = "fc", .n = N_FC, .column = OUT, .stride = IN, .weights = weights},
    {.name = "conv", .n = N_CONV, .column = KERNEL, .stride = 1, .weights = weights + N_FC},
    {.name = "bias", .n = N_BIAS, .weights = weights + N_FC + N_CONV}};

static struct nc *open_as(const char *codec, const char *sum)
{
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    o.codec = codec;
    o.sum = sum;
    o.quantise = "all";
    const int rc = nc_open(&o, layers, N_LAYERS, &nc);
    CHECK(rc == 0, "%s: %d", codec, rc);
    if (rc < 0)
        exit(1);
    return nc;
}

static int column_of(int layer, int i)
{
    return layer == 0 ? i % IN : layer == 1 ? i / KERNEL : 0;
}

/* A column has two different values, which are its two means. */
static float two_numbers(int layer, int i, double rank)
{
    const double size = (1 + column_of(layer, i) + rank) / 64;
    return (float)(i * 7 % 11 < 5 ? size : -2 * size);
}

static void test_columns(void)
{
    struct nc *nc = open_as("onebit:column", NULL);
    struct nc_report report;
    for (int l = 0; l < N_LAYERS; l++)
        for (int i = 0; i < (int)layers[l].n; i++)
            list[l][i] = two_numbers(l, i, nc_rank(nc));
    CHECK(nc_allreduce(nc, list, &report) == 0, "a step");
    /* per column two means, and a bit per element in words of 32 */
    CHECK(report.code_bytes == IN * (8 + 4) + N_CONV / KERNEL * (8 + 4) + 8 + 2 * 4, "%d bytes",
          (int)report.code_bytes);
    for (int l = 0; l < N_LAYERS; l++)
        for (int i = 0; i < (int)layers[l].n; i++) {
            const double want = (double)two_numbers(l, i, (nc_n_ranks(nc) - 1) / 2.0);
            CHECK(fabs((double)list[l][i] - want) <= ldexp(fabs(want), -22), "%s %d: %g, not %g",
                  layers[l].name, i, (double)list[l][i], want);
        }
    nc_close(nc);
}

/* 75 sizes, new in each step. e5m2 cannot hold these gradients, only their quotients by the
 * weights, which are nearly equal. */
static float weight(int i, int step)
{
    return ldexpf(i % 2 ? 1.5f : -1, (i * 7 + step * 5) % 75 - 15);
}

static void test_weights(void)
{
    struct nc *nc = open_as("relgrad", "exact");
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < N_ALL; i++) {
            weights[i] = weight(i, step);
            grads[i] = (fabsf(weights[i]) + 1e-5f) * (i % 3 ? 0.25f : -0.375f);
        }
        CHECK(nc_allreduce(nc, list, NULL) == 0, "step %d", step);
        for (int i = 0; i < N_ALL; i++) {
            const double of = fabs((double)weights[i]) + 1e-5, want = i % 3 ? 0.25 : -0.375;
            CHECK(fabs((double)grads[i] / of - want) <= 0.25 * fabs(want),
                  "step %d element %d: %g of its weight, not %g", step, i, (double)grads[i] / of,
                  want);
        }
    }
    nc_close(nc);
}

static struct nc *keep; /* keeps MPI running */

/* want NULL: accepted. */
static void refused(const char *codec, struct nc_layer second, const char *want)
{
    const struct nc_layer both[] = {layers[0], second};
    struct nc_options o = nc_options_default();
    struct capture said;
    struct nc *nc = NULL;
    o.codec = codec;
    capture_begin(&said);
    const int rc = nc_open(&o, both, 2, &nc);
    const char *line = capture_end(&said);
    CHECK((rc == -EINVAL) == (want != NULL), "\"%s\": %d", want ? want : "fine", rc);
    CHECK(capture_lines(line) == (want && nc_rank(keep) == 0) &&
              (!*line || (want && strstr(line, want))),
          "said \"%s\"", line);
    nc_close(nc);
}

static void test_refused(void)
{
    const char *none = "it divides by weights, and layer \"b\" has none; use "
                       "relgrad:of=gradient or another codec, or set nc_layer.weights";
    refused("relgrad", (struct nc_layer){.name = "b", .n = 9}, none);
    refused("relgrad", (struct nc_layer){.name = "b", .n = 9, .fp32 = 1}, NULL);
    refused("relgrad:of=gradient", (struct nc_layer){.name = "b", .n = 9}, NULL);
    const char *cut = "cannot cut layer \"b\" of 12 elements into columns of ";
    const struct {
        size_t column, stride;
        bool fits;
    } columns[] = {{5, 1, false}, {4, 2, false}, {2, 12, false}, {4, 0, false}, {0, 4, false},
                   {3, 4, true},  {12, 1, true}, {1, 12, true},  {0, 0, true}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        refused(NULL,
                (struct nc_layer){
                    .name = "b", .n = 12, .column = columns[i].column, .stride = columns[i].stride},
                columns[i].fits ? NULL : cut);
}

int main(void)
{
    if (nc_open(NULL, layers, N_LAYERS, &keep) < 0)
        return 1;
    test_columns();
    test_weights();
    test_refused();
    nc_close(keep);
    DONE();
}
