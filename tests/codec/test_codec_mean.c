/* test_codec_mean.c : checks the decoded mean against its definition in double:
 *     r = round_out(sum of the codes' values / 2^c),  x = fp32(fp32(r * 2^(c-f)) / P) */
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <string.h>

enum { ALL = (1 << VEC_RULES) - 1, N = 300, MAX_P = 33, SEED = 6 };

static struct codec make(struct codec_spec spec, int n_ranks, unsigned needs)
{
    struct codec c;
    if (codec_parse(&spec, &c) ||
        codec_settle(&c, n_ranks, &(struct codec_adder){.name = "test", .needs = needs}))
        exit(1);
    return c;
}

static float layer[MAX_P][N];
static double values[MAX_P][N];

static void fill_layer(int p, int scale)
{
    for (int r = 0; r < p; r++)
        for (size_t i = 0; i < N; i++) {
            uint32_t bits = philox_u32(SEED, (uint64_t)r * N + i);
            double x = (double)(bits >> 8) / (1 << 24) - 0.5;
            layer[r][i] = i == 7 ? -0.0f : (float)ldexp(x, scale - (int)(bits % 8));
        }
}

/* Without mf.h, for m > 0; saturates. */
static double slow_round(struct mf_fmt f, double x)
{
    int bias = (1 << (f.e - 1)) - 1, exponent;
    if (x == 0)
        return 0;
    frexp(x, &exponent);
    double largest = f.flavour ? 448 : ldexp(2 - ldexp(1, -f.m), bias);
    double unit = ldexp(1, (exponent - 1 > 1 - bias ? exponent - 1 : 1 - bias) - f.m);
    double y = nearbyint(x / unit) * unit;
    return fabs(y) > largest ? copysign(largest, x) : y;
}

static int encode_and_add(const struct codec *c, float mean[N])
{
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = c});
    static uint8_t codes[N * 4], result[N * 4];
    static uint64_t acc[N];
    int8_t exponent = CODEC_ALL_ZERO;
    float x[N];
    for (int r = 0; r < c->n_ranks; r++) {
        int8_t mine = codec_exponent(c, c->ops->absmax(layer[r], N));
        exponent = mine > exponent ? mine : exponent;
    }
    int shift = codec_shift(c, exponent);
    for (int r = 0; r < c->n_ranks; r++) {
        codec_encode(c, 3, 2, (uint32_t)r, layer[r], N, shift, codes);
        c->ops->decode(codec_sum(c)->in, codes, N, 0, 1, x);
        for (size_t i = 0; i < N; i++)
            values[r][i] = (double)x[i];
        op.ops->add(&op, 0, acc, codes, N, r == 0);
    }
    CHECK(op.unit == 8 && op.ops->in_bytes(&op, N) == vec_bytes(codec_sum(c)->in, N), "bytes in");
    CHECK(op.ops->out_bytes(&op, N) == vec_bytes(codec_sum(c)->out, N), "bytes out");
    op.ops->done(&op, 0, acc, N, result);
    codec_decode(c, result, N, shift, mean);
    return shift;
}

static void check_exact_mean(const char *format, const char *scale, const char *out, int p,
                             int size)
{
    const struct codec c =
        make((struct codec_spec){.format = format, .scale = scale, .out_format = out}, p, ALL);
    const int out_shift = strcmp(scale, "aps-tight") == 0 ? (int)ceil(log2(p)) : 0;
    float mean[N];
    fill_layer(p, size);
    int shift = encode_and_add(&c, mean);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (int r = 0; r < p; r++)
            sum += values[r][i];
        double rounded = slow_round(codec_sum(&c)->out, ldexp(sum, -out_shift));
        float want = (float)ldexp(rounded, out_shift - shift) / (float)p;
        CHECK(memcmp(&mean[i], &want, sizeof want) == 0 ||
                  (mean[i] == 0 && want == 0 && !signbit(mean[i])),
              "%s %s -> %s, %d ranks, 2^%d: %zu is %a, want %a", format, scale, out, p, size, i,
              (double)mean[i], (double)want);
    }
}

static void check_exact_means(void)
{
    static const char *const formats[] = {"e5m2", "e4m3", "e4m3fn", "e3m0", "e2m1", "e5m10"};
    static const char *const scales[] = {"none", "const:1024", "aps", "aps-tight"};
    static const char *const outs[] = {"fp32", "e5m2", "e4m3", "e4m3fn", "fp16", "e6m9"};
    static const int ranks[] = {1, 2, 3, 4, 6, 7, 16, 33}, sizes[] = {0, -20, -130, 60};
    for (int f = 0; f < 6; f++)
        for (int s = 0; s < 4; s++)
            for (int o = 0; o < 6; o++)
                for (int p = 0; p < 8; p++)
                    for (int z = 0; z < 4; z++)
                        /* aps in e2m1 has too little headroom */
                        if (f != 4 || s != 2 || ranks[p] < 8)
                            check_exact_mean(formats[f], scales[s], outs[o], ranks[p], sizes[z]);
}

/* The mean must equal additions in rank order and one division, even with algorithms whose only
 * rule is nearest. */
static void check_fp32_mean(int p, unsigned needs)
{
    const struct codec e4m3 = make((struct codec_spec){.format = "e4m3", .scale = "aps"}, p, needs);
    struct codec c = codec_fp32(&e4m3, &(struct codec_adder){.needs = needs});
    float mean[N];
    fill_layer(p, -3);
    CHECK(c.n_ranks == p && codec_sum(&c)->n_ranks == p && codec_sum(&c)->out_shift == 0,
          "fp32 twin");
    CHECK(encode_and_add(&c, mean) == 0, "fp32 twin has no shift");
    for (size_t i = 0; i < N; i++) {
        float sum = 0;
        for (int r = 0; r < p; r++)
            sum += layer[r][i];
        float want = sum / (float)p;
        CHECK(memcmp(&mean[i], &want, sizeof want) == 0, "fp32 of %d ranks: %zu is %a, want %a", p,
              i, (double)mean[i], (double)want);
    }
}

/* Partial sums travel in the input format, or in wide ones if the sum is exact. */
static void check_reduce_op_sizes(void)
{
    const struct codec wide = make((struct codec_spec){.format = "e3m0"}, 4, ALL);
    const struct codec ring =
        make((struct codec_spec){.format = "e3m0", .out_format = "e4m3"}, 4, REDUCE_PARTS);
    const struct reduce_op w = codec_reduce_op(&(struct codec_call){.codec = &wide}),
                           r = codec_reduce_op(&(struct codec_call){.codec = &ring});
    CHECK(w.ops->wide_bytes(&w, 8) == 9 && r.ops->wide_bytes(&r, 8) == 0, "wide bytes: exact only");
    CHECK(w.ops->acc_bytes(&w, 8) == 64 && r.ops->acc_bytes(&r, 8) == 32, "accumulators");
    CHECK(r.ops->in_bytes(&r, 8) == 4 && r.ops->out_bytes(&r, 8) == 8, "in and out differ");

    uint8_t codes[4] = {0x13, 0x13, 0x13, 0x13}, part[4], out[8], spilled[16];
    uint32_t acc[8];
    uint64_t one[8], two[8];
    r.ops->add(&r, 0, acc, codes, 8, true);
    r.ops->part(&r, 0, acc, 8, part);
    CHECK(memcmp(codes, part, 4) == 0, "a partial sum of one addend is that addend");
    r.ops->add(&r, 0, acc, part, 8, false);
    r.ops->done(&r, 0, acc, 8, out);
    CHECK(out[0] == 0x40 && out[1] == 0x30, "2 * e3m0 %x and %x in e4m3: %x %x", codes[0] & 15,
          codes[0] >> 4, out[0], out[1]);
    w.ops->add(&w, 0, one, codes, 8, true);
    w.ops->spill(&w, one, 8, spilled);
    w.ops->add_wide(&w, two, spilled, 8, true);
    CHECK(memcmp(one, two, sizeof one) == 0, "wide sums come back");
}

int main(void)
{
    printf("seed %d\n", SEED);
    check_exact_means();
    for (int p = 1; p <= MAX_P; p += 2) {
        check_fp32_mean(p, ALL);
        check_fp32_mean(p, REDUCE_PARTS);
    }
    check_reduce_op_sizes();
    DONE();
}
