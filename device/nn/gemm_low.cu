/* gemm_low.cu : matrix products that round every product and partial sum.
 *
 * A block computes 64 x 64 values of c, a thread 4 x 4, from panels of depth 16 in shared memory.
 * A thread's rows and columns are 16 apart, so that neighbouring threads read neighbouring
 * elements. Runs (gemm_low.cuh) are computed in parallel into separate memory, then added in
 * order.
 *
 * Formats with m <= 10 are computed in fp32, others in double, as in host/nn/cpu/gemm_low.h:
 *     product   in fp32: rounded toward zero, with the last bit set if anything was lost ("to
 *               odd"). Rounding that to 11 bits equals rounding the exact product. In double: exact
 *     sum       first rounded to 24 or 53 bits: at least 2 (m + 1) + 2, so that rounding twice is
 *               harmless
 * Sources: S. A. Figueroa, When is double rounding innocuous?, 1995; S. Boldo and G. Melquiond on
 * rounding to odd, 2008. */
#include "device/nn/gemm_low.cuh"

enum { TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE };

template <class T> struct wide;
template <> struct wide<float> {
    typedef uint32_t bits;
    enum { M = 23, E = 8 };
    static __host__ __device__ inline uint32_t get(float x)
    {
        uint32_t b;
        memcpy(&b, &x, sizeof b);
        return b;
    }
    static __host__ __device__ inline float put(uint32_t b)
    {
        float x;
        memcpy(&x, &b, sizeof x);
        return x;
    }
    static __device__ inline float add(float a, float b) { return __fadd_rn(a, b); }
    static __device__ inline float product(float a, float b)
    {
#ifdef __CUDA_ARCH__
        const float down = __fmul_rd(a, b), up = __fmul_ru(a, b), zero = __fmul_rz(a, b);
        return put(get(zero) | (down != up ? 1u : 0u));
#else
        const double exact = (double)a * (double)b;
        const float nearest = (float)exact;
        const bool above = fabs((double)nearest) > fabs(exact);
        return put((get(nearest) - (above ? 1u : 0u)) | (nearest != exact ? 1u : 0u));
#endif
    }
};
template <> struct wide<double> {
    typedef uint64_t bits;
    enum { M = 52, E = 11 };
    static __host__ __device__ inline uint64_t get(double x)
    {
        uint64_t b;
        memcpy(&b, &x, sizeof b);
        return b;
    }
    static __host__ __device__ inline double put(uint64_t b)
    {
        double x;
        memcpy(&x, &b, sizeof x);
        return x;
    }
    static __device__ inline double add(double a, double b) { return __dadd_rn(a, b); }
    static __device__ inline double product(float a, float b)
    {
        return __dmul_rn((double)a, (double)b);
    }
};

/* Like struct rounding of host/nn/cpu/gemm_low.c. Magnitudes are bits without the sign. */
template <class T> struct rounding {
    typename wide<T>::bits half, keep, odd, small, max, beyond, nan;
    unsigned drop;
    T magic;
};

template <class T> static typename wide<T>::bits value_bits(struct mf_fmt f, uint32_t code)
{
    return wide<T>::get((T)wide<float>::put(mf_dec(f, code, 0)));
}

template <class T> static rounding<T> rounding_of(const struct gemm_rule *rule)
{
    typedef typename wide<T>::bits bits;
    const unsigned m = wide<T>::M, e = wide<T>::E;
    const struct mf_fmt f = rule->fmt;
    const bits one = 1, inf = ((one << e) - 1) << m, quiet = inf | one << (m - 1);
    const int lowest = 1 - mf_bias(f), bias = (1 << (e - 1)) - 1;
    const bool same = e == f.e;
    rounding<T> k;
    k.drop = m - f.m;
    k.half = (one << (k.drop - 1)) - 1;
    k.keep = ~((one << k.drop) - 1);
    k.odd = f.m == 0;
    k.small = same ? 0 : (bits)(bias + lowest) << m;
    k.magic =
        same ? (T)0 : wide<T>::put((bits)(bias + (int)m + lowest - f.m) << m | one << (m - 1));
    k.max = value_bits<T>(f, mf_max(f));
    const bool numbers = f.flavour == MF_NUMBERS, saturates = rule->overflow == MF_SATURATE;
    k.beyond = saturates || numbers ? k.max : f.flavour == MF_NO_INF ? quiet : inf;
    k.nan = numbers ? k.max : f.m == 0 && f.flavour == MF_IEEE ? inf : quiet;
    return k;
}

template <class T> static __device__ inline T round_to(const rounding<T> &k, T x)
{
    typedef typename wide<T>::bits bits;
    const bits one = 1, sign = one << (wide<T>::M + wide<T>::E), inf = sign - (one << wide<T>::M);
    const bits all = wide<T>::get(x), mag = all & ~sign;
    const bits kept = mag >> k.drop, even = k.odd != 0 ? (bits)(kept != 0) : kept & 1;
    bits r = (mag + k.half + even) & k.keep;
    if (mag < k.small)
        r = wide<T>::get(wide<T>::add(wide<T>::add(wide<T>::put(mag), k.magic), -k.magic));
    r = (r > k.max ? k.beyond : r) | (all & sign);
    return wide<T>::put(mag > inf ? k.nan : r);
}

/* Rounds to odd. x, y: floats, as doubles. */
static __device__ inline double odd_sum(double x, double y)
{
    const double s = __dadd_rn(x, y), back = __dadd_rn(s, -x);
    const double lost = __dadd_rn(__dadd_rn(x, -__dadd_rn(s, -back)), __dadd_rn(y, -back));
    const uint64_t bits = wide<double>::get(s), inf = 0x7ffull << 52;
    if ((bits & inf) == inf || lost == 0 || (bits & 1) != 0)
        return s;
    return wide<double>::put((lost > 0) == (s > 0) ? bits + 1 : bits - 1);
}

static __device__ inline float as_float(double x)
{
    return x == x ? (float)x : __uint_as_float(0x7fffffffu);
}

static __device__ inline float later(const rounding<double> &last, float old, double sum)
{
    return as_float(round_to(last, odd_sum((double)old, sum)));
}

struct gemm_job {
    bool ta, tb, add;
    int m, n, k, lda, ldb, ldc;
    int run; /* blocks of index z sum over k = z * run to (z + 1) * run - 1 */
    size_t apart;
    const float *a, *b;
    float *c;
};

/* across: rows of x run along p. */
static __device__ inline void fetch(const float *x, int ld, bool across, int p, int k, int i, int n,
                                    float (*panel)[TILE + 1])
{
    for (int at = (int)threadIdx.x; at < DEPTH * TILE; at += SIDE * SIDE) {
        const int q = across ? at % DEPTH : at / TILE, j = across ? at / DEPTH : at % TILE;
        const bool inside = p + q < k && i + j < n;
        const size_t row = (size_t)(across ? i + j : p + q),
                     column = (size_t)(across ? p + q : i + j);
        panel[q][j] = inside ? x[row * (size_t)ld + column] : 0.0f;
    }
}

template <class T, bool KAHAN>
static __global__ void k_gemm_low(struct gemm_job job, rounding<T> k, rounding<double> last)
{
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    const int row = (int)blockIdx.y * TILE, column = (int)blockIdx.x * TILE;
    const int y = (int)threadIdx.x / SIDE, x = (int)threadIdx.x % SIDE;
    const int first = (int)blockIdx.z * job.run,
              end = job.k - first < job.run ? job.k : first + job.run;
    const bool idle = row + y >= job.m || column + x >= job.n; /* then it only loads panels */
    T s[EACH][EACH] = {}, c[EACH][EACH] = {};
    for (int p = first; p < end; p += DEPTH) {
        const int deep = idle ? 0 : end - p < DEPTH ? end - p : DEPTH;
        fetch(job.a, job.lda, !job.ta, p, end, row, job.m, a);
        fetch(job.b, job.ldb, job.tb, p, end, column, job.n, b);
        __syncthreads();
#pragma unroll 1
        for (int q = 0; q < deep; q++) {
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++) {
                    const T product =
                        round_to(k, wide<T>::product(a[q][y + i * SIDE], b[q][x + j * SIDE]));
                    if (KAHAN) {
                        const T less = round_to(k, wide<T>::add(product, -c[i][j])), old = s[i][j];
                        s[i][j] = round_to(k, wide<T>::add(old, less));
                        c[i][j] = round_to(
                            k, wide<T>::add(round_to(k, wide<T>::add(s[i][j], -old)), -less));
                    } else {
                        s[i][j] = round_to(k, wide<T>::add(s[i][j], product));
                    }
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const int at_row = row + y + i * SIDE, at_column = column + x + j * SIDE;
            if (at_row >= job.m || at_column >= job.n)
                continue;
            float *to = job.c + (size_t)blockIdx.z * job.apart + (size_t)at_row * (size_t)job.ldc +
                        (size_t)at_column;
            *to = job.add ? later(last, *to, (double)s[i][j]) : as_float((double)s[i][j]);
        }
}

static __global__ void k_gemm_fold(size_t n, int n_parts, const float *parts, bool add, float *c,
                                   rounding<double> last)
{
    const size_t i = (size_t)blockIdx.x * CU_THREADS + threadIdx.x;
    if (i >= n)
        return;
    float sum = add ? c[i] : parts[i];
    for (int part = add ? 0 : 1; part < n_parts; part++)
        sum = later(last, sum, (double)parts[(size_t)part * n + i]);
    c[i] = sum;
}

static int launch(const struct gemm_rule *rule, const struct gemm_job &job, int n_runs,
                  cudaStream_t s)
{
    const rounding<double> last = rounding_of<double>(rule);
    const dim3 grid((unsigned)(job.n + TILE - 1) / TILE, (unsigned)(job.m + TILE - 1) / TILE,
                    (unsigned)n_runs);
    if (job.m == 0 || job.n == 0)
        return 0;
    if (rule->fmt.m > 10) {
        if (rule->kahan) {
            k_gemm_low<double, true><<<grid, SIDE * SIDE, 0, s>>>(job, last, last);
        } else {
            k_gemm_low<double, false><<<grid, SIDE * SIDE, 0, s>>>(job, last, last);
        }
    } else {
        const rounding<float> narrow = rounding_of<float>(rule);
        if (rule->kahan) {
            k_gemm_low<float, true><<<grid, SIDE * SIDE, 0, s>>>(job, narrow, last);
        } else {
            k_gemm_low<float, false><<<grid, SIDE * SIDE, 0, s>>>(job, narrow, last);
        }
    }
    return cu_check("gemm");
}

int gemm_low_runs(const struct gemm_rule *rule, int m, int n, int k, int run, const float *a,
                  const float *b, bool add, float *c, float *parts, int max_parts, cudaStream_t s)
{
    const size_t size = (size_t)m * (size_t)n;
    const rounding<double> last = rounding_of<double>(rule);
    for (int first = 0, deep; first < k; first += deep, add = true) {
        const int left = (k - first + run - 1) / run, n_runs = left < max_parts ? left : max_parts;
        deep = n_runs == left ? k - first : n_runs * run;
        const bool direct = n_runs == 1;
        const struct gemm_job job = {true,
                                     false,
                                     direct && add,
                                     m,
                                     n,
                                     deep,
                                     m,
                                     n,
                                     n,
                                     run,
                                     size,
                                     a + (size_t)first * (size_t)m,
                                     b + (size_t)first * (size_t)n,
                                     direct ? c : parts};
        const int rc = launch(rule, job, n_runs, s);
        if (rc < 0)
            return rc;
        if (!direct && size)
            k_gemm_fold<<<cu_blocks(size), CU_THREADS, 0, s>>>(size, n_runs, parts, add, c, last);
    }
    return cu_check("sum of products");
}

int nn_gemm_low(const struct gemm_rule *rule, bool ta, bool tb, int m, int n, int k, const float *a,
                int lda, const float *b, int ldb, bool add, float *c, int ldc,
                struct dev_stream *stream)
{
    const struct gemm_job job = {ta, tb, add, m, n, k, lda, ldb, ldc, k, 0, a, b, c};
    return launch(rule, job, 1, cu_stream(stream));
}
