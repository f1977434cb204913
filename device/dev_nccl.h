/* dev_nccl.h : NCCL, for ranks that own a GPU each. */
#ifndef DEV_NCCL_H
#define DEV_NCCL_H
#include "device/dev.h"

enum { DEV_NCCL_ID_BYTES = 128 };
enum dev_nccl_type { DEV_NCCL_BYTES, DEV_NCCL_FP32, DEV_NCCL_FP16, DEV_NCCL_BF16, DEV_NCCL_E4M3, DEV_NCCL_E5M2 };

struct dev_nccl; /* a communicator */

struct dev_nccl_ops {
    int (*id)(uint8_t id[DEV_NCCL_ID_BYTES]); /* on rank 0, handed to all by other means; -ENOSYS: built without NCCL */
    int (*open)(const uint8_t id[DEV_NCCL_ID_BYTES], int rank, int n_ranks, struct dev_nccl **out);
    void (*close)(struct dev_nccl *c);
    /* Device memory. Calls between group_begin and group_end go out together. */
    int (*group_begin)(void);
    int (*group_end)(void);
    int (*send)(struct dev_nccl *c, const void *p, size_t bytes, int to, struct dev_stream *s);
    int (*recv)(struct dev_nccl *c, void *p, size_t bytes, int from, struct dev_stream *s);
    int (*all_reduce)(struct dev_nccl *c, const void *in, void *out, size_t n, enum dev_nccl_type type,
                      struct dev_stream *s);
    int (*all_gather)(struct dev_nccl *c, const void *mine, void *all, size_t bytes, struct dev_stream *s);
    /* 0 while all is well; a negative errno after a line when a rank is gone (then only close is legal, and does not hang). */
    int (*check)(struct dev_nccl *c);
};
extern
#ifdef __cplusplus
    "C"
#endif
    const struct dev_nccl_ops dev_nccl;

#endif
