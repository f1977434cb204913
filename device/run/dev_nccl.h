/* dev_nccl.h : NCCL, for ranks that own a GPU each. */
#ifndef DEV_NCCL_H
#define DEV_NCCL_H
#include "device/run/dev.h"

enum { DEV_NCCL_ID_BYTES = 128 };
enum dev_nccl_type {
    DEV_NCCL_BYTES,
    DEV_NCCL_FP32,
    DEV_NCCL_FP16,
    DEV_NCCL_BF16,
    DEV_NCCL_E4M3,
    DEV_NCCL_E5M2
};

struct dev_nccl; /* a communicator */

struct dev_nccl_ops {
    bool (*here)(void); /* built with NCCL; else all that can fail below is -ENOSYS */
    /* Which GPU of its machine the open device is: NCCL refuses two ranks on one. Does not need
     * NCCL. */
    int (*gpu_id)(uint64_t *id);

    int (*id)(uint8_t id[DEV_NCCL_ID_BYTES]); /* on rank 0, handed to all by other means */
    /* All ranks. Every wait inside NCCL, here and below, ends after deadline_s: -ETIMEDOUT with a
     * line. */
    int (*open)(const uint8_t id[DEV_NCCL_ID_BYTES], int rank, int n_ranks, double deadline_s,
                struct dev_nccl **out);
    /* NULL is legal. Waits for nobody: what still runs is aborted */
    void (*close)(struct dev_nccl *c);

    /* Device memory. Calls between group_begin and group_end go out together; a send and its
     * receive must. */
    int (*group_begin)(void);
    int (*group_end)(struct dev_nccl *c);
    int (*send)(struct dev_nccl *c, const void *p, size_t bytes, int to, struct dev_stream *s);
    int (*recv)(struct dev_nccl *c, void *p, size_t bytes, int from, struct dev_stream *s);
    /* The order of additions, and what an overflow gives, are NCCL's. -ENOSYS after a line: this
     * NCCL adds no fp8. */
    int (*all_reduce)(struct dev_nccl *c, const void *in, void *out, size_t n,
                      enum dev_nccl_type type, struct dev_stream *s);
    /* 0 while all is well; a negative errno after a line when a rank is gone (then only close is
     * legal). */
    int (*check)(struct dev_nccl *c);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nccl_ops dev_nccl;

#endif
