/* train_shard.h : declares the optimiser of a rank, which with --shard owns a range of all
 * weights. */
#ifndef TRAIN_SHARD_H
#define TRAIN_SHARD_H
#include "app/train/train_options.h"
#include "reduce/reducer.h"

struct train;

/* Open the optimiser: of all weights, or with --shard of this rank's range. Call it after the model
 * is open. */
int train_shard_open(struct train *t);
void train_shard_close(struct train *t);

/* Set where the reducer writes means. Call it after the job is open. No effect without --shard. */
void train_shard_begin(struct train *t);

/* Only with --shard: step over the range and gather all weights, unless the step is skipped. Add to
 * *step what that took. */
int train_shard_update(struct train *t, double lr, struct reducer_step *step);
/* Only with --shard: gather. */
int train_shard_gather(struct train *t, struct reducer_step *step);

/* Return the bytes that this rank's gather sends in fp32; 0 without --shard. */
uint64_t train_shard_fp32_bytes(const struct train *t);

/* Return the bytes of an optimiser's states for n weights; sharded: for a range of n, with its
 * means and weights. */
size_t train_optimizer_bytes(enum optim_kind kind, size_t n, bool sharded, size_t weight_bytes);

/* Return the bytes of this rank's states, and with --shard of its means and weights. */
size_t train_shard_memory(const struct train *t);

/* Arrays of a checkpoint, [n_weights] each: states, and weights if --gather changes them. All ranks
 * call get(), which fills rank 0's array i. put() takes the range from it, in order, after the
 * weights are loaded. */
int train_shard_pieces(const struct train *t);
int train_shard_get(struct train *t, int i, void *to);
int train_shard_put(struct train *t, int i, const void *from);

#endif
