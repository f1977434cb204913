/* comm_mpi_heartbeat.h : declares heartbeats: the ranks of a machine note in shared memory when
 * they last called. */
#ifndef COMM_MPI_HEARTBEAT_H
#define COMM_MPI_HEARTBEAT_H

struct heartbeat;

/* Map the heartbeats of a job, and start this rank's. name: of shared memory, which the caller
 * unlinks once all have called. Returns NULL if there is no shared memory: then silent ranks are
 * waited for. */
struct heartbeat *heartbeat_join(const char *name, int rank, int n_ranks);
void heartbeat_close(struct heartbeat *h);

/* Note that this rank is alive. h may be NULL. Any thread may call it. */
void heartbeat_note(struct heartbeat *h, int rank);

/* Kill this machine's other ranks that have been silent for deadline_s. h may be NULL. Returns
 * their number. */
int heartbeat_kill_silent(struct heartbeat *h, int rank, double deadline_s);

#endif
