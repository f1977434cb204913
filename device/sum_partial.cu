/* sum_partial.cu : sums whose partial sums have a format of their own (vec_sum.acc), to nearest or by
 * Kahan's rule.
 *
 * A code is read as in sum_round.cuh; between two formats the factor that values share differs by a
 * power of two, and multiplying by it is exact, since the wider format holds the other's numbers:
 *
 *     addend's float   v * 2^(bias(in) - 127)   -- * 2^(bias(acc) - bias(in)) -->   v * 2^(bias(acc) - 127)   partial sum's */
#include "device/sum_parts.cuh"
#include "device/vec.cuh"

template <class T> struct partial_fmt {
    sum_fmt<T> acc, in;
    T unit; /* that power of two */
    struct mf_fmt acc_fmt, in_fmt, out;
    enum mf_overflow overflow;
    bool kahan;
    int shift; /* the end is divided by 2^shift */
};

/* kahan: what the sum has too much; else 0. */
struct partial_acc {
    uint32_t sum, too_much;
};

template <class T>
static __device__ inline uint32_t partial_plus(const partial_fmt<T> &k, uint32_t acc, uint32_t code)
{
    return sum_code(k.acc, lane<T>::add(sum_value(k.acc, acc), sum_value(k.in, code) * k.unit));
}

template <class T>
static __device__ inline void partial_add(const partial_fmt<T> &k, uint32_t code,
                                          struct partial_acc *a)
{
    if (!k.kahan) {
        a->sum = partial_plus(k, a->sum, code);
        return;
    }
    const uint32_t s = a->sum, y = partial_plus(k, a->too_much ^ k.acc.minus, code),
                   t = sum_add(k.acc, s, y);
    a->too_much = sum_add(k.acc, sum_add(k.acc, t, s ^ k.acc.minus), y ^ k.acc.minus);
    a->sum = t;
}

template <class T>
static __device__ inline uint32_t partial_final(const partial_fmt<T> &k, uint32_t acc)
{
    struct mf_num v = mf_unpack(k.acc_fmt, acc);
    v.exp -= k.shift;
    return sum_final(v, k.out, k.overflow);
}

/* A code in its own bits, and with its sign spread over the upper ones, as adders have it. */
static __device__ inline uint32_t own_bits(struct mf_fmt f, uint32_t code)
{
    return code & (0xffffffffu >> (32 - mf_width(f)));
}
static __device__ inline uint32_t spread(struct mf_fmt f, uint32_t code)
{
    return (uint32_t)((int32_t)(code << (32 - mf_width(f))) >> (32 - mf_width(f)));
}

/* Addends of 8 bits: sixteen at a time, in registers. */
template <class T>
static __global__ void k_partial_sum8(struct sum_job job, partial_fmt<T> k, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w_out = mf_width(k.out);
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n);
        struct partial_acc acc[PACK_CODES] = {};
        uint32_t codes[PACK_CODES];
#pragma unroll 1
        for (int p = 0; p < job.n_parts; p++) {
            pack_words<8> part;
            pack_load(parts_at(job, near, p) + parts_byte(c, 8), 8, left, &part);
#pragma unroll
            for (int i = 0; i < PACK_CODES; i++)
                partial_add(k, pack_code(part, i), &acc[i]);
        }
#pragma unroll
        for (int i = 0; i < PACK_CODES; i++)
            codes[i] = partial_final(k, acc[i].sum);
        pack_store(job.codes + parts_byte(c, w_out), w_out, left, codes);
    }
}

/* Addends of any width, one by one. */
template <class T>
static __global__ void k_partial_sum(struct sum_job job, partial_fmt<T> k, size_t n_chunks)
{
    __shared__ const uint8_t *near[PARTS_NEAR];
    const unsigned w = mf_width(k.in_fmt);
    parts_fetch(job, near);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, job.n);
        const unsigned bytes = pack_bytes(w, left);
        struct pack_writer to = pack_writer_at(job.codes, c, mf_width(k.out));
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++) {
            struct partial_acc acc = {0, 0};
#pragma unroll 1
            for (int p = 0; p < job.n_parts; p++)
                partial_add(k, pack_at(parts_at(job, near, p) + parts_byte(c, w), bytes, w, i),
                            &acc);
            pack_write_code(&to, partial_final(k, acc.sum));
        }
        pack_write_rest(&to);
    }
}

/* A partial sum that has come, and one addend. */
template <class T>
static __global__ void k_partial_hop(partial_fmt<T> k, const uint8_t *partial,
                                     const uint8_t *addends, size_t n, uint8_t *codes,
                                     size_t n_chunks)
{
    const unsigned w = mf_width(k.in_fmt), w_acc = mf_width(k.acc_fmt);
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, n);
        const uint8_t *a = partial + parts_byte(c, w_acc), *b = addends + parts_byte(c, w);
        struct pack_writer to = pack_writer_at(codes, c, mf_width(k.out));
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++) {
            const uint32_t sum = partial_plus(k, pack_at(a, pack_bytes(w_acc, left), w_acc, i),
                                              pack_at(b, pack_bytes(w, left), w, i));
            pack_write_code(&to, partial_final(k, sum));
        }
        pack_write_rest(&to);
    }
}

/* Accumulators in memory (sum_acc.cu). */
template <class T>
static __global__ void k_partial_fold(partial_fmt<T> k, uint32_t *acc, const uint8_t *codes,
                                      size_t n, bool first)
{
    const unsigned w = mf_width(k.in_fmt);
    const size_t bytes = (n * w + 7) / 8;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const size_t at = i / 8 * w;
        uint32_t *place = acc + (k.kahan ? 2 * i : i);
        struct partial_acc a = {0, 0};
        if (!first)
            a.sum = spread(k.acc_fmt, place[0]);
        if (!first && k.kahan)
            a.too_much = spread(k.acc_fmt, place[1]);
        partial_add(k, pack_at(codes + at, (unsigned)(bytes - at < 64 ? bytes - at : 64), w, i % 8),
                    &a);
        place[0] = own_bits(k.acc_fmt, a.sum);
        if (k.kahan)
            place[1] = own_bits(k.acc_fmt, a.too_much);
    }
}

/* ---- launchers ---- */

template <class T>
static partial_fmt<T> partial_fmt_of(const struct vec_sum *sum, struct mf_fmt out, int shift)
{
    partial_fmt<T> k = {sum_fmt_of<T>(sum->acc, sum->overflow),
                        sum_fmt_of<T>(sum->in, sum->overflow),
                        1,
                        sum->acc,
                        sum->in,
                        out,
                        sum->overflow,
                        sum->rule == VEC_KAHAN,
                        shift};
    for (int i = mf_bias(sum->in); i < mf_bias(sum->acc); i++)
        k.unit *= 2;
    return k;
}

/* Does the format of partial sums ask for doubles (sum_round.cuh)? */
static bool asks_double(const struct vec_sum *sum)
{
    return sum->acc.m > 10;
}

template <class T>
static void launch_sum(const struct sum_job &job, const struct vec_sum *sum, unsigned grid,
                       size_t n_chunks, cudaStream_t s)
{
    const partial_fmt<T> k = partial_fmt_of<T>(sum, job.out, job.shift);
    if (mf_width(sum->in) == 8)
        k_partial_sum8<T><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
    else
        k_partial_sum<T><<<grid, CU_THREADS, 0, s>>>(job, k, n_chunks);
}

int vec_gpu_sum_partial(const struct sum_job &job, const struct vec_sum *sum, cudaStream_t s)
{
    const size_t n_chunks = parts_chunks(job.n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    if (asks_double(sum))
        launch_sum<double>(job, sum, grid, n_chunks, s);
    else
        launch_sum<float>(job, sum, grid, n_chunks, s);
    return cu_check("sum");
}

int vec_gpu_hop(const struct vec_sum *sum, const uint8_t *partial, const uint8_t *addends, size_t n,
                struct mf_fmt out, uint8_t *codes, struct dev_stream *stream)
{
    const cudaStream_t s = cu_stream(stream);
    const size_t n_chunks = parts_chunks(n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM);
    if (n == 0)
        return 0;
    if (asks_double(sum))
        k_partial_hop<double><<<grid, CU_THREADS, 0, s>>>(partial_fmt_of<double>(sum, out, 0),
                                                          partial, addends, n, codes, n_chunks);
    else
        k_partial_hop<float><<<grid, CU_THREADS, 0, s>>>(partial_fmt_of<float>(sum, out, 0),
                                                         partial, addends, n, codes, n_chunks);
    return cu_check("hop");
}

int vec_gpu_fold_partial(const struct vec_sum *sum, uint32_t *acc, const uint8_t *codes, size_t n,
                         bool first, cudaStream_t s)
{
    const unsigned grid = cu_blocks_most(n, PARTS_PER_SM);
    if (asks_double(sum))
        k_partial_fold<double><<<grid, CU_THREADS, 0, s>>>(partial_fmt_of<double>(sum, sum->out, 0),
                                                           acc, codes, n, first);
    else
        k_partial_fold<float><<<grid, CU_THREADS, 0, s>>>(partial_fmt_of<float>(sum, sum->out, 0),
                                                          acc, codes, n, first);
    return cu_check("fold");
}
