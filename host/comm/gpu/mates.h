/* mates.h : Defines a set of ranks (peers, `mates`) whose GPUs
 * exchange codes by CUDA IPC or NCCL instead of MPI messages.
 *
 *     gather     member i can read part i of every member's vector     codes -> sums
 *     spread     member i's part i goes to all                         sums -> all
 *     to_first   member i's part i goes to member 0
 *     from_first member 0's vector goes to all
 *
 * All members make the same calls. Vectors are in the registered buffers (`struct algo_home`), at
 * the same offset on every member. A call returns when this rank may use the bytes that it
 * received. The bytes that it sent may be overwritten after the next spread or from_first. */
#ifndef MATES_H
#define MATES_H
#include "comm/algo/algo.h"
#include "comm/algo/algo_step.h"

struct mates;

/* A link, implemented by one file each. Slots return 0 or report a negative errno. Waits have the
 * deadline of comm. */
struct mates_link {
    const char *name;
    bool stores; /* gather needs a store */
    int (*open)(struct mates *m);
    void (*close)(struct mates *m);
    /* Makes part `me` of all members' vectors readable. parts: [set.n] out: pointers to these
     * parts. store: [(set.n - 1) * algo_cut_most(cut)] device memory, or NULL if the link
     * does not store. */
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
    void *state;           /* owned by the link */
    const uint8_t **parts; /* [set.n] results of gather */
    const uint8_t **order; /* [set.n] for sums in another order */
    bool failed;           /* the set can no longer synchronise */
};

/* Opens a set. All members call it, and disjoint sets may open at the same time. Returns 0, or a
 * negative errno on all ranks of the job. */
int mates_open(struct comm *c, const struct algo_set *set, const struct mates_link *link,
               const struct algo_home *home, struct mates **out);
/* Closes a set. All members call it. After a failure it does not wait for other members.
 * NULL is legal. */
void mates_close(struct mates *m);

/* Returns the bytes of gather's store for this link. */
size_t mates_store_bytes(const struct mates_link *link, const struct algo_cut *cut);

/* Call the link's function and count traffic as algo_alltoall() and algo_allgather() do.
 * mates_gather() stores its results in m->parts. */
int mates_gather(struct mates *m, const struct algo_cut *cut, const uint8_t *codes, uint8_t *store);
int mates_spread(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
int mates_to_first(struct mates *m, const struct algo_cut *cut, uint8_t *vector);
int mates_from_first(struct mates *m, uint8_t *vector, size_t bytes);

/* Returns rc. If rc < 0, marks the set as failed, so that closing waits for no member. */
int mates_noted(struct mates *m, int rc);

/* For links: waits until all members have called it, with a few MPI messages that
 * are not counted. */
int mates_meet(struct mates *m);

/* For links, while a set opens: sends every member's bytes to all members. all: [set.n * bytes]
 * out, in the order of members. */
int mates_tell(struct mates *m, const void *mine, size_t bytes, void *all);

/* Copies between any memory that the GPU can access, and waits for the copy. */
int mates_copy(void *dst, const void *src, size_t bytes);

#endif
