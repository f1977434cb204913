/* checkpoint.h : saves and resumes the whole state of a run, bit for bit (--save, --resume). Rank 0
 * reads and writes the file. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H
#include "app/train/checkpoint_file.h"
#include "app/train/train_options.h"
#include "base/text.h"

struct train;

/* Append what a resumed run must have in common: options that matter for bits, data, device.
 * At most CHECKPOINT_TEXT bytes. */
enum { CHECKPOINT_TEXT = TRAIN_LINES_MAX + 64 };
void checkpoint_text(const struct train *t, struct text *to);

/* Describes this run's checkpoints. plan->text: `text`. The caller frees plan->layers. */
int checkpoint_plan(const struct train *t, struct checkpoint_plan *plan,
                    char text[CHECKPOINT_TEXT]);

/* Checks before the first step that the file of --save can be written. */
int checkpoint_check(struct train *t);

/* Saves the state after t->state.step steps; all ranks call it. *file_rc: 0 or rank 0's reported
 * error of writing. After a negative errno the job must end: ranks are gone, or wait for this
 * one. */
int checkpoint_save(struct train *t, int *file_rc);

/* Loads the state; all ranks call it and agree on the result. Refuses foreign, damaged and
 * truncated files, and those of other options. */
int checkpoint_load(struct train *t);

/* Replaces the weights of layers that the file of --init has with the same name and shape; rank 0
 * prints which. All ranks call it before the optimiser is open, and agree on the result. Reports
 * -EINVAL if there is no such layer. */
int checkpoint_init(struct train *t);

#endif
