/* pmpi.h : Replaces MPI's all-reduces of floats by narrow ones, in unmodified programs.
 *
 *     MPI_Allreduce of floats, sums --pmpi_takes--> pmpi_queue_run()   --> nc_allreduce on a
 *     MPI_Iallreduce, MPI_Start ... --pmpi_takes--> pmpi_queue_later() --> duplicate, by length
 *     all else -----------------------------------> PMPI_..., unchanged
 *
 * A thread of each communicator makes the non-blocking sums, so MPI is initialised for several
 * threads. The MPI request is a receive from this process itself, which the thread answers. All of
 * MPI's waits and tests therefore work on it. These files call only PMPI_x. */
#ifndef PMPI_H
#define PMPI_H
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- pmpi_begin.c: the options in the environment ---- */

struct pmpi_words {
    const char *format, *scale, *sum, *round, *algo, *out_format; /* NULL: the default */
    const char *comms;  /* "all", "world", or names of communicators, with commas */
    size_t least_bytes; /* shorter all-reduces pass through */
    double deadline_s;
    bool on, report;
};
/* Returns the options, read once. They are off without NARROWCAST_FORMAT, or after a mistake. */
const struct pmpi_words *pmpi_words(void);
/* Prints one line on rank 0. */
void pmpi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line of narrowcast.h's once in this process: all communicators, and all their lengths,
 * find the same mistakes. For nc_options.log. Any thread may call it. */
void pmpi_say_once(void *arg, int level, const char *line);

/* ---- pmpi_begin.c: from MPI_Init to MPI_Finalize ---- */

/* All ranks, after PMPI_Init. */
void pmpi_begin(void);
/* All ranks, before PMPI_Finalize. */
void pmpi_end(void);
/* Is anything narrowed? */
bool pmpi_is_on(void);
/* Does MPI allow the threads that non-blocking sums need? */
bool pmpi_has_threads(void);
/* A communicator of this process only, for requests. */
MPI_Comm pmpi_self(void);
/* Returns the next of 32768 tags, for requests in flight at the same time. */
int pmpi_next_tag(void);

/* ---- pmpi_comm.c: the state of a communicator ---- */

struct pmpi_comm;

/* Returns the communicator's state, or NULL if this call is not narrowed. NULL also for buffers
 * that MPI refuses (recv is MPI_IN_PLACE or send), so that MPI returns its own error. */
struct pmpi_comm *pmpi_takes(const void *send, const void *recv, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm);
/* Releases the state, on all ranks: the communicator will be freed. */
void pmpi_leave(MPI_Comm comm);
/* Call before the first communicator; after the last, for those that are left. */
void pmpi_comm_begin(void);
void pmpi_leave_all(void);
/* recv = the sum of send over the ranks. Calls of one communicator must not overlap. Returns
 * MPI_SUCCESS or an error class. */
int pmpi_sum(struct pmpi_comm *c, const void *send, float *recv, int count);
/* For pmpi_end()'s report: all-reduces narrowed, their bytes as fp32, and as codes. */
void pmpi_counts(unsigned long long *n, unsigned long long *bytes, unsigned long long *code_bytes);

/* ---- pmpi_queue.c: the thread of a communicator ---- */

struct pmpi_queue;
struct pmpi_queue *pmpi_queue_open(struct pmpi_comm *c); /* NULL: no memory, or no thread */
void pmpi_queue_close(struct pmpi_queue *q);             /* after the last item; NULL is legal */
/* Runs a sum after the queued ones, and waits for it. */
int pmpi_queue_run(struct pmpi_queue *q, const void *send, float *recv, int count);
/* Queues a sum. Its end sends a message with this tag to pmpi_self(). Returns false: no memory. */
bool pmpi_queue_later(struct pmpi_queue *q, const void *send, float *recv, int count, int tag);

/* ---- pmpi_allreduce.c: the calls, for C and Fortran ---- */

int pmpi_allreduce(struct pmpi_comm *c, const void *send, void *recv, int count);
int pmpi_iallreduce(struct pmpi_comm *c, const void *send, void *recv, int count,
                    MPI_Request *request);
int pmpi_allreduce_init(struct pmpi_comm *c, const void *send, void *recv, int count,
                        MPI_Request *request);
/* Returns the communicator's thread, NULL if there is none. begin: starts it then, if that is
 * possible. It stays for the communicator's life. */
struct pmpi_queue *pmpi_comm_queue(struct pmpi_comm *c, bool begin);
/* Queues the sum of a persistent request that begins; forgets one that is freed. Other requests are
 * ignored. */
void pmpi_started(MPI_Request request);
void pmpi_forget(MPI_Request request);

#endif
