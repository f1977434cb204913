/* bench_nc.c : measures how much of an all-reduce is hidden if a caller passes layers while it
 * computes, with nc_iallreduce() and nc_ready().
 * usage: mpirun -np P bench_nc [LAYERS [ELEMENTS [MS [busy|asleep [FORMAT]]]]]
 *   defaults: 50 layers of 200000 elements, 200 ms, asleep (as if waiting for a GPU), e5m2 */
#include "base/clock.h"
#include "bench/measure.h"
#include <math.h>
#include <narrowcast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
    const int n_layers = argc > 1 ? atoi(argv[1]) : 50;
    const long n = argc > 2 ? atol(argv[2]) : 200000;
    const double seconds = (argc > 3 ? atof(argv[3]) : 200) * 1e-3;
    const char *how = argc > 4 ? argv[4] : "asleep", *format = argc > 5 ? argv[5] : "e5m2";
    const int busy = !strcmp(how, "busy");
    if (argc > 6 || n_layers < 1 || n < 1 || !(seconds > 0) || (!busy && strcmp(how, "asleep"))) {
        fprintf(stderr, "usage: bench_nc [LAYERS [ELEMENTS [MS [busy|asleep [FORMAT]]]]]\n");
        return 2;
    }
    struct nc_layer *layers = calloc((size_t)n_layers, sizeof *layers);
    float **grads = calloc((size_t)n_layers, sizeof *grads);
    struct nc_options options = nc_options_default();
    struct nc *nc;
    options.format = format;
    options.scale = "aps";
    for (int l = 0; l < n_layers && layers && grads; l++) {
        layers[l] = (struct nc_layer){.name = "layer", .n = (size_t)n};
        grads[l] = malloc((size_t)n * sizeof(float));
        for (long i = 0; i < n && grads[l]; i++)
            grads[l][i] = (float)(i % 31 - 15) * 1e-3f;
    }
    if (!layers || !grads || !grads[n_layers - 1] || nc_open(&options, layers, n_layers, &nc) < 0)
        return 1;
    (void)step(nc, grads, n_layers, 0, 0, 1);
    const double alone = median_step(nc, grads, n_layers, 0, 0, 1);
    const double computing = median_step(nc, grads, n_layers, seconds, busy, 0);
    const double both = median_step(nc, grads, n_layers, seconds, busy, 1);
    if (nc_rank(nc) == 0)
        printf(
            "%d ranks, %d layers of %ld, %s, computing %s: all-reduce %.1f ms, computing %.1f ms, "
            "both %.1f ms: %.0f %% hidden\n",
            nc_n_ranks(nc), n_layers, n, format, how, 1e3 * alone, 1e3 * computing, 1e3 * both,
            100 * (alone + computing - both) / alone);
    nc_close(nc);
    for (int l = 0; l < n_layers; l++)
        free(grads[l]);
    free(grads);
    free(layers);
    return 0;
}
