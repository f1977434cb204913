/* algo_step.h : declares building blocks of all-reduce algorithms: ranges, sets of ranks, sums, and
 * steps.
 *
 * A vector of n elements is cut into one range for each member of a set of ranks, and travels in
 * one of four forms. */
#ifndef ALGO_STEP_H
#define ALGO_STEP_H
#include "codec/reduce_op.h"
#include "comm/comm.h"
#include "comm/algo/algo.h"

/* ---- ranges ---- */

/* Return part i of n_parts parts of `whole`. Their lengths are multiples of unit and differ by at
 * most one unit, longer ones first. Public only for tests. */
struct algo_range algo_part(struct algo_range whole, size_t unit, int n_parts, int i);

/* ---- forms ---- */

enum algo_form {
    ALGO_IN,   /* codes in the input format */
    ALGO_PART, /* rounded partial sums, in the input format or their own */
    ALGO_OUT,  /* codes in the result's format */
    ALGO_WIDE, /* wide partial sums, not rounded (exact only) */
};
size_t algo_bytes(const struct reduce_op *f, enum algo_form form, size_t n);
/* Return the bytes before element `at`. */
size_t algo_place(const struct reduce_op *f, enum algo_form form, size_t at);

/* A vector in one form, with one part for each member of a set. */
struct algo_cut {
    const struct reduce_op *op;
    enum algo_form form;
    struct algo_range whole;
    int n_parts;
    const struct algo_range *ranges; /* [n_parts] as algo_call.cut; NULL: parts of algo_part() */
};
struct algo_range algo_cut_range(const struct algo_cut *cut, int i);
size_t algo_cut_at(const struct algo_cut *cut, int i); /* bytes before part i */
size_t algo_cut_bytes(const struct algo_cut *cut, int i);
size_t algo_cut_most(const struct algo_cut *cut); /* bytes of the longest part */

/* ---- sets of ranks: first, first + stride, ...; this rank is member `me` ---- */

struct algo_set {
    int first, stride, n, me;
};
struct algo_set algo_all(const struct comm *c);
/* The `group` consecutive ranks of this rank's group. */
struct algo_set algo_node(const struct comm *c, int group);
/* The ranks that have this rank's index in their group. */
struct algo_set algo_across(const struct comm *c, int group);
static inline int algo_rank(const struct algo_set *s, int member)
{
    return s->first + member * s->stride;
}
/* by: -n to n */
static inline int algo_around(const struct algo_set *s, int by)
{
    return (s->me + by + s->n) % s->n;
}

/* ---- sums ---- */

/* Return the bytes of accumulators for algo_add_parts(): one block, whatever the range. */
size_t algo_acc_bytes(const struct reduce_op *f);

/* Add parts[0] + parts[1] + ... + parts[n_parts - 1], in this order, over one range, block by
 * block.
 *   parts   [n_parts] of algo_bytes(from, r.n) each        from   ALGO_IN, ALGO_PART or ALGO_WIDE
 *   acc     [algo_acc_bytes], 8-byte aligned               sum    [algo_bytes(to, r.n)]
 * sum may be one of the parts if to == from. */
void algo_add_parts(const struct reduce_op *f, struct algo_range r, enum algo_form from,
                    const uint8_t *const *parts, int n_parts, void *acc, enum algo_form to,
                    uint8_t *sum);

/* algo_add_parts() with another block length, a multiple of the unit. GPUs need long blocks. acc:
 * [acc_bytes(block)]. */
void algo_add_blocks(const struct reduce_op *f, size_t block, struct algo_range r,
                     enum algo_form from, const uint8_t *const *parts, int n_parts, void *acc,
                     enum algo_form to, uint8_t *sum);

/* ---- steps, called by all members; return 0 or a negative errno of comm.h ---- */

/* Send part i of every member's vector to member i, in one round.
 *   vector   this rank's whole vector      store   [(set->n - 1) * algo_cut_most(cut)]
 *   parts    [set->n] out: each member's part for this rank: its own in vector, others in store */
int algo_alltoall(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                  const uint8_t *vector, uint8_t *store, const uint8_t **parts);

/* Send member i's part i to all members, in one round. vector: in: this member's part; out: all. */
int algo_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                   uint8_t *vector);

/* Reduce around a ring in n - 1 rounds: member i gets part i of the sum, at its place in `sum`, a
 * vector of form `to`. The sum of part j starts with member j+1's codes and collects those of j+2,
 * j+3, ... and last those of member j.
 *   codes   this rank's whole vector in cut's form, ALGO_IN or ALGO_PART   acc   [algo_acc_bytes]
 *   hop     [2 * algo_hop_bytes(cut)] */
size_t algo_hop_bytes(const struct algo_cut *cut);
int algo_ring_reduce(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                     const uint8_t *codes, void *acc, uint8_t *hop, enum algo_form to,
                     uint8_t *sum);

/* algo_allgather(), but from neighbour to neighbour in n - 1 rounds. */
int algo_ring_allgather(struct comm *c, const struct algo_set *set, const struct algo_cut *cut,
                        uint8_t *vector);

/* ---- between stages ---- */

/* True if partial sums travel exactly, in ALGO_WIDE form. */
static inline bool algo_is_wide(const struct reduce_op *f)
{
    return f->ops->wide_bytes(f, f->unit) > 0;
}

/* Rescale the partial sums of range r of this rank's group in place, if the reduce op asks for it;
 * otherwise send nothing. All ranks of the job call it, with r.n = 0 on ranks without sums. Returns
 * 0 or a negative errno of comm.h. */
int algo_rescale(struct comm *c, const struct reduce_op *f, struct algo_range r, uint8_t *sums);

/* ---- scratch: a layout function counts bytes if base is NULL, else it places arrays ---- */

struct algo_arena {
    char *base; /* NULL while counting */
    size_t used;
};
/* Allocate `bytes`, 64-byte aligned. Returns NULL while counting. */
void *algo_take(struct algo_arena *a, size_t bytes);

/* Report -EINVAL unless P is a multiple of K. name: the algorithm's name. */
int algo_check_group(const char *name, int n_ranks, int group);

/* ---- phases of the steps above ---- */

/* algo_ring_allgather() in a set of cut->n_parts ranks. */
struct algo_phase algo_phase_ring(const struct algo_cut *cut);

/* algo_alltoall() and the addition if `adds`, else algo_allgather(). */
struct algo_phase algo_phase_all(const struct algo_cut *cut, bool adds);

/* Append a phase to phases [n] unless it has no steps. inside: within a group. Returns their new
 * number. */
int algo_phase_add(struct algo_phase *phases, int n, struct algo_phase phase, bool inside);

/* Append algo_ring_reduce(): its first step moves codes in the form of cut, the others partial
 * sums. Returns the new number of phases. */
int algo_phase_ring_reduce(struct algo_phase *phases, int n, const struct algo_cut *cut,
                           bool inside);

#endif
