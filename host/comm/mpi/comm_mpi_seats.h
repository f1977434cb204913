/* comm_mpi_seats.h : declares the memory in which the ranks of a machine note when they last
 * called. */
#ifndef COMM_MPI_SEATS_H
#define COMM_MPI_SEATS_H

struct elastic_seats;

/* Map the seats of a job, and take this rank's. name: of shared memory, which the caller unlinks
 * once all have called. Returns NULL if there is no shared memory: then silent ranks are waited
 * for. */
struct elastic_seats *seats_join(const char *name, int rank, int n_ranks);
void seats_close(struct elastic_seats *s);

/* Note that this rank is alive. s may be NULL. Any thread may call it. */
void seats_beat(struct elastic_seats *s, int rank);

/* Kill this machine's other ranks that have been silent for deadline_s. s may be NULL. Returns
 * their number. */
int seats_kill_silent(struct elastic_seats *s, int rank, double deadline_s);

#endif
