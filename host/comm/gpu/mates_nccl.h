/* mates_nccl.h : NCCL's communicator of a set of ranks, for algorithms that call it themselves. */
#ifndef MATES_NCCL_H
#define MATES_NCCL_H
#include "comm/gpu/mates.h"

/* Waits until the calling thread's stream is done, under comm's deadline. m: of link mates_nccl,
 * whose state is a struct dev_nccl. Returns 0 or a negative errno. */
int mates_nccl_wait(struct mates *m);

#endif
