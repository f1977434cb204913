/* comm_mpi.h : the inside of struct comm: requests under way, and the one wait. For this folder and
 * its tests alone.
 *
 * Everything is non-blocking: requests are posted into one table, then comm_wait() (or
 * comm_round()) waits for all of them. Buffers belong to the request until then. */
#ifndef COMM_MPI_H
#define COMM_MPI_H
#include "base/deadline.h"
#include "comm/comm.h"
#include <mpi.h>

enum { COMM_TAG_DATA = 1, COMM_TAG_ROLL = 2, COMM_TAG_GIVE_UP = 3, COMM_TAG_SUM = 4 };

struct comm {
    MPI_Comm mpi;
    bool threads; /* MPI allows several, one at a time */
    int rank, n_ranks;
    double deadline_s;
    size_t chunk_bytes; /* the longest message: MPI counts in int. Tests make it small */
    MPI_Request *req;   /* [n_req of room] posted and not yet waited for */
    MPI_Status *status; /* [room] */
    size_t n_req, room;
    bool *heard;   /* [n_ranks] who answered the roll call */
    bool *gave_up; /* [n_ranks] who gave up this step's way, as far as is known here */
    void *scratch; /* [n_ranks * COMM_BLOCK] of the collectives */
    /* [n_ranks * COMM_BOOK] pointers and counters of the algorithm that runs: its scratch may be a
     * GPU's */
    void *book;
    struct comm_count count;
};
enum { COMM_BOOK = 32 }; /* bytes a rank */
/* bytes a rank that a collective with a buffer of its own handles at a time */
enum { COMM_BLOCK = 8192 };

/* 0, or -EIO and a line: what ("send") could not be done, and why MPI thinks so. */
int comm_mpi_check(int mpi_rc, const char *what);

/* A place in the table for one more request, NULL (with a line) when memory is out. */
MPI_Request *comm_request(struct comm *c);

/* Posts a message to or from another rank, of any length (none for 0 bytes: both sides know the
 * length). Messages of a pair of ranks arrive in the order they were posted. Return 0, -EIO,
 * -ENOMEM. */
int comm_send(struct comm *c, int to, const void *buf, size_t bytes);
int comm_recv(struct comm *c, int from, void *buf, size_t bytes);

/* One wait, of whatever kind: comm_watch() begins it, comm_look() stands between two polls, at
 * least every DEADLINE_GAP_S: it ends the job when the deadline has passed or another rank calls
 * the roll. Time in which this rank was stopped does not count. */
struct comm_watch {
    double start_s, waited_s; /* waited_s: by the last look */
    struct deadline deadline;
};
struct comm_watch comm_watch(const struct comm *c);
void comm_look(struct comm *c, struct comm_watch *w);

/* comm_wait() as one point-to-point round, counted. */
int comm_round(struct comm *c);

/* ---- waiting for some messages while others stay under way (comm_some.c) ----
 *
 *     comm_lots_begin -> comm_lot_send, comm_lot_recv into lots -> comm_some until the lots of interest are done -> ...
 *     -> comm_wait for all that is left, which ends it. Nothing else is posted in between. */

/* Messages that are looked after together: places at..at+n_places of the table are theirs. Set used
 * to 0 to use them again when they are done. */
struct comm_lot {
    size_t at, n_places, used;
};

/* Places for the messages of all lots. Returns 0 or -ENOMEM. */
int comm_lots_begin(struct comm *c, size_t n_places);

/* Places that a message takes. */
size_t comm_lot_places(const struct comm *c, size_t bytes);

/* As comm_send() and comm_recv(). Messages of a pair of ranks and a tag arrive in the order they
 * were posted. */
int comm_lot_send(struct comm *c, struct comm_lot *lot, int tag, int to, const void *buf,
                  size_t bytes);
int comm_lot_recv(struct comm *c, struct comm_lot *lot, int tag, int from, void *buf, size_t bytes);

bool comm_lot_done(const struct comm *c, const struct comm_lot *lot);

/* Makes messages move. wait: until one more is done, under the deadline and the roll call of
 * comm_wait(); something must be under way. Returns how many were done (0 only without wait), or
 * -EIO: then nothing is under way any more. */
int comm_some(struct comm *c, bool wait);

/* Calls the roll and ends the job (comm_roll.c). A rank that hears another one call while it waits
 * joins in. */
bool comm_roll_heard(struct comm *c);
void comm_roll_call(struct comm *c) __attribute__((noreturn));

#endif
