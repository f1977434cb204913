/* comm.h : ranks and what they exchange, by MPI, by calls of the caller's own (comm_over.h) or, as fibers
 * of one thread, by memory (comm_virtual.h). The only folder that knows MPI; every wait has a deadline.
 *
 * A wait that passes the deadline names, in one line, the ranks that do not answer. By MPI it then ends
 * the whole job: a call below either returns or the process is gone. Over the caller's own calls, and
 * when one of these fails, it returns a negative errno, as all later calls do. One thread calls at a
 * time, the one that opened or, where comm_threads() says so, any other. */
#ifndef COMM_H
#define COMM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm; /* opened by comm_open, closed by comm_close */

/* Joins the job (MPI_Init unless done). deadline_s: a wait longer than that names who is missing
 * and ends the job. Returns 0 or a negative errno: -EINVAL (deadline not positive, on all ranks:
 * rank 0 speaks), -ENOMEM, -EIO (MPI said no). */
int comm_open(double deadline_s, struct comm **out);

/* What threads of this process may call. */
enum comm_level {
    COMM_MAIN,  /* the one that began MPI, alone */
    COMM_TURNS, /* any, one at a time in all of the process (MPI_THREAD_SERIALIZED) */
    COMM_MANY   /* several at once, each with a job of its own (MPI_THREAD_MULTIPLE) */
};

/* MPI_Init unless done, for one thread at a time, or, if so asked, for several at once; the caller's
 * MPI allows what it was begun with. Any thread, several at once. Returns the level or a negative
 * errno: -EINVAL (MPI has been finalized), -ENOTSUP, -EIO. */
int comm_begin(bool many);

/* May this thread call now that MPI has begun? Of COMM_MAIN another than the main one may not:
 * -EPERM with a line. */
int comm_may_call(void);

/* For who lets several threads in, each with a job of its own: unless COMM_MANY do, one has the turn,
 * from the first of these until the second. Returns 0, -EPERM, or -EBUSY with a line: another has
 * it. */
int comm_take_turn(void);
void comm_give_turn(void);

/* Which processes a job is of. */
struct comm_members {
    bool world;         /* all of MPI_COMM_WORLD; else of */
    const void *mpi;    /* an MPI_Comm, which is duplicated, or */
    const int *fortran; /* a communicator's number in Fortran (MPI_Fint) */
    double deadline_s;  /* of comm_open() */
    /* What this rank must have done before any goes on: 0, or a negative errno with a line. NULL:
     * nothing. */
    int (*ready)(void *arg);
    void *arg;
};

/* comm_open() of these processes, after comm_begin(). All of them call it, and return the same: what
 * comm_open() returns, what ready() does on the lowest rank where it fails, -EINVAL (no communicator, or one
 * between two groups). Nothing is left of one that failed. */
int comm_open_on(const struct comm_members *members, struct comm **out);

/* Waits for the other ranks' comm_close and leaves the job; the last one ends MPI if comm_open
 * began it (MPI_Finalize), so none can be opened again. */
void comm_close(struct comm *c);

/* The same but for MPI, which goes on, so that another job can be opened; what comm_open began ends
 * when the process exits. Over the caller's own calls nothing is under way any more when it returns. */
void comm_leave(struct comm *c);

int comm_rank(const struct comm *c);
int comm_n_ranks(const struct comm *c);

/* May other threads than the one that opened call, one at a time? */
bool comm_threads(const struct comm *c);

/* Are the ranks fibers of one thread (comm_virtual.h)? Are they MPI's? */
bool comm_is_virtual(const struct comm *c);
bool comm_is_mpi(const struct comm *c);

/* Over the caller's own calls: from now on all calls of this rank return code, those under way, too,
 * and soon those of the others. Any thread. False: these ranks cannot; comm_abort() can. */
bool comm_give_in(struct comm *c, int code);

/* What calls return since one has failed over the caller's own calls, or 0. Any thread. */
int comm_failed(const struct comm *c);

/* All ranks call this with their own result of a step that any of them may have failed. The lowest
 * rank that failed prints its held line (err_hold() is on until then), and every rank gets that
 * rank's code; 0 when none failed (rank 0 then prints what it holds, a warning). */
int comm_agree(struct comm *c, int rc);

/* Ends the job from one rank, for failures after which the others cannot be asked. Every process
 * ends with a status that is not zero. code: the negative errno of the failure. Prints what is
 * held. Does not return. */
void comm_abort(struct comm *c, int code) __attribute__((noreturn));

/* Collectives: all ranks call them in the same order with the same sizes. They return 0 or -EIO
 * (with a line). */
int comm_barrier(struct comm *c);
int comm_bcast(struct comm *c, void *buf, size_t bytes, int root);
int comm_max_i8(struct comm *c, int8_t *x, size_t n); /* in place */
int comm_max_f32(struct comm *c, float *x, size_t n); /* in place; none is nan */
/* What comm_max_i8() makes of two ranks' numbers, into the first. Alone. */
void comm_larger_i8(size_t n, int8_t *into, const void *x);
/* in place, in rank order: same bits everywhere */
int comm_sum_f64(struct comm *c, double *x, size_t n);
/* all: [n_ranks * bytes], rank 0 only (may be NULL elsewhere) */
int comm_gather(struct comm *c, const void *mine, size_t bytes, void *all);
/* Of everybody the same number of bytes, on every rank, in ceil(log2 P) rounds of one message, or as MPI does
 * it.
 *   all   [n_ranks * bytes]      parts   [n_ranks] out: where in it each rank's stand */
int comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all,
                    const uint8_t **parts);
/* One rank's bytes to another, both of whom call it; the others go on. */
int comm_pass(struct comm *c, int from, int to, void *buf, size_t bytes);
/* 0 when all ranks hold the same bytes, else -EPROTO, and one line, on rank 0, that names `what`
 * and the first rank that differs from rank 0. `bytes` may differ, too. */
int comm_check_equal(struct comm *c, const void *mine, size_t bytes, const char *what);

/* Waits for all messages that are under way, also those that a call that failed has left, and polls
 * politely: ranks may outnumber cores. Returns 0 or -EIO; their buffers are the callers' again
 * either way. A wait longer than the deadline calls the roll: one rank says who is missing, and by MPI
 * the job ends. */
int comm_wait(struct comm *c);

/* ---- steps whose sums do not come by MPI (way.h) ---- */

/* Tells all other ranks, at once, that this one gives up the way in this step. At most once before
 * a vote. */
int comm_give_up(struct comm *c);

/* To be called about every millisecond by who waits for something else than MPI: messages move, and
 * a rank that calls the roll is answered. True: some other rank has given up in this step, or calls
 * return nothing but failures any more. */
bool comm_given_up(struct comm *c);

/* The deadline has passed while waiting for something else than messages: names who is missing. Ends the
 * job, or, over the caller's own calls, returns a negative errno. */
int comm_missing(struct comm *c);

/* Ends a step: bits [n words] become the OR of all ranks' bits. Forgets who gave up. Returns 0 or
 * -EIO. */
int comm_vote(struct comm *c, uint64_t *bits, size_t n);

/* What this rank has sent since comm_open: for counting a step's bytes and rounds. */
struct comm_count {
    /* payload handed to MPI for other ranks; a collective's counts once, however MPI sends it */
    uint64_t sent_bytes;
    /* point-to-point rounds: one for each time the rank waits for its neighbours */
    uint64_t rounds;
    double wait_s; /* seconds spent waiting */
};
struct comm_count comm_counted(const struct comm *c);

/* ---- which ranks share a machine, and whether MPI takes a GPU's memory ---- */

/* Number of this rank among those on its machine, 0 being the lowest: which GPU to take. All ranks.
 * Returns it or -EIO. */
int comm_rank_on_node(struct comm *c);

/* nodes: [n_ranks] out: of every rank, the lowest rank on its machine. All ranks. Returns 0 or
 * -EIO. */
int comm_nodes(struct comm *c, int32_t *nodes);

/* Does this MPI say that it takes pointers to device memory? It may do so and not say it (UCX with
 * CUDA, Open MPI without). */
bool comm_cuda_aware(void);

#endif
