/* node_sum.h : lets a card of the node's first rank add the node's codes (`--node-sum`).
 *
 * It implements algo_node_sum of comm/algo/algo.h. If the card is missing, busy or lost, the ranks
 * add after one warning, with the same result, and do not try it again. */
#ifndef NODE_SUM_H
#define NODE_SUM_H
#include "base/text.h"
#include "comm/algo/algo.h"
#include "offload/offload.h"
#include <string.h>

struct node_sum;

/* True for xrt, xrt:1 or xrt:BDF. For NULL and "cpu" the ranks add. */
static inline bool node_sum_wanted(const char *word)
{
    return word && strcmp(word, "cpu") != 0;
}

/* Check that a card can add such codes. algo: the user's choice. codec: settled. Reports
 * -EINVAL. */
int node_sum_check(const char *word, const struct algo *algo, int group, int n_ranks,
                   const struct codec *codec);

/* Open the card. All ranks call it with arguments that node_sum_check() accepted. sum is copied. o:
 * the xclbin, and the time for an answer: card_deadline_s, at most half of the ranks' deadline_s.
 * Returns 0, with or without a card. On one rank only it may report -EINVAL (no container) or
 * -ENXIO (no such card), or return -ENOMEM or -EIO. */
int node_sum_open(struct comm *c, const char *word, const struct offload_options *o,
                  const struct vec_sum *sum, struct node_sum **out);
void node_sum_close(struct node_sum *s); /* NULL is legal */

/* For reducer_set_node_sum(). */
struct algo_node_sum *node_sum_algo(struct node_sum *s);

/* Append, on rank 0, which card adds or why none does, or how much the card has added. */
void node_sum_describe(const struct node_sum *s, struct text *to);
void node_sum_count(const struct node_sum *s, struct text *to);

#endif
