/* comm_virtual.h : ranks without processes: P fibers of one thread, each with a struct comm that all
 * of comm.h and every algorithm (but native) takes for one of MPI's.
 *
 * A message is a copy of memory once both sides have posted it, a wait hands over to the next fiber.
 * Bytes and rounds are counted as MPI's are; wait_s stays 0. Nothing has a deadline: when all ranks
 * wait for each other a line says at once who waits for whom, and every call returns -EDEADLK.
 * A message of another length than its receiver expects (-EIO), ranks in different collectives
 * (-EPROTO) and a rank that ends with messages under way (-EIO) are errors likewise. After any of
 * these all calls of the run return that code, so that all bodies end. */
#ifndef COMM_VIRTUAL_H
#define COMM_VIRTUAL_H
#include "comm/comm.h"

struct comm_virtual; /* opened by comm_virtual_open, closed by comm_virtual_close */

/* n_ranks: from 1 on. Returns 0, -EINVAL or -ENOMEM with a line. */
int comm_virtual_open(int n_ranks, struct comm_virtual **out);

/* NULL is legal. Not from within a run. */
void comm_virtual_close(struct comm_virtual *v);

/* A rank's; v's, the same in all runs, so what was opened on it in one run serves in the next. It
 * is neither left nor closed. */
struct comm *comm_virtual_rank(struct comm_virtual *v, int rank);

/* Runs body on every rank, to its end. ctx: of all of them; the body, which knows its rank from c,
 * shares memory with the others. What is held by err_hold() is a rank's own. A body has 512 KiB of
 * stack.
 * Returns 0 or what the lowest rank that failed by itself returned (negative); the code of the
 * lines above if none did. */
int comm_virtual_run(struct comm_virtual *v, int (*body)(struct comm *c, void *ctx), void *ctx);

/* A collective, of virtual ranks alone: one rank does what all would do alike. all: [n_ranks] what
 * each handed in. Returns 0 or a code from above. */
int comm_virtual_once(struct comm *c, void *mine, void (*work)(void *const *all, int n_ranks));

#endif
