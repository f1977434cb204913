/* pmpi.h : narrow all-reduces for programs that know nothing of us: what stands in front of MPI's own
 * functions shares this.
 *
 *     MPI_Allreduce of floats, sums --pmpi_takes--> pmpi_queue_run()   --> nc_allreduce on a duplicate of the
 *     MPI_Iallreduce, MPI_Start ... --pmpi_takes--> pmpi_queue_later() --> communicator, one for each length
 *     all else ----------------------------------> PMPI_..., untouched
 *
 * What does not wait is done by a thread for each communicator, so that MPI must allow several threads: it
 * is begun so. The request is a receive from ourselves, which the thread answers: all of MPI's waits and
 * tests know it. Only PMPI_x is called from here. */
#ifndef PMPI_H
#define PMPI_H
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- pmpi_begin.c: what the environment asks for ---- */

struct pmpi_words {
    const char *format, *scale, *sum, *round, *algo, *out_format; /* NULL: narrowcast.h's */
    const char *comms;  /* all, world, or names of communicators, with commas */
    size_t least_bytes; /* shorter all-reduces pass through */
    double deadline_s;
    bool on, report;
};
/* The environment's, read once; without NARROWCAST_FORMAT, or with a mistake, off. */
const struct pmpi_words *pmpi_words(void);
/* Rank 0 says a line, once. */
void pmpi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Print a line of narrowcast.h's, unless this process has printed the same one: each communicator, and
 * each of its lengths, finds the same mistakes. For nc_options.log. Any thread. */
void pmpi_say_once(void *arg, int level, const char *line);

/* ---- pmpi_begin.c: from MPI_Init to MPI_Finalize ---- */

/* After PMPI_Init, all ranks. */
void pmpi_begin(void);
/* Before PMPI_Finalize, all ranks. */
void pmpi_end(void);
/* Anything is narrowed. */
bool pmpi_is_on(void);
/* MPI allows several threads, so that there may be a thread for what does not wait. */
bool pmpi_has_threads(void);
/* A communicator of this process alone, for requests. */
MPI_Comm pmpi_self(void);
/* A counter, for requests that are under way together. */
int pmpi_next_tag(void);

/* ---- pmpi_comm.c: what belongs to a communicator ---- */

struct pmpi_comm;

/* Return the communicator's own, or NULL if this call is not narrowed. NULL also for buffers that MPI
 * refuses (recv is MPI_IN_PLACE or send): MPI then returns its own error. */
struct pmpi_comm *pmpi_takes(const void *send, const void *recv, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm);
/* It will be freed, by all its ranks: leaves it. */
void pmpi_leave(MPI_Comm comm);
/* Before the first; after the last, of all that are left. */
void pmpi_comm_begin(void);
void pmpi_leave_all(void);
/* recv = the sum of send over the ranks; the caller has seen to it that all calls of a communicator come
 * one by one. Returns MPI_SUCCESS or an error class. */
int pmpi_sum(struct pmpi_comm *c, const void *send, float *recv, int count);
/* What pmpi_end() reports: all-reduces narrowed, their bytes, and those of codes. */
void pmpi_counts(unsigned long long *n, unsigned long long *bytes, unsigned long long *code_bytes);

/* ---- pmpi_queue.c: the thread of a communicator ---- */

struct pmpi_queue;
struct pmpi_queue *pmpi_queue_open(struct pmpi_comm *c); /* NULL: no memory, or no thread */
void pmpi_queue_close(struct pmpi_queue *q);             /* behind the last; NULL is legal */
/* Behind those that are queued. */
int pmpi_queue_run(struct pmpi_queue *q, const void *send, float *recv, int count);
/* Then a message with this tag goes to pmpi_self(). Returns false: no memory. */
bool pmpi_queue_later(struct pmpi_queue *q, const void *send, float *recv, int count, int tag);

/* ---- pmpi_allreduce.c: the calls, for C and Fortran ---- */

/* comm is one that pmpi_takes() liked. */
int pmpi_allreduce(struct pmpi_comm *c, const void *send, void *recv, int count);
int pmpi_iallreduce(struct pmpi_comm *c, const void *send, void *recv, int count,
                    MPI_Request *request);
int pmpi_allreduce_init(struct pmpi_comm *c, const void *send, void *recv, int count,
                        MPI_Request *request);
/* The communicator's thread, begun by the first; it is there or not for its whole life. */
struct pmpi_queue *pmpi_comm_queue(struct pmpi_comm *c, bool begin);
/* A persistent request begins: ours is queued as well. */
void pmpi_started(MPI_Request request);
void pmpi_forget(MPI_Request request);

#endif
