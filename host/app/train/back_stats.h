/* back_stats.h : --stats: how large the gradients are that layers hand back, and what scales they carry:
 * a line a convolution, linear layer or LSTM, in backward order. README.md says what stands in it. */
#ifndef BACK_STATS_H
#define BACK_STATS_H

struct train;
struct jsonl;

/* Of this rank's last pass, which was watched. Returns 0 or a negative errno with a line (disk full). */
int back_stats_write(const struct train *t, struct jsonl *j);

#endif
