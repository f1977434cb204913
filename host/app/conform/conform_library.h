/* conform_library.h : plays vectors to a shared library with the functions of narrowcast.h. */
#ifndef CONFORM_LIBRARY_H
#define CONFORM_LIBRARY_H
#include "app/conform/conform.h"
#include "hls/arith/mf.h"
#include "include/narrowcast.h"
#include <stdatomic.h>

/* Check that a file can be used. Reports errors. */
int conform_library_check(const char *path, double deadline_s);
/* Play the line of a vector file, in a child process. */
int conform_library(const char *path, double deadline_s, const struct jsonl_in *in,
                    struct conform_fault *fault);

/* ---- a vector, in its process ---- */

/* the functions that vectors need */
#define CONFORM_CALLS(CALL) \
    CALL(nc_version_number) \
    CALL(nc_options_init)   \
    CALL(nc_cast)           \
    CALL(nc_uncast)         \
    CALL(nc_open_over)      \
    CALL(nc_set_step)       \
    CALL(nc_allreduce)      \
    CALL(nc_close)

struct conform_calls {
#define CALL(name) __typeof__(name) *name;
    CONFORM_CALLS(CALL)
#undef CALL
};

enum { CONFORM_N = 2048, CONFORM_RANKS = 64, CONFORM_LAYERS = 3, CONFORM_WORD = 40 };

struct conform_play {
    struct conform_calls call;
    const struct jsonl_in *in;
    struct conform_fault *fault;
    struct nc_options options; /* the vector's format, scale, sum, round and overflow */
    char said[128];            /* the library's first error */
    atomic_flag has_said;
    /* values of the vector, 0 if it lacks them */
    struct mf_fmt format;
    int shift, ranks;
    size_t n_x, n_codes;
    uint32_t x[CONFORM_N], codes[CONFORM_N];
};

/* A kind of vectors. Returns an enum conform_result or a negative errno. */
typedef int conform_kind(struct conform_play *p);
/* conform_casts.c */
conform_kind conform_format, conform_refused, conform_cast, conform_uncast, conform_scale,
    conform_clip, conform_signs, conform_level;
/* conform_sums.c */
conform_kind conform_trunc, conform_sum, conform_mean, conform_group, conform_block, conform_settle,
    conform_counts, conform_quantile, conform_step;

/* ---- conform_play.c ---- */

/* Fill the fault and return CONFORM_FAILED: a call with an unexpected code. */
int conform_returns(struct conform_play *p, const char *call, int64_t rc, int64_t wanted);
/* Compare bits; a wanted nan is any nan if `free`. */
int conform_compare(struct conform_play *p, const char *call, const uint32_t *got,
                    const uint32_t *wanted, size_t n, bool free);
/* Fill the reason and return CONFORM_NOT_RUN. */
int conform_leave(struct conform_play *p, const char *why);
extern const char conform_no_random[], conform_no_residual[]; /* reasons */

/* Read an integer of the vector. Returns false if it is not there. */
bool conform_int(const struct conform_play *p, const char *key, int *to);
/* Read a text of the vector, or return NULL. */
const char *conform_text(const struct conform_play *p, const char *key, char to[CONFORM_WORD]);
/* Set the scale to 2^shift, written to `to`. Returns false if there is none. */
bool conform_power(struct conform_play *p, int shift, char to[CONFORM_WORD]);

/* ---- conform_ranks.c ---- */

struct conform_job {
    int n_ranks, n_layers;
    size_t n[CONFORM_LAYERS];
    const float *weights[CONFORM_LAYERS]; /* or NULL */
    uint64_t step;
    bool only_opens;
    float (*x)[CONFORM_N]; /* [n_ranks] gradients, layer after layer; then the means */
};

/* Open, all-reduce and close with p->options, in a thread per rank. Returns the first rank's code
 * that is not 0, and the name of the call that returned it. */
int conform_job(struct conform_play *p, struct conform_job *job, const char **call);

#endif
