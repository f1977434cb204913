/* winograd_avx512.c : builds winograd.h for AVX-512: 24 sums of 16 floats in 32 registers. */
#include "nn/cpu/winograd_kernels.h"
#ifdef VEC_X86
#include <immintrin.h>

enum { LANES = 16 };
typedef __m512 vec;
#define vec_load    _mm512_loadu_ps
#define vec_store   _mm512_storeu_ps
#define vec_set     _mm512_set1_ps
#define vec_add     _mm512_add_ps
#define vec_sub     _mm512_sub_ps
#define vec_mul     _mm512_mul_ps
#define vec_fma     _mm512_fmadd_ps
#define PANEL(left) ((left) >= 64 ? 64 : (left) >= 32 ? 32 : 16)
#include "nn/cpu/winograd_body.h"

PRODUCT(product_24x1, 24, 1)
PRODUCT(product_12x2, 12, 2)
PRODUCT(product_6x4, 6, 4)

static void multiply(int rows, int k, int n, const float *a, const float *u, float *o)
{
    for (int c = 0, wide; c < n; c += wide, u += (ptrdiff_t)wide * k, o += wide) {
        wide = PANEL(n - c);
        for (int r = 0; wide == 64 && r < rows; r += 6)
            product_6x4(k, n, a + (ptrdiff_t)r * k, u, o + (ptrdiff_t)r * n);
        for (int r = 0; wide == 32 && r < rows; r += 12)
            product_12x2(k, n, a + (ptrdiff_t)r * k, u, o + (ptrdiff_t)r * n);
        for (int r = 0; wide == 16 && r < rows; r += 24)
            product_24x1(k, n, a + (ptrdiff_t)r * k, u, o + (ptrdiff_t)r * n);
    }
}

PRODUCT_ADD(add_16x1, 16, 1)
PRODUCT_ADD(add_8x2, 8, 2)
PRODUCT_ADD(add_4x4, 4, 4)

static void multiply_add(int rows, int m, int n, const float *a, const float *b, float *o)
{
    for (int c = 0, wide; c < n; c += wide, b += wide, o += wide) {
        wide = PANEL(n - c);
        for (int r = 0; wide == 64 && r < m; r += 4)
            add_4x4(rows, m, n, a + r, b, o + (ptrdiff_t)r * n);
        for (int r = 0; wide == 32 && r < m; r += 8)
            add_8x2(rows, m, n, a + r, b, o + (ptrdiff_t)r * n);
        for (int r = 0; wide == 16 && r < m; r += 16)
            add_16x1(rows, m, n, a + r, b, o + (ptrdiff_t)r * n);
    }
}

WINOGRAD_KERNELS(avx512)
#endif
