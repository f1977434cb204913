/* algo_gather_memory.c : gather of virtual ranks: all would make the same bytes from all codes, so one
 * does, from the others' memory, and P copies of P vectors are never held. Sums of which a rank keeps
 * something are made by each, all the same.
 *
 * Bits, bytes and rounds of algo_gather.c. */
#include "base/err.h"
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include <string.h>

struct layout {
    void *acc;
    const uint8_t **parts; /* [P] */
};

static size_t lay_out(const struct fold *f, int n_ranks, void *scratch, struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->parts = algo_take(&a, (size_t)n_ranks * sizeof *l->parts);
    return a.used;
}

static size_t memory_scratch_bytes(const struct fold *f, size_t n, int n_ranks, int group)
{
    (void)n, (void)group;
    struct layout l;
    return lay_out(f, n_ranks, NULL, &l);
}

/* calls: a struct algo_call of each rank. */
static void add_once(void *const *calls, int n_ranks)
{
    const struct algo_call *first = calls[0];
    struct layout l;
    lay_out(&first->fold, n_ranks, first->scratch, &l);
    for (int r = 0; r < n_ranks; r++)
        l.parts[r] = ((const struct algo_call *)calls[r])->codes;
    for (int r = 0; r < n_ranks; r++) {
        const struct algo_call *call = calls[r];
        if (r == 0 || call->fold.ops->keeps)
            algo_fold(&call->fold, (struct algo_range){.n = call->n}, ALGO_IN, l.parts, n_ranks,
                      l.acc, ALGO_OUT, call->result);
        else
            memcpy(call->result, first->result, algo_place(&first->fold, ALGO_OUT, first->n));
    }
}

static int memory_run(struct comm *c, const struct algo_call *call)
{
    const size_t others = (size_t)comm_n_ranks(c) - 1;
    TRY(comm_virtual_once(c, (void *)(uintptr_t)call, add_once));
    c->count.sent_bytes += others * algo_place(&call->fold, ALGO_IN, call->n);
    c->count.rounds += others > 0;
    return 0;
}

const struct algo algo_gather_memory = {
    .name = "gather",
    .scratch_bytes = memory_scratch_bytes,
    .run = memory_run,
};
