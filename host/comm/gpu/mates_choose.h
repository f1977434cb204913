/* mates_choose.h : by what gradients on GPUs travel: NCCL, CUDA IPC, an MPI that takes device
 * memory, or pinned memory and MPI.
 *
 *     nccl    direct, group-*, native   every rank has a GPU of its own
 *     ipc     direct, group-*           the ranks of the job (direct), of each group, on one machine
 *     mpi     all but native            MPI says that it takes device memory; forced: the user does
 *     pinned  all                       always; and where codes go to cards
 *
 * The first that is possible is taken. NARROWCAST_GPU_TRANSPORT=nccl, ipc, mpi or pinned takes that
 * one; auto is the default. Sums have the same bits by all of them (but for native's, which are
 * NCCL's or MPI's). */
#ifndef MATES_CHOOSE_H
#define MATES_CHOOSE_H
#include "comm/algo/algo.h"

/* All ranks, with a GPU open on each (gpu.h), between algo_find() and algo_settle().
 *   cards   codes go to cards, too: they must be where the CPU reaches them
 *   rescale groups' sums are cast again, which stops what is in flight between GPUs: by MPI alone
 *   algo    in: as found; out: the one of that name for the transport
 *   ops     out: for codec.ops, before algo_settle(): casts and memory of the transport
 *   said    [size] out: the choice in words
 * Returns 0, or -EINVAL with a line where the user's transport is impossible, on all ranks (rank 0
 * speaks), -EIO. */
int mates_choose(struct comm *c, bool cards, bool rescale, int group, const struct algo **algo,
                 const struct vec_ops **ops, char *said, size_t size);

#endif
