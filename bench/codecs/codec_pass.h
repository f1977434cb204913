/* codec_pass.h : declares bench_codecs' passes of a gradient through a codec, and its rows. */
#ifndef CODEC_PASS_H
#define CODEC_PASS_H
#include "codec/codec.h"
#include "dump.h"

struct codec_pass {
    const struct codec *codec;
    int n;                      /* layers */
    struct codec_layer *layers; /* [n], like the next three */
    struct codec_part *parts;
    struct vec_span *spans;
    struct vec_out *outs;
    uint8_t *codes, *sums, *state; /* all layers end to end; state holds two sets */
    size_t code_bytes, state_bytes;
};

/* Open a pass over `copies` copies of the dump's layers: x[copies][n] -> out[copies][n],
 * weights[n] or NULL. codec: settled for one rank. All must outlive the pass. */
int codec_pass_open(struct codec_pass *p, const struct codec *codec, const struct dump *d,
                    int copies, const float *x, const float *weights, float *out);
void codec_pass_close(struct codec_pass *p);
void codec_pass_measure(struct codec_pass *p);
void codec_pass_keys(struct codec_pass *p, uint64_t step);

/* Use the state written by the last encode as input of the next. */
void codec_pass_take(struct codec_pass *p);

/* One pass if the shift is known or guessed correctly, as in a reducer. */
void codec_pass_encode(struct codec_pass *p);

/* Sum one rank's codes. A codec that encodes sums again has one code, which is copied. */
void codec_pass_sum(struct codec_pass *p, uint64_t step);
void codec_pass_decode(struct codec_pass *p);

/* Grid of stochastic rounding (codec_noise.c). */
enum codec_draws {
    DRAWS_NONE,  /* deterministic */
    DRAWS_FLOAT, /* the two neighbours in the format */
    DRAWS_SIGN,  /* bucket levels: 2^(bits-1) - 1 from 0 to the scale */
    DRAWS_EVEN,  /* 2^bits - 1 intervals from -scale to scale */
    DRAWS_LAYER, /* 0 and the layer's scale */
};

struct codec_row {
    const char *name;
    struct codec_spec spec;
    enum codec_draws draws;
    /* bits per element; extra bytes per `bucket` elements; bucket 0: per column, whose bits fill
     * 32-bit words */
    unsigned bits, beside;
    size_t bucket;
    bool norm2; /* a bucket's scale is its 2-norm */
};

struct codec_noise {
    double worst; /* largest |mean - v| of one moving element, in the mean's standard deviations */
    double all;   /* surplus of all means' magnitudes, in its standard deviations */
    double ratio; /* measured / predicted variance */
    size_t n_moving;
};

/* Judge `draws` passes over n elements, which write `out`. */
int codec_noise(const struct codec_row *r, struct codec_pass *p, const float *out, size_t n,
                int draws, struct codec_noise *noise);

#endif
