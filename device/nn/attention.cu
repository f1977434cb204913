/* attention.cu : computes self-attention: products by cuBLAS, one call per head for all samples,
 * and one warp per row for the softmax, in the order of sums of hls/nn/layer.h. Dot products are
 * floats: in p or ds if these have floats, else in scratch. */
#include "device/nn/act.cuh"
#include "device/nn/conv.cuh"
#include "hls/nn/squash.h"
#include <math.h>

enum { ROWS = CU_THREADS / ROW_LANES };

struct softmax {
    struct nn_attention f;
    size_t rows; /* batch * heads * steps */
    float root;  /* 1 / sqrt(wide) */
};

static struct softmax softmax_of(const struct nn_attention *f, int batch)
{
    return {*f, (size_t)batch * (size_t)f->heads * (size_t)f->steps, 1 / sqrtf((float)f->wide)};
}

/* z may be p. */
template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_attention_shares(struct softmax m, float *z, T *p)
{
    const size_t row = (size_t)blockIdx.x * ROWS + threadIdx.x / ROW_LANES;
    const int lane = (int)threadIdx.x % ROW_LANES, steps = m.f.steps;
    if (row >= m.rows)
        return;
    const int t = (int)(row % (size_t)steps), n = t + 1;
    const float slope = attention_slope(m.f.heads, (int)(row / (size_t)steps % (size_t)m.f.heads));
    z += row * (size_t)steps, p += row * (size_t)steps;
    float top = -INFINITY, sum = 0;
    for (int s = lane; s < n; s += ROW_LANES) {
        z[s] = __fsub_rn(__fmul_rn(z[s], m.root), __fmul_rn(slope, (float)(t - s)));
        top = z[s] > top ? z[s] : top;
    }
    for (int over = ROW_LANES / 2; over > 0; over /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, top, over);
        top = other > top ? other : top;
    }
    for (int s = lane; s < n; s += ROW_LANES) {
        z[s] = squash_exp(__fsub_rn(z[s], top));
        sum = __fadd_rn(sum, z[s]);
    }
    sum = act_row_sum(sum);
    for (int s = lane; s < steps; s += ROW_LANES)
        p[s] = act<T>::of(s < n ? __fdiv_rn(z[s], sum) : 0.0f);
}

/* dp may be ds. */
template <typename T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_attention_shares_back(struct softmax m, const T *p, const float *dp, T *ds)
{
    const size_t row = (size_t)blockIdx.x * ROWS + threadIdx.x / ROW_LANES;
    const int lane = (int)threadIdx.x % ROW_LANES, steps = m.f.steps;
    if (row >= m.rows)
        return;
    const int n = (int)(row % (size_t)steps) + 1;
    p += row * (size_t)steps, dp += row * (size_t)steps, ds += row * (size_t)steps;
    float sum = 0;
    for (int s = lane; s < n; s += ROW_LANES)
        sum = __fadd_rn(sum, __fmul_rn(act_float(p[s]), dp[s]));
    sum = act_row_sum(sum);
    for (int s = lane; s < steps; s += ROW_LANES)
        ds[s] = act<T>::of(
            s < n ? __fmul_rn(__fmul_rn(act_float(p[s]), __fsub_rn(dp[s], sum)), m.root) : 0.0f);
}

int nn_attention_plan(struct dev_nn *d, const struct nn_attention *f, int max_batch,
                      size_t *scratch_bytes)
{
    if (d->is_low)
        return cu_say(-EINVAL, "gpu: the products of attention cannot be rounded to a format: "
                               "leave out --gemm, or train on the cpu");
    *scratch_bytes =
        nn_bytes(d) == 4 ? 0 : softmax_of(f, max_batch).rows * (size_t)f->steps * sizeof(float);
    return 0;
}

/* Place of a head's matrix in a tensor: bytes to the first sample's; elements from row to row, and
 * from sample to sample. */
struct place {
    size_t bytes;
    int pitch;
    long long stride;
};

/* each: bytes of an activation. qkv(): [steps][wide] of x or dx, of q, k or v (part 0, 1 or 2).
 * values(): [steps][wide] of y or dy. square(): [steps][steps] of elements of `bytes` bytes. */
struct heads {
    struct nn_attention f;
    size_t each;
    struct place qkv(int part, int head) const
    {
        const int all = f.heads * f.wide;
        return {(size_t)(part * all + head * f.wide) * each, 3 * all, (long long)f.steps * 3 * all};
    }
    struct place values(int head) const
    {
        const int all = f.heads * f.wide;
        return {(size_t)(head * f.wide) * each, all, (long long)f.steps * all};
    }
    struct place square(int head, size_t bytes) const
    {
        const size_t one = (size_t)f.steps * (size_t)f.steps;
        return {(size_t)head * one * bytes, f.steps, (long long)f.heads * (long long)one};
    }
};

static struct linear_batch at(const void *x, struct place p)
{
    return {{(const char *)x + p.bytes, p.pitch, false}, p.stride};
}

static struct linear_batch turned(const void *x, struct place p)
{
    return {{(const char *)x + p.bytes, p.pitch, true}, p.stride};
}

/* For each sample: rows [steps][n] of c = a b. */
static int product(struct dev_nn *d, const char *what, int batch, const struct nn_attention *f,
                   int n, int k, struct linear_batch a, struct linear_batch b, void *c,
                   struct place to, bool c_is_float)
{
    return linear_products(d, what, batch, f->steps, n, k, a, b, (char *)c + to.bytes, to.pitch,
                           to.stride, c_is_float);
}

template <typename T>
static int shares(struct dev_nn *d, const struct nn_attention *f, int batch, const void *x, void *p,
                  void *scratch)
{
    const struct softmax m = softmax_of(f, batch);
    float *z = (float *)(sizeof(T) == sizeof(float) ? p : scratch);
    const struct heads h = {*f, sizeof(T)};
    int rc = 0;
    for (int i = 0; i < f->heads && rc == 0; i++)
        rc = product(d, ", of attention's scores", batch, f, f->steps, f->wide, at(x, h.qkv(0, i)),
                     turned(x, h.qkv(1, i)), z, h.square(i, sizeof *z), true);
    if (rc < 0)
        return rc;
    k_attention_shares<T>
        <<<(unsigned)((m.rows + ROWS - 1) / ROWS), CU_THREADS, 0, cu_stream(d->s)>>>(m, z, (T *)p);
    return cu_check("attention");
}

template <typename T>
static int shares_back(struct dev_nn *d, const struct nn_attention *f, int batch, const void *x,
                       const void *p, const void *dy, void *ds, void *scratch)
{
    const struct softmax m = softmax_of(f, batch);
    float *dp = (float *)(sizeof(T) == sizeof(float) ? ds : scratch);
    const struct heads h = {*f, sizeof(T)};
    int rc = 0;
    for (int i = 0; i < f->heads && rc == 0; i++)
        rc = product(d, ", gradient of attention", batch, f, f->steps, f->wide, at(dy, h.values(i)),
                     turned(x, h.qkv(2, i)), dp, h.square(i, sizeof *dp), true);
    if (rc < 0)
        return rc;
    k_attention_shares_back<T>
        <<<(unsigned)((m.rows + ROWS - 1) / ROWS), CU_THREADS, 0, cu_stream(d->s)>>>(
            m, (const T *)p, dp, (T *)ds);
    return cu_check("attention backward");
}

int nn_attention_shares(struct dev_nn *d, const struct nn_attention *f, int batch, const void *x,
                        void *p, void *scratch)
{
    return NN_BY_TYPE(d, shares, d, f, batch, x, p, scratch);
}

int nn_attention_shares_back(struct dev_nn *d, const struct nn_attention *f, int batch,
                             const void *x, const void *p, const void *dy, void *ds, void *scratch)
{
    return NN_BY_TYPE(d, shares_back, d, f, batch, x, p, dy, ds, scratch);
}

int nn_attention_mix(struct dev_nn *d, const struct nn_attention *f, int batch, const void *x,
                     const void *p, void *y)
{
    const struct heads h = {*f, nn_bytes(d)};
    int rc = 0;
    for (int i = 0; i < f->heads && rc == 0; i++)
        rc = product(d, ", of attention's values", batch, f, f->wide, f->steps,
                     at(p, h.square(i, h.each)), at(x, h.qkv(2, i)), y, h.values(i), false);
    return rc;
}

int nn_attention_back(struct dev_nn *d, const struct nn_attention *f, int batch, const void *x,
                      const void *p, const void *ds, const void *dy, void *dx)
{
    const struct heads h = {*f, nn_bytes(d)};
    int rc = 0;
    for (int i = 0; i < f->heads && rc == 0; i++) {
        const struct place square = h.square(i, h.each);
        rc = product(d, ", gradient of attention's q", batch, f, f->wide, f->steps, at(ds, square),
                     at(x, h.qkv(1, i)), dx, h.qkv(0, i), false);
        if (rc == 0)
            rc = product(d, ", gradient of attention's k", batch, f, f->wide, f->steps,
                         turned(ds, square), at(x, h.qkv(0, i)), dx, h.qkv(1, i), false);
        if (rc == 0)
            rc = product(d, ", gradient of attention's v", batch, f, f->wide, f->steps,
                         turned(p, square), at(dy, h.values(i)), dx, h.qkv(2, i), false);
    }
    return rc;
}
