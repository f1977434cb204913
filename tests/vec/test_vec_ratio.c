/* test_vec_ratio.c : relative gradients, and values restored from their sums, have the bits of
 * the paper's expressions. */
#include "base/bits.h"
#include "check.h"
#include "hls/arith/philox.h"
#include "vec/fp_mode.h"
#include "vec/vec_isa.h"
#include "vec/list/vec_ratio.h"
#include <math.h>
#include <string.h>

enum { N = 5003, SEED = 23 };
static float x[N], w[N], out[N + 1], want[N];

static void make_inputs(void)
{
    static const float edges[] = {0, -0.0f, 0x1p-149f, -0x1p-127f, 0x1p-126f, 0x1.fffffep127f, 1};
    const uint64_t key = philox_key(SEED, 0, 0, 0, 0);
    for (size_t i = 0; i < N; i++) {
        const uint32_t a = philox_u32(key, 2 * i), b = philox_u32(key, 2 * i + 1);
        x[i] = i % 9 ? float_of(a % 0x7f800000 | (b & 0x80000000)) : edges[i / 9 % 7];
        w[i] = i % 11 ? float_of(b % 0x40000000 | (a & 0x80000000)) : edges[i / 11 % 7];
    }
}

static void same(const char *isa, const char *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK(memcmp(&out[i], &want[i], sizeof *out) == 0, "%s, %s: element %zu is %a, want %a",
              isa, what, i, (double)out[i], (double)want[i]);
    CHECK(out[n] == 7, "%s, %s: written beyond %zu", isa, what, n);
}

static void check(const struct vec_ops *ops, size_t n, float q, float share, float eps)
{
    const struct relative_scale s = relative_scale_of(q, 57344);
    for (int weighs = 0; weighs < 2; weighs++) {
        const float *by = weighs ? w : NULL;
        out[n] = 7;
        for (size_t i = 0; i < n; i++) {
            const float d = by ? x[i] / (fabsf(w[i]) + eps) : x[i];
            want[i] = d * (57344 / q) / share;
        }
        ops->ratio->send(x, by, n, eps, s, share, out);
        same(ops->name, "sent", n);
        memcpy(out, x, n * sizeof *x);
        for (size_t i = 0; i < n; i++)
            want[i] = by ? x[i] * (q / 57344) * (fabsf(w[i]) + eps) : x[i] * (q / 57344);
        ops->ratio->back(by, n, eps, s, out);
        same(ops->name, "back", n);
    }
}

/* In the mode that -ffast-math leaves, subnormals are zero. */
static void check_mode(const struct vec_ops *ops)
{
#if defined(__x86_64__)
    const float tiny[8] = {0x1p-140f}, w_of[8] = {0};
    const struct relative_scale s = {1, 1};
    for (int weighs = 0; weighs < 2; weighs++) {
        const float *by = weighs ? w_of : NULL;
        float back[8] = {0x1p-140f};
        const unsigned was = _mm_getcsr();
        _mm_setcsr(was | 0x8040);
        ops->ratio->send(tiny, by, 8, 1, s, 1, out);
        ops->ratio->back(by, 8, 1, s, back);
        const unsigned left = _mm_getcsr();
        _mm_setcsr(was);
        CHECK(out[0] == 0x1p-140f && back[0] == 0x1p-140f,
              "%s, weights %d: a subnormal became %a, and %a on the way back", ops->name, weighs,
              (double)out[0], (double)back[0]);
        CHECK((left & 0x8040) == 0x8040, "%s: another mode than before", ops->name);
    }
#else
    (void)ops;
#endif
}

static void check_quantile(void)
{
    const uint32_t bits[] = {5, 0, 0x7f7fffff, 7, 7, 7, 0x3f800000};
    static const uint32_t sorted[] = {0, 5, 7, 7, 7, 0x3f800000, 0x7f7fffff};
    for (uint32_t r = 1; r <= 7; r++)
        CHECK(relative_smallest(bits, 7, r) == sorted[r - 1], "rank %u", r);
    static const struct {
        double part;
        uint32_t n, rank;
    } ranks[] = {{0.95, 1024, 973}, {0.95, 20, 19},  {0.95, 100, 95}, {0.95, 1, 1},
                 {1, 1024, 1024},   {0.99, 100, 99}, {0.9, 10, 9},    {0.5, 3, 2},
                 {1e-9, 1000, 1},   {0.07, 100, 7}};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        CHECK(relative_rank(ranks[i].part, ranks[i].n) == ranks[i].rank, "%g of %u: rank %u",
              ranks[i].part, ranks[i].n, relative_rank(ranks[i].part, ranks[i].n));
    CHECK(relative_quantile(0, 57344) == 0 && relative_quantile(NAN, 57344) == 0 &&
              relative_quantile(-1, 57344) == 0,
          "no quantile");
    CHECK(relative_quantile(1e-40f, 57344) == 57344 * 0x1p-126f &&
              relative_quantile(0x1.fffffep127f, 57344) == 0x1p126f &&
              relative_quantile(3, 57344) == 3,
          "a quantile out of range");
}

int main(void)
{
    printf("seed %d\n", SEED);
    make_inputs();
    check_quantile();
    static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, N};
    for (int isa = 0; isa < VEC_ISAS; isa++) {
        struct vec_ops ops;
        if (!vec_isa_table((enum vec_isa)isa, &ops))
            continue;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            check(&ops, sizes[i], 0.37f, 7, 1e-5f);
            check(&ops, sizes[i], 1e-20f, 4, 1e-3f);
        }
        check_mode(&ops);
    }
    DONE();
}
