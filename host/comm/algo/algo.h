/* algo.h : Interface of all-reduce algorithms: every rank
 * passes codes of a bucket and gets codes of the sum. */
#ifndef ALGO_H
#define ALGO_H
#include "codec/codec.h"
#include "comm/comm.h"

/* A range of a bucket, in elements; may be empty. */
struct algo_range {
    size_t at, n;
};

/* Callbacks by which an algorithm lets its caller cast while codes travel.
 * Ranges begin and end at multiples of fold.unit (or end at n) and together
 * cover the bucket once. NULL: all codes are there from the start. */
struct algo_flow {
    /* makes the codes of elements at..at+n, which are about to be read */
    void (*need)(void *arg, size_t at, size_t n);
    void (*have)(void *arg, size_t at, size_t n); /* result of at..at+n is final */
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

/* Registered buffers (`home`): the memory of all calls of one caller, for algorithms through which
 * other processes' GPUs reach it. The caller fills it once its buffers exist. codes, result and
 * scratch of every call are inside. */
struct algo_home {
    uint8_t *codes, *result, *scratch;
    size_t codes_bytes, result_bytes, scratch_bytes; /* the same on all ranks */
    void *state; /* kept by the algorithm between calls; NULL at first */
};

/* A card in the node that adds the codes of the node's ranks. Present on every rank. */
struct algo_node_sum {
    /* Computes sums = parts[0] + ... + parts[n_parts - 1], n elements each, with the bytes of the
     * reduce op. Called only on the rank that has the card. False: the card cannot add any more. */
    bool (*add)(void *arg, const uint8_t *const *parts, int n_parts, size_t n, uint8_t *sums);
    void *arg;
    bool gone; /* set by the algorithm once all ranks know that the card is lost */
};

/* One all-reduce. Buffers belong to the caller and do not overlap. */
struct algo_call {
    const struct codec *codec; /* settled */
    struct fold fold;
    size_t n;             /* elements, a multiple of fold.unit */
    const uint8_t *codes; /* [in_bytes(n)] this rank's codes, 64-byte aligned */
    /* [out_bytes(n)] out: the sum, the same bytes on every rank; 64-byte aligned */
    uint8_t *result;
    void *scratch;                /* [scratch_bytes], 64-byte aligned */
    int group;                    /* K of group-*:K, else 0 */
    const struct algo_flow *flow; /* or NULL */
    struct algo_home *home;       /* may be NULL for algorithms without close() */
    struct algo_node_sum *node;   /* NULL: none, or not for this codec */
};

/* A phase (`leg`) of an all-reduce: steps that wait for each other, as the busiest rank sees them,
 * which has the longest ranges. Counts are per step. */
struct algo_leg {
    int steps;
    uint64_t sent, got;   /* bytes */
    int n_sent, n_got;    /* messages */
    uint64_t added_bytes; /* bytes of addends, added after the messages */
    bool inside;          /* within a group of near ranks */
};
enum { ALGO_LEGS = 8 }; /* at most */

struct algo {
    const char *name;
    const char *help; /* one line of --help; NULL: not listed (by_nccl, by_ipc) */
    unsigned needs; /* FOLD_x flags, one of which sums must have; 0: adds all codes in one place */
    bool grouped;   /* has a :K */
    bool flows;     /* uses algo_call.flow; else flow is NULL */
    bool together;  /* for short steps: its messages may carry exponents as well */
    /* For gradients on GPUs (mates_choose.h). by_nccl, by_ipc: the same sums with codes exchanged
     * by NCCL or CUDA IPC; NULL: unavailable. device_codes: codes may be in device memory over MPI,
     * since only the reduce op touches them. */
    const struct algo *by_nccl, *by_ipc;
    bool device_codes;
    /* For virtual ranks (comm_virtual.h). by_memory: the same sums, bytes and rounds, read from the
     * others' memory; NULL: use messages. mpis_order: MPI chooses the order of additions, so
     * virtual ranks cannot run it. */
    const struct algo *by_memory;
    bool mpis_order;
    /* True if it can add by this rule in this format; ignore the
     * overflow mode. NULL: any that the codec's reduce op can. */
    bool (*adds)(const struct vec_sum *sum);
    /* Reports -EINVAL if it cannot run. Called after the codec
     * is settled, before any work. NULL: always runs. */
    int (*check)(const struct codec *codec, int n_ranks, int group);
    size_t (*scratch_bytes)(const struct fold *f, size_t n, int n_ranks, int group);
    /* Returns 0 or a negative errno of comm.h, never because of the data. */
    int (*run)(struct comm *c, const struct algo_call *call);
    /* The two halves of run(), for callers that need only one. NULL if sums are made in one place
     * (group-master, gather, gather-sum) or by MPI, a card, NCCL or IPC.
     *
     *  codes of all ranks --reduce_scatter--> rank r has its range --allgather--> all have all
     *
     * The range of rank r is algo_owned(). It is stored as in the whole vector, from
     * fold_out_at(range.at) of `result` on. Both halves of the same call give the bytes of run() in
     * as many rounds. Other calls may come in between.
     *
     * All ranks call the same half, in the same order as all their calls. Each half blocks until
     * this rank's part is done and its messages have left; the caller then owns codes, result and
     * scratch again. Both return as run(). After a failure `result` is undefined.
     *
     * reduce_scatter() takes the call of run() and writes only this rank's range of result.
     *   flow    one need() for all codes, one have() for this rank's range
     * Reduce ops that keep something of sums (fold_ops.keeps) keep it
     * for this rank's range. run() of `direct` gives ranks other ranges
     * of a long vector, so use either run() or the halves for all steps.
     *
     * allgather() reads only fold, n, result, group and flow of the call; other fields may be 0.
     * From the reduce op it uses unit, out_bytes and spared. So a reduce op for other codes, such
     * as weights in fp32, distributes those; with the gradients' unit the ranges are the same.
     *   result  [out_bytes(n)] in: this rank's range; out: all ranges
     *   flow    one need() for this rank's range, one have() for all */
    int (*reduce_scatter)(struct comm *c, const struct algo_call *call);
    int (*allgather)(struct comm *c, const struct algo_call *call);
    /* Stores the phases of run() in legs [ALGO_LEGS] and returns their number, 0 for one rank.
     * Sends nothing; n_ranks may exceed the job's. NULL: unknown (MPI's own). */
    int (*legs)(const struct fold *f, size_t n, int n_ranks, int group, struct algo_leg *legs);
    /* Frees home->state, made by the first run(). All ranks call it before the registered buffers
     * are freed. NULL: no state. */
    void (*close)(struct comm *c, struct algo_home *home);
};

#define ALGO(name) extern const struct algo algo_##name;
#include "comm/algo/algos.def"
#undef ALGO

/* by_ipc and by_nccl of these algorithms */
extern const struct algo algo_direct_ipc, algo_direct_nccl, algo_group_scatter_ipc,
    algo_group_scatter_nccl, algo_group_master_ipc, algo_group_master_nccl, algo_native_nccl;
/* group-scatter in one node, by algo_call.node while that works */
extern const struct algo algo_group_scatter_card;
/* by_memory of gather */
extern const struct algo algo_gather_memory;

/* Returns entry i of algos.def, NULL after the last. */
const struct algo *algo_at(int i);

/* Finds "name" or "name:K" ("auto": self for one rank, else
 * direct). group: out: K, or 0. Returns 0 or reports -EINVAL. */
int algo_find(const char *word, int n_ranks, const struct algo **algo, int *group);

/* For virtual ranks, replaces *algo by its by_memory if it has one; otherwise keeps it. Call it
 * between algo_find() and algo_settle(). Returns 0, or reports -EINVAL if ranks of this kind cannot
 * run it: mpis_order needs MPI, not virtual ranks or a transport of the caller's. */
int algo_here(const struct comm *c, const struct algo **algo);

/* Returns the range of n elements that `rank` owns between reduce_scatter() and allgather(). Ranges
 * are multiples of the reduce op's unit and cover n once. Their lengths differ by at most one unit
 * among the ranks that share a part, and may be 0. Without groups ranges follow the ranks. With
 * groups of K, members i of all groups share part i of K parts:
 *
 *     owners, P = 4:  0 1 2 3        P = 4, K = 2:  0 2 1 3, since ranks 0 and 2 are members 0
 *
 *   group   K, or 0 */
struct algo_range algo_owned(size_t n, size_t unit, int n_ranks, int group, int rank);

/* Describes the algorithm to codec_settle(). group: K of :K. */
struct codec_adder algo_adder(const struct algo *algo, int group);

/* Frees the algorithm's state in home, before the memory of home is freed. */
void algo_leave(const struct algo *algo, struct comm *c, struct algo_home *home);

/* Settles the codec for this algorithm and checks both. Returns 0 or reports -EINVAL. */
int algo_settle(const struct algo *algo, int group, int n_ranks, struct codec *codec);

#endif
