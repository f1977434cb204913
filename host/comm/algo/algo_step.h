/* algo_step.h : what all-reduce algorithms are made of: ranges, sets of ranks, sums of ranges,
 * steps that move them.
 *
 * A vector of n elements is cut into one range for each member of a set of ranks. It travels in one
 * of four forms. */
#ifndef ALGO_STEP_H
#define ALGO_STEP_H
#include "codec/fold.h"
#include "comm/comm.h"
#include "comm/algo/algo.h"

/* ---- ranges ---- */

/* Part i of `whole` among n_parts: multiples of unit, lengths differ by one unit at most, the
 * longer ones first. Called from outside algo_range.c by tests alone. */
struct algo_range algo_part(struct algo_range whole, size_t unit, int n_parts, int i);

/* ---- forms ---- */

enum algo_form {
    ALGO_IN,   /* codes of the input format: addends */
    ALGO_PART, /* partial sums that were rounded: of the input format, too, or of one of their own */
    ALGO_OUT,  /* codes of the result */
    ALGO_WIDE, /* wide partial sums (exact only) */
};
size_t algo_bytes(const struct fold *f, enum algo_form form, size_t n); /* room for n elements */
size_t algo_place(const struct fold *f, enum algo_form form,
                  size_t at); /* bytes before element `at` */

/* A vector cut for the members of a set, as it lies in memory in one form. */
struct algo_cut {
    const struct fold *fold;
    enum algo_form form;
    struct algo_range whole;
    int n_parts;
};
struct algo_range algo_cut_range(const struct algo_cut *cut, int i);
size_t algo_cut_at(const struct algo_cut *cut, int i);    /* bytes before part i */
size_t algo_cut_bytes(const struct algo_cut *cut, int i); /* of part i */
size_t algo_cut_most(const struct algo_cut *cut);         /* no part has more */

/* ---- sets of ranks: first, first + stride, ...; this rank is member `me` ---- */

struct algo_set {
    int first, stride, n, me;
};
struct algo_set algo_all(const struct comm *c); /* every rank */
/* the `group` consecutive ranks of this rank's group */
struct algo_set algo_node(const struct comm *c, int group);
/* the ranks of this rank's index in every group */
struct algo_set algo_across(const struct comm *c, int group);
static inline int algo_rank(const struct algo_set *s, int member)
{
    return s->first + member * s->stride;
}

/* ---- sums (algo_step.c) ---- */

/* Bytes of the accumulators that algo_fold() works with: of one block, whatever the range. */
size_t algo_acc_bytes(const struct fold *f);

/* sum = parts[0] + parts[1] + ... + parts[n_parts - 1], in this order, over one range, block by
 * block.
 *   parts   [n_parts] of algo_bytes(from, r.n) each        from   ALGO_IN, ALGO_PART or ALGO_WIDE
 *   acc     [algo_acc_bytes], 8-byte aligned               sum    [algo_bytes(to, r.n)]
 * sum may be one of the parts if to == from. */
void algo_fold(const struct fold *f, struct algo_range r, enum algo_form from,
               const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to,
               uint8_t *sum);

/* The same with blocks of another length, a multiple of the fold's unit: a GPU wants long ones.
 * acc: acc_bytes(block). */
void algo_fold_blocks(const struct fold *f, size_t block, struct algo_range r, enum algo_form from,
                      const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to,
                      uint8_t *sum);

/* ---- steps (algo_step.c). All members of the set call them. Return 0 or a negative errno of
 * comm.h ---- */

/* One round: member i gets part i of everybody's vector.
 *   vector   this rank's, whole      store   [(set->n - 1) * algo_cut_most(cut)]
 *   parts    [set->n] out: where each member's part for this rank lies: in store, its own in vector */
int algo_alltoall(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                  const uint8_t *vector, uint8_t *store, const uint8_t **parts);

/* One round: member i's part i goes to all. vector: in place. */
int algo_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                   uint8_t *vector);

/* n - 1 rounds: member i gets part i of the sum, written to its place in `sum`, a vector in the
 * form of `to`. The sum of part j starts as member j+1's codes, goes around as a partial sum while
 * j+2, j+3, ... add theirs, and ends with member j's.
 *   codes   this rank's, whole, in the form of cut: ALGO_IN or ALGO_PART   acc   [algo_acc_bytes]
 *   hop   [2 * algo_hop_bytes(cut)] */
size_t algo_hop_bytes(const struct algo_cut *cut);
int algo_ring_reduce(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                     const uint8_t *codes, void *acc, uint8_t *hop, enum algo_form to,
                     uint8_t *sum);

/* n - 1 rounds: as algo_allgather, passed from neighbour to neighbour. */
int algo_ring_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                        uint8_t *vector);

/* ---- between stages (algo_step.c) ---- */

/* All ranks of the job, each with partial sums of the range r of its group's sum, in place; n = 0 for
 * none. Nothing happens, and nothing is sent, unless the fold asks for it. Returns 0 or a negative
 * errno of comm.h. */
int algo_rescale(struct comm *c, const struct fold *f, struct algo_range r, uint8_t *sums);

/* ---- scratch: one layout function an algorithm, run with base == NULL to count and with memory to
 * place ---- */

struct algo_arena {
    char *base;  /* NULL: only count */
    size_t used; /* bytes */
};
/* The next `bytes`, 64-byte aligned; NULL while counting. */
void *algo_take(struct algo_arena *a, size_t bytes);

/* P % K == 0, or -EINVAL and a line. name: of the algorithm. */
int algo_check_group(const char *name, int n_ranks, int group);

/* ---- what algorithms' legs are made of, as what they run is made of algo_step.h ---- */

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
