/* reducer_step.c : runs the all-reduce of a step (figure in README.md). In forced fp32 buckets use
 * one buffer in turn to save memory. */
#include "base/clock.h"
#include "base/err.h"
#include "reduce/reducer_shard.h"
#include "vec/gpu/gpu.h"

static void hand_out_means(struct reducer *r, int n_buckets)
{
    if (!r->batches || gpu_failed() == 0)
        overlap_hand_out(r->overlap, n_buckets);
}

/* Once the last group is known to be finite, the step cannot be skipped. */
static int step_mpi(struct reducer *r, bool *finite)
{
    const int n_groups = reducer_n_groups(r);
    *finite = true;
    for (int k = 0; k < n_groups && *finite; k++) {
        const struct group g = reducer_group(r, k);
        TRY(reducer_scan(r, &g));
        TRY(reducer_max_mpi(r, &g));
        *finite = reducer_all_finite(r, &g);
        if (*finite)
            reducer_lost(r, &g);
        if (*finite && r->packed && !r->overlap)
            reducer_short_note(r);
        for (int i = g.bucket; i < g.bucket + g.n_buckets && *finite; i++) {
            if (k == n_groups - 1)
                hand_out_means(r, i);
            TRY(reducer_bucket_mpi(r, i));
        }
    }
    return 0;
}

static int card_path_is_open(const struct reducer *r)
{
    bool narrow = false;
    for (int i = 0; i < r->n_layers; i++)
        narrow = narrow || !r->layers[i].fp32;
    return r->card_path && narrow && !r->force_fp32 ? r->card_path->begin(r->card_path_arg) : 0;
}

static uint64_t sent(const struct reducer *r)
{
    const struct comm_count count = comm_counted(r->comm);
    return count.sent_bytes - count.near_bytes +
           (r->card_path ? r->card_path->counted(r->card_path_arg).sent_bytes : 0);
}

int reducer_step_all(struct reducer *r)
{
    struct reducer_step *done = &r->done;
    const uint64_t sent_before = sent(r);
    const double start = clock_s();
    bool finite = false;
    if (r->gathers)
        return gather_run(r);
    for (int i = 0; i < reducer_plan(r)->n_buckets; i++) {
        struct bucket *b = &reducer_plan(r)->buckets[i];
        b->call.step = r->step;
        b->coded = false;
    }
    r->max_s = 0;
    *done = (struct reducer_step){.code_bytes = reducer_plan(r)->code_bytes,
                                  .fp32_bytes = r->fp32_bytes};
    int open = card_path_is_open(r);
    TRY(open);
    done->comm_s = clock_s() - start;
    TRY(r->low                ? reducer_step_low(r, &finite)
        : open                ? reducer_step_card_path(r, &finite)
        : reducer_is_short(r) ? reducer_step_short(r, &finite)
                              : step_mpi(r, &finite));
    if (r->batches)
        TRY(gpu_failed());
    if (finite && !r->force_fp32)
        reducer_state_swap(r);
    done->skipped = !finite;
    if (!finite)
        done->lost = (struct codec_lost){0};
    done->sent_bytes = r->low ? 0 : sent(r) - sent_before; /* low: no algorithm runs */
    return 0;
}
