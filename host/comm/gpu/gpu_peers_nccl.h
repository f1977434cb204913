/* gpu_peers_nccl.h : waits for NCCL, for algorithms that call it themselves. */
#ifndef GPU_PEERS_NCCL_H
#define GPU_PEERS_NCCL_H
#include "comm/gpu/gpu_peers.h"

/* Wait for the calling thread's stream with comm's deadline. m: a set of the link gpu_peers_nccl,
 * whose state is a struct dev_nccl. Returns 0 or a negative errno. */
int gpu_peers_nccl_wait(struct gpu_peers *m);

#endif
