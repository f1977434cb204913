/* nc_blocks.h : runs steps with nc_options.blocks. */
#ifndef NC_BLOCKS_H
#define NC_BLOCKS_H
#include "nc_fixture.h"

enum { BLOCKS_MAX = 8 };

/* Each block has gradients of fill_grads(). x [nc_n_blocks()][N_ALL] receives the means.
 * in_parts: by nc_iallreduce(). */
static inline void blocks_step(struct nc *nc, uint64_t step, int in_parts, float *x,
                               struct nc_report *report)
{
    void *lists[BLOCKS_MAX][N_LAYERS];
    int done = 0;
    for (int b = 0; b < nc_n_blocks(nc); b++) {
        fill_grads(nc_first_block(nc) + b, step, x + b * N_ALL);
        point(x + b * N_ALL, sizeof *x, lists[b]);
    }
    CHECK(nc_step(nc) == step, "step %d", (int)nc_step(nc));
    if (!in_parts) {
        CHECK(nc_allreduce(nc, lists, report) == 0, "step: %s", nc_last_error(nc));
        return;
    }
    CHECK(nc_iallreduce(nc, lists) == 0, "begin: %s", nc_last_error(nc));
    CHECK(nc_ready(nc, 2, 3) == 0 && nc_ready(nc, 0, 2) == 0, "ready: %s", nc_last_error(nc));
    CHECK(nc_test(nc, &done) == 0 && done, "test: %s", nc_last_error(nc));
    CHECK(nc_wait(nc, report) == 0, "wait: %s", nc_last_error(nc));
}

static inline void blocks_same(const struct nc *nc, const float *whole, const float *parts,
                               const char *what)
{
    for (int b = 0; b < nc_n_blocks(nc); b++)
        CHECK(memcmp(parts + b * N_ALL, whole, N_ALL * sizeof *whole) == 0,
              "%s: block %d has other bits", what, nc_first_block(nc) + b);
}

#endif
