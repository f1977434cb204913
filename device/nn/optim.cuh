/* optim.cuh : does one step of an optimiser over all tensors of a network, in one launch.
 *
 * Chunks of OPTIM_CHUNK elements, counted from the first of all weights, are distributed over the
 * blocks. They are aligned wherever tensors begin; a tensor's first and last chunk may be shorter.
 * T, of weights and states, is float or __half, to which each result is rounded. G, of gradients,
 * is T or float. A Rule updates one element:
 *
 *     enum { STATES = 1 };                                        number of state arrays
 *     template <class T> static Rule of(o, step, t, scratch);     factors for a tensor; its scratch
 *     template <class T> void update(float &w, float g, float *s) const;   s [STATES] */
#ifndef OPTIM_CUH
#define OPTIM_CUH
#include "device/nn/act.cuh"
#include "device/nn/nn.cuh"

enum { OPTIM_CHUNK = 8 * CU_THREADS };

template <class T, int N> struct optim_arrays {
    T *of[N];
};

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

static __device__ inline float optim_rate(const optim_step &step, const optim_tensor &t)
{
    return __fmul_rn((float)step.lr, (float)t.rate);
}

/* wide: all arrays are aligned to 16 bytes. */
template <class Rule, class T, class G>
static __device__ inline void update_chunk(const Rule &r, size_t at, size_t from, size_t to,
                                           bool wide, T *w, const G *g,
                                           const optim_arrays<T, Rule::STATES> &s)
{
    enum { V = ACT_LANES(T), EACH = OPTIM_CHUNK / CU_THREADS / V, S = Rule::STATES };
    act_pack<T, V> pw[EACH], ps[EACH][S];
    act_pack<G, V> pg[EACH];
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const size_t i = at + V * ((size_t)u * CU_THREADS + threadIdx.x);
        if (wide && i >= from && i + V <= to) {
            pw[u] = act_load<T, V>(w + i);
            pg[u] = act_load<G, V>(g + i);
#pragma unroll
            for (int k = 0; k < S; k++)
                ps[u][k] = act_load<T, V>(s.of[k] + i);
        }
    }
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        const size_t i = at + V * ((size_t)u * CU_THREADS + threadIdx.x);
        if (wide && i >= from && i + V <= to) {
            float ow[V], og[V], os[S][V];
            act_open<T, V>(pw[u], ow);
            act_open<G, V>(pg[u], og);
#pragma unroll
            for (int k = 0; k < S; k++)
                act_open<T, V>(ps[u][k], os[k]);
#pragma unroll
            for (int j = 0; j < V; j++) {
                float own[S];
#pragma unroll
                for (int k = 0; k < S; k++)
                    own[k] = os[k][j];
                r.template update<T>(ow[j], og[j], own);
#pragma unroll
                for (int k = 0; k < S; k++)
                    os[k][j] = own[k];
            }
            act_store<T, V>(w + i, ow);
#pragma unroll
            for (int k = 0; k < S; k++)
                act_store<T, V>(s.of[k] + i, os[k]);
            continue;
        }
        for (size_t j = i < from ? from : i; j < i + V && j < to; j++) {
            float ow = act_float(w[j]), own[S];
            for (int k = 0; k < S; k++)
                own[k] = act_float(s.of[k][j]);
            r.template update<T>(ow, act_float(g[j]), own);
            w[j] = act<T>::of(ow);
            for (int k = 0; k < S; k++)
                s.of[k][j] = act<T>::of(own[k]);
        }
    }
}

static __device__ inline size_t chunks_of(const optim_tensor &t)
{
    return t.n ? (t.offset + t.n - 1) / OPTIM_CHUNK - t.offset / OPTIM_CHUNK + 1 : 0;
}

/* ends[CU_THREADS]: running totals of chunks from tensor `first` on. The whole block calls it. */
static __device__ inline void add_up_chunks(const optim_tensor *list, int n_tensors, int first,
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

static __device__ inline int find(const unsigned long long *ends, unsigned long long k)
{
    int low = 0;
    for (int step = CU_THREADS / 2; step > 0; step /= 2)
        low += ends[low + step - 1] <= k ? step : 0;
    return low;
}

template <class Rule, class T, class G>
static __global__ void __launch_bounds__(CU_THREADS)
    k_optim(const optim_tensor *list, int n_tensors, optim_options o, const optim_step *step,
            bool wide, T *w, const G *g, optim_arrays<T, Rule::STATES> s, const float *scratch)
{
    __shared__ unsigned long long ends[CU_THREADS];
    for (int first = 0; first < n_tensors; first += CU_THREADS) {
        add_up_chunks(list, n_tensors, first, ends);
        for (unsigned long long k = blockIdx.x; k < ends[CU_THREADS - 1]; k += gridDim.x) {
            const int i = find(ends, k);
            const optim_tensor t = list[first + i];
            const size_t at =
                (t.offset / OPTIM_CHUNK + (size_t)(k - (i ? ends[i - 1] : 0))) * OPTIM_CHUNK;
            const size_t from = t.offset > at ? t.offset : at, end = t.offset + t.n;
            const Rule r = Rule::template of<T>(o, *step, t,
                                                scratch + (size_t)(first + i) * DEV_OPTIM_SCRATCH);
            update_chunk<Rule, T, G>(r, at, from, end < at + OPTIM_CHUNK ? end : at + OPTIM_CHUNK,
                                     wide, w, g, s);
        }
        __syncthreads();
    }
}

template <class Rule, class T, class G>
static int optim_step_as(struct dev_nn *d, const optim_options *o, const optim_tensor *list,
                         int n_tensors, const optim_step *step, void *w, const void *g,
                         void *const *state, const float *scratch)
{
    bool wide = act_wide<T>(0, w, g);
    optim_arrays<T, Rule::STATES> s;
    for (int k = 0; k < Rule::STATES; k++) {
        s.of[k] = (T *)state[k];
        wide = wide && act_wide<T>(0, state[k]);
    }
    k_optim<Rule, T, G><<<(unsigned)cu_n_sms() * 4, CU_THREADS, 0, cu_stream(d->s)>>>(
        list, n_tensors, *o, step, wide, (T *)w, (const G *)g, s, scratch);
    return cu_check("step of the optimiser");
}

template <class Rule>
static int optim_step_by(struct dev_nn *d, const optim_options *o, const optim_tensor *list,
                         int n_tensors, const optim_step *step, void *w, const void *g,
                         void *const *state, const float *scratch)
{
    const auto as = !nn_pure(d)     ? optim_step_as<Rule, float, float>
                    : o->real_grads ? optim_step_as<Rule, __half, float>
                                    : optim_step_as<Rule, __half, __half>;
    return n_tensors ? as(d, o, list, n_tensors, step, w, g, state, scratch) : 0;
}

#endif
