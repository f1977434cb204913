/* vectors_blocks.h : vectors of NVFP4 and MX words: blocks with scales of their own. */
#ifndef VECTORS_BLOCKS_H
#define VECTORS_BLOCKS_H
#include "vectors_words.h"

enum { BLOCKS_N = 41 };

/* Blocks of size `block`: an ordinary one, one of tiny numbers beside a large one, then one of
 * numbers that are tiny beside those of the others. */
static void block_floats(struct floats *v, size_t block, uint64_t seed, int low)
{
    put_floats(v, BLOCKS_N, seed, low);
    for (size_t i = 0; i < BLOCKS_N; i++)
        if (i / block > 0)
            v->x[i] = i == block ? v->x[i] : ldexpf(v->x[i], i / block == 1 ? -12 : -24);
}

static void block_bits(const float *x, size_t n)
{
    uint32_t bits[WORDS_MAX];
    memcpy(bits, x, n * sizeof *x);
    line_bare_words(bits, n, 8);
}

/* zeros: of rank 0's gradients; 1: of all ranks' */
static void nvfp4_line(const char *id, int ranks, int low, int zeros)
{
    const struct codec_spec spec = {.codec = "nvfp4"};
    const struct codec c = codec_for(&spec, ranks);
    const struct codec_layer layer = {.n = BLOCKS_N};
    const struct codec_call call = {.codec = &c, .layers = &layer, .n_layers = 1};
    const struct reduce_op op = codec_reduce_op(&call);
    static uint8_t parts[PARTS_MAX][1024], sum[1024];
    const uint8_t *list[PARTS_MAX];
    struct floats g[PARTS_MAX];
    int own[PARTS_MAX], agreed = CODEC_ALL_ZERO;
    float mean[BLOCKS_N];
    const size_t bytes = op.ops->in_bytes(&op, BLOCKS_N);
    for (int r = 0; r < ranks; r++) {
        uint32_t most = 0;
        block_floats(&g[r], 16, 1200 + 8 * (uint64_t)ranks + (uint64_t)r, low + r);
        if (low > 120) /* 6 * s * 2^t is larger */
            g[r].x[16] = float_of(0x7f7fffff);
        for (size_t i = 0; i < BLOCKS_N; i++) {
            if (zeros || i / 16 == 0)
                g[r].x[i] = zeros || r == 0 ? 0 : g[r].x[i];
            most =
                (bits_of(g[r].x[i]) & 0x7fffffff) > most ? bits_of(g[r].x[i]) & 0x7fffffff : most;
        }
        own[r] = codec_exponent(&c, most);
        agreed = own[r] > agreed ? own[r] : agreed;
    }
    const int shift = codec_shift(&c, (int8_t)agreed);
    for (int r = 0; r < ranks; r++) {
        codec_encode(&c, 0, 0, (uint32_t)r, g[r].x, BLOCKS_N, shift, parts[r]);
        list[r] = parts[r];
    }
    op.ops->sum(&op, 0, list, ranks, BLOCKS_N, true, sum);
    codec_decode(&c, sum, BLOCKS_N, shift, mean);
    line_open(id, "nvfp4", "R143 R144");
    line_int("ranks", ranks);
    fputs(",\"gradients\":[", line_to);
    for (int r = 0; r < ranks; r++) {
        fputs(r ? "," : "", line_to);
        block_bits(g[r].x, BLOCKS_N);
    }
    fputc(']', line_to);
    line_ints("exponents", own, (size_t)ranks);
    line_parts("words", parts, ranks, bytes);
    line_bytes("sum", sum, bytes);
    line_floats("means", mean, BLOCKS_N);
    line_close();
}

static void mx_line(const char *element, size_t k)
{
    static const int lows[] = {-6, -127, 119, -9, 3};
    char id[64], name[32];
    snprintf(name, sizeof name, "mx:%s", element);
    const struct codec_spec spec = {.codec = name};
    const struct codec c = codec_for(&spec, 1);
    const struct codec_layer layer = {.n = 2 * BLOCKS_N};
    const struct codec_call call = {.codec = &c, .layers = &layer, .n_layers = 1};
    const struct reduce_op op = codec_reduce_op(&call);
    struct floats v, end;
    uint8_t words[256];
    float back[2 * BLOCKS_N];
    block_floats(&v, 32, 1300 + 2 * k, lows[k]);
    block_floats(&end, 32, 1301 + 2 * k, -3);
    memcpy(v.x + BLOCKS_N, end.x, sizeof back / 2);
    v.n = 2 * BLOCKS_N;
    memset(v.x + 32, 0, k == 3 ? 32 * sizeof *v.x : 0);
    v.x[40] = k == 4 ? INFINITY : k == 0 ? float_of(0x7fc00000) : v.x[40];
    codec_encode(&c, 0, 0, 0, v.x, v.n, 0, words);
    codec_decode(&c, words, v.n, 0, back);
    snprintf(id, sizeof id, "mx/%s", element);
    line_open(id, "mx", "R145");
    line_text("element", element);
    line_floats("x", v.x, v.n);
    line_bytes("words", words, op.ops->in_bytes(&op, v.n));
    line_floats("values", back, v.n);
    line_close();
}

static void scaled_block_lines(void)
{
    static const char *const elements[] = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
    nvfp4_line("nvfp4/one-rank", 1, -6, 0);
    nvfp4_line("nvfp4/three-ranks", 3, -9, 0);
    nvfp4_line("nvfp4/four-ranks-large", 4, 119, 0);
    nvfp4_line("nvfp4/two-ranks-small", 2, -125, 0);
    nvfp4_line("nvfp4/zeros", 2, -6, 1);
    nvfp4_line("nvfp4/one-rank-top", 1, 121, 0);
    for (size_t k = 0; k < 5; k++)
        mx_line(elements[k], k);
}

#endif
