/* train_loop.c : the training loop: steps, ends of epochs, checkpoints. */
#include "app/checkpoint.h"
#include "app/grad_dump.h"
#include "app/train.h"
#include "base/clock.h"
#include "base/err.h"
#include "hls/philox.h"
#include <string.h>

#define STAGE_DROPOUT 0x64726f70u /* "drop": names this use of random bits */

/* Keeps the first failure that this rank alone knows of. */
static void note(struct train *t, int rc)
{
    if (rc < 0 && !t->pending)
        t->pending = rc;
}

static void begin_epoch(struct train *t, uint64_t epoch)
{
    dataset_order(t->o->seed, epoch, t->data->n_train, t->order);
    reducer_force_fp32(t->reducer, epoch < (uint64_t)t->o->first_epochs_fp32);
}

/* Forward and backward over this rank's share of the batch. */
static struct nn_result compute(struct train *t, uint64_t epoch, uint64_t at)
{
    const uint32_t *index = t->order + at * t->o->batch + (size_t)t->rank * (size_t)t->share;
    const bool crop = strstr(t->o->augment, "crop"), flip = strstr(t->o->augment, "flip");
    const struct dataset_augment augment = {.crop = crop ? 4 : 0, .flip = flip, .seed = t->o->seed, .epoch = epoch};
    const uint64_t step = t->state.step;
    const uint64_t key =
        philox_key(t->o->seed, (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)t->rank, STAGE_DROPOUT);
    dataset_batch(t->data, index, t->share, &augment, t->x, t->labels);
    return nn_model_train(t->model, t->x, t->labels, t->share, key, NULL, NULL);
}

/* Tells all ranks the loss of the whole batch and whether one of them has failed. */
static int meet(struct train *t, const struct nn_result *mine, struct report_step *step)
{
    double sums[2] = {mine->loss_sum, t->pending < 0};
    TRY(comm_sum_f64(t->comm, sums, 2));
    if (sums[1] > 0)
        return train_agree(t, t->pending);
    step->loss = sums[0] / (double)t->o->batch;
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
                              "training has diverged: gradients were inf or nan in %d steps in a row, up to step %llu",
                              TRAIN_SKIPS_MAX, (unsigned long long)s->step));
}

static void take_step(struct train *t, const struct nn_result *mine, double lr)
{
    optim_step(t->optim, t->weights, t->grads, lr);
    t->state.sums.loss += mine->loss_sum;
    t->state.sums.correct += mine->n_correct;
    t->state.sums.images += t->share;
}

static int one_step(struct train *t, uint64_t epoch, uint64_t at)
{
    const double start_s = clock_s();
    struct report_step step = {.epoch = epoch, .lr = schedule_lr(&t->schedule, (double)t->state.step)};
    const struct nn_result mine = compute(t, epoch, at);
    if (t->o->dump_dir)
        note(t, grad_dump_step(t));
    TRY(reducer_run(t->reducer, t->state.step, t->layers, &step.reduced));
    t->state.step++;
    if (!step.reduced.skipped)
        take_step(t, &mine, step.lr);

    const double meet_s = clock_s();
    TRY(meet(t, &mine, &step));
    step.reduced.comm_s += clock_s() - meet_s;
    step.seconds = clock_s() - start_s;
    note(t, report_step(t, &step));
    return count_skipped(t, step.reduced.skipped);
}

static int save(struct train *t)
{
    int file_rc = 0;
    TRY(checkpoint_save(t, &file_rc));
    note(t, file_rc);
    return 0;
}

int train_run(struct train *t)
{
    struct train_state *s = &t->state;
    const uint64_t per_epoch = t->steps_per_epoch, first = s->step;
    bool tested = false;
    while (s->step < t->n_steps) {
        const uint64_t epoch = s->step / per_epoch, at = s->step % per_epoch;
        if (at == 0 || s->step == first)
            begin_epoch(t, epoch);
        TRY(one_step(t, epoch, at));
        const bool epoch_ends = at + 1 == per_epoch, run_ends = s->step == t->n_steps;
        tested = epoch_ends || run_ends;
        if (tested)
            TRY(train_epoch_end(t, epoch_ends));
        if (epoch_ends)
            s->sums = (struct train_sums){0};
        if (t->o->save && (run_ends || (t->o->save_every && s->step % t->o->save_every == 0)))
            TRY(save(t));
    }
    if (!tested) { /* resumed at its end */
        TRY(train_epoch_end(t, false));
        if (t->o->save)
            TRY(save(t));
    }
    return train_agree(t, t->pending);
}
