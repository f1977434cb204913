/* comm_over.h : Connects ranks over the caller's own transport (struct nc_transport), without MPI.
 * The transport moves messages; collectives, the liveness check and votes are built from messages.
 *
 * A call of the transport that fails, or a deadline that passes, does not end the process. The rank
 * starts a liveness check, one rank prints the missing ones, and from then on every call of every
 * rank returns a negative errno at once. */
#ifndef COMM_OVER_H
#define COMM_OVER_H
#include "comm/comm.h"
#include <narrowcast.h>

/* Opens a job. All ranks call it.
 *   t            copied; its functions and arg stay in use until comm_leave()
 *   deadline_s   as in comm_open()
 * Returns 0, or reports -EINVAL (t or deadline_s) or -ENOMEM on this rank only. Reports -EPROTO on
 * all ranks if one has another library, or the error of a message. */
int comm_over_open(const struct nc_transport *t, double deadline_s, struct comm **out);

#endif
