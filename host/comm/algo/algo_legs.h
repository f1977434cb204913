/* algo_legs.h : what algorithms' legs are made of, as what they run is made of algo_step.h. */
#ifndef ALGO_LEGS_H
#define ALGO_LEGS_H
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"

/* algo_ring_allgather() of a set of cut->n_parts ranks. */
struct algo_leg algo_leg_ring(const struct algo_cut *cut);

/* algo_alltoall() with the sum of what has come (adds), or algo_allgather(). */
struct algo_leg algo_leg_all(const struct algo_cut *cut, bool adds);

/* Adds a leg, which is one within a group or is not, to the n that there are; one without steps is
 * none. Returns how many there are. */
int algo_leg_add(struct algo_leg *legs, int n, struct algo_leg leg, bool inside);

/* algo_ring_reduce(), likewise: its first step moves codes in the form of cut, the others partial
 * sums. */
int algo_leg_ring_reduce(struct algo_leg *legs, int n, const struct algo_cut *cut, bool inside);

#endif
