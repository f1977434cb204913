/* algo.h : an all-reduce algorithm: codes of a bucket in on every rank, codes of the sum out on
 * every rank. */
#ifndef ALGO_H
#define ALGO_H
#include "codec/codec.h"
#include "comm/comm.h"

/* A range of a vector: index of its first element in the bucket, length; 0 elements are legal. */
struct algo_range {
    size_t at, n;
};

/* Casting while codes travel: what an all-reduce tells its caller, range by range. Ranges begin and
 * end on a multiple of fold.unit (or at n) and together cover the bucket once. NULL: all codes are
 * there from the start; nobody wants to know. */
struct algo_flow {
    /* makes codes of elements at..at+n: about to be read, for the first time */
    void (*need)(void *arg, size_t at, size_t n);
    void (*have)(void *arg, size_t at, size_t n); /* result of elements at..at+n stands */
    void *arg;
};
static inline void algo_need(const struct algo_flow *flow, size_t at, size_t n)
{
    if (flow && n)
        flow->need(flow->arg, at, n);
}
static inline void algo_have(const struct algo_flow *flow, size_t at, size_t n)
{
    if (flow && n)
        flow->have(flow->arg, at, n);
}

/* The memory of all calls of one caller, for algorithms that other processes' GPUs reach it
 * through, and what such an algorithm keeps between calls. Filled by the caller after its buffers
 * stand; codes, result and scratch of every call lie inside. */
struct algo_home {
    uint8_t *codes, *result, *scratch;
    size_t codes_bytes, result_bytes, scratch_bytes; /* the same on every rank */
    void *state;                                     /* the algorithm's; NULL at first */
};

/* Who adds a node's codes in place of its ranks: a card that one of them has. On every rank. */
struct algo_node_sum {
    /* sums = parts[0] + ... + parts[n_parts - 1], n elements each: the bytes that the fold makes.
     * Called on the rank that has the card alone. False: it cannot, from now on. */
    bool (*add)(void *arg, const uint8_t *const *parts, int n_parts, size_t n, uint8_t *sums);
    void *arg;
    bool gone; /* it cannot add any more, as all ranks know: the algorithm sets it */
};

/* One all-reduce. Buffers belong to the caller and do not overlap. */
struct algo_call {
    const struct codec *codec; /* settled */
    struct fold fold;
    size_t n;             /* elements, a multiple of fold.unit */
    const uint8_t *codes; /* [in_bytes(n)] this rank's addends, 64-byte aligned */
    /* [out_bytes(n)] out: the sum, the same bytes on every rank; 64-byte aligned */
    uint8_t *result;
    void *scratch;                /* [scratch_bytes], 64-byte aligned */
    int group;                    /* K of group-*:K, else 0 */
    const struct algo_flow *flow; /* or NULL */
    struct algo_home *home;       /* may be NULL unless the algorithm has a close slot */
    struct algo_node_sum *node;   /* NULL: none, or not of this codec */
};

/* A leg of an all-reduce: steps that wait for each other, on the path of the rank that has most to
 * do, which has the longest ranges. What it counts is of one step. */
struct algo_leg {
    int steps;
    uint64_t sent, got;   /* bytes */
    int n_sent, n_got;    /* messages */
    uint64_t added_bytes; /* of addends, that are folded behind the messages */
    bool inside;          /* within a group, of ranks that are near each other */
};
enum { ALGO_LEGS = 8 }; /* at most */

struct algo {
    const char *name;
    const char *help; /* one line for --help; NULL: in no list (by_nccl, by_ipc) */
    unsigned needs;   /* FOLD_x, one of which sums must have; 0: it adds all codes in one place */
    bool grouped;     /* takes :K */
    bool flows;       /* heeds algo_call.flow; else that is NULL */
    bool together;    /* of short steps: exponents may travel with codes, in its messages */
    /* Gradients on GPUs (mates_choose.h): the same sums with codes exchanged by NCCL, by CUDA IPC;
     * NULL: not this algorithm. And may codes be device memory over MPI, as nothing but the fold
     * touches them? */
    const struct algo *by_nccl, *by_ipc;
    bool device_codes;
    /* Virtual ranks (comm_virtual.h): the same sums, bytes and rounds out of the others' memory;
     * NULL: by messages, like all. And is the order of additions MPI's own, so that they have
     * none? */
    const struct algo *by_memory;
    bool mpis_order;
    /* Can it add by this rule, in this format? The overflow does not count. NULL = it adds by the
     * codec's fold. */
    bool (*adds)(const struct vec_sum *sum);
    /* Can it run? Says why not. Called after the codec is settled, before any work. NULL =
     * always. */
    int (*check)(const struct codec *codec, int n_ranks, int group);
    size_t (*scratch_bytes)(const struct fold *f, size_t n, int n_ranks, int group);
    /* Returns 0 or a negative errno of comm.h, never for what is in the data. */
    int (*run)(struct comm *c, const struct algo_call *call);
    /* The two halves of run(), for callers that need only one of them; both are NULL where sums are
     * made in one place (group-master, gather, gather-sum), by MPI, a card, NCCL or IPC.
     *
     *     codes of all ranks --reduce_scatter--> rank r has its range --allgather--> all have all
     *
     * Rank r's range is algo_owned(). Codes of a range lie where they lie in the whole vector: from
     * fold_out_at(range.at) of `result` on. reduce_scatter() and then allgather() of the same call
     * make the bytes of run(), in as many rounds. Other calls may come between the two.
     *
     * All ranks call the same half, in the same order as all their calls. Each blocks until this
     * rank's part is done and its messages have left: then codes, result and scratch are the
     * caller's again. Both return what run() returns. After a failure `result` is undefined.
     *
     * reduce_scatter() takes the call of run(). It writes only this rank's range of result.
     *   flow    asks once for all codes, announces once this rank's range
     * A fold that keeps something of sums (fold_ops.keeps) keeps it of this rank's range. run() of
     * `direct` gives ranks other ranges of a long vector: use one of the two for all steps.
     *
     * allgather() reads only fold, n, result, group and flow of the call; the others may be 0. Of
     * the fold it reads unit, out_bytes and spared. So a fold made for other codes, such as weights
     * as floats, gives those to all ranks. With the unit of the gradients' fold, ranges are the
     * same.
     *   result  [out_bytes(n)] in: this rank's range; out: all ranges
     *   flow    asks once for this rank's range, announces once all of them */
    int (*reduce_scatter)(struct comm *c, const struct algo_call *call);
    int (*allgather)(struct comm *c, const struct algo_call *call);
    /* Fills in legs [ALGO_LEGS], as run() goes through them, and returns how many: 0 for one rank.
     * Nothing is sent. Also for more ranks than there are. NULL: nobody knows (MPI's own). */
    int (*legs)(const struct fold *f, size_t n, int n_ranks, int group, struct algo_leg *legs);
    /* Gives back home->state, made by the first run; all ranks, before the home's memory is freed.
     * NULL = there is none. */
    void (*close)(struct comm *c, struct algo_home *home);
};

/* One file each. */
#define ALGO(name) extern const struct algo algo_##name;
#include "comm/algo/algos.def"
#undef ALGO

/* by_ipc and by_nccl of those. */
extern const struct algo algo_direct_ipc, algo_direct_nccl, algo_group_scatter_ipc,
    algo_group_scatter_nccl, algo_group_master_ipc, algo_group_master_nccl, algo_native_nccl;
/* group-scatter of one node, by algo_call.node while that can */
extern const struct algo algo_group_scatter_card;
/* by_memory of gather */
extern const struct algo algo_gather_memory;

/* All of them, as algos.def lists them; NULL behind the last. */
const struct algo *algo_at(int i);

/* Finds "name" or "name:K" ("auto": self for one rank, else direct).
 * group: K, or 0. Returns 0 or -EINVAL with a line. */
int algo_find(const char *word, int n_ranks, const struct algo **algo, int *group);

/* The algorithm as it runs on ranks of this kind: the one of that name for virtual ranks. In place,
 * between algo_find() and algo_settle(). Returns 0, or -EINVAL with a line where they cannot run it. */
int algo_here(const struct comm *c, const struct algo **algo);

/* Return the range of n elements that `rank` owns between reduce_scatter() and allgather(). Ranges
 * are multiples of the fold's unit and cover n once. Lengths differ by one unit at most among the
 * ranks that share a part; some are empty if n has fewer units than there are ranks. Without groups
 * ranges follow the ranks. With groups of K, members i of all groups share part i of K parts:
 *
 *     owners, P = 4:  0 1 2 3        P = 4, K = 2:  0 2 1 3, since ranks 0 and 2 are members 0
 *
 *   group   K, or 0 */
struct algo_range algo_owned(size_t n, size_t unit, int n_ranks, int group, int rank);

/* The algorithm, with K of its :K, as a codec is settled for it. */
struct codec_adder algo_adder(const struct algo *algo, int group);

/* Before the memory of a home is freed: gives back what its algorithm keeps. */
void algo_leave(const struct algo *algo, struct comm *c, struct algo_home *home);

/* codec_settle() for this algorithm, if it can add this kind of codec, and its own check. Returns 0
 * or -EINVAL with a line. */
int algo_settle(const struct algo *algo, int group, int n_ranks, struct codec *codec);

#endif
