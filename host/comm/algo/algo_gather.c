/* algo_gather.c : all-reduces by gathering all codes on all ranks, each of which adds them in rank
 * order. Rounding therefore depends only on the rule of the sum. Source: APS paper, section 5,
 * all-reduce of CPD, the authors' emulation library. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include "comm/virtual/comm_virtual.h"
#include <string.h>

struct layout {
    void *acc;
    uint8_t *store; /* [(P - 1) * in_bytes(n)] */
};

static size_t lay_out(const struct reduce_op *f, size_t n, int n_ranks, void *scratch,
                      struct layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->store = algo_take(&a, (size_t)(n_ranks - 1) * algo_bytes(f, ALGO_IN, n));
    return a.used;
}

static size_t gather_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)group;
    struct layout l;
    return lay_out(f, n, n_ranks, NULL, &l);
}

static int exchange_all(struct comm *c, const struct algo_call *call, const struct layout *l,
                        const uint8_t **parts)
{
    const int n_ranks = comm_n_ranks(c), me = comm_rank(c);
    const size_t bytes = algo_place(&call->op, ALGO_IN, call->n);
    parts[me] = call->codes;
    for (int by = 1; by < n_ranks; by++) {
        const int from = (me + n_ranks - by) % n_ranks;
        uint8_t *place = l->store + (size_t)(by - 1) * bytes;
        TRY(comm_recv(c, from, place, bytes));
        parts[from] = place;
    }
    for (int by = 1; by < n_ranks; by++)
        TRY(comm_send(c, (me + by) % n_ranks, call->codes, bytes));
    return n_ranks > 1 ? comm_round(c) : 0;
}

static int gather_run(struct comm *c, const struct algo_call *call)
{
    struct layout l;
    const uint8_t **parts = c->host_scratch;
    lay_out(&call->op, call->n, comm_n_ranks(c), call->scratch, &l);
    TRY(exchange_all(c, call, &l, parts));
    algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, parts, comm_n_ranks(c),
                   l.acc, ALGO_OUT, call->result);
    return 0;
}

static int gather_phases(const struct reduce_op *f, size_t n, int n_ranks, int group,
                         struct algo_phase *phases)
{
    const uint64_t bytes = algo_bytes(f, ALGO_IN, n), others = (uint64_t)(n_ranks - 1);
    (void)group;
    return algo_phase_add(phases, 0,
                          (struct algo_phase){.steps = n_ranks > 1,
                                              .sent = others * bytes,
                                              .got = others * bytes,
                                              .n_sent = n_ranks - 1,
                                              .n_got = n_ranks - 1,
                                              .added_bytes = (uint64_t)n_ranks * bytes},
                          false);
}

const struct algo algo_gather = {
    .name = "gather",
    .help = "all codes go to all ranks, and each rank adds them in rank order: 1 round, P-1 times "
            "the bytes",
    .scratch_bytes = gather_scratch_bytes,
    .run = gather_run,
    .phases = gather_phases,
    .device_codes = true,
    .by_memory = &algo_gather_memory,
};

/* Among virtual ranks, one rank adds for all and reads their memory (README.md of host/comm).
 * Reduce ops that keep residuals of sums run on each rank instead, with the same result. */

struct algo_gather_memory_layout {
    void *acc;
    const uint8_t **parts; /* [P] */
};

static size_t algo_gather_memory_lay_out(const struct reduce_op *f, int n_ranks, void *scratch,
                                         struct algo_gather_memory_layout *l)
{
    struct algo_arena a = {.base = scratch};
    l->acc = algo_take(&a, algo_acc_bytes(f));
    l->parts = algo_take(&a, (size_t)n_ranks * sizeof *l->parts);
    return a.used;
}

static size_t memory_scratch_bytes(const struct reduce_op *f, size_t n, int n_ranks, int group)
{
    (void)n, (void)group;
    struct algo_gather_memory_layout l;
    return algo_gather_memory_lay_out(f, n_ranks, NULL, &l);
}

static void add_once(void *const *calls, int n_ranks)
{
    const struct algo_call *first = calls[0];
    struct algo_gather_memory_layout l;
    algo_gather_memory_lay_out(&first->op, n_ranks, first->scratch, &l);
    for (int r = 0; r < n_ranks; r++)
        l.parts[r] = ((const struct algo_call *)calls[r])->codes;
    for (int r = 0; r < n_ranks; r++) {
        const struct algo_call *call = calls[r];
        if (r == 0 || call->op.ops->keeps)
            algo_add_parts(&call->op, (struct algo_range){.n = call->n}, ALGO_IN, l.parts, n_ranks,
                           l.acc, ALGO_OUT, call->result);
        else
            memcpy(call->result, first->result, algo_place(&first->op, ALGO_OUT, first->n));
    }
}

static int memory_run(struct comm *c, const struct algo_call *call)
{
    const size_t others = (size_t)comm_n_ranks(c) - 1;
    TRY(comm_virtual_once(c, (void *)(uintptr_t)call, add_once));
    const size_t bytes = others * algo_place(&call->op, ALGO_IN, call->n);
    c->count.sent_bytes += bytes;
    c->count.near_bytes += c->n_near > 0 ? bytes : 0;
    c->count.rounds += others > 0;
    return 0;
}

const struct algo algo_gather_memory = {
    .name = "gather",
    .scratch_bytes = memory_scratch_bytes,
    .run = memory_run,
};
