/* mates_choose.h : Chooses the transport of gradients on GPUs: NCCL, CUDA IPC, an MPI that takes
 * device memory, or MPI with pinned memory.
 *
 *     nccl    direct, group-*, native   every rank has its own GPU
 *     ipc     direct, group-*           all ranks (direct), or those of each group, on one machine
 *     mpi     all except native         MPI says that it takes device memory, or the user forces it
 *     pinned  all                       always; and if codes go to cards
 *
 * The first possible one is taken. NARROWCAST_GPU_TRANSPORT=nccl,
 * ipc, mpi or pinned forces one; auto is the default. All give the
 * same bits, except native, whose bits are those of NCCL or MPI. */
#ifndef MATES_CHOOSE_H
#define MATES_CHOOSE_H
#include "comm/algo/algo.h"

/* Chooses on all ranks, with a GPU open on each (gpu.h), between algo_find() and algo_settle().
 *   cards    codes also go to cards, so they must be where the CPU reaches them
 *   rescale  groups' sums are cast again between stages, which NCCL and IPC do not support
 *   algo     in: as found; out: its variant for the transport
 *   ops      out: casts and memory of the transport, for codec.ops before algo_settle()
 *   said     [size] out: the choice in words
 * Returns 0, -EINVAL on all ranks if the user's
 * transport is impossible (rank 0 prints), or -EIO. */
int mates_choose(struct comm *c, bool cards, bool rescale, int group, const struct algo **algo,
                 const struct vec_ops **ops, char *said, size_t size);

#endif
