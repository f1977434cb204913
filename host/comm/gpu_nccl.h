/* gpu_nccl.h : NCCL's communicator of a set of ranks, for algorithms that call it themselves. */
#ifndef GPU_NCCL_H
#define GPU_NCCL_H
#include "comm/gpu_mates.h"

/* Waits until the calling thread's stream is done, under comm's deadline. m: of link gpu_nccl, whose state is a struct
 * dev_nccl. Returns 0 or a negative errno. */
int gpu_nccl_wait(struct gpu_mates *m);

#endif
