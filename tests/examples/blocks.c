/* blocks.c : gradients of 12 blocks of a batch, averaged in e4m3 with the same bits on 1 to 12
 * processes.
 *
 *     cc blocks.c $(pkg-config --cflags --libs narrowcast) -o blocks
 *     for p in 1 2 3 5; do mpirun -np $p ./blocks; done     # the same checksum four times */
#include <narrowcast.h>
#include <stdio.h>

enum { BLOCKS = 12, N = 1000, STEPS = 10 };

static float weights[N], grads[BLOCKS][N]; /* a process uses as many rows as it has blocks */

/* The gradients of a block depend only on its share of the batch. */
static void compute(int block, int step, float *x)
{
    for (int i = 0; i < N; i++)
        x[i] =
            (float)((block * 131 + step * 17 + i * 7) % 1009) * 1e-3f - 0.5f + 0.01f * weights[i];
}

int main(void)
{
    const struct nc_layer layer = {.name = "weights", .n = N};
    struct nc_options options = nc_options_default();
    float *list[BLOCKS]; /* [nc_n_blocks()][1 layer] */
    unsigned long long sum = 0;
    struct nc *nc;
    options.format = "e4m3";
    options.scale = "aps";
    options.round = "stochastic"; /* random bits belong to blocks, too */
    options.blocks = BLOCKS;
    if (nc_open(&options, &layer, 1, &nc) < 0)
        return 1;
    for (int step = 0; step < STEPS; step++) {
        for (int b = 0; b < nc_n_blocks(nc); b++) {
            list[b] = grads[b];
            compute(nc_first_block(nc) + b, step, grads[b]);
        }
        if (nc_allreduce(nc, list, NULL) != 0)
            return 1;
        for (int i = 0; i < N; i++) /* the first block holds the mean */
            weights[i] -= 0.1f * grads[0][i];
    }
    for (int i = 0; i < N; i++) {
        union {
            float x;
            unsigned bits;
        } w = {weights[i]};
        sum = sum * 31 + w.bits;
    }
    if (nc_rank(nc) == 0)
        printf("%d blocks in %d processes: weights %016llx\n", BLOCKS, nc_n_ranks(nc), sum);
    nc_close(nc);
    return 0;
}
