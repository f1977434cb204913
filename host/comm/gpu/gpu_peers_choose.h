/* gpu_peers_choose.h : chooses how GPUs exchange gradients: by the first possible one of
 *
 *     nccl    direct, shards, group-*, native   every rank has its own GPU
 *     ipc     direct, shards, group-*           all ranks, or those of each group, on one machine
 *     mpi     all except native                 MPI says that it takes device memory, or forced
 *     pinned  all                               always possible; required if codes go to cards
 *
 * NARROWCAST_GPU_TRANSPORT=nccl, ipc, mpi or pinned forces one; auto is the default. All give the
 * same bits, except with native, whose order of additions NCCL or MPI chooses. */
#ifndef GPU_PEERS_CHOOSE_H
#define GPU_PEERS_CHOOSE_H
#include "comm/algo/algo.h"

/* Return 1 if gpu_peers_choose() would take NCCL for this algorithm without groups, else 0, or a
 * negative errno as it does. All ranks call it, each with an open GPU. */
int gpu_peers_take_nccl(struct comm *c, const struct algo *algo, bool cards);

/* Choose a transport. All ranks call it, each with an open GPU (gpu.h), between algo_find() and
 * algo_settle().
 *   cards    codes also go to cards, so they must be in memory that the CPU can access
 *   rescale  groups' sums are cast again between stages, which NCCL and IPC do not support
 *   algo     in: as found; out: its variant for the transport
 *   ops      out: the transport's casts and memory; goes into codec.ops before algo_settle()
 *   said     [size] out: the choice in words
 * Returns 0, -EINVAL on all ranks if the user's transport is impossible (rank 0 reports it), or
 * -EIO. */
int gpu_peers_choose(struct comm *c, bool cards, bool rescale, int group, const struct algo **algo,
                     const struct vec_ops **ops, char *said, size_t size);

#endif
