/* nc_blocks.h : runs steps with nc_options.blocks. */
#ifndef NC_BLOCKS_H
#define NC_BLOCKS_H
#include "nc_fixture.h"

enum { BLOCKS_MAX = 8 };

static inline void blocks_run(struct nc *nc, int in_parts, void *lists, struct nc_report *report)
{
    int done = 0;
    if (!in_parts) {
        CHECK(nc_allreduce(nc, lists, report) == 0, "step: %s", nc_last_error(nc));
        return;
    }
    CHECK(nc_iallreduce(nc, lists) == 0, "begin: %s", nc_last_error(nc));
    CHECK(nc_ready(nc, 2, 3) == 0 && nc_ready(nc, 0, 2) == 0, "ready: %s", nc_last_error(nc));
    CHECK(nc_test(nc, &done) == 0 && done, "test: %s", nc_last_error(nc));
    CHECK(nc_wait(nc, report) == 0, "wait: %s", nc_last_error(nc));
}

/* Each block has gradients of fill_grads(). x [nc_n_blocks()][N_ALL]: the first block's receive the
 * mean. in_parts: by nc_iallreduce(). */
static inline void blocks_step(struct nc *nc, uint64_t step, int in_parts, float *x,
                               struct nc_report *report)
{
    void *lists[BLOCKS_MAX][N_LAYERS];
    for (int b = 0; b < nc_n_blocks(nc); b++) {
        fill_grads(nc_first_block(nc) + b, step, x + b * N_ALL);
        point(x + b * N_ALL, sizeof *x, lists[b]);
    }
    CHECK(nc_step(nc) == step, "step %d", (int)nc_step(nc));
    blocks_run(nc, in_parts, lists, report);
    for (int b = 1; b < nc_n_blocks(nc); b++) {
        float same[N_ALL];
        fill_grads(nc_first_block(nc) + b, step, same);
        CHECK(memcmp(same, x + b * N_ALL, sizeof same) == 0, "block %d has changed", b);
    }
}

static inline void blocks_same(const struct nc *nc, const float *whole, const float *parts,
                               const char *what)
{
    CHECK(memcmp(parts, whole, N_ALL * sizeof *whole) == 0, "%s: process %d has other bits", what,
          nc_rank(nc));
}

#endif
