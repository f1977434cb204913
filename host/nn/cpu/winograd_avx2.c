/* winograd_avx2.c : builds winograd.h for AVX2 and FMA: 12 sums of 8 floats in 16 registers. */
#include "nn/cpu/winograd_kernels.h"
#ifdef VEC_X86
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256 vec;
#define vec_load    _mm256_loadu_ps
#define vec_store   _mm256_storeu_ps
#define vec_set     _mm256_set1_ps
#define vec_add     _mm256_add_ps
#define vec_sub     _mm256_sub_ps
#define vec_mul     _mm256_mul_ps
#define vec_fma     _mm256_fmadd_ps
#define PANEL(left) ((void)(left), 16)
#include "nn/cpu/winograd_body.h"

PRODUCT(product_6x2, 6, 2)
PRODUCT_ADD(add_4x2, 4, 2)

static void multiply(int rows, int k, int n, const float *a, const float *u, float *o)
{
    for (int c = 0; c < n; c += 16, u += (ptrdiff_t)16 * k, o += 16)
        for (int r = 0; r < rows; r += 6)
            product_6x2(k, n, a + (ptrdiff_t)r * k, u, o + (ptrdiff_t)r * n);
}

static void multiply_add(int rows, int m, int n, const float *a, const float *b, float *o)
{
    for (int c = 0; c < n; c += 16, b += 16, o += 16)
        for (int r = 0; r < m; r += 4)
            add_4x2(rows, m, n, a + r, b, o + (ptrdiff_t)r * n);
}

WINOGRAD_KERNELS(avx2)
#endif
