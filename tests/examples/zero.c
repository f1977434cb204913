/* zero.c : trains with the state of the optimizer cut into one range per rank (ZeRO). Gradients
 * travel in e4m3, differences of weights in 4 bits.
 *
 *     cc zero.c $(pkg-config --cflags --libs narrowcast) -o zero && mpirun -np 4 ./zero */
#include <narrowcast.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 10007, STEPS = 20 };

static float weights[N], grads[N];

/* Gradient of |w - target|^2 / 2, with noise that differs between ranks and has a mean of 0. */
static void compute(int rank, int n_ranks, int step, float *x)
{
    for (int i = 0; i < N; i++) {
        const float target = (float)(i % 31) / 31, side = rank % 2 ? 1 : -1;
        const float noise = rank == n_ranks - 1 && n_ranks % 2 ? 0 : side * (float)(step % 5) / 50;
        x[i] = weights[i] - target + noise;
    }
}

int main(void)
{
    const struct nc_layer layer = {.name = "weights", .n = N};
    const void *grad_list[] = {grads}, *weight_list[] = {weights};
    struct nc_options options = nc_options_default();
    size_t n, each;
    int converged = 1;
    struct nc *nc;
    options.format = "e4m3";
    options.scale = "aps";
    options.shard = "fp32";
    options.gather = "delta:e2m1:32";
    if (nc_open(&options, &layer, 1, &nc) < 0)
        return 1;
    const int rank = nc_rank(nc), n_ranks = nc_n_ranks(nc);
    nc_shard(nc, 0, NULL, &each); /* room of every shard; the first range is the longest */
    nc_shard(nc, rank, NULL, &n);
    /* this rank's gradients, weights and momentum in fp32 */
    float *g = calloc(3 * each, sizeof *g), *w = g + each, *v = w + each;
    for (int step = 0; step < STEPS && g; step++) {
        compute(rank, n_ranks, step, grads);
        if (nc_reduce_scatter(nc, grad_list, g, NULL) != 0)
            return 1;
        for (size_t i = 0; i < n; i++) {
            v[i] = 0.5f * v[i] + g[i];
            w[i] -= 0.3f * v[i];
        }
        if (nc_all_gather(nc, w, weight_list, NULL) != 0)
            return 1;
    }
    for (int i = 0; i < N; i++) {
        const float error = weights[i] - (float)(i % 31) / 31;
        converged = converged && -0.02f < error && error < 0.02f; /* false for nan */
    }
    if (rank == 0)
        printf("%d ranks with up to %zu of %d weights each: %s\n", n_ranks, each, N,
               converged ? "converged" : "not converged");
    free(g);
    nc_close(nc);
    return converged ? 0 : 1;
}
