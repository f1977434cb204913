/* sum_add.cu : adds packed codes pairwise, rounded to nearest or by the fp8 paper's rule. */
#include "device/vec/sum_e5m2.cuh"
#include "device/vec/sum_parts.cuh"
#include "device/vec/vec.cuh"

template <int W>
static __global__ void k_add_codes(sum_fmt<float> k, unsigned w, uint8_t *acc, const uint8_t *codes,
                                   size_t n, size_t n_chunks)
{
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, n), at = parts_byte(c, w);
        pack_words<W> a, b;
        uint32_t sums[PACK_CODES];
        pack_load_both(acc + at, codes + at, w, left, &a, &b);
#pragma unroll
        for (int i = 0; i < PACK_CODES; i++)
            sums[i] = sum_add(k, pack_code(a, i), pack_code(b, i)) & (0xffffffffu >> (32 - w));
        pack_store(acc + at, w, left, sums);
    }
}

template <class T>
static __global__ void k_add_each(sum_fmt<T> k, unsigned w, uint8_t *acc, const uint8_t *codes,
                                  size_t n, size_t n_chunks)
{
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, n), at = parts_byte(c, w);
        const unsigned bytes = pack_bytes(w, left);
        struct pack_writer to = pack_writer_at(acc, c, w);
#pragma unroll 1
        for (size_t i = 0; i < PACK_CODES && i < left; i++) {
            const uint32_t sum =
                sum_add(k, pack_at(acc + at, bytes, w, i), pack_at(codes + at, bytes, w, i));
            pack_write_code(&to, sum & (0xffffffffu >> (32 - w)));
        }
        pack_write_rest(&to);
    }
}

template <bool TRUNC>
static __global__ void k_add_e5m2(enum mf_overflow overflow, uint8_t *acc, const uint8_t *codes,
                                  size_t n, size_t n_chunks)
{
    for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < n_chunks;
         c += (size_t)gridDim.x * blockDim.x) {
        const size_t left = parts_left(c, n), at = c * PACK_CODES;
        pack_words<8> a, b;
        pack_load_both(acc + at, codes + at, 8, left, &a, &b);
#pragma unroll
        for (int i = 0; i < 4; i++)
            a.w[i] = e5m2_add4<TRUNC>(overflow, a.w[i], b.w[i]);
        pack_put<4>(acc + at, a.w, pack_bytes(8, left));
    }
}

int vec_gpu_add(const struct vec_sum *sum, uint8_t *acc, const uint8_t *codes, size_t n,
                struct dev_stream *stream)
{
    const struct mf_fmt f = sum->in;
    const cudaStream_t s = cu_stream(stream);
    const size_t n_chunks = parts_chunks(n);
    const unsigned grid = cu_blocks_most(n_chunks, PARTS_PER_SM), w = mf_width(f);
    const sum_fmt<float> k = sum_fmt_of<float>(f, sum->overflow);
    if (n == 0)
        return 0;
    if (sum->rule == VEC_TRUNC) {
        k_add_e5m2<true><<<grid, CU_THREADS, 0, s>>>(sum->overflow, acc, codes, n, n_chunks);
    } else if (mf_same(f, mf_e5m2())) {
        k_add_e5m2<false><<<grid, CU_THREADS, 0, s>>>(sum->overflow, acc, codes, n, n_chunks);
    } else if (f.m > 10) {
        const sum_fmt<double> wide = sum_fmt_of<double>(f, sum->overflow);
        k_add_each<double><<<grid, CU_THREADS, 0, s>>>(wide, w, acc, codes, n, n_chunks);
    } else if (w == 8) {
        k_add_codes<8><<<grid, CU_THREADS, 0, s>>>(k, w, acc, codes, n, n_chunks);
    } else if (w == 16) {
        k_add_codes<16><<<grid, CU_THREADS, 0, s>>>(k, w, acc, codes, n, n_chunks);
    } else if (w == 4) {
        k_add_codes<4><<<grid, CU_THREADS, 0, s>>>(k, w, acc, codes, n, n_chunks);
    } else {
        k_add_each<float><<<grid, CU_THREADS, 0, s>>>(k, w, acc, codes, n, n_chunks);
    }
    return cu_check("add");
}
