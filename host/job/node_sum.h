/* node_sum.h : `--node-sum`: a node's codes added by a card that the node's first rank has, in place
 * of its ranks (comm/algo/algo.h, algo_node_sum).
 *
 * A card that is not there, is busy, or is lost in mid-run costs time, no bits: one warning, and the
 * ranks add from then on. It is not asked for again. */
#ifndef NODE_SUM_H
#define NODE_SUM_H
#include "base/text.h"
#include "comm/algo/algo.h"
#include "offload/offload.h"
#include <string.h>

struct node_sum; /* opened by node_sum_open, closed by node_sum_close */

/* word: xrt, xrt:1, xrt:BDF; NULL, "cpu": the ranks add themselves. */
static inline bool node_sum_wanted(const char *word)
{
    return word && strcmp(word, "cpu") != 0;
}

/* Can a card add so? algo: as found by the user's word; codec: settled. Returns 0 or -EINVAL with a
 * line. */
int node_sum_check(const char *word, const struct algo *algo, int group, int n_ranks,
                   const struct codec *codec);

/* All ranks, with what node_sum_check() liked; sum is copied. o: xclbin; a card may be silent for
 * card_deadline_s, or half of the ranks' deadline_s. Returns 0, with a card or without; or on one
 * rank -EINVAL (no container), -ENXIO (no such card), both after reporting, -ENOMEM, -EIO. */
int node_sum_open(struct comm *c, const char *word, const struct offload_options *o,
                  const struct vec_sum *sum, struct node_sum **out);
void node_sum_close(struct node_sum *s); /* NULL is legal */

/* For reducer_set_node_sum(). */
struct algo_node_sum *node_sum_algo(struct node_sum *s);

/* On rank 0: who adds, or why no card does; and what it has done. */
void node_sum_describe(const struct node_sum *s, struct text *to);
void node_sum_count(const struct node_sum *s, struct text *to);

#endif
