/* mates.h : a set of ranks whose GPUs hand codes to each other without MPI's messages: by CUDA IPC
 * or by NCCL.
 *
 *     gather     member i can read part i of everybody's vector          codes -> sums
 *     spread     member i's part i goes to all                           sums -> all
 *     to_first   member i's part i goes to member 0
 *     from_first member 0's vector goes to all
 *
 * All members make the same calls. Vectors lie inside the home (algo.h), at the same place on every
 * member. A call returns when this rank may go on to use what it got; what it gave may be
 * overwritten after the next spread or from_first. */
#ifndef MATES_H
#define MATES_H
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"

struct mates;

/* One file each. Slots return 0 or a negative errno after a line; waits have comm's deadline. */
struct mates_link {
    const char *name;
    bool stores; /* gather wants a store */
    int (*open)(struct mates *m);
    void (*close)(struct mates *m);
    /* parts: [set.n] out: reachable memory. store: [(set.n - 1) * algo_cut_most(cut)] device
     * memory, or NULL */
    int (*gather)(struct mates *m, const struct algo_cut *cut, const uint8_t *codes, uint8_t *store,
                  const uint8_t **parts);
    int (*spread)(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
    int (*to_first)(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
    int (*from_first)(struct mates *m, uint8_t *vector, size_t bytes);
};
extern const struct mates_link mates_ipc, mates_nccl;

struct mates {
    struct comm *comm;
    struct algo_set set;
    const struct mates_link *link;
    const struct algo_home *home;
    void *state;           /* the link's */
    const uint8_t **parts; /* [set.n] for gather */
    const uint8_t **order; /* [set.n] for sums in another order than the members' */
    bool failed;           /* the set cannot meet any more */
};

/* All members. Sets that do not overlap may open at the same time. Returns 0, or a negative errno
 * on all ranks of the job. */
int mates_open(struct comm *c, const struct algo_set *set, const struct mates_link *link,
               const struct algo_home *home, struct mates **out);
/* All members; after a failure it waits for none. NULL is legal. */
void mates_close(struct mates *m);

/* Bytes of gather's store for this link. */
size_t mates_store_bytes(const struct mates_link *link, const struct algo_cut *cut);

/* link->gather into m->parts and so on, with what is sent counted as algo_alltoall() and
 * algo_allgather() count it. */
int mates_gather(struct mates *m, const struct algo_cut *cut, const uint8_t *codes, uint8_t *store);
int mates_spread(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
int mates_to_first(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
int mates_from_first(struct mates *m, uint8_t *vector, size_t bytes);

/* rc. Below 0: the set cannot meet any more, so closing waits for nobody. */
int mates_noted(struct mates *m, int rc);

/* Waits until all members are here: a few empty-handed messages of MPI, not counted. For links. */
int mates_meet(struct mates *m);

/* Every member's bytes to all members, in the order of members. For links, at their opening. */
int mates_tell(struct mates *m, const void *mine, size_t bytes, void *all);

/* dst = src, of any memory the GPU reaches, and the wait for it. */
int mates_copy(void *dst, const void *src, size_t bytes);

#endif
