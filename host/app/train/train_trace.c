/* train_trace.c : gathers the timelines of all ranks for --trace. */
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include <stdlib.h>

/* SPANS: spans kept, the last of a run; BLOCK: spans per message */
enum { SPANS = 1 << 16, BLOCK = 1024 };

int train_trace_open(struct train *t)
{
    if (!t->o->trace)
        return 0;
    if (t->rank == 0)
        TRY(file_out_check(t->o->trace));
    TRY(trace_open(SPANS, &t->trace));
    t->trace_block =
        buf_alloc((t->rank ? 1 : (size_t)t->n_ranks + 1) * BLOCK * sizeof *t->trace_block);
    if (!t->trace_block)
        return -ENOMEM;
    reducer_set_trace(t->job.reducer, t->trace);
    /* A GPU computes after the call returns. */
    if (!t->on_gpu)
        nn_model_trace(t->model, t->trace);
    return 0;
}

int train_trace_start(struct train *t)
{
    if (t->trace)
        TRY(comm_barrier(t->comm)); /* time 0 of all ranks */
    trace_start(t->trace);
    return 0;
}

/* out: NULL drops other ranks' spans. */
static int gather(struct train *t, struct file_out *out, uint64_t *lost)
{
    struct trace_span *mine = t->trace_block, *all = mine + BLOCK;
    double lost_sum = (double)trace_lost(t->trace), left = 1;
    for (size_t from = 0; left > 0; from += BLOCK) {
        const size_t n = trace_copy(t->trace, from, BLOCK, mine);
        for (size_t i = n; i < BLOCK; i++)
            mine[i] = (struct trace_span){.row = -1};
        TRY(comm_gather(t->comm, mine, BLOCK * sizeof *mine, t->rank ? NULL : all));
        for (int r = 0; r < t->n_ranks && out; r++) {
            size_t n_there = 0;
            while (n_there < BLOCK && all[(size_t)r * BLOCK + n_there].row >= 0)
                n_there++;
            trace_json_spans(out, r, all + (size_t)r * BLOCK, n_there);
        }
        left = n == BLOCK;
        TRY(comm_sum_f64(t->comm, &left, 1));
    }
    TRY(comm_sum_f64(t->comm, &lost_sum, 1));
    *lost = (uint64_t)lost_sum;
    return 0;
}

int train_trace_write(struct train *t, int *file_rc)
{
    struct file_out out = {0};
    uint64_t lost = 0;
    *file_rc = 0;
    if (!t->trace)
        return 0;
    if (t->rank == 0)
        *file_rc = file_out_open(&out, t->o->trace);
    struct file_out *to = out.f ? &out : NULL;
    if (to) {
        trace_json_begin(to);
        for (int r = 0; r < t->n_ranks; r++)
            trace_json_rank(to, r);
    }
    int rc = gather(t, to, &lost);
    if (rc < 0) {
        file_out_discard(&out);
        return rc;
    }
    if (to) {
        trace_json_end(to, t->n_ranks, lost);
        *file_rc = file_out_commit(to);
    }
    return 0;
}

void train_trace_close(struct train *t)
{
    free(t->trace_block);
    trace_close(t->trace);
}
