/* pmpi.h : replaces MPI's all-reduces and reduces of floats with narrow ones, in unmodified
 * programs.
 *
 *     MPI_Allreduce, MPI_Reduce ... --pmpi_takes--> pmpi_queue_run()   --> nc_allreduce or
 *     MPI_Iallreduce, MPI_Start ... --pmpi_takes--> pmpi_queue_later() --> nc_reduce_scatter on a
 *     all else: PMPI_..., unchanged                                        duplicate, by length
 *
 * A thread per communicator makes its non-blocking sums, so MPI is initialised for several threads.
 * The MPI request of such a sum is a receive from this process itself; the thread sends the message
 * when the sum is done. So all of MPI's waits and tests work on it. These files call only
 * PMPI_x, and pmpi_fortran.c also the wrappers of pmpi_c.c. */
#ifndef PMPI_H
#define PMPI_H
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- pmpi_begin.c ---- */

struct pmpi_spec {
    const char *format, *scale, *sum, *round, *algo, *out_format; /* NULL: the default */
    const char *comms;  /* "all", "world", or names separated by commas */
    size_t least_bytes; /* shorter all-reduces pass through */
    double deadline_s;
    const char *bad; /* variable whose value is no number, or NULL */
    bool on, report;
};
/* Read once. `on` is false without NARROWCAST_FORMAT, or if an option is invalid. */
const struct pmpi_spec *pmpi_spec(void);
/* Print on rank 0 only. */
void pmpi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* For nc_options.log: print a line once in this process, since all communicators and lengths find
 * the same mistakes. Thread-safe. */
void pmpi_say_once(void *arg, int level, const char *line);

/* Call it on all ranks, after PMPI_Init. */
void pmpi_begin(void);
/* Call it on all ranks, before PMPI_Finalize. */
void pmpi_end(void);
bool pmpi_is_on(void);
/* True if MPI allows the threads of non-blocking sums. */
bool pmpi_has_threads(void);
/* A communicator of only this process, for requests. */
MPI_Comm pmpi_self(void);
/* Reserve a tag, to tell requests in flight and persistent ones apart, until pmpi_give_tag().
 * Returns -1 if all 32768 are reserved. Thread-safe. */
int pmpi_take_tag(void);
void pmpi_give_tag(int tag);

/* ---- pmpi_comm.c ---- */

struct pmpi_comm;

/* Arguments of a sum. recv: of the root, or of all ranks. */
struct pmpi_call {
    const void *send;
    float *recv;
    int count, root; /* root: PMPI_ALL for an all-reduce */
};
enum { PMPI_ALL = -1 };

/* Return the communicator's state, or NULL if this call is not narrowed, for example because MPI
 * refuses its buffers (recv is MPI_IN_PLACE, or equal to send). */
struct pmpi_comm *pmpi_takes(const struct pmpi_call *call, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm);
/* Release the state of a communicator that will be freed. Collective. */
void pmpi_leave(MPI_Comm comm);
/* Call pmpi_comm_begin() before the first communicator is used, and pmpi_leave_all() at the end,
 * for communicators that were not freed. */
void pmpi_comm_begin(void);
void pmpi_leave_all(void);
/* Sum send over the ranks into recv. Calls for one communicator must not overlap. Returns
 * MPI_SUCCESS or an error code. */
int pmpi_sum(struct pmpi_comm *c, const struct pmpi_call *call);
/* For pmpi_end()'s report: sums narrowed, their bytes as fp32, and as codes. */
void pmpi_counts(unsigned long long *n, unsigned long long *bytes, unsigned long long *code_bytes);
/* True if this process has met a communicator whose sums are narrowed. */
bool pmpi_any_comm(void);
/* Return a number for the next sum of the communicator: the same on all ranks, and 0 before its
 * first persistent sum, which is numbered by the call that makes its request. */
long long pmpi_comm_number(struct pmpi_comm *c, bool is_persistent);
/* Compare a number with those of the other ranks, which must call it, too. Returns true if all are
 * the same. *largest: the largest one. */
bool pmpi_compare(struct pmpi_comm *c, long long mine, long long *largest);
/* Return the communicator's thread, or NULL. If `begin`, start it first, if possible. It remains
 * until the communicator is freed. */
struct pmpi_queue *pmpi_comm_queue(struct pmpi_comm *c, bool begin);

/* ---- pmpi_queue.c ---- */

/* Sums without a number run in the order of their calls, then numbered ones, in an order on which
 * the ranks agree, each after all ranks have queued it. */
struct pmpi_queue;
/* NULL: no memory or thread. */
struct pmpi_queue *pmpi_queue_open(struct pmpi_comm *c);
void pmpi_queue_close(struct pmpi_queue *q); /* waits for the last sum; NULL is legal */
/* Queue a sum, and wait for it. */
int pmpi_queue_run(struct pmpi_queue *q, long long number, const struct pmpi_call *call);
/* Queue a sum. When it is done, the thread sends a message with this tag to pmpi_self(), and gives
 * the tag back unless the request keeps it. Returns false if there is no memory. */
bool pmpi_queue_later(struct pmpi_queue *q, long long number, const struct pmpi_call *call, int tag,
                      bool keeps_tag);

/* ---- pmpi_call.c ---- */

/* Call the communicator's error handler if rc is an error. Returns rc. */
int pmpi_result(MPI_Comm comm, int rc);
int pmpi_blocking(struct pmpi_comm *c, const struct pmpi_call *call);
int pmpi_nonblocking(struct pmpi_comm *c, const struct pmpi_call *call, MPI_Request *request);
int pmpi_persistent(struct pmpi_comm *c, const struct pmpi_call *call, MPI_Request *request);
/* Queue the sum of a started persistent request; forget a freed one. Ignore other requests. */
void pmpi_started(MPI_Request request);
void pmpi_forget(MPI_Request request);

#endif
