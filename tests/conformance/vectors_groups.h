/* vectors_groups.h : vectors of exponents of groups and of blocks of sums. */
#ifndef VECTORS_GROUPS_H
#define VECTORS_GROUPS_H
#include "vectors_sums.h"

enum { GROUPS_N = 40, GROUPS_RANKS = 4 };

/* Groups of very different sizes, one of zeros, one that ends early. */
static void group_inputs(uint32_t *x, uint64_t key)
{
    static const uint32_t middle[] = {120, 3, 0};
    for (uint32_t i = 0; i < GROUPS_N; i++)
        x[i] = i / 16 == 2 ? i == 35 ? 0x7e800000u : 0x80000000u
                           : (philox_u32(key, i) & 0x807fffffu) | (middle[i / 16] + i % 5) << 23;
}

static void group_line(const char *format, bool tight, enum mf_round round, size_t at)
{
    const struct mf_fmt f = format_of(format);
    const struct vec_scale scale = {.fmt = f, .tight = tight, .times = GROUPS_RANKS, .group = 16};
    const struct vec_cast cast = {.fmt = f, .round = round};
    uint32_t x[GROUPS_N], codes[GROUPS_N];
    uint8_t bytes[4 * GROUPS_N];
    int8_t own[3];
    int exponents[3];
    char id[80];
    group_inputs(x, 20 + at);
    struct vec_span span = {.x = x,
                            .codes = bytes,
                            .n = GROUPS_N,
                            .padded = GROUPS_N,
                            .at = at,
                            .key = 9,
                            .shift = vec_aps_top(f, tight),
                            .group = 16,
                            .exponents = own};
    vec_plain.exponents_all(&vec_plain, &scale, &span, 1);
    vec_plain.encode_all(&vec_plain, &cast, &span, 1);
    pack_read(mf_width(f), bytes, GROUPS_N, codes);
    for (int i = 0; i < 3; i++)
        exponents[i] = own[i];
    snprintf(id, sizeof id, "group/%s/%s/%d", format, tight ? "aps-tight" : "aps", round);
    line_open(id, "group", round == MF_STOCHASTIC ? "R135 R136 R21" : "R135 R136");
    line_text("format", format);
    line_text("scale", tight ? "aps-tight:16" : "aps:16");
    line_int("ranks", GROUPS_RANKS);
    line_text("round", round == MF_STOCHASTIC ? "stochastic"
                       : round == MF_ZERO     ? "zero"
                                              : "nearest");
    line_u64("key", 9);
    line_int("at", (long)at);
    line_words("x", x, GROUPS_N, 8);
    line_ints("exponents", exponents, 3);
    line_words("codes", codes, GROUPS_N, line_digits(f));
    line_close();
}

/* Sums of P ranks in blocks, and the means that they give under these exponents of groups. With 40
 * elements, some are inf or nan and the last block is short. */
static void block_line(const char *in, const char *out, uint32_t block, const int8_t *exponents,
                       size_t n)
{
    const struct mf_fmt f = format_of(in), to = format_of(out);
    const struct vec_sum sum = {
        .rule = VEC_EXACT, .in = f, .out = to, .out_group = block, .n_ranks = GROUPS_RANKS};
    enum { N = 64 };
    const size_t padded = (n + block - 1) / block * block;
    uint32_t codes[N] = {0}, x[N];
    uint8_t parts[GROUPS_RANKS][4 * N], blocks[5 * N];
    const uint8_t *of[GROUPS_RANKS];
    int e[2] = {exponents[0], exponents[1]};
    char id[80];
    snprintf(id, sizeof id, "block/%s-%s:%u/%d%s", in, out, block, e[0], n < N ? "-short" : "");
    line_open(id, "block", "R137 R138 R139");
    line_text("in", in);
    line_text("out", out);
    line_int("block", (long)block);
    line_int("shift", vec_aps_top(f, true));
    line_int("group", 32);
    line_ints("exponents", e, 2);
    fputs(",\"addends\":[", line_to);
    for (int p = 0; p < GROUPS_RANKS; p++) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t most = i / 16 == 0   ? mf_max(f) + 1
                                  : i / 16 == 1 ? 3
                                  : i / 16 == 2 ? 1
                                                : 9;
            codes[i] = philox_u32(30 + (uint64_t)p, i) % most |
                       (philox_u32(40 + (uint64_t)p, i) & 1) << (mf_width(f) - 1);
            if (n < N && p == 1 && i % 16 == 5)
                codes[i] = i == 21 ? mf_nan(f) : mf_inf(f);
        }
        pack_write(mf_width(f), codes, padded, parts[p]);
        of[p] = parts[p];
        fputs(p ? "," : "", line_to);
        line_bare_words(codes, n, line_digits(f));
    }
    fputc(']', line_to);
    vec_plain.sum_blocks(&vec_plain, &sum, of, GROUPS_RANKS, padded, blocks);
    const struct vec_out back = {.x = x,
                                 .codes = blocks,
                                 .n = n,
                                 .shift = -vec_aps_top(f, true),
                                 .group = 32,
                                 .exponents = exponents,
                                 .block = block};
    vec_plain.decode_all(&vec_plain, to, &back, 1, GROUPS_RANKS);
    line_bytes("blocks", blocks, vec_result_bytes(&sum, padded));
    line_words("means", x, n, 8);
    line_close();
}

static void group_settle_lines(void)
{
    static const struct {
        const char *format, *scale, *sum, *out;
    } tried[] = {{"e2m5f", "aps-tight:32", NULL, NULL}, {"e4m3", "aps-tight:32", NULL, NULL},
                 {"e2m1f", "aps-tight:16", NULL, NULL}, {"e2m3f", "aps:64", "nearest", NULL},
                 {"e8m7", "aps:32", NULL, NULL},        {"e2m5f", "aps:33", NULL, NULL},
                 {"e4m3", "aps", NULL, "e4m3:32"},      {"e4m3", "aps", "nearest", "e4m3:32"}};
    char id[96], name[CODEC_NAME_BYTES];
    err_hold();
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        const struct codec_spec spec = {.format = tried[i].format,
                                        .scale = tried[i].scale,
                                        .sum = tried[i].sum,
                                        .out_format = tried[i].out};
        struct codec c;
        const bool good = codec_parse(&spec, &c) == 0 &&
                          codec_settle(&c, 4, &(struct codec_adder){.name = "vectors"}) == 0;
        snprintf(id, sizeof id, "settle/%s/%s/%s", spec.format, spec.scale,
                 spec.sum          ? spec.sum
                 : spec.out_format ? spec.out_format
                                   : "auto");
        line_open(id, "settle", "R140");
        line_text("format", spec.format);
        line_text("scale", spec.scale);
        line_text("sum", spec.sum ? spec.sum : "exact");
        if (spec.out_format)
            line_text("asked", spec.out_format);
        line_int("ranks", 4);
        line_int("refused", !good);
        if (good) {
            line_text("out", codec_result_name(codec_sum(&c), name));
            line_int("out_shift", codec_sum(&c)->out_shift);
        }
        line_close();
    }
    err_release(false);
}

static void group_lines(void)
{
    static const int8_t near[] = {-3, 5}, far[] = {-126, VEC_ALL_ZERO}, high[] = {126, 120};
    group_line("e2m5f", true, MF_NEAREST, 0);
    group_line("e2m5f", false, MF_STOCHASTIC, 32);
    group_line("e2m1f", true, MF_ZERO, 0);
    group_line("e4m3fn", true, MF_NEAREST, 0);
    group_line("e6m9", false, MF_NEAREST, 0);
    block_line("e2m5f", "e2m5f", 32, near, 64);
    block_line("e2m1f", "e2m3f", 16, near, 64);
    block_line("e4m3", "e4m3", 64, far, 64);
    block_line("e5m2", "e3m4", 16, high, 64);
    block_line("e5m2", "e5m2", 16, near, 40);
    group_settle_lines();
}

#endif
