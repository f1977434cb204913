/* comm.h : connects the ranks of a job and carries their messages: over MPI, over the caller's own
 * transport (comm_over.h), or through memory between fibers of one thread (comm_virtual.h).
 *
 * A wait that passes its deadline prints the ranks that do not answer. Over MPI it then ends the
 * whole job, unless comm_open_elastic() opened it, so a call either returns or its process ends.
 * Over the caller's transport it returns a negative errno, and so do all later calls, also after a
 * failed call of the transport.
 *
 * One thread at a time may call: the one that opened the job or, if comm_threads(), any other. */
#ifndef COMM_H
#define COMM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm;

/* Join the job of all processes and initialize MPI if necessary. deadline_s: the most that a
 * wait may take, > 0. Returns 0, or reports -EINVAL (bad deadline, on all ranks), -ENOMEM, -EPROTO
 * (a rank has another version of narrowcast), -EIO (MPI failed) or an error of comm_begin(). */
int comm_open(double deadline_s, struct comm **out);

enum comm_level {
    COMM_MAIN,  /* only the thread that initialized MPI */
    COMM_TURNS, /* any thread, one at a time in the process (MPI_THREAD_SERIALIZED) */
    COMM_MANY   /* several threads at once, each with its own job (MPI_THREAD_MULTIPLE) */
};

/* Initialize MPI for one thread at a time, or for several at once if `many`. If MPI is initialized
 * already, its thread level stays. Several threads may call it at once. Returns the level, or
 * reports -EINVAL (MPI has been finalized), -EPERM (forked child), -EIO, or -ENOENT, -ELIBACC or
 * -ELIBBAD (no MPI library). */
int comm_begin(bool many);

/* Return 0 if this thread may call functions of a job, or report -EPERM (COMM_MAIN, not the main
 * thread, or MPI_Finalize() was called). MPI must have been initialized. */
int comm_may_call(void);

/* Return true after MPI_Finalize(). MPI must have been initialized. */
bool comm_is_finalized(void);

/* Enclose a thread's calls between these two if several threads each have a job. Below COMM_MANY
 * only one thread at a time has the turn. comm_take_turn() returns 0, or reports -EPERM, or -EBUSY
 * if another thread has it. */
int comm_take_turn(void);
void comm_give_turn(void);

/* The processes of a job. Exactly one of the first three fields is set. */
struct comm_members {
    bool world;         /* MPI_COMM_WORLD */
    const void *mpi;    /* an MPI_Comm, which is duplicated unless it is lent */
    const int *fortran; /* an MPI_Fint */
    double deadline_s;  /* as in comm_open() */
    /* The job uses `mpi` itself, which the caller frees after the job. Jobs on one communicator
     * take turns, in the same order on all ranks. */
    bool is_lent;
    /* Called on every rank before the job opens. Returns 0 or reports a negative errno. If it fails
     * on one rank, opening fails on all. May be NULL. */
    int (*ready)(void *arg);
    void *arg;
};

/* Open a job of these processes, after comm_begin(). All of them call it and get the same result:
 * that of comm_open(), the error of ready() on the lowest rank where it failed, or -EINVAL (no
 * communicator, or an intercommunicator). A failed call leaves nothing open. */
int comm_open_on(const struct comm_members *members, struct comm **out);

/* Wait for the other ranks' comm_close() and leave the job. If comm_open() initialized MPI, the
 * last close finalizes it, and no job can be opened after that. */
void comm_close(struct comm *c);

/* Leave the job but keep MPI running for other jobs. If comm_open() initialized MPI, process exit
 * finalizes it. Over the caller's transport no message is in flight on return. */
void comm_leave(struct comm *c);

int comm_rank(const struct comm *c);
int comm_n_ranks(const struct comm *c);

/* True if threads other than the opener may call, one at a time. */
bool comm_threads(const struct comm *c);

/* Return the bytes that a message of many codes should have, or 0 (algo_pipe_phases.c). */
size_t comm_message_bytes(const struct comm *c);

/* True if the ranks are fibers of one thread (comm_virtual.h). */
bool comm_is_virtual(const struct comm *c);
/* True if the ranks are processes of MPI. */
bool comm_is_mpi(const struct comm *c);
/* Return the lowest rank in the process of `rank`: `rank` itself unless ranks are virtual. */
int comm_lowest_here(const struct comm *c, int rank);
/* Return the job's number of processes, and this process's number of ranks. */
int comm_n_processes(const struct comm *c);
int comm_n_here(const struct comm *c);

/* Return the users' word for a rank: "block" with --blocks or options.blocks, else "rank". */
const char *comm_rank_word(const struct comm *c);

/* Let the other virtual ranks of this process run. Does nothing for other ranks. */
void comm_yield(struct comm *c);

/* Make all calls of this rank, pending ones included, return `code`; soon the other ranks' calls do
 * too. Any thread may call it. Works only over the caller's transport; otherwise returns false, and
 * comm_abort() is needed. */
bool comm_fail(struct comm *c, int code);

/* Return code if it can be that of a failed communicator, else 0: it is no negative errno, or one
 * with which the public interface leaves a communicator usable. */
int comm_failure_code(int code);

/* Return the error that all calls return after a failure, or 0. Always 0 except over the caller's
 * transport. Any thread may call it. */
int comm_failed(const struct comm *c);

/* Agree on the result of a step that may have failed on any rank. All ranks pass their rc, with
 * errors held (err_hold()). If ranks failed, all return the code of the lowest one with a held
 * line, which it prints; if none has one, that of the lowest failed rank, which prints "failed:
 * ..." unless it has printed an error. Else rank 0 prints its held warnings, and all return 0. */
int comm_agree(struct comm *c, int rc);

/* End the job from one rank when the others cannot be consulted. Prints held lines. All processes
 * exit with a status other than 0. code: negative errno. */
void comm_abort(struct comm *c, int code) __attribute__((noreturn));

/* Collectives. All ranks call them in the same order with the same sizes. They return 0 or a
 * negative errno: over MPI they report -EIO, otherwise they return the code of the job's
 * failure. */
int comm_barrier(struct comm *c);
int comm_bcast(struct comm *c, void *buf, size_t bytes, int root);
/* Replace x[n] by the largest values over ranks. comm_max_f32() does not support nan. */
int comm_max_i8(struct comm *c, int8_t *x, size_t n);
int comm_max_f32(struct comm *c, float *x, size_t n);
/* Replace into[i] by the larger of into[i] and x[i], for n elements. No communication. */
void comm_larger_i8(size_t n, int8_t *into, const void *x);
/* Replace x[n] by the sums over ranks, added in rank order: the same bits on all ranks. */
int comm_sum_f64(struct comm *c, double *x, size_t n);
/* Gather `bytes` of every rank on rank 0. all: [n_ranks * bytes] on rank 0, unused elsewhere. */
int comm_gather(struct comm *c, const void *mine, size_t bytes, void *all);
/* Gather `bytes` of every rank on every rank, in ceil(log2 P) rounds of one message or by MPI's
 * collective. all: [n_ranks * bytes]. parts: [n_ranks] out: each rank's bytes in `all`. */
int comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all,
                    const uint8_t **parts);
/* Send bytes from rank `from` to rank `to`. Only these two call it. */
int comm_pass(struct comm *c, int from, int to, void *buf, size_t bytes);
/* Send bytes to rank `to`, and receive as many of each of the ranks [from, from + n).
 * all: [n * bytes]. Ranks that send to each other call it at the same time. */
int comm_pass_on(struct comm *c, int to, const void *mine, size_t bytes, int from, int n,
                 void *all);
/* Compare the bytes of all ranks, whose lengths may differ. Returns 0 if they are equal, else
 * -EPROTO, and rank 0 prints `what` and the first rank that differs from rank 0. */
int comm_check_equal(struct comm *c, const void *mine, size_t bytes, const char *what);

/* Wait for all messages in flight, including those left by a failed call. Polls without occupying
 * the core, since there may be more ranks than cores. Returns like a collective; in any case the
 * callers own the buffers again. */
int comm_wait(struct comm *c);

/* ---- jobs that outlive their ranks (comm_mpi_elastic.c) ---- */

/* Join like comm_open(). Once a rank is lost, the calls of all others return a negative errno, and
 * comm_failed() does too, until comm_renew(). A rank that makes no call for deadline_s while others
 * of its machine wait for it is killed; ranks of other machines are waited for.
 * joins: comm_grow() started this process, for a running job.
 * Reports -ENOTSUP if MPI has no fault tolerance (ULFM), or mpirun was not asked for it. */
int comm_open_elastic(double deadline_s, bool joins, struct comm **out);

/* True if comm_open_elastic() can be used here. Reports nothing. */
bool comm_can_be_elastic(void);

/* Agree whether the ranks that live are all `fine`, and none is lost: true on all, or false on
 * all. Works after a failure. */
bool comm_all_fine(struct comm *c, bool fine);

/* Go on with the ranks that live, in the order that they had. All of them call it. Drops messages
 * in flight. was: out [n_ranks before], the former rank of each. Returns 0, or reports -EIO. */
int comm_renew(struct comm *c, int *was);

/* Start one more process of this program and take it into the job, as the last rank. All ranks call
 * it with no message in flight. args: ends with NULL. Returns 0 or a negative errno; after an error
 * that is not comm_failed() the job is as before, and a rank has reported why: -ENOTSUP (no process
 * is left of those that mpirun started), or -EPROTO (the new process, which ends, has another
 * version). */
int comm_grow(struct comm *c, char **args);

/* ---- steps reduced outside MPI (card_path.h) ---- */

/* Tell all other ranks that this one abandons the card path in this step. At most once per vote. */
int comm_abandon(struct comm *c);

/* True if another rank has abandoned the card path in this step, or if all calls fail from now on.
 * Call it about every millisecond in waits outside comm_wait(): it also progresses messages and
 * answers the liveness check. */
bool comm_abandoned(struct comm *c);

/* Run the liveness check after a wait outside comm_wait() has passed the deadline. Ends the job or,
 * over the caller's transport, returns a negative errno. */
int comm_missing(struct comm *c);

/* End a step: replace bits [n] by the OR over all ranks, and forget which ranks abandoned the card
 * path. n: words, at most comm_vote_words(). Returns like a collective. */
size_t comm_vote_words(const struct comm *c);
int comm_vote(struct comm *c, uint64_t *bits, size_t n);

/* Totals of this rank since the job was opened. */
struct comm_count {
    /* Payload sent to other ranks. A collective's payload counts once. near_bytes: the part of it
     * that did not leave the process, for virtual ranks between processes. */
    uint64_t sent_bytes, near_bytes;
    /* Point-to-point rounds: one per wait for neighbours. */
    uint64_t rounds;
    double wait_s; /* seconds */
};
struct comm_count comm_counted(const struct comm *c);

/* ---- machines, and device memory in MPI ---- */

/* Return the index of this rank's process on its machine, in rank order, or a negative errno. All
 * ranks call it. */
int comm_rank_on_node(struct comm *c);

/* Set nodes [n_ranks] to the lowest rank on each rank's machine. All ranks call it. Returns 0 or a
 * negative errno. */
int comm_nodes(struct comm *c, int32_t *nodes);

/* Return K if the ranks are on several machines, each with K > 1 consecutive ranks; 0 if not, or a
 * negative errno. All ranks call it and get the same result. Virtual ranks always get 0. */
int comm_ranks_per_machine(struct comm *c);

/* True if MPI declares that it accepts pointers to device memory. Some libraries accept them
 * without declaring it (UCX with CUDA under an Open MPI without it). */
bool comm_cuda_aware(void);

#endif
