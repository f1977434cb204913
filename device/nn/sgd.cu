/* sgd.cu : implements a step of SGD, and of LARS with its norms. */
#include "device/nn/optim.cuh"

/* per tensor; each stores two doubles */
enum { LARS_PARTS = DEV_OPTIM_SCRATCH / 4 };

/* Sums of w^2 and g^2 over every LARS_PARTS-th run of CU_THREADS elements. */
template <class T, class G>
static __global__ void __launch_bounds__(CU_THREADS)
    k_lars_norms(const optim_tensor *list, const T *w, const G *g, double2 *norms)
{
    __shared__ double ww[CU_THREADS], gg[CU_THREADS];
    const optim_tensor t = list[blockIdx.y];
    const unsigned tid = threadIdx.x;
    if (!t.decays)
        return;
    double sw = 0, sg = 0;
#pragma unroll 4
    for (size_t i = (size_t)blockIdx.x * CU_THREADS + tid; i < t.n; i += LARS_PARTS * CU_THREADS) {
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
        norms[blockIdx.y * LARS_PARTS + blockIdx.x] = make_double2(ww[0], gg[0]);
}

/* You, Gitman, Ginsburg 2017, eq. 6; 1 if a norm is zero. */
static __device__ inline float local_rate(float trust, float decay, const double2 *norms)
{
    double w = 0, g = 0;
    for (int i = 0; i < LARS_PARTS; i++) {
        w += norms[i].x;
        g += norms[i].y;
    }
    w = sqrt(w);
    g = sqrt(g);
    if (w == 0 || g == 0)
        return 1;
    return (float)((double)trust * w / (g + (double)decay * w));
}

/* Rounds where the CPU rounds. */
struct sgd_rule {
    enum { STATES = 1 };
    float local, lr, momentum, decay;
    bool nesterov;
    template <class T>
    static __device__ inline sgd_rule of(const optim_options &o, const optim_step &step,
                                         const optim_tensor &t, const float *)
    {
        return {1, rounded<T>(optim_rate(step, t)), rounded<T>((float)o.momentum),
                rounded<T>((float)t.weight_decay), o.nesterov};
    }
    template <class T> __device__ inline void update(float &w, float g, float *v) const
    {
        const float d = times<T>(local, plus<T>(g, times<T>(decay, w)));
        v[0] = plus<T>(times<T>(momentum, v[0]), d);
        w = plus<T>(w, -times<T>(lr, nesterov ? plus<T>(d, times<T>(momentum, v[0])) : v[0]));
    }
};

struct lars_rule : sgd_rule {
    template <class T>
    static __device__ inline lars_rule of(const optim_options &o, const optim_step &step,
                                          const optim_tensor &t, const float *norms)
    {
        lars_rule r = {sgd_rule::of<T>(o, step, t, norms)};
        if (t.decays && o.trust > 0)
            r.local = rounded<T>(local_rate((float)o.trust, (float)t.weight_decay,
                                            (const double2 *)(const void *)norms));
        return r;
    }
};

int nn_sgd(struct dev_nn *d, const struct optim_options *o, const struct optim_tensor *list,
           int n_tensors, const struct optim_step *step, void *w, const void *g, void *const *state,
           float *scratch)
{
    return optim_step_by<sgd_rule>(d, o, list, n_tensors, step, w, g, state, scratch);
}

template <class T, class G>
static int norms_of(struct dev_nn *d, const struct optim_tensor *list, int n_tensors, const void *w,
                    const void *g, float *scratch)
{
    const dim3 parts(LARS_PARTS, (unsigned)n_tensors);
    k_lars_norms<T, G><<<parts, CU_THREADS, 0, cu_stream(d->s)>>>(list, (const T *)w, (const G *)g,
                                                                  (double2 *)(void *)scratch);
    return cu_check("norms of the optimiser");
}

int nn_lars(struct dev_nn *d, const struct optim_options *o, const struct optim_tensor *list,
            int n_tensors, const struct optim_step *step, void *w, const void *g,
            void *const *state, float *scratch)
{
    const auto norms = !nn_pure(d)     ? norms_of<float, float>
                       : o->real_grads ? norms_of<__half, float>
                                       : norms_of<__half, __half>;
    const int rc = n_tensors ? norms(d, list, n_tensors, w, g, scratch) : 0;
    return rc < 0 ? rc
                  : optim_step_by<lars_rule>(d, o, list, n_tensors, step, w, g, state, scratch);
}
