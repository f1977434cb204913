/* test_gpu_groups.c : exponents of groups and blocks of results have the CPU's bits on a GPU, for
 * lists of layers of floats, aligned or not. Memory is pinned and the device's in turn, with `long`
 * both for each format and size of groups. */
#include "check.h"
#include "gpu_fixture.h"
#include "hls/arith/philox.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/vec_cuda.h"
#include <math.h>
#include <string.h>

enum { LAYERS = 300, ROOM = 1 << 16, BYTES = 8 * ROOM, PARTS = 5 };
static const struct mf_fmt formats[] = {{2, 5, MF_NUMBERS}, {2, 3, MF_NUMBERS}, {2, 1, MF_NUMBERS},
                                        {4, 3, MF_NO_INF},  {5, 2, MF_IEEE},    {5, 10, MF_IEEE},
                                        {3, 0, MF_IEEE}};
enum { N_FORMATS = sizeof formats / sizeof *formats };

struct side {
    const struct vec_ops *ops;
    float *x, *y;
    uint8_t *codes, *parts[PARTS], *sums;
    uint64_t *acc;
    int8_t exponents[ROOM];
    struct vec_span spans[LAYERS];
    struct vec_out outs[LAYERS];
};
static struct side cpu, gpus;
static float x[ROOM];
static uint8_t bytes[2][BYTES], noise[1 + PARTS][BYTES];
static uint64_t n_draws;

static uint32_t draw(uint32_t below)
{
    return philox_u32(4242, n_draws++) % below;
}

static void side_open(struct side *s, const struct vec_ops *ops)
{
    s->ops = ops;
    s->x = ops->alloc_floats(ROOM * sizeof(float));
    s->y = ops->alloc_floats(ROOM * sizeof(float));
    s->codes = ops->alloc(BYTES);
    s->sums = ops->alloc(BYTES);
    s->acc = ops->alloc(BYTES);
    for (int p = 0; p < PARTS; p++)
        s->parts[p] = ops->alloc(BYTES);
}

static void side_close(struct side *s)
{
    s->ops->free_floats(s->x), s->ops->free_floats(s->y);
    s->ops->free(s->codes), s->ops->free(s->sums), s->ops->free(s->acc);
    for (int p = 0; p < PARTS; p++)
        s->ops->free(s->parts[p]);
}

static void fill(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        const float v = ldexpf((float)(int32_t)philox_u32(9, n_draws + i), (int)draw(200) - 140);
        x[i] = i / 40 % 9 == 4 ? 0 : v;
    }
}

/* skew: misaligns layers. Returns their number. */
static int lay_out(size_t lengths[LAYERS], uint32_t group, struct mf_fmt fmt, size_t skew,
                   size_t longest, size_t padded[LAYERS])
{
    size_t at = 0, code = 0;
    int n = 0;
    for (; n < LAYERS; n++) {
        lengths[n] = draw(4) ? draw((uint32_t)longest) : draw(3);
        padded[n] = vec_n_groups(lengths[n], group) * group;
        at += lengths[n] + skew;
        code += vec_bytes(fmt, padded[n]) + padded[n] / group + skew + 16;
        if (at > ROOM || code > BYTES)
            break;
    }
    return n;
}

static void place(struct side *s, int n, const size_t *lengths, const size_t *padded,
                  const struct vec_scale *scale, size_t skew, uint32_t block)
{
    size_t at = skew, code = skew, exponent = 0;
    static uint8_t clear[BYTES];
    s->ops->copy(s->x, x, sizeof x);
    s->ops->copy(s->y, x, sizeof x);
    s->ops->copy(s->codes, clear, BYTES);
    memset(s->exponents, 77, sizeof s->exponents);
    for (int i = 0; i < n; i++) {
        s->spans[i] = (struct vec_span){.x = s->x + at,
                                        .codes = s->codes + code,
                                        .n = lengths[i],
                                        .padded = padded[i],
                                        .at = scale->group * (size_t)(i % 5),
                                        .key = 100 + (uint64_t)i,
                                        .shift = vec_aps_top(scale->fmt, scale->tight),
                                        .group = scale->group,
                                        .exponents = s->exponents + exponent};
        s->outs[i] = (struct vec_out){.x = s->y + at,
                                      .codes = s->codes + code,
                                      .n = lengths[i],
                                      .shift = i % 7 - 3,
                                      .group = i % 2 || !block ? scale->group : 0,
                                      .lead = i % 2 ? 8 : 0,
                                      .exponents = s->exponents + exponent,
                                      .block = block};
        at += lengths[i] + skew;
        exponent += vec_n_groups(lengths[i] + 8, scale->group);
        code += (vec_bytes(scale->fmt, padded[i]) + padded[i] / scale->group + 15) / 16 * 16 + skew;
    }
}

static void same(const void *from_cpu, const void *from_gpu, size_t n, const char *what)
{
    gpus.ops->copy(bytes[1], from_gpu, n);
    if (memcmp(from_cpu, bytes[1], n) == 0)
        return;
    for (size_t i = 0; i < n; i++)
        CHECK(((const uint8_t *)from_cpu)[i] == bytes[1][i], "%s, %s: byte %zu of %zu",
              gpus.ops->name, what, i, n);
}

static void check_list(const struct vec_scale *scale, enum mf_round round, size_t longest,
                       size_t skew)
{
    const struct vec_cast cast = {.fmt = scale->fmt, .round = round};
    size_t lengths[LAYERS], padded[LAYERS];
    struct side *sides[] = {&cpu, &gpus};
    fill();
    const int n = lay_out(lengths, scale->group, scale->fmt, skew, longest, padded);
    for (int blocks = 0; blocks < 2; blocks++) {
        for (int i = 0; i < 2; i++) {
            struct side *s = sides[i];
            place(s, n, lengths, padded, scale, skew, blocks ? scale->group : 0);
            s->ops->exponents_all(s->ops, scale, s->spans, n);
            for (int k = 0; k < n; k++)
                s->spans[k].at += k % 3 ? 0 : 8;
            s->ops->encode_all(s->ops, &cast, s->spans, n);
        }
        CHECK(memcmp(cpu.exponents, gpus.exponents, sizeof cpu.exponents) == 0,
              "%s: exponents of e%um%u:%u", gpus.ops->name, scale->fmt.e, scale->fmt.m,
              scale->group);
        same(cpu.codes, gpus.codes, BYTES, "codes");
        /* Every byte is a code or an exponent's, but not -127: its factor is 0, and 0 * inf has no
         * bits that all processors agree on. */
        for (size_t k = 0; k < BYTES && blocks; k++) {
            const uint8_t byte = noise[0][k];
            bytes[0][k] = bytes[1][k] = byte == 0x81 ? 0 : byte;
        }
        for (int i = 0; i < 2; i++) {
            if (blocks)
                sides[i]->ops->copy(sides[i]->codes, bytes[i], BYTES);
            sides[i]->ops->decode_all(sides[i]->ops, scale->fmt, sides[i]->outs, n, 6);
        }
        same(cpu.y, gpus.y, ROOM * sizeof(float), blocks ? "values of blocks" : "values");
    }
}

static void check_blocks(struct mf_fmt in, struct mf_fmt to, uint32_t block, size_t n_blocks)
{
    const struct vec_sum sum = {
        .rule = VEC_EXACT, .in = in, .out = to, .out_group = block, .n_ranks = PARTS};
    const size_t n = block * n_blocks, n_bytes = vec_result_bytes(&sum, n);
    struct side *sides[] = {&cpu, &gpus};
    static uint8_t clear[BYTES];
    for (int p = 0; p < PARTS; p++) {
        for (size_t k = 0; k < BYTES; k++)
            bytes[0][k] = k / 64 % 5 ? noise[1 + p][k] : 0;
        cpu.ops->copy(cpu.parts[p], bytes[0], BYTES);
        gpus.ops->copy(gpus.parts[p], bytes[0], BYTES);
    }
    for (int i = 0; i < 2; i++) {
        struct side *s = sides[i];
        const uint8_t *parts[PARTS];
        s->ops->copy(s->sums, clear, BYTES);
        for (int p = 0; p < PARTS; p++)
            parts[p] = s->parts[p];
        s->ops->sum_blocks(s->ops, &sum, parts, PARTS, n, s->sums);
    }
    same(cpu.sums, gpus.sums, n_bytes + 16, "blocks");
    for (int i = 0; i < 2; i++) {
        struct side *s = sides[i];
        s->ops->copy(s->sums, clear, BYTES);
        for (int p = 0; p < PARTS; p++)
            s->ops->accumulate(&sum, s->acc, s->parts[p], n, p == 0);
        s->ops->finish_blocks(s->ops, &sum, s->acc, n, s->sums);
    }
    same(cpu.sums, gpus.sums, n_bytes + 16, "blocks of accumulators");
}

/* turn: 0 or 1, the halves of all cases; -1: both */
static void check_all(const struct vec_ops *ops, int turn)
{
    side_open(&gpus, ops);
    for (int f = 0; f < N_FORMATS; f++)
        for (uint32_t group = VEC_GROUP_MIN; group <= VEC_GROUP_MAX; group *= 2) {
            if (turn >= 0 && (f + __builtin_ctz(group)) % 2 != turn)
                continue;
            const struct vec_scale scale = {
                .fmt = formats[f], .tight = group % 48 == 32, .times = 7, .group = group};
            check_list(&scale, (enum mf_round)draw(3), group == 32 ? 20000 : 300, draw(4));
            check_blocks(formats[f], formats[draw(N_FORMATS)], group, 1 + draw(ROOM / 8 / group));
        }
    side_close(&gpus);
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && !strcmp(argv[1], "long");
    gpu_fixture_choose();
    if (gpu_open(0) < 0)
        return 1;
    printf("device: %s\n", gpu_info()->name);
    for (int p = 0; p < 1 + PARTS; p++)
        for (size_t k = 0; k < BYTES; k++)
            noise[p][k] = (uint8_t)philox_u32(12 + (uint64_t)p, k);
    side_open(&cpu, &vec_plain);
    check_all(vec_cuda(), all ? -1 : 0);
    check_all(vec_cuda_device(), all ? -1 : 1);
    side_close(&cpu);
    gpu_close();
    DONE();
}
