/* pmpi.h : Replaces MPI's all-reduces of floats with narrow ones, in unmodified programs.
 *
 *     MPI_Allreduce of floats, sums --pmpi_takes--> pmpi_queue_run()   --> nc_allreduce on a
 *     MPI_Iallreduce, MPI_Start ... --pmpi_takes--> pmpi_queue_later() --> duplicate, by length
 *     all else -----------------------------------> PMPI_..., unchanged
 *
 * Each communicator has a thread that makes its non-blocking sums, so MPI is initialised for
 * several threads. The MPI request of such a sum is a receive from this process itself, and
 * the thread sends the message when the sum is done. Therefore all of MPI's waits and tests
 * work on it. These files call only PMPI_x. */
#ifndef PMPI_H
#define PMPI_H
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- pmpi_begin.c: the options in the environment ---- */

struct pmpi_spec {
    const char *format, *scale, *sum, *round, *algo, *out_format; /* NULL: the default */
    const char *comms;  /* "all", "world", or names of communicators separated by commas */
    size_t least_bytes; /* shorter all-reduces pass through */
    double deadline_s;
    bool on, report;
};
/* Returns the options, which are read once. `on` is false without
 * NARROWCAST_FORMAT, or if an option is invalid. */
const struct pmpi_spec *pmpi_spec(void);
/* Prints one line, on rank 0 only. */
void pmpi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line of narrowcast.h, but only once in this process, because all communicators and
 * lengths find the same mistakes. Used as nc_options.log. Any thread may call it. */
void pmpi_say_once(void *arg, int level, const char *line);

/* ---- pmpi_begin.c: from MPI_Init to MPI_Finalize ---- */

/* Call it on all ranks, after PMPI_Init. */
void pmpi_begin(void);
/* Call it on all ranks, before PMPI_Finalize. */
void pmpi_end(void);
/* True if all-reduces are narrowed. */
bool pmpi_is_on(void);
/* True if MPI allows the threads that non-blocking sums need. */
bool pmpi_has_threads(void);
/* Returns a communicator that has only this process, for requests. */
MPI_Comm pmpi_self(void);
/* Returns the next of 32768 tags, so that requests in flight at the
 * same time have different tags. */
int pmpi_next_tag(void);

/* ---- pmpi_comm.c: the state of a communicator ---- */

struct pmpi_comm;

/* Returns the communicator's state, or NULL if this call is not narrowed. Also
 * returns NULL for buffers that MPI refuses (recv is MPI_IN_PLACE, or is equal to
 * send), so that MPI returns its own error. */
struct pmpi_comm *pmpi_takes(const void *send, const void *recv, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm);
/* Releases the state of a communicator that will be freed. Collective. */
void pmpi_leave(MPI_Comm comm);
/* Call pmpi_comm_begin() before the first communicator is used. Call pmpi_leave_all() at the
 * end, for the communicators that are left. */
void pmpi_comm_begin(void);
void pmpi_leave_all(void);
/* Sums send over the ranks into recv. Calls for one communicator must not overlap.
 * Returns MPI_SUCCESS or an error class. */
int pmpi_sum(struct pmpi_comm *c, const void *send, float *recv, int count);
/* Returns the numbers for pmpi_end()'s report: all-reduces narrowed, their bytes
 * as fp32, and their bytes as codes. */
void pmpi_counts(unsigned long long *n, unsigned long long *bytes, unsigned long long *code_bytes);

/* ---- pmpi_queue.c: the thread of a communicator ---- */

struct pmpi_queue;
/* Returns NULL if there is no memory or thread. */
struct pmpi_queue *pmpi_queue_open(struct pmpi_comm *c);
void pmpi_queue_close(struct pmpi_queue *q); /* Waits for the last item. NULL is legal. */
/* Runs a sum after the queued ones, and waits for it. */
int pmpi_queue_run(struct pmpi_queue *q, const void *send, float *recv, int count);
/* Queues a sum. When it is done, the thread sends a message with this tag to pmpi_self().
 * Returns false if there is no memory. */
bool pmpi_queue_later(struct pmpi_queue *q, const void *send, float *recv, int count, int tag);

/* ---- pmpi_allreduce.c: the calls, for C and Fortran ---- */

int pmpi_allreduce(struct pmpi_comm *c, const void *send, void *recv, int count);
int pmpi_iallreduce(struct pmpi_comm *c, const void *send, void *recv, int count,
                    MPI_Request *request);
int pmpi_allreduce_init(struct pmpi_comm *c, const void *send, void *recv, int count,
                        MPI_Request *request);
/* Returns the communicator's thread, or NULL if it has none. If `begin`, starts the thread
 * first, if possible. The thread remains until the communicator is freed. */
struct pmpi_queue *pmpi_comm_queue(struct pmpi_comm *c, bool begin);
/* pmpi_started() queues the sum of a persistent request that begins. pmpi_forget() forgets a
 * request that is freed. Other requests are ignored. */
void pmpi_started(MPI_Request request);
void pmpi_forget(MPI_Request request);

#endif
