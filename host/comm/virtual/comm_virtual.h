/* comm_virtual.h : Runs ranks without processes, as P fibers of one thread. Each has a struct comm
 * that supports all of comm.h and every algorithm except native.
 *
 * A message is copied in memory once both sides have posted it. A wait switches to the next fiber.
 * Bytes and rounds are counted as over MPI; wait_s stays 0.
 *
 * There is no deadline. When all ranks wait for each other, the run prints at once which rank waits
 * for which, and every call returns -EDEADLK. Other errors are a message with a length that its
 * receiver does not expect (-EIO), ranks in different collectives (-EPROTO), and a rank that ends
 * with messages in flight (-EIO). After any of these errors all calls of the run return its code,
 * so that all bodies end. */
#ifndef COMM_VIRTUAL_H
#define COMM_VIRTUAL_H
#include "comm/comm.h"

struct comm_virtual; /* from comm_virtual_open() to comm_virtual_close() */

/* Opens a job of n_ranks >= 1 virtual ranks. Returns 0, or reports -EINVAL or -ENOMEM. */
int comm_virtual_open(int n_ranks, struct comm_virtual **out);

/* Closes the job. NULL is legal. Do not call it from within a run. */
void comm_virtual_close(struct comm_virtual *v);

/* Returns the communicator of a rank. It belongs to v and is the same in all runs, so objects
 * opened on it in one run work in the next. Do not leave or close it. */
struct comm *comm_virtual_rank(struct comm_virtual *v, int rank);

/* Runs body on every rank until all have returned.
 *   body   gets its rank from c, shares memory with other ranks, has 512 KiB of stack and its own
 *          held lines (err_hold())
 *   ctx    passed to all bodies
 * Returns 0 or a negative errno: the result of the lowest rank that failed by itself or, if there
 * is no such rank, the code of the run's failure as described above. */
int comm_virtual_run(struct comm_virtual *v, int (*body)(struct comm *c, void *ctx), void *ctx);

/* Runs work once, on one rank, on behalf of all. All virtual ranks call it. all: [n_ranks] out:
 * each rank's `mine`. Returns 0, or the code of the run's failure. */
int comm_virtual_once(struct comm *c, void *mine, void (*work)(void *const *all, int n_ranks));

#endif
