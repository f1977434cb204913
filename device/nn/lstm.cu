/* lstm.cu : computes the LSTM: products by cuBLAS, and one kernel per step for the cells of all
 * samples.
 *
 * A pass reads the sequences' lengths when it runs, so that a graph can be repeated with others.
 * Every step is computed for every sample. Values after a sequence's end are set to zero: zero
 * gates have zero gradients and dc.
 *
 * Floats kept for backward, three arrays over [batch][steps], one after the other:
 *     gates [4 cells] i f g o | c [cells] | tanh(c) [cells] */
#include "device/nn/act.cuh"
#include "device/nn/conv.cuh"
#include "device/vec/element.cuh"

enum { PEEPHOLE_LANES = 32, PEEPHOLE_DEEP = 8 };

/* Parts are aligned to 256 bytes. T: the type of activations. */
struct scratch {
    void *dz;       /* T [batch][steps][4 cells] gradients of the gates' sums */
    void *m;        /* T [batch][steps][cells] o * tanh(c) */
    void *before;   /* T [batch][steps][out] r of the previous step */
    float *dm, *dc; /* [batch][cells] */
    float *partial;
    size_t bytes;
};

static void *part(char *base, size_t *at, size_t bytes)
{
    void *p = base + *at;
    *at += (bytes + 255) / 256 * 256;
    return p;
}

static struct scratch scratch_of(const struct dev_nn *d, const struct nn_lstm *f, int batch,
                                 void *base)
{
    const size_t rows = (size_t)batch * (size_t)f->steps, c = (size_t)f->cells, act = nn_bytes(d);
    struct scratch s = {};
    char *b = (char *)base;
    s.dz = part(b, &s.bytes, rows * LSTM_GATES * c * act);
    s.m = part(b, &s.bytes, rows * c * act);
    s.before = part(b, &s.bytes, rows * (size_t)f->out * act);
    s.dm = (float *)part(b, &s.bytes, (size_t)batch * c * sizeof(float));
    s.dc = (float *)part(b, &s.bytes, (size_t)batch * c * sizeof(float));
    s.partial = (float *)part(b, &s.bytes, rows_partial_bytes(LSTM_GATES * f->cells));
    return s;
}

struct kept {
    float *gates, *c, *tanh_c;
};

static struct kept kept_of(const struct nn_lstm *f, int batch, float *kept)
{
    const size_t all = (size_t)batch * (size_t)f->steps * (size_t)f->cells;
    return {kept, kept + LSTM_GATES * all, kept + (LSTM_GATES + 1) * all};
}

static __device__ inline float squashed(float x)
{
    return 1 / (1 + expf(-x));
}

struct pars {
    const void *peepholes, *biases;
    enum vec_type type;
    __device__ float peephole(size_t i) const { return element_get(peepholes, type, i); }
    __device__ float bias(size_t i) const { return element_get(biases, type, i); }
};

/* m has rows of m_pitch elements. */
template <class T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lstm_step(int batch, int steps, int cells, int t, const int32_t *lengths, struct pars p,
                struct kept k, T *m, size_t m_pitch)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x, c = (size_t)cells;
    if (i >= (size_t)batch * c)
        return;
    const size_t b = i / c, j = i - b * c, row = b * (size_t)steps + (size_t)t;
    float *z = k.gates + row * LSTM_GATES * c + j;
    float in = 0, forget = 0, fresh = 0, out = 0, now = 0, squashed_now = 0;
    if (t < lengths[b]) {
        const float was = t ? k.c[(row - 1) * c + j] : 0;
        in = squashed(z[0] + p.bias(j) + p.peephole(j) * was);
        forget = squashed(z[c] + p.bias(c + j) + p.peephole(c + j) * was);
        fresh = tanhf(z[2 * c] + p.bias(2 * c + j));
        now = forget * was + in * fresh;
        out = squashed(z[3 * c] + p.bias(3 * c + j) + p.peephole(2 * c + j) * now);
        squashed_now = tanhf(now);
    }
    z[0] = in, z[c] = forget, z[2 * c] = fresh, z[3 * c] = out;
    k.c[row * c + j] = now;
    k.tanh_c[row * c + j] = squashed_now;
    m[b * m_pitch + j] = act<T>::of(out * squashed_now);
}

/* dc[batch][cells]: before, the part of the gradient of c(t) that step t + 1 gives (unset at the
 * last step); after, the part of c(t - 1)'s that this step gives. */
template <class T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lstm_back(int batch, int steps, int cells, int t, struct pars p, struct kept k,
                const float *dm, float *dc, T *dz, T *m)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x, c = (size_t)cells;
    if (i >= (size_t)batch * c)
        return;
    const size_t b = i / c, j = i - b * c, row = b * (size_t)steps + (size_t)t;
    const float *z = k.gates + row * LSTM_GATES * c + j;
    const float in = z[0], forget = z[c], fresh = z[2 * c], out = z[3 * c];
    const float was = t ? k.c[(row - 1) * c + j] : 0, is = k.tanh_c[row * c + j];
    const float d_out = dm[i] * is * out * (1 - out);
    const float later = t + 1 < steps ? dc[i] : 0;
    const float d_now = later + dm[i] * out * (1 - is * is) + d_out * p.peephole(2 * c + j);
    const float d_in = d_now * fresh * in * (1 - in);
    const float d_forget = d_now * was * forget * (1 - forget);
    T *to = dz + row * LSTM_GATES * c + j;
    to[0] = act<T>::of(d_in);
    to[c] = act<T>::of(d_forget);
    to[2 * c] = act<T>::of(d_now * in * (1 - fresh * fresh));
    to[3 * c] = act<T>::of(d_out);
    m[row * c + j] = act<T>::of(out * is);
    dc[i] = d_now * forget + d_in * p.peephole(j) + d_forget * p.peephole(c + j);
}

template <class T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lstm_end(size_t all, int steps, int n, const int32_t *lengths, T *x)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= all)
        return;
    const size_t row = i / (size_t)n, b = row / (size_t)steps;
    if ((int)(row - b * (size_t)steps) >= lengths[b])
        x[i] = act<T>::of(0);
}

template <class T>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lstm_before(size_t all, int steps, int n, const T *y, T *before)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i < all)
        before[i] = i / (size_t)n % (size_t)steps ? y[i - (size_t)n] : act<T>::of(0);
}

/* blockIdx.y: gate i, f or o. PEEPHOLE_DEEP threads share each of PEEPHOLE_LANES cells. */
template <class T>
static __global__ void __launch_bounds__(PEEPHOLE_LANES *PEEPHOLE_DEEP)
    k_lstm_peepholes(size_t rows, int steps, int cells, const T *dz, const float *c_all,
                     const float *scale, enum vec_type par, void *sums)
{
    __shared__ float parts[PEEPHOLE_DEEP][PEEPHOLE_LANES];
    const int lane = (int)threadIdx.x % PEEPHOLE_LANES, deep = (int)threadIdx.x / PEEPHOLE_LANES;
    const int j = (int)blockIdx.x * PEEPHOLE_LANES + lane, peephole = (int)blockIdx.y;
    const size_t c = (size_t)cells, gate = (size_t)(peephole < 2 ? peephole : LSTM_GATES - 1);
    float sum = 0;
    for (size_t row = (size_t)deep; j < cells && row < rows; row += PEEPHOLE_DEEP)
        if (peephole == 2 || row % (size_t)steps)
            sum += act_float(dz[(row * LSTM_GATES + gate) * c + (size_t)j]) *
                   c_all[(peephole == 2 ? row : row - 1) * c + (size_t)j];
    parts[deep][lane] = sum;
    __syncthreads();
    if (deep == 0 && j < cells) {
        for (int i = 1; i < PEEPHOLE_DEEP; i++)
            sum += parts[i][lane];
        element_put(sums, par, (size_t)peephole * c + (size_t)j, scale ? sum / *scale : sum);
    }
}

int nn_lstm_plan(struct dev_nn *d, const struct nn_lstm *f, int max_batch, size_t *scratch_bytes)
{
    if (d->is_low)
        return cu_say(-EINVAL, "gpu: the products of an lstm cannot be rounded to a format: leave "
                               "out --gemm, or train on the cpu");
    *scratch_bytes = scratch_of(d, f, max_batch, NULL).bytes;
    return 0;
}

template <class T> static T *at_step(T *x, int t, int n)
{
    return x + (size_t)t * (size_t)n;
}

template <class T>
static int forward(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                   const T *x, T *y, float *kept, void *base)
{
    const struct scratch s = scratch_of(d, f, batch, base);
    const struct kept k = kept_of(f, batch, kept);
    const struct pars p = {f->peephole, f->bias, nn_par(d)};
    const int c = f->cells, wide = LSTM_GATES * c, steps = f->steps;
    const unsigned blocks = cu_blocks((size_t)batch * (size_t)c);
    int rc =
        linear_product(d, ", of an lstm's inputs", batch * steps, wide, f->in, {x, f->in, false},
                       {nn_weight(d, f->wx), f->in, true}, false, k.gates, wide, true);
    for (int t = 0; t < steps && rc == 0; t++) {
        if (t)
            rc = linear_product(d, ", of an lstm's step", batch, wide, f->out,
                                {at_step(y, t - 1, f->out), steps * f->out, false},
                                {nn_weight(d, f->wr), f->out, true}, true,
                                at_step(k.gates, t, wide), steps * wide, true);
        if (rc < 0)
            return rc;
        k_lstm_step<T><<<blocks, CU_THREADS, 0, cu_stream(d->s)>>>(batch, steps, c, t, lengths, p,
                                                                   k, (T *)s.m, (size_t)c);
        rc = cu_check("a step of an lstm");
        if (rc == 0)
            rc = linear_product(d, ", of an lstm's projection", batch, f->out, c, {s.m, c, false},
                                {nn_weight(d, f->wp), c, true}, false, at_step(y, t, f->out),
                                steps * f->out, false);
    }
    return rc;
}

template <class T>
static int through_time(struct dev_nn *d, const struct nn_lstm *f, int batch, T *dy,
                        const struct kept &k, const struct scratch &s)
{
    const struct pars p = {f->peephole, f->bias, nn_par(d)};
    const int c = f->cells, wide = LSTM_GATES * c, steps = f->steps;
    const unsigned blocks = cu_blocks((size_t)batch * (size_t)c);
    int rc = 0;
    for (int t = steps - 1; t >= 0 && rc == 0; t--) {
        T *dr = at_step(dy, t, f->out);
        if (t + 1 < steps)
            rc = linear_product(d, ", back through time", batch, f->out, wide,
                                {at_step((T *)s.dz, t + 1, wide), steps * wide, false},
                                {nn_weight(d, f->wr), f->out, false}, true, dr, steps * f->out,
                                false);
        if (rc == 0)
            rc = linear_product(d, ", back through an lstm's projection", batch, c, f->out,
                                {dr, steps * f->out, false}, {nn_weight(d, f->wp), c, false}, false,
                                s.dm, c, true);
        if (rc < 0)
            return rc;
        k_lstm_back<T><<<blocks, CU_THREADS, 0, cu_stream(d->s)>>>(batch, steps, c, t, p, k, s.dm,
                                                                   s.dc, (T *)s.dz, (T *)s.m);
        rc = cu_check("a step of an lstm backward");
    }
    return rc;
}

/* w[m][n]: sum over rows of a[rows][m] * b[rows][n], without the loss scale. */
static int weight_gradient(struct dev_nn *d, int rows, int m, int n, const void *a, const void *b,
                           void *w)
{
    const int rc = linear_product(d, ", weight gradient of an lstm", m, n, rows, {a, m, true},
                                  {b, n, false}, false, w, n, !nn_pure(d));
    return rc < 0 ? rc : rows_unscale(d, (size_t)m * (size_t)n, w);
}

template <class T>
static int backward(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                    const T *x, const T *y, T *dy, T *dx, const struct nn_lstm_grads *dw,
                    float *kept, void *base)
{
    const struct scratch s = scratch_of(d, f, batch, base);
    const struct kept k = kept_of(f, batch, kept);
    const int c = f->cells, wide = LSTM_GATES * c, rows = batch * f->steps;
    const size_t n_y = (size_t)rows * (size_t)f->out;
    const cudaStream_t stream = cu_stream(d->s);
    k_lstm_end<T><<<cu_blocks(n_y), CU_THREADS, 0, stream>>>(n_y, f->steps, f->out, lengths, dy);
    k_lstm_before<T>
        <<<cu_blocks(n_y), CU_THREADS, 0, stream>>>(n_y, f->steps, f->out, y, (T *)s.before);
    int rc = cu_check("ends of sequences");
    if (rc == 0)
        rc = through_time<T>(d, f, batch, dy, k, s);
    if (rc == 0)
        rc = weight_gradient(d, rows, wide, f->in, s.dz, x, dw->wx);
    if (rc == 0)
        rc = weight_gradient(d, rows, wide, f->out, s.dz, s.before, dw->wr);
    if (rc == 0)
        rc = weight_gradient(d, rows, f->out, c, dy, s.m, dw->wp);
    if (rc == 0)
        rc = rows_sum(d, (size_t)rows, wide, s.dz, dw->bias, s.partial);
    if (rc < 0)
        return rc;
    const dim3 grid((unsigned)((c + PEEPHOLE_LANES - 1) / PEEPHOLE_LANES), LSTM_PEEPHOLES);
    k_lstm_peepholes<T><<<grid, PEEPHOLE_LANES * PEEPHOLE_DEEP, 0, stream>>>(
        (size_t)rows, f->steps, c, (const T *)s.dz, k.c, d->scale, nn_par(d), dw->peephole);
    rc = cu_check("gradients of peepholes");
    return rc < 0 || !dx ? rc
                         : linear_product(d, ", data gradient of an lstm", rows, f->in, wide,
                                          {s.dz, wide, false}, {nn_weight(d, f->wx), f->in, false},
                                          false, dx, f->in, false);
}

template <class T>
static int forward_of(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                      const void *x, void *y, float *kept, void *scratch)
{
    return forward<T>(d, f, batch, lengths, (const T *)x, (T *)y, kept, scratch);
}

template <class T>
static int backward_of(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                       const void *x, const void *y, void *dy, void *dx,
                       const struct nn_lstm_grads *dw, float *kept, void *scratch)
{
    return backward<T>(d, f, batch, lengths, (const T *)x, (const T *)y, (T *)dy, (T *)dx, dw, kept,
                       scratch);
}

int nn_lstm_forward(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                    const void *x, void *y, float *kept, void *scratch)
{
    return NN_BY_TYPE(d, forward_of, d, f, batch, lengths, x, y, kept, scratch);
}

int nn_lstm_backward(struct dev_nn *d, const struct nn_lstm *f, int batch, const int32_t *lengths,
                     const void *x, const void *y, void *dy, void *dx,
                     const struct nn_lstm_grads *dw, float *kept, void *scratch)
{
    return NN_BY_TYPE(d, backward_of, d, f, batch, lengths, x, y, dy, dx, dw, kept, scratch);
}
