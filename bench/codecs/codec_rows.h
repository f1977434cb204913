/* codec_rows.h : lists the rows of bench_codecs: spec, bytes by formula, kind of rounding. */
#ifndef CODEC_ROWS_H
#define CODEC_ROWS_H
#include "codec/codec.h"
#include "dump.h"

/* Grid of stochastic rounding (codec_noise.h). */
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

#define STOCHASTIC .scale = "aps-tight", .round = "stochastic"
static const struct codec_row codec_rows[] = {
    {"fp32", {.format = "fp32"}, DRAWS_NONE, 32, 0, 1, 0},
    {"fp16", {.format = "fp16"}, DRAWS_NONE, 16, 0, 1, 0},
    {"e5m2 aps", {.format = "e5m2", .scale = "aps"}, DRAWS_NONE, 8, 0, 1, 0},
    {"e4m3 aps", {.format = "e4m3", .scale = "aps"}, DRAWS_NONE, 8, 0, 1, 0},
    {"e3m0 stochastic",
     {.format = "e3m0", .out_format = "e3m0", STOCHASTIC},
     DRAWS_FLOAT,
     4,
     0,
     1,
     0},
    {"e1m2 stochastic",
     {.format = "e1m2", .out_format = "e1m2", STOCHASTIC},
     DRAWS_FLOAT,
     4,
     0,
     1,
     0},
    {"qsgd:16", {.codec = "qsgd:16"}, DRAWS_SIGN, 16, 4, 8192, 0},
    {"qsgd:8", {.codec = "qsgd:8"}, DRAWS_SIGN, 8, 4, 512, 0},
    {"qsgd:4", {.codec = "qsgd:4"}, DRAWS_SIGN, 4, 4, 512, 0},
    {"qsgd:2", {.codec = "qsgd:2"}, DRAWS_SIGN, 2, 4, 128, 0},
    {"qsgd:1", {.codec = "qsgd:1"}, DRAWS_EVEN, 1, 4, 128, 0},
    {"qsgd:4 norm=2", {.codec = "qsgd:4,norm=2"}, DRAWS_SIGN, 4, 4, 512, 1},
    {"qsgd:4 levels=even", {.codec = "qsgd:4,levels=even"}, DRAWS_EVEN, 4, 4, 512, 0},
    {"onebit:64", {.codec = "onebit:64"}, DRAWS_NONE, 1, 8, 64, 0},
    {"onebit:column", {.codec = "onebit:column"}, DRAWS_NONE, 1, 8, 0, 0},
    {"ternary", {.codec = "ternary"}, DRAWS_LAYER, 2, 0, 1, 0},
    {"relgrad:of=gradient", {.codec = "relgrad:of=gradient"}, DRAWS_NONE, 8, 0, 1, 0},
    {"relgrad", {.codec = "relgrad"}, DRAWS_NONE, 8, 0, 1, 0}, /* needs weights in the dump */
};
#undef STOCHASTIC
enum { N_CODEC_ROWS = sizeof codec_rows / sizeof codec_rows[0] };

/* Returns bytes per element, without the ends of layers; for columns, those of the dump. */
static inline double codec_row_bytes(const struct codec_row *r, const struct dump *d)
{
    if (r->bucket)
        return r->bits / 8.0 + (double)r->beside / (double)r->bucket;
    double bytes = 0;
    for (int l = 0; l < d->n_layers; l++) {
        const size_t column = d->layers[l].column ? d->layers[l].column : d->layers[l].n;
        bytes += (double)d->layers[l].n / (double)column *
                 (double)(r->beside + (column * r->bits + 31) / 32 * 4);
    }
    return bytes / (double)d->n;
}

#endif
