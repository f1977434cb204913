/* ratio.cu : encodes and decodes a list of vectors as multiples of a quantile, optionally divided
 * by weights, with the bits of relative.h; also divides codes in place. nvcc cannot fuse
 * operations, as no product is followed by an addition.
 *
 * A block per vector finds the quantile in a binary search of 31 steps. Each step counts the
 * samples up to a number; a thread has up to 16 samples in registers. Only the quantile goes to
 * the host. */
#include "device/vec/cast_tile.cuh"
#include "device/vec/eight.cuh"
#include "device/vec/uncast_tile.cuh"
#include "device/vec/vec.cuh"
#include "hls/arith/relative_lists.h"

struct ratio_beside {
    const void *w; /* NULL: none */
    enum vec_type type;
    size_t n;
    float eps;
    bool whole; /* elements_whole() of w */

    __device__ float4 to(size_t element) const
    {
        const float4 v = elements_get(w, type, element, n, whole);
        return make_float4(relative_to(v.x, eps), relative_to(v.y, eps), relative_to(v.z, eps),
                           relative_to(v.w, eps));
    }
};

static __device__ struct ratio_beside beside_of(const struct relative_part *with, float eps,
                                                size_t n)
{
    const struct ratio_beside b = {with->w, with->type, n, eps,
                                   elements_whole(with->w, with->type)};
    return b;
}

struct ratio_sent {
    enum { PER_SM = 3 };
    const struct relative_part *with; /* [n_spans] */
    struct relative_rule rule;
    float part; /* 1 / share if share is a power of two, else 0 */

    struct span {
        struct ratio_beside beside;
        struct relative_scale scale;
        float share, part;

        /* Beyond the end, 0 / eps = 0. The product with `part` has the bits of the division. */
        __device__ float one(float d) const
        {
            return part != 0 ? d * scale.up * part : relative_sent(d, scale, share);
        }
        __device__ float4 made(size_t element, float4 x) const
        {
            if (scale.up == 0)
                return make_float4(0, 0, 0, 0);
            if (beside.w) {
                const float4 to = beside.to(element);
                x = make_float4(x.x / to.x, x.y / to.y, x.z / to.z, x.w / to.w);
            }
            return make_float4(one(x.x), one(x.y), one(x.z), one(x.w));
        }
    };
    __device__ span of(const struct vec_span *s, int i) const
    {
        const struct relative_part p = with[i];
        const span made_of = {beside_of(&p, rule.eps, s->n), p.scale, rule.share, part};
        return made_of;
    }
};

struct ratio_back {
    enum { LOOKS = 1, PER_SM = 5 };
    const struct relative_part *with;
    float eps;

    struct span {
        struct ratio_beside beside;
        float down;

        __device__ float4 made(size_t element, float4 v) const
        {
            v = make_float4(v.x * down, v.y * down, v.z * down, v.w * down);
            if (!beside.w)
                return v;
            const float4 to = beside.to(element);
            return make_float4(v.x * to.x, v.y * to.y, v.z * to.z, v.w * to.w);
        }
    };
    __device__ span of(const struct vec_out *out, int i) const
    {
        const struct relative_part p = with[i];
        const span made_of = {beside_of(&p, eps, out->n), p.scale.down};
        return made_of;
    }
};

int vec_gpu_ratio_encode(const struct relative_rule *r, const struct vec_cast *cast,
                         struct vec_span *spans, const struct relative_part *with, int n_spans,
                         size_t n_elems, bool scan, struct dev_stream *s)
{
    const uint32_t share = (uint32_t)r->share;
    const bool power = (float)share == r->share && (share & (share - 1)) == 0;
    const struct ratio_sent sent = {with, *r, power ? 1 / r->share : 0};
    return cast_encode(cast, spans, n_spans, n_elems, scan, sent, s);
}

int vec_gpu_ratio_decode(const struct relative_rule *r, struct mf_fmt fmt, float divisor,
                         const struct vec_out *outs, const struct relative_part *with, int n_outs,
                         size_t n_elems, struct dev_stream *s)
{
    const struct ratio_back back = {with, r->eps};
    return uncast_all(fmt, divisor, outs, n_outs, n_elems, back, s);
}

enum {
    SAMPLE_THREADS = 1024,
    SAMPLES_EACH = RELATIVE_SAMPLES_MAX / SAMPLE_THREADS,
    NO_SAMPLE = -1 /* as an unsigned magnitude, it exceeds all others */
};

static __global__ void __launch_bounds__(SAMPLE_THREADS)
    k_quantile(struct relative_rule r, struct vec_span *spans, const struct relative_part *with)
{
    /* two buffers: one barrier per count is enough */
    __shared__ uint32_t counted[2][SAMPLE_THREADS / 32];
    const struct vec_span s = spans[blockIdx.x];
    const struct relative_part p = with[blockIdx.x];
    const uint32_t n = relative_looks(&r, s.n), lane = threadIdx.x % 32;
    const uint64_t key = relative_samples_key(s.key);
    uint32_t size[SAMPLES_EACH], least = 0;
    if (p.rank == 0 || n == 0 || s.absmax >= 0x7f800000u)
        return;
#pragma unroll
    for (int j = 0; j < SAMPLES_EACH; j++) {
        const uint32_t k = (uint32_t)j * SAMPLE_THREADS + threadIdx.x;
        size[j] = (uint32_t)NO_SAMPLE;
        if (k < n) {
            const size_t i = relative_sampled(key, s.n, r.samples, k);
            const float x = element_get(s.x, s.type, i);
            const float d = p.w ? x / relative_to(element_get(p.w, p.type, i), r.eps) : x;
            size[j] = relative_magnitude(__float_as_uint(d));
        }
    }
    for (int b = RELATIVE_TOP_BIT; b >= 0; b--) {
        const uint32_t most = relative_most(least, b);
        uint32_t below = 0;
#pragma unroll
        for (int j = 0; j < SAMPLES_EACH; j++)
            below += size[j] <= most;
        below = __reduce_add_sync(0xffffffffu, below);
        if (lane == 0)
            counted[b % 2][threadIdx.x / 32] = below;
        __syncthreads();
        below = __reduce_add_sync(0xffffffffu, counted[b % 2][lane]);
        least = relative_narrow(least, b, below, p.rank);
    }
    if (threadIdx.x == 0)
        spans[blockIdx.x].absmax = least;
}

int vec_gpu_quantile(const struct relative_rule *r, struct vec_span *spans,
                     const struct relative_part *with, int n_spans, struct dev_stream *s)
{
    if (n_spans <= 0)
        return 0;
    k_quantile<<<(unsigned)n_spans, SAMPLE_THREADS, 0, cu_stream(s)>>>(*r, spans, with);
    return cu_check("quantile");
}

/* A nan keeps its code. */
static __global__ void __launch_bounds__(CU_THREADS)
    k_divide(struct vec_cast cast, uint8_t *codes, size_t n, float divisor)
{
    const uint32_t width = mf_width(cast.fmt);
    for (size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x; EIGHT * i < n;
         i += (size_t)gridDim.x * CU_THREADS) {
        uint32_t code[EIGHT];
        eight_get(codes, width, i, n, code);
#pragma unroll
        for (int j = 0; j < EIGHT; j++) {
            const uint32_t bits = mf_dec(cast.fmt, code[j], 0);
            const uint32_t less = (bits & 0x7fffffffu) > 0x7f800000u
                                      ? bits
                                      : __float_as_uint(__uint_as_float(bits) / divisor);
            code[j] = cast.trunc ? mf_e5m2_trunc_enc(less, 0)
                                 : mf_enc(cast.fmt, less, 0, MF_NEAREST, cast.overflow, 0);
        }
        eight_put(codes, width, i, n, code);
    }
}

int vec_gpu_divide(const struct vec_cast *cast, uint8_t *codes, size_t n, float divisor,
                   struct dev_stream *s)
{
    enum { PER_SM = 8 };
    if (n == 0)
        return 0;
    k_divide<<<cu_blocks_most((n + 7) / 8, PER_SM), CU_THREADS, 0, cu_stream(s)>>>(*cast, codes, n,
                                                                                   divisor);
    return cu_check("division of codes");
}
