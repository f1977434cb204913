/* nc_lent.h : opens communicators of the public interface on a communicator of MPI that several
 * share, for host/pmpi. */
#ifndef NC_LENT_H
#define NC_LENT_H
#include <narrowcast.h>

/* Like nc_open_on(), without duplicating *mpi_comm, which nothing else may use until nc_close(),
 * except other communicators like this one. Their calls, nc_close() included, take turns in the
 * same order on all ranks. MPI errors on it will return. */
int nc_open_lent(const void *mpi_comm, const struct nc_options *options,
                 const struct nc_layer *layers, int n_layers, struct nc **out);

#endif
