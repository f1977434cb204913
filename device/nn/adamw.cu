/* adamw.cu : implements a step of AdamW. */
#include "device/nn/optim.cuh"

/* Rounds where the CPU rounds. */
struct adamw_rule {
    enum { STATES = 2 };
    float b1, c1, b2, c2, mean, root, eps, decay, lr;
    template <class T>
    static __device__ inline adamw_rule of(const optim_options &o, const optim_step &step,
                                           const optim_tensor &t, const float *)
    {
        return {(float)o.beta1,
                (float)(1 - o.beta1),
                (float)o.beta2,
                (float)(1 - o.beta2),
                rounded<T>((float)step.mean),
                rounded<T>((float)step.root),
                rounded<T>((float)o.eps),
                rounded<T>((float)t.weight_decay),
                rounded<T>(optim_rate(step, t))};
    }
    template <class T> __device__ inline void update(float &w, float g, float *s) const
    {
        s[0] = plus<T>(__fmul_rn(b1, s[0]), __fmul_rn(c1, g));
        const bool large = s[1] > ADAMW_LARGE || fabsf(g) > ADAMW_LARGE;
        const float down = large ? ADAMW_DOWN : 1, up = large ? 1 / ADAMW_DOWN : 1;
        const float x = __fmul_rn(s[1], down), y = __fmul_rn(g, down);
        const float square =
            __fadd_rn(__fmul_rn(b2, __fmul_rn(x, x)), __fmul_rn(c2, __fmul_rn(y, y)));
        s[1] = rounded<T>(__fmul_rn(up, __fsqrt_rn(square)));
        const float d =
            rounded<T>(__fdiv_rn(times<T>(mean, s[0]), plus<T>(times<T>(root, s[1]), eps)));
        w = plus<T>(w, -times<T>(lr, plus<T>(d, times<T>(decay, w))));
    }
};

int nn_adamw(struct dev_nn *d, const struct optim_options *o, const struct optim_tensor *list,
             int n_tensors, const struct optim_step *step, void *w, const void *g,
             void *const *state, float *scratch)
{
    return optim_step_by<adamw_rule>(d, o, list, n_tensors, step, w, g, state, scratch);
}
