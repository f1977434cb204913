/* elastic.h : trains on while ranks die and new ones join (train --elastic).
 *
 *     elastic_begin  all processes agree on the last step whose state all have, or start anew
 *       the run      elastic_keep() after each step
 *     elastic_end    nothing lost: the run has ended; else again, with the processes that are left
 *
 * Weights do not depend on which process computes which block, so the run ends with the weights of
 * an undisturbed one. README.md, "Elastic runs". */
#ifndef ELASTIC_H
#define ELASTIC_H
#include "app/train/train_options.h"
#include "comm/comm.h"

struct train;
struct elastic;

/* Result of a run that ends to take in a new process. */
enum { ELASTIC_GROWS = 1 << 16 };

/* Makes SIGUSR2 a request for one more process. Call it as early as possible. */
void elastic_listen(void);

/* First argument of a process that was started to join. */
#define ELASTIC_JOINS "joins"

/* comm: from comm_open_elastic(); it stays the caller's. argv: those of
 * the command, for new processes. Returns NULL if out of memory. */
struct elastic *elastic_open(const struct train_options *o, struct comm *comm, bool joins, int argc,
                             char **argv);
void elastic_close(struct elastic *e);

/* Sets *run to the options of the next attempt: those of elastic_open(), and a file to resume. All
 * processes call it. */
int elastic_begin(struct elastic *e, struct train_options *run);

/* Copies this block's state after t->state.step steps to memory, and to the next process. Does
 * nothing without --elastic. All blocks call it, and again only after all of them have called. */
int elastic_keep(struct train *t);

/* True if a user asked for one more process (SIGUSR2). */
bool elastic_asked(void);

/* rc: of the attempt. Returns true if there must be another one, else sets *rc for the caller. */
bool elastic_end(struct elastic *e, int *rc);

#endif
