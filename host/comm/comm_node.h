/* comm_node.h : which ranks share a machine, and whether MPI takes a GPU's memory. */
#ifndef COMM_NODE_H
#define COMM_NODE_H
#include "comm/comm.h"

/* Number of this rank among those on its machine, 0 being the lowest: which GPU to take. All ranks.
 * Returns it or -EIO. */
int comm_rank_on_node(struct comm *c);

/* nodes: [n_ranks] out: of every rank, the lowest rank on its machine. All ranks. Returns 0 or
 * -EIO. */
int comm_nodes(struct comm *c, int32_t *nodes);

/* Does this MPI say that it takes pointers to device memory? It may do so and not say it (UCX with
 * CUDA, Open MPI without). */
bool comm_cuda_aware(void);

#endif
