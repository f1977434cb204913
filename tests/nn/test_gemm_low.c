/* test_gemm_low.c : the CPU's products with a narrow accumulator equal mf.h, operation by
 * operation. */
#include "gemm_fixture.h"

static const struct mf_fmt formats[] = {{5, 2, 0},  {4, 3, 0},  {5, 10, 0}, {8, 7, 0}, {6, 9, 0},
                                        {4, 3, 1},  {3, 0, 0},  {8, 0, 0},  {1, 3, 0}, {2, 1, 0},
                                        {8, 23, 0}, {5, 17, 0}, {7, 11, 0}, {2, 5, 2}, {5, 2, 1}};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static void check_shape(const struct gemm_rule *r, const struct gemm_shape *s, int kind,
                        uint64_t key)
{
    gemm_fill(r->fmt, kind, key);
    slow_gemm(r, s, gemm_want);
    gemm_low(r, s->ta, s->tb, s->m, s->n, s->k, gemm_a, gemm_lda(s), gemm_b, gemm_ldb(s), s->add,
             gemm_c, s->n + s->more);
    gemm_compare("gemm_low", r, s, gemm_c, gemm_want);
}

static void check_shapes(void)
{
    uint64_t key = 0;
    for (int f = 0; f < N_FORMATS; f++)
        for (int way = 0; way < 4; way++)
            for (int s = 0; s < GEMM_SHAPES; s++, key += 100000) {
                const struct gemm_rule r = {formats[f], way & 1 ? MF_INF : MF_SATURATE, way & 2};
                check_shape(&r, &gemm_shapes[s], (f + way + s) % 4, key);
            }
}

static void check_rounding(struct mf_fmt f, enum mf_overflow overflow)
{
    const struct gemm_rule r = {f, overflow, false};
    for (uint32_t code = 0; code <= mf_max(f); code++)
        for (int i = -2; i <= 2; i++) {
            const uint32_t low = mf_dec(f, code, 0), high = mf_dec(f, code + 1, 0);
            const double tie = code == mf_max(f)
                                   ? 1.5 * (double)float_of(low)
                                   : ((double)float_of(low) + (double)float_of(high)) / 2;
            const float x = float_of(bits_of((float)tie) + (uint32_t)i), one = i % 2 ? -1 : 1;
            if (bits_of((float)tie) < 2)
                continue;
            float c = 0;
            gemm_low(&r, false, false, 1, 1, 1, &x, 1, &one, 1, false, &c, 1);
            const uint32_t want = mf_dec(f, mf_add(f, 0, slow_product(&r, x, one), overflow), 0);
            CHECK(bits_of(c) == want || (c != c && (want & 0x7fffffff) > 0x7f800000),
                  "e%um%u: r(%a) = %a", f.e, f.m, (double)(x * one), (double)c);
        }
}

/* 4096 ones in e5m2 stick at 8. */
static void check_sticking(void)
{
    static float ones[4096];
    float c[3];
    for (int i = 0; i < 4096; i++)
        ones[i] = 1;
    const struct gemm_rule plain = {{5, 2, 0}, MF_SATURATE, false},
                           kahan = {{5, 2, 0}, MF_SATURATE, true};
    gemm_low(&plain, false, true, 1, 1, 4096, ones, 4096, ones, 4096, false, c, 1);
    gemm_low(&kahan, false, true, 1, 1, 4096, ones, 4096, ones, 4096, false, c + 1, 1);
    CHECK(c[0] == 8, "4096 ones in e5m2: %g", (double)c[0]);
    CHECK(c[1] > 8, "4096 ones in e5m2 with kahan: %g", (double)c[1]);
    printf("4096 ones in e5m2: %g, with kahan %g\n", (double)c[0], (double)c[1]);
}

static void check_words(void)
{
    struct gemm_rule r = {{1, 1, 0}, MF_INF, true};
    CHECK(gemm_low_parse("fp32", &r) == 0 && r.fmt.e == 1, "fp32 is no rule");
    CHECK(gemm_low_parse("e5m10", &r) == 1 && r.fmt.e == 5 && r.fmt.m == 10 && !r.kahan, "e5m10");
    CHECK(r.overflow == MF_SATURATE, "overflow");
    CHECK(gemm_low_parse("bf16+kahan", &r) == 1 && r.fmt.e == 8 && r.fmt.m == 7 && r.kahan,
          "bf16+kahan");
    CHECK(gemm_low_parse("fp32+kahan", &r) == 1 && r.fmt.m == 23 && r.kahan, "fp32+kahan");
    static const char *const wrong[] = {
        "",      "+kahan",      "e5m2+",
        "e9m2",  "e5m2 +kahan", "e5m2+kahan+kahan",
        "e1m0",  "kahan",       "e5m2+kahan, and a word longer than any format's name",
        "e5m2+k"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(gemm_low_parse(wrong[i], &r) < 0, "\"%s\" was taken", wrong[i]);
}

int main(void)
{
    printf("seed %d\n", GEMM_SEED);
    check_words();
    check_sticking();
    check_shapes();
    for (uint8_t e = 1; e <= 8; e++)
        for (uint8_t m = e == 1; m <= 10 && e + m < 16; m++)
            check_rounding((struct mf_fmt){e, m, 0}, m % 2 ? MF_INF : MF_SATURATE);
    DONE();
}
