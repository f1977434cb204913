/* bench_nc.c : measures how much of an all-reduce is hidden if a caller passes layers while it
 * computes, with nc_iallreduce() and nc_ready(). */
#include "base/buf.h"
#include "base/clock.h"
#include "bench/measure.h"
#include <math.h>
#include <narrowcast.h>
#include <time.h>

enum { ROUNDS = 15 };

static void compute(double seconds, int busy)
{
    const double end = clock_s() + seconds;
    while (busy && clock_s() < end)
        ;
    if (!busy)
        nanosleep(&(struct timespec){(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)}, NULL);
}

/* Returns the seconds of a step. travels: with an all-reduce. */
static double step(struct nc *nc, float **grads, int n_layers, double seconds, int busy,
                   int travels)
{
    struct nc_report report;
    int rc = 0;
    char all = 0;
    nc_broadcast(nc, &all, 1, 0); /* all ranks begin together */
    const double start = clock_s();
    if (travels)
        rc = nc_iallreduce(nc, grads);
    for (int l = n_layers - 1; l >= 0 && rc == 0; l--) {
        compute(seconds / n_layers, busy);
        if (travels)
            rc = nc_ready(nc, l, 1);
    }
    if (travels && rc == 0)
        rc = nc_wait(nc, &report);
    if (rc != 0) {
        fprintf(stderr, "bench_nc: %s\n", nc_last_error(nc));
        exit(1);
    }
    return clock_s() - start;
}

static double median_step(struct nc *nc, float **grads, int n_layers, double seconds, int busy,
                          int travels)
{
    double s[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        s[i] = step(nc, grads, n_layers, seconds, busy, travels);
    return measure_median(s, ROUNDS);
}

struct options {
    int64_t layers, elements;
    double ms;
    const char *how, *format;
};

/* Measure and print. Returns 0, or 1 after an error was reported. */
static int run(const struct options *o, struct nc_layer *layers, float **grads)
{
    const int n_layers = (int)o->layers, busy = !strcmp(o->how, "busy");
    const double seconds = 1e-3 * o->ms;
    struct nc_options options = nc_options_default();
    struct nc *nc;
    options.format = o->format;
    options.scale = "aps";
    for (int l = 0; l < n_layers; l++) {
        layers[l] = (struct nc_layer){.name = "layer", .n = (size_t)o->elements};
        grads[l] = buf_alloc((size_t)o->elements * sizeof(float));
        if (!grads[l])
            return 1;
        for (int64_t i = 0; i < o->elements; i++)
            grads[l][i] = (float)(i % 31 - 15) * 1e-3f;
    }
    if (nc_open(&options, layers, n_layers, &nc) < 0)
        return 1;
    (void)step(nc, grads, n_layers, 0, 0, 1);
    const double alone = median_step(nc, grads, n_layers, 0, 0, 1);
    const double computing = median_step(nc, grads, n_layers, seconds, busy, 0);
    const double both = median_step(nc, grads, n_layers, seconds, busy, 1);
    if (nc_rank(nc) == 0)
        printf("%d ranks, %d layers of %lld, %s, computing %s: all-reduce %.1f ms, computing %.1f "
               "ms, both %.1f ms: %.0f %% hidden\n",
               nc_n_ranks(nc), n_layers, (long long)o->elements, o->format, o->how, 1e3 * alone,
               1e3 * computing, 1e3 * both, 100 * (alone + computing - both) / alone);
    nc_close(nc);
    return 0;
}

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"layers", "N", "50", "Layers.", INT_AT(layers, 1, 10000)},
    {"elements", "N", "200000", "Elements of a layer.", INT_AT(elements, 1, 1 << 30)},
    {"ms", "MS", "200", "Milliseconds of computing in a step.", REAL_AT(ms, 0.001, 1e5)},
    {"computing", "busy|asleep", "asleep", "asleep: as if waiting for a GPU.", CHOICE_AT(how)},
    {"format", "FORMAT", "e5m2", "As in `narrowcast train --format`, with scale aps.",
     TEXT_AT(format)},
};
static const struct opt_command command = {
    .name = "bench_nc",
    .args = "",
    .about = "Measures how much of an all-reduce is hidden if a caller passes layers while it "
             "computes. Run it on several ranks: host/ranks.sh 2 build/bench_nc",
    .opts = opts,
    .n_opts = sizeof opts / sizeof opts[0],
    .alone = true,
};

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed parsed;
    const int done = measure_options(&command, argc, argv, &o, &parsed);
    if (done >= 0)
        return done;
    struct nc_layer *layers = buf_alloc((size_t)o.layers * sizeof *layers);
    float **grads = buf_alloc((size_t)o.layers * sizeof *grads);
    const int rc = layers && grads ? run(&o, layers, grads) : 1;
    for (int64_t l = 0; grads && l < o.layers; l++)
        free(grads[l]);
    free(grads);
    free(layers);
    return rc;
}
