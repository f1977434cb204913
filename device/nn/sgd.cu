/* sgd.cu : one step of SGD over all tensors of a model, in one launch; LARS takes the norms in one
 * before.
 *
 * Blocks share out chunks of SGD_CHUNK elements. Chunks begin at multiples of that from the
 * beginning of the weights, so that they are aligned wherever tensors begin; the first and last of
 * a tensor are cut. T, of weights and velocities: float, or __half: then each result is rounded to it.
 * G, of gradients: T or float. */
#include "device/nn/act.cuh"
#include "device/nn/nn.cuh"

enum { SGD_CHUNK = 8 * CU_THREADS };
/* blocks that share the norms of a tensor; each leaves two doubles */
enum { SGD_PARTS = DEV_SGD_SCRATCH / 4 };

/* norms [n_tensors][SGD_PARTS]: sums of w^2 and g^2 over every SGD_PARTS-th run of CU_THREADS
 * elements. */
template <class T, class G>
static __global__ void __launch_bounds__(CU_THREADS)
    k_sgd_norms(const dev_sgd *list, const T *w, const G *g, double2 *norms)
{
    __shared__ double ww[CU_THREADS], gg[CU_THREADS];
    const dev_sgd t = list[blockIdx.y];
    const unsigned tid = threadIdx.x;
    if (!(t.trust > 0))
        return;
    double sw = 0, sg = 0;
#pragma unroll 4
    for (size_t i = (size_t)blockIdx.x * CU_THREADS + tid; i < t.n; i += SGD_PARTS * CU_THREADS) {
        const double a = (double)act_float(w[t.offset + i]), b = (double)act_float(g[t.offset + i]);
        sw += a * a;
        sg += b * b;
    }
    ww[tid] = sw;
    gg[tid] = sg;
    for (unsigned half = CU_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (tid < half) {
            ww[tid] += ww[tid + half];
            gg[tid] += gg[tid + half];
        }
    }
    if (tid == 0)
        norms[blockIdx.y * SGD_PARTS + blockIdx.x] = make_double2(ww[0], gg[0]);
}

/* The factor of LARS (You, Gitman, Ginsburg 2017, eq. 6) on gradient and decay; 1 where a norm is
 * zero. */
static __device__ inline float local_rate(const dev_sgd &t, const double2 *norms)
{
    double w = 0, g = 0;
    for (int i = 0; i < SGD_PARTS; i++) {
        w += norms[i].x;
        g += norms[i].y;
    }
    w = sqrt(w);
    g = sqrt(g);
    if (w == 0 || g == 0)
        return 1;
    return (float)((double)t.trust * w / (g + (double)t.weight_decay * w));
}

struct rates {
    float local, lr, momentum, decay;
    bool nesterov;
};

/* To the numbers of T. */
template <class T> static __device__ inline float rounded(float x)
{
    return act_float(act<T>::of(x));
}
template <class T> static __device__ inline float times(float a, float b)
{
    return rounded<T>(__fmul_rn(a, b));
}
template <class T> static __device__ inline float plus(float a, float b)
{
    return rounded<T>(__fadd_rn(a, b));
}

/* Rounded where the CPU rounds. */
template <class T> static __device__ inline void update(const rates &r, float &w, float g, float &v)
{
    const float d = times<T>(r.local, plus<T>(g, times<T>(r.decay, w)));
    v = plus<T>(times<T>(r.momentum, v), d);
    w = plus<T>(w, -times<T>(r.lr, r.nesterov ? plus<T>(d, times<T>(r.momentum, v)) : v));
}

/* Elements [from, to) of a chunk that begins at `at`; wide: w, g and v are aligned to 16 bytes. */
template <class T, class G>
static __device__ inline void update_chunk(const rates &r, size_t at, size_t from, size_t to,
                                           bool wide, T *w, const G *g, T *v)
{
    enum { V = ACT_LANES(T), EACH = SGD_CHUNK / CU_THREADS / V };
    act_pack<T, V> pw[EACH], pv[EACH];
    act_pack<G, V> pg[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const size_t i = at + V * ((size_t)u * CU_THREADS + threadIdx.x);
        if (wide && i >= from && i + V <= to) {
            pw[u] = act_load<T, V>(w + i);
            pg[u] = act_load<G, V>(g + i);
            pv[u] = act_load<T, V>(v + i);
        }
    }
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const size_t i = at + V * ((size_t)u * CU_THREADS + threadIdx.x);
        float ow[V], og[V], ov[V];
        if (wide && i >= from && i + V <= to) {
            act_open<T, V>(pw[u], ow);
            act_open<G, V>(pg[u], og);
            act_open<T, V>(pv[u], ov);
#pragma unroll
            for (int j = 0; j < V; j++)
                update<T>(r, ow[j], og[j], ov[j]);
            act_store<T, V>(w + i, ow);
            act_store<T, V>(v + i, ov);
            continue;
        }
        for (size_t j = i < from ? from : i; j < i + V && j < to; j++) {
            ow[0] = act_float(w[j]), ov[0] = act_float(v[j]);
            update<T>(r, ow[0], act_float(g[j]), ov[0]);
            w[j] = act<T>::of(ow[0]), v[j] = act<T>::of(ov[0]);
        }
    }
}

static __device__ inline size_t chunks_of(const dev_sgd &t)
{
    return t.n ? (t.offset + t.n - 1) / SGD_CHUNK - t.offset / SGD_CHUNK + 1 : 0;
}

/* ends [CU_THREADS]: chunks of the tensors from `first` on, added up. For all threads of a
 * block. */
static __device__ inline void add_up_chunks(const dev_sgd *list, int n_tensors, int first,
                                            unsigned long long *ends)
{
    const int tid = (int)threadIdx.x;
    ends[tid] = first + tid < n_tensors ? chunks_of(list[first + tid]) : 0;
    for (int back = 1; back < CU_THREADS; back *= 2) {
        __syncthreads();
        const unsigned long long before = tid >= back ? ends[tid - back] : 0;
        __syncthreads();
        ends[tid] += before;
    }
    __syncthreads();
}

/* The first i with ends[i] > k. */
static __device__ inline int find(const unsigned long long *ends, unsigned long long k)
{
    int low = 0;
    for (int step = CU_THREADS / 2; step > 0; step /= 2)
        low += ends[low + step - 1] <= k ? step : 0;
    return low;
}

template <class T, class G>
static __global__ void __launch_bounds__(CU_THREADS)
    k_sgd(const dev_sgd *list, int n_tensors, dev_sgd_all o, const float *rate, bool wide, T *w,
          const G *g, T *v, const double2 *norms)
{
    __shared__ unsigned long long ends[CU_THREADS];
    rates r = {1, 0, rounded<T>(o.momentum), 0, o.nesterov};
    for (int first = 0; first < n_tensors; first += CU_THREADS) {
        add_up_chunks(list, n_tensors, first, ends);
        for (unsigned long long k = blockIdx.x; k < ends[CU_THREADS - 1]; k += gridDim.x) {
            const int i = find(ends, k);
            const dev_sgd t = list[first + i];
            const size_t at =
                (t.offset / SGD_CHUNK + (size_t)(k - (i ? ends[i - 1] : 0))) * SGD_CHUNK;
            const size_t from = t.offset > at ? t.offset : at, end = t.offset + t.n;
            r.lr = times<T>(*rate, t.rate);
            r.decay = rounded<T>(t.weight_decay);
            r.local = t.trust > 0
                          ? rounded<T>(local_rate(t, norms + (size_t)(first + i) * SGD_PARTS))
                          : 1;
            update_chunk<T, G>(r, at, from, end < at + SGD_CHUNK ? end : at + SGD_CHUNK, wide, w, g,
                               v);
        }
        __syncthreads();
    }
}

template <class T, class G>
static int steps(struct dev_nn *d, const struct dev_sgd_all *o, const struct dev_sgd *list,
                 int n_tensors, const float *rate, void *vw, const void *vg, void *vv,
                 float *scratch)
{
    const cudaStream_t s = cu_stream(d->s);
    T *w = (T *)vw, *v = (T *)vv;
    const G *g = (const G *)vg;
    const bool wide = act_wide<T>(0, w, g, v);
    const dim3 parts(SGD_PARTS, (unsigned)n_tensors);
    const unsigned blocks = (unsigned)cu_n_sms() * 4;
    double2 *norms = (double2 *)(void *)scratch;
    if (scratch)
        k_sgd_norms<T, G><<<parts, CU_THREADS, 0, s>>>(list, w, g, norms);
    k_sgd<T, G><<<blocks, CU_THREADS, 0, s>>>(list, n_tensors, *o, rate, wide, w, g, v, norms);
    return cu_check("step of the optimiser");
}

template <class T>
static int sgd(struct dev_nn *d, const struct dev_sgd_all *o, const struct dev_sgd *list,
               int n_tensors, const float *rate, void *w, const void *g, void *v, float *scratch)
{
    return o->float_grads ? steps<T, float>(d, o, list, n_tensors, rate, w, g, v, scratch)
                          : steps<T, T>(d, o, list, n_tensors, rate, w, g, v, scratch);
}

int nn_sgd(struct dev_nn *d, const struct dev_sgd_all *o, const struct dev_sgd *list, int n_tensors,
           const float *rate, void *w, const void *g, void *v, float *scratch)
{
    return n_tensors ? NN_BY_PAR(d, sgd, d, o, list, n_tensors, rate, w, g, v, scratch) : 0;
}
