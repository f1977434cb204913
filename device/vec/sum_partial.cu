/* sum_partial.cu : sums whose partial sums have their own format (vec_sum.acc), by the rules
 * nearest and kahan. A code is read as its value times a factor of its format (sum_round.cuh).
 * Factors differ by a power of two, so the product is exact, as the sums' format holds all
 * addends:
 *
 *     addend   v * 2^(bias(in) - 127) -- * 2^(bias(acc) - bias(in)) --> v * 2^(bias(acc) - 127) */
#include "device/vec/sum_walk.cuh"
#include "device/vec/vec.cuh"

template <class T> struct partial_fmt {
    sum_fmt<T> acc, in;
    T unit; /* that power */
    struct mf_fmt acc_fmt, in_fmt, out;
    enum mf_overflow overflow;
    bool kahan;
    int shift; /* divides the result by 2^shift */
};

template <class T>
static __device__ inline uint32_t partial_plus(const partial_fmt<T> &k, uint32_t acc, uint32_t code)
{
    return sum_code(k.acc, lane<T>::add(sum_value(k.acc, acc), sum_value(k.in, code) * k.unit));
}

template <class T>
static __device__ inline void partial_add(const partial_fmt<T> &k, uint32_t code, struct sum_acc *a)
{
    if (k.kahan)
        sum_kahan(k.acc, partial_plus(k, a->too_much ^ k.acc.minus, code), a);
    else
        a->sum = partial_plus(k, a->sum, code);
}

template <class T>
static __device__ inline uint32_t partial_final(const partial_fmt<T> &k, uint32_t acc)
{
    struct mf_num v = mf_unpack(k.acc_fmt, acc);
    v.exp -= k.shift;
    return sum_final(v, k.out, k.overflow);
}

template <class T>
static __device__ inline void rule_add(const struct sum_job &, const partial_fmt<T> &k,
                                       uint32_t code, struct sum_acc *acc)
{
    partial_add(k, code, acc);
}
template <class T>
static __device__ inline uint32_t rule_end(const struct sum_job &, const partial_fmt<T> &k,
                                           struct sum_acc acc)
{
    return partial_final(k, acc.sum);
}

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

/* The accumulators are those of sum_acc.cu. */
template <class T>
static __global__ void k_partial_accumulate(partial_fmt<T> k, uint32_t *acc, const uint8_t *codes,
                                            size_t n, bool first)
{
    const unsigned w = mf_width(k.in_fmt);
    const size_t bytes = (n * w + 7) / 8;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const size_t at = i / 8 * w;
        uint32_t *place = acc + (k.kahan ? 2 * i : i);
        struct sum_acc a = {0, 0};
        if (!first)
            a.sum = pack_spread(k.acc_fmt, place[0]);
        if (!first && k.kahan)
            a.too_much = pack_spread(k.acc_fmt, place[1]);
        partial_add(k, pack_at(codes + at, (unsigned)(bytes - at < 64 ? bytes - at : 64), w, i % 8),
                    &a);
        place[0] = pack_own_bits(k.acc_fmt, a.sum);
        if (k.kahan)
            place[1] = pack_own_bits(k.acc_fmt, a.too_much);
    }
}

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

static bool asks_double(const struct vec_sum *sum)
{
    return sum->acc.m > 10;
}

template <class T>
static void launch_sum(const struct sum_job &job, const struct vec_sum *sum, cudaStream_t s)
{
    const partial_fmt<T> k = partial_fmt_of<T>(sum, job.out, job.shift);
    if (mf_width(sum->in) == 8)
        walk_sixteen<8>(job, k, s);
    else
        walk_each(job, k, s);
}

int vec_gpu_sum_partial(const struct sum_job &job, const struct vec_sum *sum, cudaStream_t s)
{
    if (asks_double(sum))
        launch_sum<double>(job, sum, s);
    else
        launch_sum<float>(job, sum, s);
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

int vec_gpu_accumulate_partial(const struct vec_sum *sum, uint32_t *acc, const uint8_t *codes,
                               size_t n, bool first, cudaStream_t s)
{
    const unsigned grid = cu_blocks_most(n, PARTS_PER_SM);
    if (asks_double(sum))
        k_partial_accumulate<double><<<grid, CU_THREADS, 0, s>>>(
            partial_fmt_of<double>(sum, sum->out, 0), acc, codes, n, first);
    else
        k_partial_accumulate<float><<<grid, CU_THREADS, 0, s>>>(
            partial_fmt_of<float>(sum, sum->out, 0), acc, codes, n, first);
    return cu_check("accumulate");
}
