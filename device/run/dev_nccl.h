/* dev_nccl.h : declares communication by NCCL, for ranks that own a GPU each. */
#ifndef DEV_NCCL_H
#define DEV_NCCL_H
#include "device/run/dev.h"

enum { DEV_NCCL_ID_BYTES = 128 };
enum dev_nccl_type { DEV_NCCL_FP32, DEV_NCCL_FP16, DEV_NCCL_BF16, DEV_NCCL_E4M3, DEV_NCCL_E5M2 };

struct dev_nccl; /* a communicator */

struct dev_nccl_ops {
    /* Return whether this build has NCCL. Without it, all other functions that can fail return
     * -ENOSYS, except gpu_id. */
    bool (*here)(void);
    /* Set *id to a number of the open GPU, unique in its machine. Ranks compare these, as NCCL
     * refuses two ranks on one GPU. Works without NCCL. */
    int (*gpu_id)(uint64_t *id);

    /* Create a communicator's id. Rank 0 calls it; its caller sends the id to all ranks. */
    int (*id)(uint8_t id[DEV_NCCL_ID_BYTES]);
    /* Open a communicator on all ranks. In this and all other functions, a wait inside NCCL beyond
     * deadline_s seconds ends, and reports -ETIMEDOUT. */
    int (*open)(const uint8_t id[DEV_NCCL_ID_BYTES], int rank, int n_ranks, double deadline_s,
                struct dev_nccl **out);
    /* Aborts running work instead of waiting. c may be NULL. */
    void (*close)(struct dev_nccl *c);

    /* Buffers are device memory. Calls between group_begin and group_end start together; a send and
     * its receive must share a group. */
    int (*group_begin)(void);
    int (*group_end)(struct dev_nccl *c);
    int (*send)(struct dev_nccl *c, const void *p, size_t bytes, int to, struct dev_stream *s);
    int (*recv)(struct dev_nccl *c, void *p, size_t bytes, int from, struct dev_stream *s);
    /* NCCL determines the order of additions and the result of an overflow. Reports -ENOSYS if this
     * NCCL cannot add fp8. */
    int (*all_reduce)(struct dev_nccl *c, const void *in, void *out, size_t n,
                      enum dev_nccl_type type, struct dev_stream *s);
    /* Return 0 while the communicator works. If a rank is gone, report a negative errno; then only
     * close may be called. */
    int (*check)(struct dev_nccl *c);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nccl_ops dev_nccl;

#endif
