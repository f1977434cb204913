/* train_compute.c : computes a rank's gradients of a step, as the mean over its micro-batches.
 *
 *     the batch   | rank 0: micro 0 | micro 1 | ... | rank 1: micro 0 | ... */
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "app/train/grad_stats.h"
#include "base/clock.h"
#include "hls/arith/philox.h"
#include "base/err.h"

/* "drop": stage of micro-batch 0 for random bits; micro-batch m has this number + m */
#define STAGE_DROPOUT 0x64726f70u

/* at: batch of the epoch */
static void feed_micro(struct train *t, uint64_t epoch, uint64_t at, int m)
{
    const double start_s = clock_s();
    const size_t n = (size_t)t->micro_share, first = (size_t)t->rank * (size_t)t->share;
    feed_next(t->feed, epoch, t->order + at * t->o->batch + first + (size_t)m * n, t->micro_share);
    (t->owner ? t->owner : t)->input_s += clock_s() - start_s;
    trace_add(t->trace, TRACE_MAIN, "input", -1, start_s);
}

/* Queues micro-batch m, unless it waits already, and the next. Emulated ranks prefetch only within
 * their share, because the feed then serves the next rank. */
static void feed_ahead(struct train *t, int m)
{
    const uint64_t step = t->state.step, epoch = step / t->steps_per_epoch,
                   at = step % t->steps_per_epoch;
    if (!feed_waiting(t->feed))
        feed_micro(t, epoch, at, m);
    if (m + 1 < (int)t->o->micro)
        feed_micro(t, epoch, at, m + 1);
    else if (!train_is_emulated(t) && !t->again && !receipts_due(t, step + 1) &&
             at + 1 < t->steps_per_epoch && step + 1 < t->n_steps)
        feed_micro(t, epoch, at + 1, 0);
}

static void grads_ready(void *ctx, int first, int n)
{
    struct train *t = ctx;
    reducer_ready(t->job.reducer, first, n);
}

static struct nn_result pass(struct train *t, int m, bool early)
{
    const uint64_t step = t->state.step;
    const uint64_t key = philox_key(t->o->seed, (uint32_t)step, (uint32_t)(step >> 32),
                                    (uint32_t)t->rank, STAGE_DROPOUT + (uint32_t)m);
    feed_ahead(t, m);
    const double start_s = clock_s();
    train_emulate_turn(t);
    nn_model_scales_put(t->model, t->scales);
    nn_model_watch(t->model, t->rank == 0 && !t->again && grad_stats_due(t));
    const struct nn_result result = feed_train(t->feed, key, early ? grads_ready : NULL, t);
    nn_model_scales_get(t->model, t->scales);
    (t->owner ? t->owner : t)->computed_s += clock_s() - start_s;
    trace_add(t->trace, TRACE_MAIN, "compute", (int64_t)step, start_s);
    return result;
}

/* The last pass leaves the mean of all n in the gradients. */
static void add_up(struct train *t, int m, int n)
{
    void *ctx = nn_model_ctx(t->model);
    real *sum = t->micro_sum;
    if (m == 0)
        t->nn->add_divide(ctx, t->n_weights, t->grads, NULL, 1, sum);
    else if (m + 1 < n)
        t->nn->add_divide(ctx, t->n_weights, sum, t->grads, 1, sum);
    else
        t->nn->add_divide(ctx, t->n_weights, sum, t->grads, (real)n, t->grads);
}

struct nn_result train_compute(struct train *t, bool early)
{
    const int n = (int)t->o->micro;
    struct nn_result all = {0};
    for (int m = 0; m < n; m++) {
        const struct nn_result one = pass(t, m, early);
        all.loss_sum += one.loss_sum;
        all.n_labels += one.n_labels;
        all.n_correct += one.n_correct;
        if (n > 1)
            add_up(t, m, n);
    }
    if (n > 1)
        /* nn_model_failed() finds an error after the next pass */
        (void)t->nn->wait(nn_model_ctx(t->model));
    return all;
}

int train_agree(struct train *t, int rc)
{
    rc = comm_agree(t->comm, rc);
    t->agreed = rc < 0;
    err_hold();
    return rc;
}

/* Recomputes the same gradients, as random bits depend only on keys. Statistics go to scratch. */
static void compute_again(void *ctx)
{
    struct train *t = ctx;
    t->again = true;
    (void)train_compute(t, false);
    t->again = false;
}

void train_low_share(struct train *t)
{
    struct train *owner = t->owner ? t->owner : t;
    if (t->low_memory)
        reducer_share(t->job.reducer, owner->job.reducer, compute_again, t);
}
