/* feed.h : feeds batches of a data set to a model, and uploads the next during a step.
 *
 *   feed_open -> feed_next (first step) -> [feed_next (next step) -> feed_train (this step)]...
 *             -> feed_close
 *
 * A GPU normalises and augments bytes; for a CPU dataset_batch() makes the same images. */
#ifndef FEED_H
#define FEED_H
#include "nn/data/dataset.h"
#include "nn/model.h"

struct feed;

/* Open a model's only feed. augment: its epoch is ignored. max_batch: at most the model's. Model
 * and data set must outlive the feed. Returns 0, -ENOMEM or the backend's failure. */
int feed_open(struct nn_model *m, const struct dataset *d, const struct dataset_augment *augment,
              int max_batch, struct feed **out);
void feed_close(struct feed *f);

/* Queue a batch; at most NN_SLOTS can wait. feed_next queues training images index[0] to
 * index[n-1], augmented for this epoch, and copies index. feed_next_test queues test images first
 * to first+n-1. */
void feed_next(struct feed *f, uint64_t epoch, const uint32_t *index, int n);
void feed_next_test(struct feed *f, size_t first, int n);
int feed_waiting(const struct feed *f); /* the number of queued batches */

/* Run nn_model_train or nn_model_eval on the oldest batch. */
struct nn_result feed_train(struct feed *f, uint64_t key, nn_grad_ready *ready, void *ctx);
struct nn_result feed_eval(struct feed *f);

#endif
