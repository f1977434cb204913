/* comm_over.h : ranks that reach each other by calls of the caller's own (struct nc_transport), without
 * MPI: messages are theirs; collectives, deadlines, the roll call and votes are made of messages.
 *
 * A call of theirs that fails, and a deadline that passes, do not end the process: the rank calls the roll,
 * one says who is missing, and from then on every call of every rank returns a negative errno at once. */
#ifndef COMM_OVER_H
#define COMM_OVER_H
#include "comm/comm.h"
#include <narrowcast.h>

/* t is copied; what it points to stays in use until comm_leave(). deadline_s: of comm_open(). All
 * ranks call it. Returns 0, -EINVAL (the table, the deadline) or -ENOMEM on this rank alone, -EPROTO on all
 * ranks if one has another library, or what a failure of messages says, with a line. */
int comm_over_open(const struct nc_transport *t, double deadline_s, struct comm **out);

#endif
