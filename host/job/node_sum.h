/* node_sum.h : lets a card of the node's first rank add the node's codes (`--node-sum`).
 *
 * It implements algo_node_sum of comm/algo/algo.h. If the card is missing, busy or lost, the ranks
 * print one warning, add the codes themselves with the same result, and do not use the card
 * again. */
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

/* Open the card of the node's first rank. All ranks call this function, with arguments that
 * node_sum_check() accepted. sum is copied. o gives the xclbin and the time for a card's answer:
 * card_deadline_s, but at most half of deadline_s. Returns 0 also without a usable card. An error
 * may occur on one rank only: reports -EINVAL (no container) or -ENXIO (no such card), or returns
 * -ENOMEM or -EIO. */
int node_sum_open(struct comm *c, const char *word, const struct offload_options *o,
                  const struct vec_sum *sum, struct node_sum **out);
void node_sum_close(struct node_sum *s); /* NULL is legal */

/* Return the argument for reducer_set_node_sum(). */
struct algo_node_sum *node_sum_algo(struct node_sum *s);

/* On rank 0, append text: _describe which card adds, or why none does; _count how much the card has
 * added. */
void node_sum_describe(const struct node_sum *s, struct text *to);
void node_sum_count(const struct node_sum *s, struct text *to);

#endif
