/* gpu_layers.h : holds tensors with guarded borders on the GPU and compares them bit for bit. A
 * context has one math type. All values are floats that this type can represent, so nn_cpu gets the
 * same numbers. */
#ifndef GPU_LAYERS_H
#define GPU_LAYERS_H
#include "base/bits.h"
#include "check.h"
#include "gpu_fixture.h"
#include "hls/arith/mf.h"
#include "hls/arith/philox.h"
#include "nn/nn_ops.h"
#include "vec/gpu/gpu.h"
#include "device/nn/dev_nn.h"
#include <math.h>
#include <string.h>

/* most tensors at a time; guard bytes before and after each */
enum { LAYERS_HELD = 64, LAYERS_BORDER = 64 };

struct layers {
    const struct dev_run_ops *run;
    const struct dev_nn_ops *nn;
    struct dev_stream *s;
    struct dev_nn *d;
    enum nn_math math;
    size_t skew; /* elements after a 256-byte boundary */
    void *cpu;
    struct {
        char *base;
        size_t skip, bytes; /* guard bytes before, besides LAYERS_BORDER; of the tensor */
    } held[LAYERS_HELD];
    int n_held;
    uint64_t key;
};

static const enum nn_math layers_maths[] = {NN_FP32, NN_FP16, NN_BF16};
/* for passes with weights; in others NN_FP16_PURE equals NN_FP16 */
static const enum nn_math layers_par_maths[] = {NN_FP32, NN_FP16, NN_BF16, NN_FP16_PURE};
enum { LAYERS_PAR_MATHS = sizeof layers_par_maths / sizeof *layers_par_maths };
static const char *const layers_names[] = {"fp32", "tf32", "fp16", "bf16", "fp16-pure"};

static inline void layers_open(struct layers *g, uint64_t seed)
{
    gpu_fixture_choose();
    memset(g, 0, sizeof *g);
    g->key = philox_key(seed, 0, 0, 0, 0);
    if (gpu_open(0) < 0 || nn_cpu.open(NULL, &g->cpu) < 0)
        exit(1);
    g->run = gpu()->run;
    g->nn = gpu()->nn;
    if (!g->nn) {
        printf("skip: a GPU library without cuDNN and cuBLAS\n");
        exit(77);
    }
    if (g->run->stream_open(false, &g->s) < 0)
        exit(1);
    printf("device: %s; seed %llu\n", gpu_info()->name, (unsigned long long)seed);
}

static inline void layers_math(struct layers *g, enum nn_math math)
{
    g->nn->close(g->d);
    g->d = NULL;
    g->math = math;
    if (g->nn->open(math, g->s, &g->d) < 0)
        exit(1);
}

static inline void layers_close(struct layers *g)
{
    g->nn->close(g->d);
    g->run->stream_close(g->s);
    nn_cpu.close(g->cpu);
    gpu_close();
}

static inline void *layers_memory(size_t bytes)
{
    void *p = calloc(1, bytes + 1);
    if (!p)
        exit(1);
    return p;
}

static inline struct mf_fmt layers_format(enum nn_math math)
{
    return math == NN_FP16 || math == NN_FP16_PURE ? mf_half()
           : math == NN_BF16                       ? (struct mf_fmt){8, 7, 0}
                                                   : mf_fp32();
}

static inline float layers_round(enum nn_math math, float x)
{
    const struct mf_fmt f = layers_format(math);
    const uint32_t bits = mf_dec(f, mf_enc(f, bits_of(x), 0, MF_NEAREST, MF_INF, 0), 0);
    float y;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* Half a unit in the last place of x plus a small margin. */
static inline double layers_half_ulp(enum nn_math math, double x)
{
    const struct mf_fmt f = layers_format(math);
    const double least = ldexp(1, 2 - (1 << (f.e - 1)) - f.m); /* smallest subnormal */
    return 0.5001 * fmax(ldexp(fabs(x), -f.m), least);
}

static inline float *layers_random(struct layers *g, size_t n)
{
    float *x = layers_memory(n * sizeof *x);
    g->key++;
    for (size_t i = 0; i < n; i++)
        x[i] = layers_round(g->math, (float)((double)philox_u32(g->key, i) * 0x1p-31 - 1));
    return x;
}

static inline void *layers_hold(struct layers *g, const void *x, size_t skip, size_t bytes)
{
    const size_t all = LAYERS_BORDER + skip + bytes + LAYERS_BORDER;
    char *image = layers_memory(all), *base = g->run->alloc(all + 256);
    if (!base || g->n_held == LAYERS_HELD)
        exit(1);
    memset(image, 0xa5, all);
    memcpy(image + LAYERS_BORDER + skip, x, bytes);
    base += 256 - LAYERS_BORDER;
    if (g->run->copy(base, image, all, g->s) < 0 || g->run->wait(g->s) < 0)
        exit(1);
    free(image);
    g->held[g->n_held].base = base;
    g->held[g->n_held].skip = skip;
    g->held[g->n_held++].bytes = bytes;
    return base + LAYERS_BORDER + skip;
}

static inline void *layers_put(struct layers *g, const float *x, size_t n)
{
    if (g->math == NN_FP32)
        return layers_hold(g, x, g->skew * sizeof *x, n * sizeof *x);
    uint16_t *codes = layers_memory(n * sizeof *codes);
    for (size_t i = 0; i < n; i++)
        codes[i] =
            (uint16_t)mf_enc(layers_format(g->math), bits_of(x[i]), 0, MF_NEAREST, MF_INF, 0);
    void *p = layers_hold(g, codes, g->skew * sizeof *codes, n * sizeof *codes);
    free(codes);
    return p;
}

static inline float *layers_put_float(struct layers *g, const float *x, size_t n)
{
    return layers_hold(g, x, g->skew * sizeof *x, n * sizeof *x);
}

/* Places weights, their gradients, velocities or statistics. */
static inline void *layers_put_par(struct layers *g, const float *x, size_t n)
{
    return g->math == NN_FP16_PURE ? layers_put(g, x, n) : layers_put_float(g, x, n);
}

/* Waits for all work; the guards must be unchanged. */
static inline void *layers_fetch(struct layers *g, const void *p)
{
    int i = 0;
    while (i < g->n_held && g->held[i].base + LAYERS_BORDER + g->held[i].skip != p)
        i++;
    const size_t before = LAYERS_BORDER + g->held[i].skip, bytes = g->held[i].bytes;
    unsigned char *image = layers_memory(before + bytes + LAYERS_BORDER);
    if (g->run->copy(image, g->held[i].base, before + bytes + LAYERS_BORDER, g->s) < 0 ||
        g->run->wait(g->s) < 0)
        exit(1);
    int changed = 0;
    for (size_t j = 0; j < before; j++)
        changed += image[j] != 0xa5;
    for (size_t j = before + bytes; j < before + bytes + LAYERS_BORDER; j++)
        changed += image[j] != 0xa5;
    CHECK(changed == 0, "%s: %d bytes around a tensor were written", layers_names[g->math],
          changed);
    memmove(image, image + before, bytes);
    return image;
}

static inline float *layers_get(struct layers *g, const void *p, size_t n)
{
    void *raw = layers_fetch(g, p);
    if (g->math == NN_FP32)
        return raw;
    float *x = layers_memory(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = mf_dec(layers_format(g->math), ((uint16_t *)raw)[i], 0);
        memcpy(x + i, &bits, sizeof bits);
    }
    free(raw);
    return x;
}

static inline float *layers_get_float(struct layers *g, const void *p)
{
    return layers_fetch(g, p);
}

static inline float *layers_get_par(struct layers *g, const void *p, size_t n)
{
    return g->math == NN_FP16_PURE ? layers_get(g, p, n) : layers_get_float(g, p);
}

static inline void *layers_par_at(const struct layers *g, void *p, size_t i)
{
    return (char *)p + i * (g->math == NN_FP16_PURE ? 2 : sizeof(float));
}

static inline float layers_round_par(const struct layers *g, float x)
{
    return g->math == NN_FP16_PURE ? layers_round(g->math, x) : x;
}

static inline double layers_par_half_ulp(const struct layers *g, double x)
{
    return g->math == NN_FP16_PURE ? layers_half_ulp(g->math, x) : 0;
}

static inline void layers_drop(struct layers *g)
{
    for (int i = 0; i < g->n_held; i++)
        g->run->free(g->held[i].base - (256 - LAYERS_BORDER));
    g->n_held = 0;
}

/* All nans are equal. Frees got. */
static inline void layers_same_floats(struct layers *g, const char *what, float *got,
                                      const float *want, size_t n)
{
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        if (bits_of(got[i]) != bits_of(want[i]) && !(isnan(got[i]) && isnan(want[i])) && bad++ == 0)
            first = i;
    CHECK(bad == 0, "%s %s skew %zu: %zu of %zu differ, first [%zu] %.9g, want %.9g",
          layers_names[g->math], what, g->skew, bad, n, first, (double)got[first],
          (double)want[first]);
    free(got);
}

/* want is rounded first. */
static inline void layers_same(struct layers *g, const char *what, const void *p, const float *want,
                               size_t n)
{
    float *rounded = layers_memory(n * sizeof *rounded);
    for (size_t i = 0; i < n; i++)
        rounded[i] = layers_round(g->math, want[i]);
    layers_same_floats(g, what, layers_get(g, p, n), rounded, n);
    free(rounded);
}

#endif
