/* choice.h : resolves --algo and --offload together: an algorithm over MPI, and cards. */
#ifndef CHOICE_H
#define CHOICE_H
#include "comm/comm.h"
#include "codec/codec.h"

/* Return the algorithm over MPI, for algo_find(): for everything that cards do not add,
 * and for steps in which they fail. */
const char *choice_algo(const char *algo);

/* Choose the cards for gradients of this settled codec. A named algorithm uses none,
 * "offload" requires them, "auto" uses those available. word: udp://..., sim, off,
 * or auto (NARROWCAST_OFFLOAD).
 *
 *   cards   out: word or the environment's cards, for offload_open(); NULL: none
 *   why     [size] out: why none, if the environment names some; else ""
 *
 * Reports -EINVAL: contradicting options, or a codec that the cards cannot add. */
int choice_cards(const char *algo, const char *word, const struct codec *codec, int n_ranks,
                 const char **cards, char *why, size_t size);

/* Check that all ranks have chosen the same cards. Returns 0, or -EPROTO, reported by rank 0. */
int choice_agree(struct comm *c, const char *cards);

#endif
