/* reducer.h : the lazy all-reduce of all gradients of a step: layers fused into buckets, one exponent a layer.
 *
 * A step: largest magnitude of every layer -> all exponents in ONE message (max) -> per bucket: encode each layer
 * with its own shift, one all-reduce, decode to the mean. A layer that is inf or nan on any rank makes every rank
 * skip the step. */
#ifndef REDUCER_H
#define REDUCER_H
#include "codec/codec.h"
#include "comm/algo.h"

struct reducer;
struct way_ops;

struct reducer_layer {
    const char *name;
    size_t n;  /* elements, > 0 */
    bool fp32; /* stays fp32 whatever the codec (--fp32-last-layer) */
};

struct reducer_step {
    bool skipped;        /* inf or nan somewhere: gradients are as they were, the step must not be taken */
    uint64_t sent_bytes; /* this rank, this step */
    uint64_t code_bytes; /* bytes of all encoded gradients of this rank (formula: sum of ceil8(n_l) * width / 8) */
    uint64_t fp32_bytes; /* 4 bytes an element, for the ratio */
    /* Layers whose codes were made, rightly, while their largest magnitude was sought; not of buckets redone. */
    int n_guessed;
    bool by_way;            /* all narrow buckets came by the way of reducer_set_way() */
    int n_redone;           /* buckets that the way was to bring and MPI did */
    double codec_s, comm_s; /* seconds */
};

/* codec is settled and copied; layers are in forward order (buckets fill from the last one, as backward does).
 *   bucket_bytes   a bucket closes when its codes reach this; > 0    Returns 0, -EINVAL, -ENOMEM. */
int reducer_open(struct comm *c, const struct codec *codec, const struct algo *algo, int group, size_t bucket_bytes,
                 const struct reducer_layer *layers, int n_layers, struct reducer **out);
void reducer_close(struct reducer *r);

/* From now on narrow layers go by this way (way.h) while it is open, over MPI by the algorithm else; the bits are the same if
 * the algorithm adds exactly. arg: its own, outlives the reducer. */
void reducer_set_way(struct reducer *r, const struct way_ops *ops, void *arg);

/* From now on every layer travels in fp32 (on), or as configured (off). For the first epochs (hybrid precision). */
void reducer_force_fp32(struct reducer *r, bool on);

/* grads: [n_layers] pointers to this rank's gradients, in place replaced by the mean over ranks. step keys the random
 * bits.
 * Returns 0 or a negative errno (then the job cannot go on). */
int reducer_run(struct reducer *r, uint64_t step, float *const *grads, struct reducer_step *report);

#endif
