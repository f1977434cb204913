/* comm_virtual.h : runs more ranks than processes, as fibers of each process's thread. Each rank
 * has a struct comm that supports all of comm.h and every algorithm except native.
 *
 * A message within a process is copied in memory once both sides have posted it. A wait switches to
 * the next fiber. Bytes and rounds are counted as between real ranks; wait_s stays 0. Nothing that
 * a rank computes depends on the number of processes.
 *
 * Ranks of one process have no deadline. Waits for other processes have the deadline of their
 * communicator, and passing it ends the job. When all ranks wait for each other, the run prints at
 * once which rank waits for which, and every call returns -EDEADLK. Other errors: a message of
 * unexpected length (-EIO), ranks in different collectives (-EPROTO), and a rank that ends with
 * messages in flight (-EIO). After any of these all calls of the run return its code, so that all
 * bodies end. */
#ifndef COMM_VIRTUAL_H
#define COMM_VIRTUAL_H
#include "comm/comm.h"

struct comm_virtual;

/* Open a job of n_ranks >= 1 virtual ranks.
 *   below   communicator of the processes, over MPI or the caller's transport. NULL: one process.
 *           The caller keeps it, but must not use it during a run. All P processes call
 *           comm_virtual_open() with the same n_ranks >= P. Process p gets ranks
 *           [n_ranks p / P, n_ranks (p + 1) / P)
 * Returns 0, or reports -EINVAL or -ENOMEM on this process. */
int comm_virtual_open(int n_ranks, struct comm *below, struct comm_virtual **out);

/* Return the number of ranks in this process, and the lowest of them. */
int comm_virtual_n_here(const struct comm_virtual *v);
int comm_virtual_lowest(const struct comm_virtual *v);

/* Close the job. NULL is legal. Do not call it within a run. */
void comm_virtual_close(struct comm_virtual *v);

/* Return the communicator of a rank of this process. It belongs to v and is the same in all runs,
 * so objects opened on it work in later runs. Do not leave or close it. */
struct comm *comm_virtual_rank(struct comm_virtual *v, int rank);

/* Run body on every rank of this process until all have returned. All processes call it.
 *   body   gets its rank from c, shares memory with other ranks, has 512 KiB of stack and its own
 *          held lines (err_hold())
 *   ctx    passed to all bodies
 * Returns 0 or a negative errno: the result of this process's lowest rank that failed by itself,
 * else the code of the run's failure. With several processes such a failure ends the job. */
int comm_virtual_run(struct comm_virtual *v, int (*body)(struct comm *c, void *ctx), void *ctx);

/* Run work once, on behalf of all ranks, which must be in one process. All of them call it. all:
 * [n_ranks] each rank's `mine`. Returns 0, or the code of the run's failure. */
int comm_virtual_once(struct comm *c, void *mine, void (*work)(void *const *all, int n_ranks));

#endif
