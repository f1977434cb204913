/* feed.h : batches of a data set on their way to a model: while a step runs, the next one's images
 * are copied.
 *
 *     feed_open -> feed_next (this step's) -> [feed_next (the step's after it) -> feed_train (this step's)]... -> feed_close
 *
 * A GPU gets bytes and normalises and augments them itself; for a backend that cannot,
 * dataset_batch() does it here. Both give the same images. */
#ifndef FEED_H
#define FEED_H
#include "nn/data/dataset.h"
#include "nn/model.h"

struct feed;

/* augment: its epoch does not count. max_batch: images of a batch at most, no more
 * than the model's. Model and data set outlive the feed; one feed a model. Returns 0, -ENOMEM, or
 * the backend's failure. */
int feed_open(struct nn_model *m, const struct dataset *d, const struct dataset_augment *augment,
              int max_batch, struct feed **out);
void feed_close(struct feed *f);

/* Says which batch comes after those said before: training images index[0..n) as this epoch sees
 * them (index is copied), or test images [first, first + n). At most NN_SLOTS may wait. */
void feed_next(struct feed *f, uint64_t epoch, const uint32_t *index, int n);
void feed_next_test(struct feed *f, size_t first, int n);
int feed_waiting(const struct feed *f);

/* nn_model_train and nn_model_eval on the batch that has waited longest; it no longer waits. */
struct nn_result feed_train(struct feed *f, uint64_t key, nn_grad_ready *ready, void *ctx);
struct nn_result feed_eval(struct feed *f);

#endif
