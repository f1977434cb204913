/* comm.h : Connects the ranks of a job and carries what they exchange: by MPI, by the caller's own
 * transport (comm_over.h), or by memory between fibers of one thread (comm_virtual.h).
 *
 * Every wait has a deadline. A wait that passes it prints the ranks that do not answer. Over MPI it
 * then ends the whole job, so a call either returns or the process is gone. Over the caller's
 * transport, also when one of its calls fails, it returns a negative errno, as do all later calls.
 *
 * One thread calls at a time: the one that opened the
 * job or, if comm_threads() is true, any other. */
#ifndef COMM_H
#define COMM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm; /* from comm_open() to comm_close() */

/* Joins the job of all processes and begins MPI if necessary. deadline_s: > 0; a longer wait prints
 * the missing ranks and ends the job. Returns 0, or reports -EINVAL (deadline, on all ranks),
 * -ENOMEM or -EIO (MPI failed). */
int comm_open(double deadline_s, struct comm **out);

/* Threads of this process that may call. */
enum comm_level {
    COMM_MAIN,  /* only the one that began MPI */
    COMM_TURNS, /* any, one at a time in the process (MPI_THREAD_SERIALIZED) */
    COMM_MANY   /* several at once, each with its own job (MPI_THREAD_MULTIPLE) */
};

/* Begins MPI unless that is done, for one thread at a time or, if many, for
 * several at once. If the caller has begun MPI its choice of threads holds. Any
 * thread may call it, several at once. Returns the level, or reports -EINVAL
 * (MPI has been finalized), -ENOTSUP, -EPERM (forked child) or -EIO. */
int comm_begin(bool many);

/* Returns 0 if this thread may call once MPI has begun, or
 * reports -EPERM (COMM_MAIN, and this is not the main thread). */
int comm_may_call(void);

/* Enclose the calls of one of several threads that have a job each. Below
 * COMM_MANY one thread at a time has the turn. comm_take_turn() returns
 * 0, or reports -EPERM, or -EBUSY if another thread has the turn. */
int comm_take_turn(void);
void comm_give_turn(void);

/* The processes of a job: one of the first three fields is set. */
struct comm_members {
    bool world;         /* all of MPI_COMM_WORLD */
    const void *mpi;    /* an MPI_Comm, which is duplicated */
    const int *fortran; /* a Fortran communicator (MPI_Fint) */
    double deadline_s;  /* as in comm_open() */
    /* Called on every rank before the job opens. Returns 0, or reports a negative errno, with which
     * the opening fails on all ranks. NULL: none. */
    int (*ready)(void *arg);
    void *arg;
};

/* Opens a job of these processes, after comm_begin(). All of them call it and get the same result:
 * that of comm_open(), the error of ready() on the lowest rank where it fails, or -EINVAL (no
 * communicator, or an intercommunicator). A failed call leaves nothing open. */
int comm_open_on(const struct comm_members *members, struct comm **out);

/* Waits for the other ranks' comm_close() and leaves the job. The last close ends MPI if
 * comm_open() began it (MPI_Finalize); no job can be opened after that. */
void comm_close(struct comm *c);

/* Leaves the job but keeps MPI running, so that another job can be
 * opened. If comm_open() began MPI, it ends when the process exits.
 * Over the caller's transport no message is in flight on return. */
void comm_leave(struct comm *c);

int comm_rank(const struct comm *c);
int comm_n_ranks(const struct comm *c);

/* True if threads other than the one that opened may call, one at a time. */
bool comm_threads(const struct comm *c);

/* True if the ranks are fibers of one thread (comm_virtual.h); if they are MPI's. */
bool comm_is_virtual(const struct comm *c);
bool comm_is_mpi(const struct comm *c);

/* Over the caller's transport: makes all calls of this rank return code,
 * including current ones, and soon those of other ranks. Any thread may
 * call it. False: not possible for these ranks; use comm_abort(). */
bool comm_give_in(struct comm *c, int code);

/* Over the caller's transport: returns the error that all calls
 * return since one has failed, or 0. Any thread may call it. */
int comm_failed(const struct comm *c);

/* Agrees on the result of a step that may have failed on any rank. All ranks pass their own rc,
 * with errors held (err_hold()). Returns the code of the lowest rank that failed, which prints its
 * held line. If none failed it returns 0, and rank 0 prints held warnings. */
int comm_agree(struct comm *c, int rc);

/* Ends the job from one rank, for failures after which other ranks
 * cannot be asked. Prints held lines. All processes exit with a status
 * other than 0. code: negative errno of the failure. Does not return. */
void comm_abort(struct comm *c, int code) __attribute__((noreturn));

/* Collectives. All ranks call them in the same order
 * with the same sizes. They return 0 or report -EIO. */
int comm_barrier(struct comm *c);
int comm_bcast(struct comm *c, void *buf, size_t bytes, int root);
int comm_max_i8(struct comm *c, int8_t *x, size_t n); /* in place */
int comm_max_f32(struct comm *c, float *x, size_t n); /* in place; no nan */
/* Takes the larger of into[i] and x[i] into into[n], as comm_max_i8() does; no communication. */
void comm_larger_i8(size_t n, int8_t *into, const void *x);
/* In place and in rank order: the same bits on all ranks. */
int comm_sum_f64(struct comm *c, double *x, size_t n);
/* all: [n_ranks * bytes] on rank 0; unused elsewhere */
int comm_gather(struct comm *c, const void *mine, size_t bytes, void *all);
/* Gathers the same number of bytes from every rank on every rank, in ceil(log2 P) rounds of one
 * message or by MPI's collective.
 *   all   [n_ranks * bytes]      parts   [n_ranks] out: each rank's bytes in `all` */
int comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all,
                    const uint8_t **parts);
/* Sends bytes from one rank to another. Only these two call it. */
int comm_pass(struct comm *c, int from, int to, void *buf, size_t bytes);
/* Compares bytes of all ranks. Returns 0 if they are equal, else -EPROTO; rank 0 prints `what` and
 * the first rank that differs from rank 0. Lengths may differ, too. */
int comm_check_equal(struct comm *c, const void *mine, size_t bytes, const char *what);

/* Waits for all messages in flight, including those left by a failed call. Polls without hogging
 * the core, since ranks may outnumber cores. Returns 0 or -EIO; the callers own the buffers again
 * in both cases. A wait that passes the deadline starts the liveness check, which prints the
 * missing ranks and over MPI ends the job. */
int comm_wait(struct comm *c);

/* ---- steps reduced outside MPI (way.h) ---- */

/* Tells all other ranks that this one abandons the
 * card path in this step. At most once per vote. */
int comm_give_up(struct comm *c);

/* True if another rank has abandoned the card path in this step, or if calls only fail from now on.
 * Call it about every millisecond while waiting for anything but messages: it makes messages
 * progress and answers the liveness check. */
bool comm_given_up(struct comm *c);

/* Runs the liveness check because a wait outside MPI has passed the deadline. Ends the job or, over
 * the caller's transport, returns a negative errno. */
int comm_missing(struct comm *c);

/* Ends a step: replaces bits [n words] by the OR of all ranks'
 * bits, and forgets abandoned paths. Returns 0 or -EIO. */
int comm_vote(struct comm *c, uint64_t *bits, size_t n);

/* Messages of this rank since the job was opened, for counting bytes and rounds of a step. */
struct comm_count {
    /* payload sent to other ranks; that of a collective counts once */
    uint64_t sent_bytes;
    /* point-to-point rounds: one per wait for the neighbours' messages */
    uint64_t rounds;
    double wait_s; /* seconds */
};
struct comm_count comm_counted(const struct comm *c);

/* ---- ranks of one machine, and device memory in MPI ---- */

/* Returns the index of this rank among those on its machine, lowest
 * rank first, to choose a GPU; or -EIO. All ranks call it. */
int comm_rank_on_node(struct comm *c);

/* nodes: [n_ranks] out: for each rank, the lowest rank on
 * its machine. All ranks call it. Returns 0 or -EIO. */
int comm_nodes(struct comm *c, int32_t *nodes);

/* True if MPI says that it takes pointers to device memory. Some MPI libraries take them without
 * saying so (UCX with CUDA under an Open MPI without it). */
bool comm_cuda_aware(void);

#endif
