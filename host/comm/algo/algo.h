/* algo.h : declares the interface of all-reduce algorithms. */
#ifndef ALGO_H
#define ALGO_H
#include "codec/codec.h"
#include "comm/comm.h"

/* A range of elements; may be empty. */
struct algo_range {
    size_t at, n;
};

/* Callbacks with which the caller casts while codes travel. Ranges begin and end at multiples of
 * op.unit (or end at n), and together cover the bucket once. Without callbacks (a NULL algo_flow)
 * all codes must be ready at the start. */
struct algo_flow {
    /* encode elements [at, at + n): their codes are about to be read */
    void (*need)(void *arg, size_t at, size_t n);
    /* the result of elements [at, at + n) is final */
    void (*have)(void *arg, size_t at, size_t n);
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

/* Registered buffers: memory that has codes, result and scratch of all calls of one caller. GPU
 * algorithms map it into other processes. The caller fills this struct once its buffers exist.
 * gathered: results of allgather() that are not in `result`; or NULL. */
struct algo_buffers {
    uint8_t *codes, *result, *scratch, *gathered;
    size_t codes_bytes, result_bytes, scratch_bytes, gathered_bytes; /* the same on all ranks */
    void *state;                                                     /* the algorithm's */
};

/* A card that adds the codes of the node's ranks. Either every rank passes one or none does. */
struct algo_node_sum {
    /* Compute sums = parts[0] + ... + parts[n_parts - 1], n elements each, with the same bits as
     * the reduce op. Called only on the rank that has the card. Returns false if the card can no
     * longer add. */
    bool (*add)(void *arg, const uint8_t *const *parts, int n_parts, size_t n, uint8_t *sums);
    void *arg;
    bool gone; /* set by the algorithm: all ranks know that the card is lost */
};

/* One all-reduce. Buffers belong to the caller and do not overlap. */
struct algo_call {
    const struct codec *codec; /* after codec_settle() */
    struct reduce_op op;
    size_t n;             /* elements, a multiple of op.unit */
    const uint8_t *codes; /* [in_bytes(n)] this rank's codes, 64-byte aligned */
    /* [out_bytes(n)] out: the sum, the same bytes on every rank; 64-byte aligned */
    uint8_t *result;
    /* Only the lowest rank of each process needs `result`; other ranks' may stay incomplete. Equal
     * on all ranks. */
    bool once;
    void *scratch; /* [scratch_bytes], 64-byte aligned */
    int group;     /* K of group-*:K, otherwise 0 */
    /* [P] ranks' ranges, for algo_scatter only: in ascending order, multiples of op.unit, together
     * all n. A unit may end one range and begin later ones: its sum is then made on each of these
     * ranks. run()'s result begins with this rank's range. NULL otherwise */
    const struct algo_range *cut;
    const struct algo_flow *flow; /* or NULL */
    struct algo_buffers *buffers; /* may be NULL for algorithms without close() */
    /* NULL: no card, or it cannot add this codec */
    struct algo_node_sum *node;
};

/* A phase of an all-reduce: steps, each of which waits for the one before. Counts are per step, for
 * the busiest rank (with the longest ranges). */
struct algo_phase {
    int steps;
    uint64_t sent, got;   /* bytes */
    int n_sent, n_got;    /* messages */
    uint64_t added_bytes; /* bytes of addends added after the messages */
    bool inside;          /* within a group of near ranks */
};
enum { ALGO_PHASES = 8 };

struct algo {
    const char *name;
    const char *help; /* one line; NULL for variants, which --help does not list */
    /* REDUCE_x flags: sums need one of them. 0: all codes are added in one place. */
    unsigned needs;
    bool grouped; /* the name is followed by :K */
    /* calls algo_call.flow, which must be NULL otherwise */
    bool flows;
    bool together; /* usable for short steps, where codes and exponents share messages */
    /* For gradients on GPUs. by_nccl, by_ipc: the variant with the same sums that exchanges codes
     * by NCCL or CUDA IPC, or NULL. device_codes: over MPI, codes may be in device memory, since
     * only the reduce op reads them. */
    const struct algo *by_nccl, *by_ipc;
    bool device_codes;
    /* For virtual ranks. by_memory: a variant with the same sums, bytes and rounds that reads the
     * other ranks' memory, or NULL. mpis_order: MPI chooses the order of additions, so virtual
     * ranks cannot run this algorithm. */
    const struct algo *by_memory;
    bool mpis_order;
    /* True if the algorithm can add by this rule in this format, whatever the overflow mode. NULL:
     * it can add whatever the codec's reduce op can. */
    bool (*adds)(const struct vec_sum *sum);
    const char *takes; /* formats that adds() can accept, for messages */
    /* Reports -EINVAL if the algorithm cannot run. Called after the codec is settled, before any
     * work. NULL: always runs. */
    int (*check)(const struct codec *codec, int n_ranks, int group);
    size_t (*scratch_bytes)(const struct reduce_op *f, size_t n, int n_ranks, int group);
    /* Run the all-reduce. Returns 0 or a negative errno of comm.h; data never cause an error. */
    int (*run)(struct comm *c, const struct algo_call *call);
    /* Give every rank's range call->cut[rank] to all ranks. NULL except in algo_self, algo_scatter
     * and variants of it, whose run() leaves each rank with its own range. It reads only op (unit,
     * out_bytes, spared and message_bytes), n, result, cut, flow and buffers of the call. A caller
     * may therefore pass a reduce op for other codes, and other ranges.
     *   result  [out_bytes(n)] in: this rank's range, at its place; out: all ranges
     *   flow    gets each element once: need() for this rank's range, have() for all ranges
     * Blocks and returns like run(). After a failure `result` is undefined. */
    int (*allgather)(struct comm *c, const struct algo_call *call);
    /* Store the phases of run() in phases [ALGO_PHASES] and return their number, 0 for one rank.
     * Sends nothing; n_ranks may exceed the job's. NULL: unknown (MPI's own algorithm). */
    int (*phases)(const struct reduce_op *f, size_t n, int n_ranks, int group,
                  struct algo_phase *phases);
    /* Free buffers->state, which the first run() made. All ranks call it before the registered
     * buffers are freed. NULL: no state. */
    void (*close)(struct comm *c, struct algo_buffers *buffers);
};

#define ALGO(name) extern const struct algo algo_##name;
#include "comm/algo/algos.def"
#undef ALGO

/* Variants by_ipc and by_nccl. */
extern const struct algo algo_direct_ipc, algo_direct_nccl, algo_scatter_ipc, algo_scatter_nccl,
    algo_group_scatter_ipc, algo_group_scatter_nccl, algo_group_scatter_exact_ipc,
    algo_group_scatter_exact_nccl, algo_group_master_ipc, algo_group_master_nccl, algo_native_nccl;
/* group-scatter in one node, whose card (algo_call.node) adds as long as it works. */
extern const struct algo algo_group_scatter_card;
/* group-scatter for exact sums, else direct. The bits are those of direct, for which the codec is
 * settled. */
extern const struct algo algo_group_scatter_exact;
/* Variant of direct with its bits: run() sends no results, and leaves each rank with the sums of
 * its range of algo_call.cut. Reduce ops that keep residuals of sums (reduce_op_kind.keeps) keep
 * those of this range. scratch_bytes() takes the elements of the longest range. */
extern const struct algo algo_scatter;
/* Variant by_memory of gather. */
extern const struct algo algo_gather_memory;

/* Entry i of algos.def; NULL after the last. */
const struct algo *algo_at(int i);

/* Find an algorithm by "name" or "name:K". "auto": self for one rank, else direct. group: out: K,
 * or 0. Returns 0 or reports -EINVAL. */
int algo_find(const char *word, int n_ranks, const struct algo **algo, int *group);

/* Replace *algo by its by_memory, if any, for virtual ranks of one process. Call it between
 * algo_find() and algo_settle(). Returns 0, or reports -EINVAL if these ranks cannot run the
 * algorithm: mpis_order needs MPI. */
int algo_here(const struct comm *c, const struct algo **algo);

/* Return the elements of the longest of n_ranks ranges. */
size_t algo_cut_longest(const struct algo_range *cut, int n_ranks);

/* Describe the algorithm to codec_settle(). group: K, or 0. */
struct codec_adder algo_adder(const struct algo *algo, int group);

/* Free the algorithm's state in buffers, before their memory is freed. */
void algo_leave(const struct algo *algo, struct comm *c, struct algo_buffers *buffers);

/* Settle the codec for this algorithm and check both. Returns 0 or reports -EINVAL. */
int algo_settle(const struct algo *algo, int group, int n_ranks, struct codec *codec);

#endif
