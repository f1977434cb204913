/* test_codec_scale.c : tests exponents and shifts of casts by scale. */
#include "base/bits.h"
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <string.h>

enum { ALL = (1 << VEC_RULES) - 1, N = 512, MAX_P = 12, SEED = 5 };

static struct codec make_rounded(const char *format, const char *scale, const char *round,
                                 int n_ranks)
{
    const struct codec_spec spec = {
        .format = format, .scale = scale, .overflow = "inf", .round = round};
    struct codec c;
    if (codec_parse(&spec, &c) || codec_settle(&c, n_ranks, &(struct codec_adder){.name = "test"}))
        exit(1);
    return c;
}
static struct codec make(const char *format, const char *scale, int n_ranks)
{
    return make_rounded(format, scale, NULL, n_ranks);
}

static void check_corners(void)
{
    const struct codec aps = make("e5m2", "aps", 4), tight = make("e4m3fn", "aps-tight", 4),
                       none = make("e4m3", "none", 4);
    const struct codec small = make("e4m3", "const:0x1p-149", 4),
                       *all[] = {&aps, &tight, &none, &small};
    for (int i = 0; i < 4; i++) {
        CHECK(codec_exponent(all[i], 0) == CODEC_ALL_ZERO, "all-zero layer");
        CHECK(codec_exponent(all[i], 0x7f800000) == CODEC_NOT_FINITE, "inf");
        CHECK(codec_exponent(all[i], 0x7f800001) == CODEC_NOT_FINITE, "nan");
        CHECK(codec_exponent(all[i], 0x7fffffff) == CODEC_NOT_FINITE, "nan");
        CHECK(codec_exponent(all[i], 1) == -126, "the smallest subnormal clamps");
        CHECK(codec_exponent(all[i], 0x7f7fffff) == 126, "the largest float clamps");
    }
    CHECK(codec_exponent(&aps, 0x7e800000) == 126, "4 * 2^126 does not fit an fp32");
    CHECK(codec_exponent(&aps, 0x3f800000) == 2 && codec_exponent(&aps, 0x3f800001) == 3,
          "ceil(log2(4 * 1))");
    CHECK(codec_exponent(&none, 0x3f800000) == 2, "none sends E too");
    CHECK(codec_exponent(&tight, 0x3fe00000) == 0 && codec_exponent(&tight, 0x3fe00001) == 1,
          "1.75 is e4m3fn's significand");

    CHECK(codec_shift(&aps, CODEC_ALL_ZERO) == 0 && codec_shift(&tight, CODEC_ALL_ZERO) == 0,
          "all zero: f = 0");
    CHECK(codec_shift(&aps, -126) == 15 + 126, "f beyond 127");
    CHECK(codec_shift(&aps, 126) == 15 - 126, "f of huge gradients");
    CHECK(codec_shift(&tight, 3) == 8 - 3, "e4m3fn's top exponent is 8");
    CHECK(codec_shift(&none, 5) == 0 && codec_shift(&small, 5) == -149, "f = log2 K");
}

/* E is the smallest integer with P * max <= 2^E, t the smallest with max <= L * 2^t, in the
 * x87's 64-bit arithmetic. */
static void check_exponents(void)
{
    static const char *const formats[] = {"e5m2", "e4m3",  "e4m3fn", "e3m0",
                                          "e2m1", "e5m10", "e1m1",   "e1m4"};
    for (uint64_t i = 0; i < 40000; i++) {
        const char *format = formats[i % 8];
        uint32_t bits = philox_u32(SEED, i) & 0x7fffffff;
        int p = (int)(1 + philox_u32(SEED + 1, i) % (i % 2 ? 3 : 300));
        const struct codec none = make(format, "none", p), tight = make(format, "aps-tight", p);
        if (i % 3 == 0)
            bits &= 0x7f800000; /* powers of two are the edges */
        if (bits == 0 || bits >= 0x7f800000)
            continue;
        const long double max = float_of(bits), sum = max * p;
        const long double largest =
            float_of(mf_dec(codec_sum(&none)->in, mf_max(codec_sum(&none)->in), 0));
        int e = codec_exponent(&none, bits), t = codec_exponent(&tight, bits),
            f = codec_shift(&tight, (int8_t)t);
        if (e < 126)
            CHECK(sum <= ldexpl(1, e) && (e == -126 || sum > ldexpl(1, e - 1)), "%d * %La: E %d", p,
                  max, e);
        else
            CHECK(sum > ldexpl(1, 125), "%d * %La: E %d", p, max, e);
        if (t < 126)
            CHECK(ldexpl(max, f) <= largest, "%s %La: t %d overflows", format, max, t);
        if (t > -126 && t < 126)
            CHECK(ldexpl(max, f + 1) > largest, "%s %La: t %d is not the least", format, max, t);
    }
}

static float layer[MAX_P][N];

/* Magnitudes over 2^-12..1, times 2^scale; one element is the largest, or near it, on all ranks. */
static void fill_layer(int p, int scale, uint64_t key)
{
    for (int r = 0; r < p; r++)
        for (size_t i = 0; i < N; i++) {
            uint32_t bits = philox_u32(key, (uint64_t)r * N + i);
            float x = float_of(0x3f800000 | bits >> 9) * (bits & 1 ? -1.0f : 1.0f);
            layer[r][i] = ldexpf(x, scale - (i == 0 ? 1 : 1 + (int)(bits % 12)));
            if (i == 0)
                layer[r][i] = fabsf(layer[r][i]);
        }
}

static int8_t agreed_exponent(const struct codec *c)
{
    int8_t exponent = CODEC_ALL_ZERO;
    for (int r = 0; r < c->n_ranks; r++) {
        int8_t mine = codec_exponent(c, c->ops->absmax(layer[r], N));
        exponent = mine > exponent ? mine : exponent;
    }
    return exponent;
}

static int count_overflows(const struct codec *c, int shift)
{
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = c});
    uint8_t codes[N * 4];
    uint64_t acc[N];
    float x[N];
    int bad = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        codec_encode(c, 0, 0, (uint32_t)r, layer[r], N, shift, codes);
        c->ops->decode(codec_sum(c)->in, codes, N, 0, 1, x);
        for (size_t i = 0; i < N; i++)
            bad += !isfinite(x[i]);
        op.ops->add(&op, 0, acc, codes, N, r == 0);
    }
    op.ops->done(&op, 0, acc, N, codes);
    c->ops->decode(codec_sum(c)->out, codes, N, 0, 1, x);
    for (size_t i = 0; i < N; i++)
        bad += !isfinite(x[i]);
    return bad;
}

static void check_promises(void)
{
    static const char *const formats[] = {"e5m2", "e4m3",  "e4m3fn", "e3m0", "e2m3",
                                          "e3m1", "e5m10", "e4m0",   "e1m6"};
    static const int scales[] = {-40, 0, 17, 100, -118, -126};
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
        for (int p = 1; p <= MAX_P; p++)
            for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
                const struct codec aps = make(formats[k], "aps", p),
                                   tight = make(formats[k], "aps-tight", p);
                fill_layer(p, scales[s], (uint64_t)p * 100 + s);
                int8_t e = agreed_exponent(&aps), t = agreed_exponent(&tight);
                CHECK(count_overflows(&aps, codec_shift(&aps, e)) == 0, "%s aps, %d ranks, 2^%d",
                      formats[k], p, scales[s]);
                CHECK(count_overflows(&tight, codec_shift(&tight, t)) == 0,
                      "%s aps-tight, %d ranks, 2^%d", formats[k], p, scales[s]);
                if (scales[s] > -118)
                    CHECK(count_overflows(&tight, codec_shift(&tight, t) + 2) > 0,
                          "%s: two more binades fit too", formats[k]);
                CHECK(codec_shift(&tight, t) >= codec_shift(&aps, e),
                      "%s: aps-tight has less of the range", formats[k]);
            }
}

static void check_not_finite(void)
{
    const struct codec c = make("e4m3", "aps", 4);
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (int r = 0; r < 4; r++)
        for (int b = 0; b < 3; b++) {
            fill_layer(4, 126, 9);
            layer[r][77] = bad[b];
            CHECK(agreed_exponent(&c) == CODEC_NOT_FINITE, "rank %d has %f", r, (double)bad[b]);
            CHECK(codec_shift(&c, CODEC_NOT_FINITE) == 0, "no shift");
        }
}

static void check_far_shifts(void)
{
    const struct codec aps = make("e5m2", "aps", 1), small = make("e4m3", "const:0x1p-149", 1);
    const float tiny[2] = {0x1.4p-140f, -0x1p-149f}, huge[2] = {0x1.cp127f, -0x1.2p126f};
    float back[2];
    uint8_t codes[2];
    int shift = codec_shift(&aps, -126);
    codec_encode(&aps, 0, 0, 0, tiny, 2, shift, codes);
    codec_decode(&aps, codes, 2, shift, back);
    CHECK(memcmp(tiny, back, sizeof back) == 0, "f = %d: %a %a", shift, (double)back[0],
          (double)back[1]);
    shift = codec_shift(&small, 126);
    codec_encode(&small, 0, 0, 0, huge, 2, shift + 22, codes);
    codec_decode(&small, codes, 2, shift + 22, back);
    CHECK(memcmp(huge, back, sizeof back) == 0, "f = %d: %a %a", shift + 22, (double)back[0],
          (double)back[1]);
}

static void check_decode_all(void)
{
    static const struct {
        size_t from, n;
        int shift;
    } part[] = {{0, 9, 3}, {9, 0, 0}, {16, 1, -7}, {24, N - 24, 40}};
    enum { PARTS = sizeof part / sizeof part[0] };
    const struct codec c = make("e3m2", "aps-tight", 6);
    uint8_t codes[N];
    float alone[N], together[N];
    struct vec_out spans[PARTS];
    const struct codec_layer whole = {.n = N};
    struct codec_part parts[PARTS];
    for (size_t i = 0; i < N; i++)
        codes[i] = (uint8_t)philox_u32(4, i);
    memset(alone, 0x5a, sizeof alone);
    memset(together, 0x5a, sizeof together);
    for (int i = 0; i < PARTS; i++) {
        const uint8_t *from = codes + vec_bytes(codec_sum(&c)->out, part[i].from / 8 * 8);
        codec_decode(&c, from, part[i].n, part[i].shift, alone + part[i].from);
        parts[i] = (struct codec_part){.layer = &whole, .at = part[i].from};
        spans[i] = codec_out(&c, from, part[i].n, part[i].shift, together + part[i].from);
    }
    codec_decode_all(&c, spans, parts, PARTS);
    CHECK(memcmp(alone, together, sizeof alone) == 0, "layers decoded together differ");
    codec_decode_all(&c, spans, parts, 0);
}

static void check_random(void)
{
    struct codec c = make_rounded("e4m3", "none", "stochastic", 4);
    uint8_t a[N], b[N];
    fill_layer(1, 0, 3);
    c.seed = 1;
    codec_encode(&c, 5, 6, 7, layer[0], N, 0, a);
    codec_encode(&c, 5, 6, 7, layer[0], N, 0, b);
    CHECK(memcmp(a, b, N) == 0, "the same place gives the same bits");
    codec_encode(&c, 4, 6, 7, layer[0], N, 0, b);
    CHECK(memcmp(a, b, N) != 0, "steps share bits");
    codec_encode(&c, 5, 5, 7, layer[0], N, 0, b);
    CHECK(memcmp(a, b, N) != 0, "layers share bits");
    codec_encode(&c, 5, 6, 6, layer[0], N, 0, b);
    CHECK(memcmp(a, b, N) != 0, "ranks share bits");
    c.seed = 2;
    codec_encode(&c, 5, 6, 7, layer[0], N, 0, b);
    CHECK(memcmp(a, b, N) != 0, "seeds share bits");
}

int main(void)
{
    printf("seed %d\n", SEED);
    check_corners();
    check_exponents();
    check_promises();
    check_not_finite();
    check_far_shifts();
    check_decode_all();
    check_random();
    DONE();
}
