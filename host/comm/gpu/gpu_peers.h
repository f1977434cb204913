/* gpu_peers.h : defines a set of ranks (peers) whose GPUs exchange codes by CUDA IPC or NCCL
 * instead of MPI messages.
 *
 *     gather     member i can read part i of every member's vector     codes -> sums
 *     spread     member i's part i goes to all                         sums -> all
 *     to_first   member i's part i goes to member 0
 *     from_first member 0's vector goes to all
 *
 * All members make the same calls. Vectors are in the registered buffers (`struct algo_buffers`),
 * at the same offset on every member. A call returns when this rank may use the bytes received. The
 * bytes sent may be overwritten after the next spread, from_first or fence. */
#ifndef GPU_PEERS_H
#define GPU_PEERS_H
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"

struct gpu_peers;

/* A link, one per file. Slots return 0 or report a negative errno. Waits have comm's deadline. */
struct gpu_peers_link {
    bool stores; /* gather needs a store */
    int (*open)(struct gpu_peers *m);
    void (*close)(struct gpu_peers *m);
    /* Make part `me` of all members' vectors readable. parts: [set.n] out. store: [(set.n - 1) *
     * algo_cut_most(cut)] device memory, or NULL unless `stores`. */
    int (*gather)(struct gpu_peers *m, const struct algo_cut *cut, const uint8_t *codes,
                  uint8_t *store, const uint8_t **parts);
    int (*spread)(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector);
    int (*to_first)(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector);
    int (*from_first)(struct gpu_peers *m, uint8_t *vector, size_t bytes);
};
extern const struct gpu_peers_link gpu_peers_ipc, gpu_peers_nccl;

struct gpu_peers {
    struct comm *comm;
    struct algo_set set;
    const struct gpu_peers_link *link;
    const struct algo_buffers *buffers;
    void *state;           /* the link's */
    const uint8_t **parts; /* [set.n] gather's results */
    const uint8_t **order; /* [set.n] for sums in another order */
    bool failed;           /* the set can no longer synchronise */
};

/* Open sets. All ranks of the job call it together, each with its own set; sets are disjoint.
 * Returns 0, or a negative errno on all ranks. */
int gpu_peers_open(struct comm *c, const struct algo_set *set, const struct gpu_peers_link *link,
                   const struct algo_buffers *buffers, struct gpu_peers **out);
/* All members call it. Close the set. Waits for no member after a failure. NULL is legal. */
void gpu_peers_close(struct gpu_peers *m);

size_t gpu_peers_store_bytes(const struct gpu_peers_link *link, const struct algo_cut *cut);

/* Call the link's function and count traffic as algo_alltoall() and algo_allgather() do.
 * gpu_peers_gather() stores its results in m->parts. */
int gpu_peers_gather(struct gpu_peers *m, const struct algo_cut *cut, const uint8_t *codes,
                     uint8_t *store);
int gpu_peers_spread(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector);
int gpu_peers_to_first(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector);
int gpu_peers_from_first(struct gpu_peers *m, uint8_t *vector, size_t bytes);

/* Wait until all members have called it, if members access each other's memory; otherwise return
 * at once. Call it after a gather whose sums are not spread, before `codes` change, and before a
 * spread that follows no gather, since members may still read `vector`. */
int gpu_peers_fence(struct gpu_peers *m);

/* Return rc. If rc < 0, mark the set as failed, so that closing waits for no member. */
int gpu_peers_noted(struct gpu_peers *m, int rc);

/* For links: wait until all members have called it, with a few uncounted MPI messages. */
int gpu_peers_meet(struct gpu_peers *m);

/* For links, while a set opens: send every member's bytes to all. all: [set.n * bytes] out, in the
 * order of members. */
int gpu_peers_exchange(struct gpu_peers *m, const void *mine, size_t bytes, void *all);

/* Copy between any two places that the GPU can access, and wait for the copy. */
int gpu_peers_copy(void *dst, const void *src, size_t bytes);

#endif
