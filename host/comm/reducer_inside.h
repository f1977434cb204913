/* reducer_inside.h : what the reducer's files share: its memory, and the parts a step is made of. */
#ifndef REDUCER_INSIDE_H
#define REDUCER_INSIDE_H
#include "comm/bucket.h"
#include "comm/way.h"
#include <limits.h>

/* One way to cut the layers: as configured, or all fp32. */
struct plan {
    struct bucket *buckets; /* [n_buckets], room for n_layers */
    int n_buckets;
    size_t *places;      /* [n_layers] byte of `codes` at which a layer's codes begin */
    size_t *starts;      /* [n_layers] element of its bucket at which a layer begins */
    uint64_t code_bytes; /* of all buckets */
};

enum { NO_GUESS = INT_MIN };

enum { NARROW, FP32 }; /* what a bucket travels in; bucket.fp32 says which */

struct reducer {
    struct comm *comm;
    struct codec codecs[2];
    struct fold folds[2];
    const struct algo *algo;
    int group;
    const struct way_ops *way; /* NULL: none but MPI */
    void *way_arg;
    struct reducer_layer *layers; /* [n_layers] */
    int n_layers;
    uint64_t fp32_bytes;
    struct plan plans[2];  /* layers as configured, all layers in fp32 */
    bool force_fp32;       /* which of them is in use */
    int8_t *own_exponents; /* [n_layers] of this rank's gradients */
    int8_t *exponents;     /* [n_layers] of this step, over all ranks */
    int *guesses;          /* [n_layers] shift of the last step's codes, or NO_GUESS; not for forced fp32 */
    uint64_t *failed;      /* [failed_words] the vote: bit 0: exponents, 1: fatal, 2 + b: bucket b */
    size_t failed_words;
    uint8_t *codes;  /* of all buckets as configured, or of the largest one in forced fp32 */
    uint8_t *result; /* of the largest bucket; buckets take turns */
    void *scratch;
};

/* A step under way. */
struct reducing {
    struct reducer *r;
    uint64_t step;
    float *const *grads;
    struct reducer_step *report;
};

/* ---- reducer_bucket.c ---- */

/* This rank's exponents of all layers, and the codes that could be guessed. */
void reducer_scan(const struct reducing *s);

/* The exponents over all ranks, from each one's own, over MPI. Returns 0 or a negative errno of comm.h. */
int reducer_max_mpi(struct reducer *r);

/* No rank has inf or nan, by the exponents of the step. */
bool reducer_all_finite(const struct reducer *r);

/* Casting of a bucket while it travels: encodes what was not guessed, decodes means in place. */
struct bucket_flow {
    const struct reducing *step;
    const struct bucket *bucket;
    double codec_s; /* spent on it */
};
struct algo_flow bucket_flow(struct bucket_flow *b);

/* All of a bucket's codes are there: its shifts are guesses from now on, so they are not made again. */
void bucket_encoded(const struct bucket_flow *b);

/* Bucket i of the plan in use, by the algorithm, over MPI. Returns 0 or a negative errno of comm.h. */
int reducer_bucket_mpi(const struct reducing *s, int i);

/* ---- reducer_way.c ---- */

/* The whole step with all narrow buckets by the way, and what it missed over MPI. *finite: false when some rank has inf or
 * nan: nothing was summed. Returns 0 or a negative errno. */
int reducer_step_way(const struct reducing *s, bool *finite);

#endif
