/* test_gpu_halves.c : gradients in halves get the codes, magnitudes and residuals of the CPU's
 * fp32; means become the nearest halves. */
#include "base/bits.h"
#include "check.h"
#include "codec/codec_kind.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/vec_cuda.h"
#include <string.h>

enum { SEED = 1717, LAYERS = 11, ROOM = 1 << 14, BYTES = 8 * ROOM, KEPT = 8 * ROOM };

static uint16_t half_of(float x)
{
    return (uint16_t)mf_enc(mf_half(), bits_of(x), 0, MF_NEAREST, MF_INF, 0);
}

static float value_of(uint16_t half)
{
    return float_of(mf_dec(mf_half(), half, 0));
}

static bool is_nan(uint16_t half)
{
    return (half & 0x7fff) > 0x7c00;
}

struct side {
    const struct vec_ops *ops, *keeps; /* keeps: owns was and next */
    void *x, *w, *y;
    uint8_t *codes, *was, *next;
    struct codec codec;
    struct codec_layer layers[LAYERS];
    struct codec_part parts[LAYERS];
    struct vec_span spans[LAYERS];
    struct vec_out outs[LAYERS];
};
static struct side cpu, gpus;
static float x[ROOM], w[ROOM];
static uint8_t sums[BYTES];
static const size_t lengths[LAYERS] = {1, 7, 1000, 32, 4099, 0, 3, 64, 129, 2048, 777};

static void side_open(struct side *s, const struct vec_ops *ops)
{
    s->ops = ops;
    s->x = ops->alloc_floats(ROOM * sizeof(float));
    s->w = ops->alloc_floats(ROOM * sizeof(float));
    s->y = ops->alloc_floats(ROOM * sizeof(float));
    s->codes = ops->alloc(BYTES);
}

static void side_close(struct side *s)
{
    void *floats[] = {s->x, s->w, s->y};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        s->ops->free_floats(floats[i]);
    s->ops->free(s->codes);
}

static void put(const struct side *s, void *to, const float from[ROOM])
{
    static uint16_t halves[ROOM];
    for (size_t i = 0; i < ROOM; i++)
        halves[i] = half_of(from[i]);
    if (s->codec.type == VEC_HALF)
        s->ops->copy(to, halves, sizeof halves);
    else
        s->ops->copy(to, from, ROOM * sizeof *from);
}

/* `skew` misaligns layers. Clears the codes. Takes was and next, which check_codec() frees. */
static void lay_out(struct side *s, size_t skew)
{
    static uint8_t zeroes[BYTES], residuals[KEPT];
    const struct codec *c = &s->codec;
    s->keeps = c->kind->state_on_host ? &vec_plain : s->ops;
    s->was = s->keeps->alloc_floats(KEPT);
    s->next = s->keeps->alloc_floats(KEPT);
    size_t at = skew, code = skew;
    for (size_t i = 0; i < KEPT; i += sizeof(float))
        memcpy(residuals + i, &x[i / sizeof(float) % ROOM], sizeof(float));
    s->ops->copy(s->codes, zeroes, BYTES);
    s->keeps->copy(s->was, residuals, KEPT);
    s->keeps->copy(s->next, zeroes, KEPT);
    put(s, s->x, x);
    put(s, s->w, w);
    put(s, s->y, x);
    for (size_t i = 0; i < LAYERS; i++) {
        struct codec_layer *l = &s->layers[i];
        const size_t n = lengths[i];
        *l = (struct codec_layer){.index = (uint32_t)i,
                                  .n = n,
                                  .column = 5,
                                  .stride = 3,
                                  .weights = codec_at(c, s->w, at),
                                  .state = s->was + 8 * (at - skew),
                                  .next_state = s->next + 8 * (at - skew)};
        const struct codec_call one = {.codec = c, .layers = l, .n_layers = 1};
        const struct reduce_op f = codec_reduce_op(&one);
        const size_t padded = (n + f.unit - 1) / f.unit * f.unit;
        s->parts[i] = (struct codec_part){.layer = l};
        s->spans[i] = (struct vec_span){.x = codec_at(c, s->x, at),
                                        .type = c->type,
                                        .codes = s->codes + code,
                                        .n = n,
                                        .padded = padded,
                                        .key = codec_key(c, 3, (uint32_t)i, 0)};
        s->outs[i] = codec_out(c, s->codes + code, n, 0, codec_at(c, s->y, at));
        at += n + skew;
        code += (reduce_op_in_at(&f, padded) + reduce_op_out_at(&f, padded) + 15) / 16 * 16 + skew;
        CHECK(at <= ROOM && code <= BYTES, "no room");
    }
}

static struct codec codec_of(const struct codec_spec *spec, const struct side *s,
                             enum vec_type type)
{
    struct codec c;
    if (codec_parse(spec, &c) || codec_settle(&c, 2, &(struct codec_adder){.name = "test"}))
        exit(1);
    c.seed = SEED;
    c.ops = s->ops;
    c.type = type;
    return c;
}

static void encode(struct side *s, bool scan)
{
    const struct codec *c = &s->codec;
    codec_absmax_all(c, s->spans, s->parts, LAYERS);
    for (int i = 0; i < LAYERS; i++) {
        const int8_t e = codec_exponent(c, s->spans[i].absmax);
        memcpy(&s->layers[i].own_max, &s->spans[i].absmax, sizeof(float));
        s->layers[i].max = s->layers[i].own_max;
        s->spans[i].shift = codec_shift(c, e);
        s->outs[i].shift -= s->spans[i].shift;
    }
    (scan ? codec_scan_encode_all : codec_encode_all)(c, s->spans, s->parts, LAYERS);
}

static void check_same(const char *what)
{
    static uint8_t a[BYTES], b[BYTES];
    for (int i = 0; i < LAYERS; i++)
        CHECK(cpu.spans[i].absmax == gpus.spans[i].absmax, "%s: absmax of %zu: %08x, not %08x",
              what, lengths[i], gpus.spans[i].absmax, cpu.spans[i].absmax);
    gpus.ops->copy(a, gpus.codes, BYTES);
    CHECK(memcmp(a, cpu.codes, BYTES) == 0, "%s: codes", what);
    gpus.keeps->copy(a, gpus.next, KEPT);
    cpu.keeps->copy(b, cpu.next, KEPT);
    CHECK(memcmp(a, b, KEPT) == 0, "%s: what is kept", what);
}

static void check_means(const char *what)
{
    static uint16_t got[ROOM];
    static float floats[ROOM];
    const float *y = cpu.y;
    size_t bad = 0;
    for (int i = 0; i < LAYERS; i++) {
        const struct vec_span *s = &cpu.spans[i];
        const struct codec_call one = {
            .codec = &cpu.codec, .step = 3, .layers = &cpu.layers[i], .n_layers = 1};
        const struct reduce_op f = codec_reduce_op(&one);
        const uint8_t *parts[2] = {s->codes, s->codes};
        f.ops->sum(&f, 0, parts, 2, s->padded, true, sums);
        memcpy(s->codes, sums, reduce_op_out_at(&f, s->padded));
    }
    gpus.ops->copy(gpus.codes, cpu.codes, BYTES);
    codec_decode_all(&cpu.codec, cpu.outs, cpu.parts, LAYERS);
    codec_decode_all(&gpus.codec, gpus.outs, gpus.parts, LAYERS);
    gpus.ops->copy(got, gpus.y, sizeof got);
    for (size_t i = 0; i < ROOM; i++)
        bad += got[i] != half_of(y[i]);
    CHECK(bad == 0, "%s: %zu means of %d differ", what, bad, ROOM);
    /* means in floats, beside gradients and weights in halves */
    gpus.ops->copy(gpus.y, x, sizeof x);
    for (int i = 0; i < LAYERS; i++) {
        gpus.outs[i].x = (float *)gpus.y + ((float *)cpu.outs[i].x - (float *)cpu.y);
        gpus.outs[i].type = VEC_FLOAT;
    }
    codec_decode_all(&gpus.codec, gpus.outs, gpus.parts, LAYERS);
    gpus.ops->copy(floats, gpus.y, sizeof floats);
    CHECK(memcmp(floats, y, sizeof floats) == 0, "%s: means in fp32 differ", what);
}

static void check_codec(const struct codec_spec *spec, size_t skew, bool scan)
{
    char what[CODEC_TEXT_BYTES + 32], text[CODEC_TEXT_BYTES];
    cpu.codec = codec_of(spec, &cpu, VEC_FLOAT);
    gpus.codec = codec_of(spec, &gpus, VEC_HALF);
    snprintf(what, sizeof what, "%s, %zu off", codec_describe(&cpu.codec, text), skew);
    lay_out(&cpu, skew), lay_out(&gpus, skew);
    encode(&cpu, scan), encode(&gpus, scan);
    check_same(what);
    check_means(what);
    for (int i = 0; i < 2; i++) {
        const struct side *s = i ? &gpus : &cpu;
        s->keeps->free_floats(s->was), s->keeps->free_floats(s->next);
    }
}

static void check_all(void)
{
    enum { ALL = 1 << 16, BESIDE = 4 };
    const struct vec_cast cast = {.fmt = mf_fp32(), .overflow = MF_INF};
    uint16_t *halves = malloc(BESIDE * ALL * sizeof *halves);
    float *floats = malloc(BESIDE * ALL * sizeof *floats);
    void *on_gpu = gpus.ops->alloc_floats(BESIDE * ALL * sizeof *halves);
    uint8_t *codes = gpus.ops->alloc(BESIDE * ALL * sizeof *floats);
    if (!halves || !floats || !on_gpu || !codes)
        exit(1);
    for (size_t i = 0; i < ALL; i++)
        halves[i] = (uint16_t)i;
    gpus.ops->copy(on_gpu, halves, ALL * sizeof *halves);
    struct vec_span span = {.x = on_gpu, .type = VEC_HALF, .codes = codes, .n = ALL, .padded = ALL};
    gpus.ops->scan_encode_all(gpus.ops, &cast, &span, 1);
    gpus.ops->copy(floats, codes, ALL * sizeof *floats);
    size_t bad = 0;
    for (size_t i = 0; i < ALL; i++) {
        const float want = value_of((uint16_t)i);
        bad += is_nan((uint16_t)i) ? floats[i] == floats[i]
                                   : memcmp(&want, &floats[i], sizeof want) != 0;
    }
    CHECK(bad == 0, "%zu of %d halves are other floats", bad, ALL);
    CHECK(span.absmax > 0x7f800000, "all halves: absmax is %08x", span.absmax);
    for (size_t i = 0; i < ALL; i++) {
        const uint32_t low = mf_dec(mf_half(), (uint32_t)i, 0),
                       high = (i & 0x7fff) < 0x7bff ? mf_dec(mf_half(), (uint32_t)i + 1, 0)
                                                    : low + (1u << 13),
                       middle = low + (high - low) / 2;
        const uint32_t bits[BESIDE] = {low, middle - 1, middle, middle + 1};
        memcpy(floats + BESIDE * i, bits, sizeof bits);
    }
    gpus.ops->copy(codes, floats, BESIDE * ALL * sizeof *floats);
    const struct vec_out out = {.x = on_gpu, .type = VEC_HALF, .codes = codes, .n = BESIDE * ALL};
    gpus.ops->decode_all(gpus.ops, mf_fp32(), &out, 1, 1);
    gpus.ops->copy(halves, on_gpu, BESIDE * ALL * sizeof *halves);
    bad = 0;
    for (size_t i = 0; i < BESIDE * ALL; i++) {
        const uint16_t want = half_of(floats[i]);
        bad += is_nan(want) ? !is_nan(halves[i]) : halves[i] != want;
    }
    CHECK(bad == 0, "%zu of %d floats become other halves", bad, BESIDE * ALL);
    gpus.ops->free_floats(on_gpu);
    gpus.ops->free(codes);
    free(halves), free(floats);
}

int main(void)
{
    static const struct codec_spec spec[] = {
        {.format = "e4m3"},
        {.format = "e5m2", .scale = "none", .overflow = "inf"},
        {.format = "e2m1", .round = "stochastic"},
        {.format = "e3m2"},
        {.format = "bf16"},
        {.format = "fp16", .scale = "none"},
        {.format = "fp32", .scale = "none"},
        {.format = "e4m3", .scale = "quantile:every=2,samples=50"},
        {.codec = "qsgd:4,bucket=32"},
        {.codec = "qsgd:8,bucket=512"},
        {.codec = "qsgd:16,bucket=1024"},
        {.codec = "onebit:32"},
        {.codec = "onebit:column"},
        {.codec = "ternary"},
        {.codec = "relgrad:samples=64"},
    };
    printf("seed %d\n", SEED);
    setenv("EMU_STRICT", "1", 0); /* residuals are in the memory that reads them */
    gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    printf("device: %s\n", gpu_info()->name);
    for (uint64_t i = 0; i < ROOM; i++) {
        const uint32_t r = philox_u32(SEED, i), v = philox_u32(SEED + 1, i);
        x[i] = r % 50 ? value_of((uint16_t)(r % 0x5000 | (r >> 16 & 0x8000))) : 0;
        w[i] = value_of((uint16_t)(0x2000 + v % 0x1c00));
    }
    side_open(&cpu, &vec_plain);
    side_open(&gpus, vec_cuda());
    for (size_t i = 0; i < sizeof spec / sizeof *spec; i++)
        for (size_t skew = 0; skew < 2; skew++)
            check_codec(&spec[i], skew, i % 2 == skew);
    check_all();
    side_close(&cpu), side_close(&gpus);
    gpu_close();
    DONE();
}
