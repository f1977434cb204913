/* choice.h : chooses the algorithm over MPI and the cards of a job from --algo and --offload. */
#ifndef CHOICE_H
#define CHOICE_H
#include "comm/comm.h"
#include "codec/codec.h"

/* Return the algorithm over MPI, for algo_find(). It makes sums that cards do not. */
const char *choice_algo(const char *algo);

/* Returns the cards that `word` or the environment names, or NULL. word: as in choice_cards() */
const char *choice_named_cards(const char *word);

/* Report that this option needs a card. Returns -EINVAL. */
int choice_no_card(const char *option);

/* Choose the cards for gradients of this settled codec. algo "offload" requires cards. word:
 * udp://..., sim, off, or auto (NARROWCAST_OFFLOAD).
 *
 *   cards   out: word or the environment's cards, for offload_open(), or NULL
 *   why     [size] out: why the cards named by the environment are unused, or ""
 *
 * Reports -EINVAL for contradicting options, or for a codec that the cards cannot add. */
int choice_cards(const char *algo, const char *word, const struct codec *codec, int n_ranks,
                 const char **cards, char *why, size_t size);

/* Check that all ranks have chosen the same cards. Returns 0, or -EPROTO, reported by rank 0. */
int choice_agree(struct comm *c, const char *cards);

#endif
