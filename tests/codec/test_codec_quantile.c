/* test_codec_quantile.c : tests --scale quantile. The quantile becomes the largest number; sums
 * of ranks at the quantile stay finite. */
#include "base/bits.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include "comm/algo/algo.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <string.h>

enum { N = 1000, P_MAX = 8, SEED = 29 };
static float grads[P_MAX][N], mean[N];
static uint8_t codes[P_MAX][N * 4], result[N * 4];

static void make_inputs(void)
{
    for (uint32_t r = 0; r < P_MAX; r++) {
        const uint64_t key = philox_key(SEED, r, 0, 0, 0);
        for (size_t i = 0; i < N; i++) {
            const double u = (double)philox_u32(key, i) * 0x1p-32, v = u < 0.95 ? u : u * 1.3;
            grads[r][i] = (float)((philox_u32(key, N + i) & 1 ? -1 : 1) * v * v);
        }
        grads[r][0] = 1;
        grads[r][1] = -1;
    }
}

static float value(struct mf_fmt f, uint32_t code)
{
    return float_of(mf_dec(f, code, 0));
}

static uint32_t code_of(struct mf_fmt f, float x)
{
    return mf_enc(f, bits_of(x), 0, MF_NEAREST, MF_SATURATE, 0);
}

static float mean_of(const struct vec_sum *s, int n_ranks, float q, float top, size_t i)
{
    const bool exact = s->rule == VEC_EXACT;
    uint64_t acc = 0;
    uint32_t code = 0;
    float sum = 0;
    for (int r = 0; r < n_ranks; r++) {
        const float sent = grads[r][i] * (top / q) / (exact ? 1 : (float)n_ranks);
        const uint32_t c = code_of(s->in, sent);
        if (exact)
            acc = mf_acc_add(s->in, acc, c);
        sum = r ? sum + value(s->in, c) : value(s->in, c);
        code = r ? mf_add(s->in, code, c, MF_SATURATE) : c;
    }
    if (s->rule == VEC_NEAREST)
        return value(s->in, code) * (q / top);
    if (!exact)
        return value(s->out, code_of(s->out, sum)) * (q / top);
    const float whole = value(s->out, mf_acc_round(s->in, acc, s->out_shift, s->out, MF_SATURATE));
    return ldexpf(whole, s->out_shift) / (float)n_ranks * (q / top);
}

static void check(const char *format, const char *rule, int n_ranks, float q, float top)
{
    struct codec c;
    const struct algo *algo;
    int group;
    const struct codec_spec spec = {.format = format, .scale = "quantile", .sum = rule};
    if (codec_parse(&spec, &c) < 0 || algo_find("direct", n_ranks, &algo, &group) < 0 ||
        algo_settle(algo, group, n_ranks, &c) < 0)
        exit(1);
    const struct vec_sum *s = codec_sum(&c);
    const struct codec_layer layer = {.n = N, .max = q};
    const struct codec_call call = {.codec = &c, .layers = &layer, .n_layers = 1};
    const struct codec_part part = {.layer = &layer};
    const struct reduce_op f = codec_reduce_op(&call);
    const uint8_t *parts[P_MAX];
    for (int r = 0; r < n_ranks; r++) {
        struct vec_span span = {
            .x = grads[r], .codes = codes[r], .n = N, .padded = N, .key = (uint64_t)r};
        codec_encode_all(&c, &span, &part, 1);
        parts[r] = codes[r];
    }
    f.ops->sum(&f, 0, parts, n_ranks, N, true, result);
    const struct vec_out out = codec_out(&c, result, N, 0, mean);
    codec_decode_all(&c, &out, &part, 1);
    for (size_t i = 0; i < N; i++) {
        const float want = mean_of(s, n_ranks, q, top, i);
        CHECK(mean[i] == want, "%s, sum %s, %d ranks: mean %zu of %a is %a, want %a", format, rule,
              n_ranks, i, (double)grads[0][i], (double)mean[i], (double)want);
    }
    /* 2^k ranks, all at the quantile: only the way back may lose bits */
    if (q == 1 && (n_ranks & (n_ranks - 1)) == 0 && s->rule != VEC_NEAREST && s->in.e >= 4 &&
        s->in.e < 7)
        CHECK(mean[0] == 1 && mean[1] == -1, "%s, sum %s, %d ranks: what is at the quantile is %a",
              format, rule, n_ranks, (double)mean[0]);
}

int main(void)
{
    printf("seed %d\n", SEED);
    make_inputs();
    static const struct {
        const char *name;
        float top;
    } formats[] = {{"e5m2", 57344},       {"e4m3", 240},     {"e4m3fn", 448},
                   {"e3m0", 8},           {"e2m1", 3},       {"fp16", 65504},
                   {"e6m9", 0x1.ff8p31f}, {"bf16", 0x1p32f}, {"fp32", 0x1p32f}};
    static const char *const rules[] = {"exact", "nearest", "fp32"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int r = i < 6 ? 0 : 1; r < 3; r++)
            for (int p = 1; p <= P_MAX; p += p < 4 ? 1 : 4) {
                check(formats[i].name, rules[r], p, 1, formats[i].top);
                check(formats[i].name, rules[r], p, 0.3f, formats[i].top);
                check(formats[i].name, rules[r], p, 37, formats[i].top);
            }
    DONE();
}
