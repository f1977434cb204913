/* train_eval.c : the end of an epoch: averaged statistics, the test images, and a comparison of all ranks. */
#include "app/train.h"
#include "base/err.h"
#include <math.h>
#include <string.h>
#include <zlib.h>

uint32_t train_checksum(const struct train *t)
{
    return (uint32_t)crc32_z(0, (const Bytef *)t->weights, t->n_weights * sizeof *t->weights);
}

static int average_stats(struct train *t)
{
    for (size_t i = 0; i < t->n_stats; i++)
        t->wide[i] = (double)t->stats[i];
    TRY(comm_sum_f64(t->comm, t->wide, t->n_stats));
    for (size_t i = 0; i < t->n_stats; i++)
        t->stats[i] = (real)(t->wide[i] / t->n_ranks);
    return 0;
}

/* This rank's part of the test images; parts differ by one image at most. */
static struct train_sums test_share(struct train *t)
{
    const size_t n = t->data->n_test, rank = (size_t)t->rank, n_ranks = (size_t)t->n_ranks;
    const size_t end = n * (rank + 1) / n_ranks;
    struct train_sums sums = {0};
    for (size_t at = n * rank / n_ranks; at < end; at += (size_t)t->eval_batch) {
        const size_t left = end - at;
        const int batch = left < (size_t)t->eval_batch ? (int)left : t->eval_batch;
        dataset_test_batch(t->data, at, batch, t->x, t->labels);
        const struct nn_result r = nn_model_eval(t->model, t->x, t->labels, batch);
        sums.loss += r.loss_sum;
        sums.correct += r.n_correct;
        sums.images += batch;
    }
    return sums;
}

/* Sums over ranks of what they trained and tested on. */
static int add_up(struct train *t, struct train_sums *trained, struct train_sums *tested)
{
    double all[6] = {trained->loss, trained->correct, trained->images, tested->loss, tested->correct, tested->images};
    TRY(comm_sum_f64(t->comm, all, 6));
    *trained = (struct train_sums){all[0], all[1], all[2]};
    *tested = (struct train_sums){all[3], all[4], all[5]};
    return 0;
}

static int compare_ranks(struct train *t, uint32_t checksum)
{
    TRY(comm_check_equal(t->comm, &checksum, sizeof checksum, "the checksum of the weights"));
    return comm_check_equal(t->comm, t->lines, strlen(t->lines), "the set of options");
}

/* nan where there is nothing to average; never -nan. */
static double mean(double sum, double n)
{
    return n > 0 && !isnan(sum) ? sum / n : (double)NAN;
}

int train_epoch_end(struct train *t, bool keep)
{
    struct train_sums trained = t->state.sums;
    memcpy(t->own_stats, t->stats, t->n_stats * sizeof *t->stats);
    TRY(average_stats(t));
    struct train_sums tested = test_share(t);
    if (!keep)
        memcpy(t->stats, t->own_stats, t->n_stats * sizeof *t->stats);
    TRY(add_up(t, &trained, &tested));

    const struct report_epoch epoch = {
        .epoch = (t->state.step - 1) / t->steps_per_epoch,
        .train_loss = mean(trained.loss, trained.images),
        .train_accuracy = mean(trained.correct, trained.images),
        .test_loss = mean(tested.loss, tested.images),
        .test_accuracy = mean(tested.correct, tested.images),
        .checksum = train_checksum(t),
    };
    TRY(train_agree(t, compare_ranks(t, epoch.checksum)));
    const int rc = report_epoch(t, &epoch);
    if (!t->pending)
        t->pending = rc;
    return 0;
}
