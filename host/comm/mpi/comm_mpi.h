/* comm_mpi.h : declares struct comm over MPI, for comm_mpi_*.c, algo_native.c and tests. */
#ifndef COMM_MPI_H
#define COMM_MPI_H
#include "comm/comm_inside.h"
#include "comm/mpi/mpi_calls.h"

struct comm_mpi {
    struct comm comm; /* must be first, see comm_mpi() */
    MPI_Comm mpi;
    bool is_lent;       /* mpi is the caller's */
    MPI_Request *req;   /* [comm.room] per place; MPI_REQUEST_NULL if empty */
    MPI_Status *status; /* [comm.room] */
    int *ended;         /* [comm.room] places whose messages have ended */
    bool *kept;         /* [comm.room] place of comm_mpi_start_send()'s request, if elastic */
    bool *heard;        /* [n_ranks] has answered the liveness check */
    bool *abandoned;    /* [n_ranks] has abandoned this step's card path */
    MPI_Request *notes; /* [n_ranks] to each rank that this one has, in flight until the vote */
    double *all;        /* [n_ranks * COMM_BLOCK / 8] for collectives in rank order */
    /* comm_open_elastic() */
    int failed;                  /* error of all calls since a rank was lost, or 0 */
    struct heartbeat *heartbeat; /* in memory that this machine's ranks share; or NULL */
    double said_s;               /* when this rank last spoke of a long wait */
};
static inline struct comm_mpi *comm_mpi(struct comm *c)
{
    return (struct comm_mpi *)c;
}

/* Convert MPI's thread level to ours; finalize MPI if this process initialized it and no job is
 * open; change the number of open jobs. */
enum comm_level comm_mpi_level(int mpi_level);
void comm_mpi_end(void);
void comm_mpi_count_open(int more);
/* Note that processes died or joined: MPI is not finalized. */
void comm_mpi_no_end(void);

/* Return 0, or report -EIO with what failed ("send") and MPI's reason. */
int comm_mpi_check(int mpi_rc, const char *what);

/* As comm_mpi_check(). With comm_open_elastic() any error of MPI counts as the loss of a rank: it
 * ends all ranks' pending calls and returns -ECONNRESET without a line. */
int comm_mpi_ok(struct comm *c, int mpi_rc, const char *what);

extern const struct comm_ops comm_mpi_ops;

/* Fill m, which is zero, for a job on `mpi`, a communicator of its own. */
void comm_mpi_set(struct comm_mpi *m, const struct comm_ops *ops, MPI_Comm mpi, double deadline_s);
/* Then allocate, and later free, what depends on the number of ranks. */
int comm_mpi_room(struct comm_mpi *m);
void comm_mpi_room_free(struct comm_mpi *m);

/* Begin to send. With comm_open_elastic() the request stays after its end, until settled: set
 * `kept` of its place. */
int comm_mpi_start_send(struct comm *c, int tag, int to, const void *buf, size_t bytes,
                        MPI_Request *req);

/* Return a place for one more request, or NULL after reporting -ENOMEM. Increment comm.n_req once
 * the request is in flight. */
MPI_Request *comm_mpi_request(struct comm *c);

/* Slots of struct comm_ops, in comm_mpi_wait.c and comm_mpi_collect.c. */
bool comm_mpi_make_room(struct comm *c, size_t places);
void comm_mpi_clear(struct comm *c, size_t at, size_t n);
int comm_mpi_send(struct comm *c, size_t place, int tag, int to, const void *buf, size_t bytes);
int comm_mpi_recv(struct comm *c, size_t place, int tag, int from, void *buf, size_t bytes);
bool comm_mpi_done(const struct comm *c, size_t at, size_t n);
int comm_mpi_wait(struct comm *c);
int comm_mpi_some(struct comm *c, bool wait);
int comm_mpi_barrier(struct comm *c);
int comm_mpi_bcast(struct comm *c, void *buf, size_t bytes, int root);
int comm_mpi_reduce(struct comm *c, enum comm_reduce how, void *x, size_t n, const char *what);
int comm_mpi_all_gather(struct comm *c, const void *mine, size_t bytes, void *all);
int comm_mpi_abandon(struct comm *c);
bool comm_mpi_abandoned(struct comm *c);
int comm_mpi_forget(struct comm *c, const uint64_t *abandoned);
bool comm_mpi_liveness_poll(struct comm *c);
int comm_mpi_liveness_check(struct comm *c); /* does not return */

#endif
