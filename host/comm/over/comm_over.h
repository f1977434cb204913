/* comm_over.h : connects ranks over the caller's own transport (struct nc_transport), without MPI.
 *
 * A failed call of the transport, or a passed deadline, does not end the process (comm.h). One rank
 * prints the missing ranks; then every call of every rank returns a negative errno. */
#ifndef COMM_OVER_H
#define COMM_OVER_H
#include "comm/comm.h"
#include <narrowcast.h>

/* Open a job. All ranks call it.
 *   t            copied; its functions and arg stay in use until comm_leave()
 *   deadline_s   as in comm_open()
 * Returns 0, or reports -EINVAL (t or deadline_s) or -ENOMEM on this rank only. Reports -EPROTO on
 * all ranks if one has another library, or the error of a message. */
int comm_over_open(const struct nc_transport *t, double deadline_s, struct comm **out);

#endif
