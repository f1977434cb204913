/* gpu_rows.h : declares the rows of bench_gpu. */
#ifndef GPU_ROWS_H
#define GPU_ROWS_H
#include "device/vec/dev_vec.h"
#include "vec/vec.h"

enum { RESNET50_LAYERS = 161 };
#define MB            ((size_t)1 << 20)
#define LAYERS_MAX(n) ((n) / (MB / 16) + RESNET50_LAYERS) /* for n floats */

struct bench {
    const struct dev_run_ops *run;
    const struct dev_vec_ops *vec;
    struct dev_stream *stream;
    struct dev_event *from, *to;
    size_t n;             /* floats */
    float *x;             /* [n] */
    uint8_t *out, *codes; /* [4n] each: results; codes to add */
    /* [LAYERS_MAX(n)] the row's layers, in pinned memory and where kernels read them */
    struct vec_span *pinned, *spans;
    int n_layers;
    /* a list of parts or of signs, in the same two places */
    void *pinned_list, *list;
};
enum { LIST_BYTES = 1024 };

struct row {
    const char *name;
    int (*run)(struct bench *b, const struct row *r, double *bytes);
    struct mf_fmt fmt;
    enum mf_round round;
    size_t layer; /* bytes of a layer; 0: one layer; 1: the layers of resnet50 */
    double goal;  /* for the ratio; 0: none */
};

extern const struct row gpu_rows[];
extern const int n_gpu_rows;

/* Fill codes and list layers for the row. */
int gpu_row_prepare(struct bench *b, const struct row *r);

#endif
