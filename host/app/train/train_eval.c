/* train_eval.c : ends an epoch: averages statistics, tests, compares all ranks, and writes label
 * maps. */
#include "app/train/train.h"
#include "base/err.h"
#include "base/buf.h"
#include "base/file.h"
#include "nn/data/picture.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static int checksum(struct train *t, uint32_t *out)
{
    TRY(nn_model_get(t->model, t->host, t->weights, t->n_weights));
    *out = (uint32_t)crc32_z(0, (const Bytef *)t->host, t->n_weights * sizeof *t->host);
    return 0;
}

static int average_stats(struct train *t)
{
    for (size_t i = 0; i < t->n_stats; i++)
        t->wide[i] = (double)t->own_stats[i];
    TRY(comm_sum_f64(t->comm, t->wide, t->n_stats));
    for (size_t i = 0; i < t->n_stats; i++)
        t->host[i] = (real)(t->wide[i] / t->n_ranks);
    return nn_model_put(t->model, t->stats, t->host, t->n_stats);
}

static size_t feed_test(struct train *t, size_t first, size_t end)
{
    const size_t left = end - first,
                 n = left < (size_t)t->eval_batch ? left : (size_t)t->eval_batch;
    feed_next_test(t->feed, first, (int)n);
    return n;
}

struct tested {
    struct train_sums sums;
    double top;   /* of labels: among the NN_TOP largest outputs */
    double edits; /* of transcripts */
};

static void count_confusions(struct train *t)
{
    int n;
    const uint32_t *confusion = nn_model_confusion(t->model, &n);
    for (int i = 0; t->confusion && i < n * n; i++)
        t->confusion[i] += confusion[i];
}

/* test images of a rank */
struct share {
    size_t first, end;
};

static struct share share_of(const struct train *t)
{
    const size_t n = t->data->n_test, rank = (size_t)t->rank, n_ranks = (size_t)t->n_ranks;
    return (struct share){n * rank / n_ranks, n * (rank + 1) / n_ranks};
}

static struct tested test_share(struct train *t)
{
    const struct share share = share_of(t);
    const size_t end = share.end;
    struct tested all = {.top = 0};
    size_t next = share.first; /* first image not queued */
    train_emulate_turn(t);
    for (int i = 0; t->confusion && i < t->data->n_classes * t->data->n_classes; i++)
        t->confusion[i] = 0;
    for (size_t at = next; at < end; at += (size_t)t->eval_batch) {
        while (next < end && feed_waiting(t->feed) < NN_SLOTS)
            next += feed_test(t, next, end);
        const struct nn_result r = feed_eval(t->feed);
        all.sums.loss += r.loss_sum;
        all.sums.correct += r.n_correct;
        all.sums.labels += r.n_labels;
        all.top += r.n_top;
        all.edits += r.n_edits;
        count_confusions(t);
    }
    return all;
}

static int add_up(struct train *t, struct train_sums *trained, struct tested *tested)
{
    const struct train_sums *test = &tested->sums;
    double all[8] = {trained->loss, trained->correct, trained->labels, test->loss,
                     test->correct, test->labels,     tested->top,     tested->edits};
    TRY(comm_sum_f64(t->comm, all, 8));
    *trained = (struct train_sums){all[0], all[1], all[2]};
    *tested = (struct tested){.sums = {all[3], all[4], all[5]}, .top = all[6], .edits = all[7]};
    const size_t n = (size_t)t->data->n_classes;
    return t->confusion ? comm_sum_f64(t->comm, t->confusion, n * n) : 0;
}

static int compare_ranks(struct train *t, uint32_t checksum)
{
    TRY(comm_check_equal(t->comm, &checksum, sizeof checksum, "the checksum of the weights"));
    return comm_check_equal(t->comm, t->lines, strlen(t->lines), "the set of options");
}

/* Returns nan, never -nan, without labels. */
static double mean(double sum, double n)
{
    return n > 0 && !isnan(sum) ? sum / n : (double)NAN;
}

/* ---- --predict ---- */

static int name_map(const struct train *t, size_t image, char path[PATH_MAX])
{
    struct text text = text_in(path, PATH_MAX);
    text_add(&text, "%s/%06zu.png", t->o->predict, image);
    return text.full ? ERR(-ENAMETOOLONG, "cannot write to folder '%s': %s", t->o->predict,
                           strerror(ENAMETOOLONG))
                     : 0;
}

static int check_empty(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    if (!folder)
        return ERR(-errno, "cannot write to folder '%s': %s", path, strerror(errno));
    while ((entry = readdir(folder)) &&
           (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")))
        ;
    const int rc =
        entry ? ERR(-EEXIST, "cannot write to folder '%s': it is not empty: need a new one", path)
              : 0;
    closedir(folder);
    return rc;
}

int train_predict_check(const struct train *t)
{
    const char *folder = t->o->predict;
    char path[PATH_MAX];
    if (!folder || t->rank > 0)
        return 0;
    if (!dataset_is_map(t->data))
        return ERR(-EINVAL, "--predict writes label maps, but data set '%s' has %s", t->data->name,
                   dataset_targets[dataset_target(t->data).kind]);
    if (mkdir(folder, 0777) && errno != EEXIST)
        return ERR(-errno, "cannot make folder '%s': %s", folder, strerror(errno));
    if (!t->o->resumes_own) /* it may have written maps */
        TRY(check_empty(folder));
    TRY(name_map(t, t->data->n_test, path));
    return file_out_check(path);
}

/* Writes the maps of test images first to first+n-1, which were evaluated last. */
static int write_maps(struct train *t, size_t first, size_t n, real *logits, uint8_t *labels)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < n; i++) {
        TRY(nn_model_classes(t->model, (int)i, logits, labels));
        TRY(name_map(t, first + i, path));
        TRY(png_write_labels(path, t->data->h, t->data->w, labels));
    }
    return 0;
}

static int predict_share(struct train *t)
{
    const struct share share = share_of(t);
    real *logits = buf_alloc(nn_model_logits(t->model) * sizeof *logits);
    uint8_t *labels = buf_alloc((size_t)t->data->h * (size_t)t->data->w);
    int rc = logits && labels ? 0 : -ENOMEM;
    train_emulate_turn(t);
    for (size_t at = share.first, n; at < share.end && rc == 0; at += n) {
        n = feed_test(t, at, share.end);
        (void)feed_eval(t->feed);
        rc = nn_model_failed(t->model);
        if (rc == 0)
            rc = write_maps(t, at, n, logits, labels);
    }
    free(labels);
    free(logits);
    return rc;
}

int train_predict(struct train *t, int *file_rc)
{
    TRY(nn_model_get(t->model, t->own_stats, t->stats, t->n_stats));
    TRY(average_stats(t));
    *file_rc = predict_share(t);
    return nn_model_put(t->model, t->stats, t->own_stats, t->n_stats);
}

int train_epoch_end(struct train *t, bool keep)
{
    struct train_sums trained = t->state.sums;
    TRY(nn_model_get(t->model, t->own_stats, t->stats, t->n_stats));
    TRY(average_stats(t));
    struct tested tested = test_share(t);
    if (!keep)
        TRY(nn_model_put(t->model, t->stats, t->own_stats, t->n_stats));
    TRY(train_agree(t, dataset_failed(t->data)));
    TRY(add_up(t, &trained, &tested));
    uint32_t weights_crc;
    TRY(checksum(t, &weights_crc));

    struct report_epoch epoch = {
        .epoch = (t->state.step - 1) / t->steps_per_epoch,
        .train_loss = mean(trained.loss, trained.labels),
        .train_labels = trained.labels,
        .test_labels = tested.sums.labels,
        .train_accuracy = mean(trained.correct, trained.labels),
        .test_loss = mean(tested.sums.loss, tested.sums.labels),
        .test_accuracy = mean(tested.sums.correct, tested.sums.labels),
        .test_top = mean(tested.top, tested.sums.labels),
        .test_cer = mean(tested.edits, tested.sums.labels),
        .test_bits = mean(tested.sums.loss, tested.sums.labels) / log(2),
        .checksum = weights_crc,
    };
    if (t->confusion)
        epoch.map = segmentation_of(t->confusion, t->data->n_classes);
    TRY(train_agree(t, compare_ranks(t, epoch.checksum)));
    const int rc = report_epoch(t, &epoch);
    if (!t->pending)
        t->pending = rc;
    return 0;
}

struct segmentation segmentation_of(const double *confusion, int classes)
{
    double ious = 0, accuracies = 0;
    int n_either = 0, n_there = 0;
    for (int i = 0; i < classes; i++) {
        const double right = confusion[i * classes + i];
        double there = 0, found = 0;
        for (int j = 0; j < classes; j++) {
            there += confusion[i * classes + j];
            found += confusion[j * classes + i];
        }
        if (there > 0) {
            accuracies += right / there;
            n_there++;
        }
        if (there + found > 0) {
            ious += right / (there + found - right);
            n_either++;
        }
    }
    return (struct segmentation){n_either ? ious / n_either : (double)NAN,
                                 n_there ? accuracies / n_there : (double)NAN};
}
