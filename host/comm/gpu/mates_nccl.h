/* mates_nccl.h : Waits for NCCL, for algorithms that call it themselves. */
#ifndef MATES_NCCL_H
#define MATES_NCCL_H
#include "comm/gpu/mates.h"

/* Waits for the calling thread's stream with the deadline of comm. m: a set of the link mates_nccl,
 * whose state is a struct dev_nccl. Returns 0 or a negative errno. */
int mates_nccl_wait(struct mates *m);

#endif
