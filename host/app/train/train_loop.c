/* train_loop.c : runs a training job of one rank from start to end. */
#include "app/train/checkpoint.h"
#include "app/train/grad_dump.h"
#include "app/train/grad_stats.h"
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "base/clock.h"
#include "base/err.h"

/* Keeps the first failure that only this rank knows. */
static void note(struct train *t, int rc)
{
    if (rc < 0 && !t->pending)
        t->pending = rc;
}

static void begin_epoch(struct train *t, uint64_t epoch)
{
    dataset_order(t->o->seed, epoch, t->data->n_train, t->order);
}

static int meet(struct train *t, const struct nn_result *mine, struct report_step *step)
{
    enum { N = 5 + STOP_SIGNALS };
    double sums[N] = {mine->loss_sum, mine->n_labels, t->pending < 0, t->lost,
                      t->elastic && elastic_asked()};
    double *const asked = sums + 5;
    for (int i = 0; i < STOP_SIGNALS; i++)
        asked[i] = stop_asked(i);
    TRY(comm_sum_f64(t->comm, sums, N));
    if (sums[3] > 0)
        return train_agree(t, t->pending);
    t->grows = sums[4] > 0 && t->state.step < t->n_steps;
    t->ends_early = sums[2] > 0 && t->state.step < t->n_steps;
    for (int i = 0; i < STOP_SIGNALS && t->state.step < t->n_steps; i++)
        if (asked[i] > 0)
            t->stopped_by = &stop_signals[i];
    step->loss = sums[0] / (sums[1] > 0 ? sums[1] : 1);
    return 0;
}

static int count_skipped(struct train *t, bool skipped)
{
    struct train_state *s = &t->state;
    s->skipped += skipped;
    s->skipped_in_row = skipped ? s->skipped_in_row + 1 : 0;
    if (s->skipped_in_row < TRAIN_SKIPS_MAX)
        return 0;
    return train_agree(t, ERR(-EDOM,
                              "training has diverged: gradients were inf or nan in %d consecutive "
                              "steps up to step %llu",
                              TRAIN_SKIPS_MAX, (unsigned long long)s->step));
}

static void count_taken(struct train *t, const struct nn_result *mine)
{
    t->state.sums.loss += mine->loss_sum;
    t->state.sums.correct += mine->n_correct;
    t->state.sums.labels += mine->n_labels;
}

/* Emulated ranks update at the end, because others still read the weights. */
static int reduce_and_update(struct train *t, double lr, struct reducer_step *reduced)
{
    const char *name = reducer_overlaps(t->job.reducer) ? "wait" : "reduce";
    double start_s = clock_s();
    int first, n;
    while (reducer_next(t->job.reducer, &first, &n)) {
        trace_add(t->trace, TRACE_MAIN, name, -1, start_s);
        const double update_s = clock_s();
        if (!train_is_emulated(t) && !t->shard) {
            train_narrow_means(t, first, n);
            receipts_means(t, first, n);
            optim_step_some(t->optim, first, n, t->weights, train_means(t), lr);
            trace_add(t->trace, TRACE_MAIN, "update", -1, update_s);
        }
        start_s = clock_s();
    }
    TRY(reducer_finish(t->job.reducer, reduced));
    trace_add(t->trace, TRACE_MAIN, name, -1, start_s);
    if (t->shard)
        return train_shard_update(t, lr, reduced);
    return train_is_emulated(t) ? train_emulate_update(t, lr, reduced->skipped) : 0;
}

/* Dumps and statistics need gradients before the all-reduce; several micro-batches complete them at
 * the end. */
static int compute_and_update(struct train *t, double lr, struct nn_result *mine,
                              struct reducer_step *reduced)
{
    const bool early = reducer_overlaps(t->job.reducer) && t->o->micro == 1 && !t->o->dump_dir &&
                       !grad_stats_due(t) && !receipts_due(t, t->state.step);
    int file_rc;
    receipts_recompute(t);
    if (early)
        reducer_begin(t->job.reducer, t->state.step, t->layers);
    *mine = train_compute(t, early);
    receipts_gradients(t);
    if (t->o->dump_dir)
        note(t, grad_dump_step(t));
    TRY(grad_stats_before(t));
    if (!early)
        reducer_begin(t->job.reducer, t->state.step, t->layers);
    TRY(reduce_and_update(t, lr, reduced));
    TRY(grad_stats_after(t, lr, reduced, &file_rc));
    note(t, file_rc);
    TRY(receipts_step(t, reduced->skipped, &file_rc));
    note(t, file_rc);
    return 0;
}

static int one_step(struct train *t, uint64_t epoch)
{
    const double start_s = clock_s();
    struct report_step step = {.epoch = epoch,
                               .lr = schedule_lr(&t->schedule, (double)t->state.step)};
    struct nn_result mine;
    reducer_force_fp32(t->job.reducer, epoch < (uint64_t)t->o->first_epochs_fp32 ||
                                           t->state.step < t->o->first_steps_fp32);
    TRY(compute_and_update(t, step.lr, &mine, &step.reduced));
    (t->owner ? t->owner : t)->cast_s += step.reduced.codec_s;
    t->lost = nn_model_failed(t->model) < 0 || dataset_failed(t->data) < 0;
    note(t, nn_model_failed(t->model));
    note(t, dataset_failed(t->data));
    if (!t->owner)
        nn_model_loss_scale_update(t->model, !step.reduced.skipped);
    t->state.step++;
    if (!step.reduced.skipped)
        count_taken(t, &mine);

    const double meet_s = clock_s();
    TRY(meet(t, &mine, &step));
    step.reduced.comm_s += clock_s() - meet_s;
    trace_add(t->trace, TRACE_MAIN, "meet", -1, meet_s);
    trace_add_bytes(t->trace, TRACE_MAIN, TRACE_STEP, (int64_t)t->state.step - 1,
                    (int64_t)step.reduced.sent_bytes, start_s);
    step.seconds = clock_s() - start_s;
    step.input_s = t->input_s;
    t->input_s = 0;
    train_emulate_time(t, &step);
    note(t, report_step(t, &step));
    return count_skipped(t, step.reduced.skipped);
}

static int save(struct train *t)
{
    const double start_s = clock_s();
    int file_rc = 0;
    TRY(checkpoint_save(t, &file_rc));
    note(t, file_rc);
    t->saved_early = t->ends_early && !file_rc;
    trace_add(t->trace, TRACE_MAIN, "checkpoint", -1, start_s);
    return 0;
}

static int test(struct train *t, bool keep)
{
    const double start_s = clock_s();
    TRY(train_epoch_end(t, keep));
    t->tested = true;
    trace_add(t->trace, TRACE_MAIN, "eval", -1, start_s);
    return 0;
}

static int write_trace(struct train *t)
{
    int file_rc;
    TRY(train_trace_write(t, &file_rc));
    note(t, file_rc);
    return 0;
}

static int predict(struct train *t)
{
    int file_rc;
    TRY(train_predict(t, &file_rc));
    note(t, file_rc);
    return 0;
}

int train_run(struct train *t)
{
    struct train_state *s = &t->state;
    const uint64_t per_epoch = t->steps_per_epoch, first = s->step;
    if (train_asks_test(t))
        TRY(test(t, false));
    bool tested = t->tested;
    stop_watch();
    TRY(elastic_keep(t));
    while (s->step < t->n_steps && !t->stopped_by && !t->ends_early && !report_reached(t) &&
           !t->grows) {
        const uint64_t epoch = s->step / per_epoch, at = s->step % per_epoch;
        if (at == 0 || s->step == first)
            begin_epoch(t, epoch);
        TRY(one_step(t, epoch));
        const bool epoch_ends = at + 1 == per_epoch, run_ends = s->step == t->n_steps;
        tested = epoch_ends || run_ends;
        if (tested)
            TRY(test(t, epoch_ends));
        if (epoch_ends)
            s->sums = (struct train_sums){0};
        if (t->o->save && (run_ends || t->stopped_by || t->ends_early || report_reached(t) ||
                           (t->o->save_every && s->step % t->o->save_every == 0)))
            TRY(save(t));
        t->grows = t->grows && !t->stopped_by && !t->ends_early && !report_reached(t);
        TRY(elastic_keep(t));
    }
    if (!tested && !t->stopped_by && !t->ends_early && !t->grows) { /* resumed at its end */
        TRY(test(t, false));
        if (t->o->save)
            TRY(save(t));
    }
    if (t->o->predict && !t->stopped_by && !t->ends_early && !t->grows)
        TRY(predict(t));
    if (!t->pending)
        note(t, grad_dump_end(t));
    return write_trace(t);
}

int train_redo(struct train *t, uint64_t last)
{
    const uint64_t first = t->state.step;
    while (t->state.step < last) {
        const uint64_t epoch = t->state.step / t->steps_per_epoch;
        if (t->state.step == first || t->state.step % t->steps_per_epoch == 0)
            begin_epoch(t, epoch);
        TRY(one_step(t, epoch));
    }
    return 0;
}

int train_all(struct train *t)
{
    int rc = train_open(t);
    if (rc == 0)
        rc = train_run(t);
    if (rc == 0 && t->grows)
        return ELASTIC_GROWS;
    if (rc == 0) {
        elastic_pause(t);
        rc = t->ends_early ? 0 : report_end(t);
        /* reports a failed final save after the table */
        rc = train_agree(t, rc < 0 ? rc : t->pending);
    }
    if (t->saved_early)
        report_stopped(t);
    if (rc < 0 && !t->agreed && !comm_failed(t->comm))
        comm_abort(t->comm, rc); /* out of step: the ranks cannot agree */
    if (rc < 0 || !t->stopped_by)
        return rc;
    report_stopped(t);
    return 128 + t->stopped_by->number; /* as shells do */
}
