/* comm_inside.h : declares the internals of struct comm, and the operations that connect its ranks.
 * Only for this folder and its tests.
 *
 * Messages are non-blocking: each is posted at a place of a list, and comm_wait() or comm_round()
 * waits for all of them. Until then the message's buffer must not be touched. */
#ifndef COMM_INSIDE_H
#define COMM_INSIDE_H
#include "base/deadline.h"
#include "comm/comm.h"

enum {
    COMM_TAG_DATA = 1,
    COMM_TAG_LIVENESS = 2,
    COMM_TAG_ABANDON = 3,
    COMM_TAG_SUM = 4,
    COMM_TAG_FAR = 5, /* messages of virtual ranks between processes */
    COMM_TAGS
};

/* Element-wise, over ranks; every rank gets the result. */
enum comm_reduce {
    COMM_MAX_I8,
    COMM_MAX_F32,
    COMM_SUM_F64, /* in rank order */
    COMM_MIN_U64,
    COMM_OR_U64,
    COMM_REDUCES
};
static inline size_t comm_reduce_bytes(enum comm_reduce how) /* of one element */
{
    return how == COMM_MAX_I8 ? 1 : how == COMM_MAX_F32 ? 4 : 8;
}

/* Operations over MPI (comm_mpi.c), over the caller's transport (comm_over.c), or between fibers of
 * one thread (comm_virtual.c). Slots return 0 or report a negative errno, unless stated
 * otherwise. */
struct comm_ops {
    bool is_mpi, is_virtual;

    /* ---- messages, 1 to c->chunk_bytes bytes each, at places that the caller chooses ---- */

    /* Grow the list. Existing places keep their messages. Returns false, without printing, if out
     * of memory. */
    bool (*make_room)(struct comm *c, size_t places);
    /* Mark places [at, at + n) as empty. */
    void (*clear)(struct comm *c, size_t at, size_t n);
    /* Messages of a pair of ranks with the same tag arrive in order. */
    int (*send)(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
    int (*recv)(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
    /* True if no message is in flight at places [at, at + n). */
    bool (*done)(const struct comm *c, size_t at, size_t n);
    /* As comm_wait() and comm_some(). After wait() c->n_req is 0. */
    int (*wait)(struct comm *c);
    int (*some)(struct comm *c, bool wait);

    /* ---- small collectives, called by all ranks in the same order ---- */

    /* Collectives also wait for messages in flight. what: the action for error lines ("vote"). */

    int (*barrier)(struct comm *c);
    int (*bcast)(struct comm *c, void *buf, size_t bytes, int root);
    int (*reduce)(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);
    /* all: [n_ranks * bytes], in rank order; bytes: 1 to c->chunk_bytes. NULL: comm_all_gather()
     * uses messages instead. */
    int (*all_gather)(struct comm *c, const void *mine, size_t bytes, void *all);
    /* comm_rank_on_node() and comm_nodes(). lowest: may be NULL. NULL: machines differ in name or
     * boot id. */
    int (*nodes)(struct comm *c, int *rank, int32_t *lowest);

    /* ---- waits outside messages, card paths, end of a job ---- */

    /* Progress messages and let other ranks run. Returns true if missing() must be called: another
     * rank has started the liveness check, or this communicator has failed. */
    bool (*poll)(struct comm *c);
    int (*abandon)(struct comm *c);    /* notifies the other ranks */
    bool (*abandoned)(struct comm *c); /* true if another rank has abandoned it */
    /* Drop notifications after a vote. abandoned: bit mask of the ranks that had abandoned. */
    int (*forget)(struct comm *c, const uint64_t *abandoned);
    int (*missing)(struct comm *c);
    /* NULL: every rank is a process. */
    int (*lowest_here)(const struct comm *c, int rank);
    /* NULL if unsupported. */
    void (*fail)(struct comm *c, int code);
    int (*failed)(const struct comm *c); /* NULL: always 0 */
    void (*leave)(struct comm *c);       /* NULL: the opener closes it */
    void __attribute__((noreturn)) (*end)(struct comm *c, int code); /* ends the job's processes */
};

struct comm {
    const struct comm_ops *ops;
    bool threads;         /* comm_threads() */
    size_t message_bytes; /* comm_message_bytes() */
    int rank, n_ranks;
    double deadline_s;
    size_t chunk_bytes; /* longest message; tests make it small */
    /* n_req: places with a message posted and not yet waited for. room: places allocated. */
    size_t n_req, room;
    /* Blocks: ranks [near, near + n_near) are in this process. Else 0. */
    int near, n_near;
    bool abandoned; /* by this rank, in this step */
    void *scratch;  /* [COMM_BLOCK] for collectives */
    /* [n_ranks * COMM_HOST_SCRATCH] for pointers and counters of the running algorithm, whose own
     * scratch may be on a GPU. */
    void *host_scratch;
    struct comm_count count;
};
enum { COMM_HOST_SCRATCH = 32 }; /* bytes per rank */
/* Longest message, bytes: limited because MPI counts in int. */
enum { COMM_CHUNK_BYTES = 1 << 30 };
/* Bytes that a collective handles at a time in its own buffer. */
enum { COMM_BLOCK = 8192 };

/* Fill the fields of c from chunk_bytes on. The caller has filled those before it and zeroed the
 * rest. Returns 0, or reports -ENOMEM with nothing left to free. */
int comm_init(struct comm *c);
void comm_fini(struct comm *c);

/* Make room for one more message at place c->n_req. Returns 0 or reports -ENOMEM. */
int comm_place(struct comm *c);

/* Post a message of any length; 0 bytes are not sent, since both sides know the length. Return 0 or
 * a negative errno. */
int comm_send(struct comm *c, int to, const void *buf, size_t bytes);
int comm_recv(struct comm *c, int from, void *buf, size_t bytes);

/* Track the deadline of one wait. comm_watch() begins it; call comm_look() between polls, at least
 * every DEADLINE_GAP_S. comm_look() returns 0 until the deadline has passed or poll() returns
 * true; then it acts as comm_missing(). Time in which this process was stopped does not count. */
struct comm_watch {
    double start_s, waited_s; /* waited_s: at the last look */
    struct deadline deadline;
};
struct comm_watch comm_watch(const struct comm *c);
int comm_look(struct comm *c, struct comm_watch *w);

/* Pause between two polls: comm_rest() in a wait for all messages, comm_rest_some() for one. */
void comm_rest(unsigned n_polls, double waited_s);
void comm_rest_some(double waited_s);

/* Combine x[n] of the next rank (in rank order) with the accumulator `into` [n]. */
void comm_combine(enum comm_reduce how, size_t n, void *into, const void *x);

/* end() for ranks that MPI has not started: exit this process with all its ranks. */
void comm_exit(struct comm *c, int code) __attribute__((noreturn));

/* Print the ranks that have not answered a liveness check (heard [n_ranks] false) after a wait that
 * failed with code. */
void comm_liveness_report(const struct comm *c, const bool *heard, int code);

/* Time for a waiting rank to answer a liveness check, s. */
static const double COMM_LIVENESS_S = 2.0;

/* comm_wait(), counted as one point-to-point round. */
int comm_round(struct comm *c);

/* Gather `bytes` of each rank on all ranks, in ceil(log2 P) rounds by doubling (Bruck et al.,
 * 1997). all: in: this rank's bytes first; out: the bytes of rank r at all + bytes * ((r - rank)
 * mod P). */
int comm_double(struct comm *c, size_t bytes, uint8_t *all);

/* Returns what ranks send to find those of their machine: a hash of its name and boot id, since
 * containers may have equal names. */
uint64_t comm_machine(void);

/* Slots of struct comm_ops, by messages (comm_collect.c). all: [n_ranks * COMM_BLOCK] scratch. */
int comm_message_barrier(struct comm *c, uint8_t *all);
int comm_message_bcast(struct comm *c, void *buf, size_t bytes, int root);
int comm_message_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, uint8_t *all);

/* Check, when a job opens, that all ranks have the same library. All ranks call it. Returns 0,
 * -EPROTO after one rank has printed both versions, or a message's error. */
int comm_check_version(struct comm *c);

/* ---- batches of requests: some may end while others stay in flight ---- */

/*     comm_batches_begin -> comm_batch_send, comm_batch_recv -> comm_some until some are done
 *        -> comm_wait, which waits for the rest and ends the batches
 *
 * Do not post other messages in between. */

/* A batch of requests: messages at places [at, at + n_places). To reuse it when all are done, set
 * used to 0. */
struct comm_batch {
    size_t at, n_places, used;
};

/* Make n_places places, the sum over all batches. Returns 0 or reports -ENOMEM. */
int comm_batches_begin(struct comm *c, size_t n_places);

size_t comm_batch_places(const struct comm *c, size_t bytes);

/* As comm_send() and comm_recv(). */
int comm_batch_send(struct comm *c, struct comm_batch *batch, int tag, int to, const void *buf,
                    size_t bytes);
int comm_batch_recv(struct comm *c, struct comm_batch *batch, int tag, int from, void *buf,
                    size_t bytes);

bool comm_batch_done(const struct comm *c, const struct comm_batch *batch);

/* Progress messages. If `wait`, block until at least one more is done, as comm_wait() does; at
 * least one must be in flight. Returns how many were done (0 only without wait), or a negative
 * errno with nothing left in flight. */
int comm_some(struct comm *c, bool wait);

#endif
