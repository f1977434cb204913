/* choice.h : what the words of --algo and --offload mean together: which algorithm over MPI,
 * through which cards. */
#ifndef CHOICE_H
#define CHOICE_H
#include "comm/comm.h"
#include "codec/codec.h"

/* The algorithm over MPI, for algo_find(): of what cards do not add, and of steps that they
 * fail. */
const char *choice_algo(const char *algo);

/* Through which cards do gradients of this settled codec go? An algorithm named goes without,
 * "offload" needs them, "auto" takes those that there are. word: udp://..., sim, off, or auto:
 * those of the environment's NARROWCAST_OFFLOAD.
 *   cards   out: for offload_open(), the caller's word or the environment's; NULL: none
 *   why     [size] out: none though the environment names some: why; else ""
 * Returns 0 or -EINVAL with a line: words that contradict each other, a codec that the cards asked
 * for cannot add. */
int choice_cards(const char *algo, const char *word, const struct codec *codec, int n_ranks,
                 const char **cards, char *why, size_t size);

/* All ranks: 0 if they have chosen the same cards, else -EPROTO, with a line on rank 0. */
int choice_agree(struct comm *c, const char *cards);

#endif
