/* back_stats.h : writes size and scale of the activation gradients that layers return, for --stats:
 * a line for each convolution, linear layer or LSTM, in backward order. app/README.md has the
 * keys. */
#ifndef BACK_STATS_H
#define BACK_STATS_H

struct train;
struct jsonl;

/* Writes the lines of this rank's last pass, which nn_model_watch() must have watched. */
int back_stats_write(const struct train *t, struct jsonl *j);

#endif
