/* test_hls_reduce.c : compares the HLS k-way sum with the plain backend's exact sum in every
 * format of the card. */
#include "card_formats.h"
#include "check.h"
#include "hls/core/reduce.h"
#include "vec/vec.h"
#include <string.h>

enum { SEED = 6, MAX_N = 70, PARTS = 64, CANARY = 0xa5 };
#include "seeded.h"
static struct beat in[PARTS * (MAX_N + 3)], out[4 * MAX_N + 4];
static uint8_t parts[PARTS][MAX_N * 64], want[4 * MAX_N * 64], got[sizeof out];

static void store(void)
{
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        beat_store(out[i], got + 64 * i);
}

static void one(uint32_t from, uint32_t to, uint32_t n_parts)
{
    const struct beat_fmt f = beat_format(from), g = beat_format(to);
    const uint32_t n_beats = draw(4) ? draw(MAX_N) : draw(4), stride = n_beats + draw(4),
                   kind = draw(3);
    const uint32_t shift = draw(7), saturate = draw(2);
    const uint8_t *list[PARTS];
    for (uint32_t k = 0; k < n_parts; k++) {
        list[k] = parts[k];
        for (uint32_t i = 0; i < n_beats * 64; i++) /* any; without inf and nan; a few large ones */
            parts[k][i] = (uint8_t)(kind      ? draw(256) & (kind == 1 ? 0xbb : 0xff)
                                    : draw(2) ? 0x77
                                              : 0xf7);
        for (uint32_t b = 0; b < n_beats; b++)
            in[k * stride + b] = beat_load(parts[k] + 64 * b);
    }
    const size_t n = n_beats * 512 / f.width, bytes = vec_bytes(g.fmt, n),
                 end = (bytes + 63) / 64 * 64;
    struct vec_sum sum = {.rule = VEC_EXACT,
                          .overflow = saturate ? MF_SATURATE : MF_INF,
                          .in = f.fmt,
                          .out = g.fmt,
                          .out_shift = (int)shift,
                          .n_ranks = (int)n_parts};
    uint32_t status = REDUCE_REFUSED;
    vec_plain.sum(&sum, list, (int)n_parts, n, g.fmt, (int)shift, want);
    memset(out, CANARY, sizeof out);
    reduce_kernel(in, out, n_parts, stride, n_beats, from, to, shift, saturate, &status);
    store();
    CHECK(!memcmp(got, want, bytes), "%02x -> %02x: %u parts of %u beats", from, to, n_parts,
          n_beats);
    for (size_t i = bytes; i < sizeof out; i++)
        CHECK(got[i] == (i < end ? 0 : CANARY), "%02x -> %02x: byte %zu of %zu", from, to, i,
              bytes);

    uint32_t seen = 0;
    sum.overflow = MF_INF;
    vec_plain.sum(&sum, list, (int)n_parts, n, g.fmt, (int)shift, want);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t flags = 0;
        for (uint32_t k = 0; k < n_parts; k++) {
            struct mf_num v = mf_unpack(
                f.fmt, beat_get(in[k * stride + i * f.width / 512], f.width, i % (512 / f.width)));
            if (v.kind == MF_NAN)
                flags |= PKT_STATUS_PINF | PKT_STATUS_NINF;
            if (v.kind == MF_INFINITE)
                flags |= v.negative ? PKT_STATUS_NINF : PKT_STATUS_PINF;
        }
        uint32_t code =
            beat_get(beat_load(want + i * g.width / 512 * 64), g.width, i % (512 / g.width));
        seen |= flags                                      ? flags
                : mf_unpack(g.fmt, code).kind == MF_FINITE ? 0u
                                                           : (uint32_t)PKT_STATUS_OVERFLOW;
    }
    CHECK(status == seen, "%02x -> %02x: status %x, want %x", from, to, status, seen);
}

static void refused(uint32_t n_parts, uint32_t n_beats, uint32_t from, uint32_t to, uint32_t shift,
                    uint32_t saturate)
{
    uint32_t status = 0;
    memset(out, CANARY, sizeof out);
    reduce_kernel(in, out, n_parts, 1, n_beats, from, to, shift, saturate, &status);
    store();
    CHECK(status == REDUCE_REFUSED, "%u parts, %x -> %x, shift %u was taken", n_parts, from, to,
          shift);
    for (size_t i = 0; i < sizeof out; i++)
        CHECK(got[i] == CANARY, "refused, but byte %zu was written", i);
}

/* The most ranks is the largest power of two of which any sum fits 46 bits in two's complement (15
 * bits for 4-bit codes). */
static void limits(void)
{
    static const struct {
        uint32_t format, ranks;
    } most[CARD_FORMATS] = {{0x12, 1u << 12}, {0x21, 1u << 11}, {0x30, 1u << 8},  {0x92, 1u << 11},
                            {0xa1, 1u << 10}, {0xb0, 1u << 7},  {0x52, 1u << 13}, {0x5a, 1u << 5},
                            {0x43, 1u << 28}, {0xc3, 1u << 27}, {0x16, 1u << 31}, {0x25, 1u << 31},
                            {0x34, 1u << 31}, {0x96, 1u << 31}, {0xa5, 1u << 31}, {0xb4, 1u << 31}};
    for (int i = 0; i < CARD_FORMATS; i++) {
        const uint32_t format = most[i].format, ranks = most[i].ranks;
        const struct beat_fmt f = beat_format(format);
        const uint64_t largest = mf_acc_add(f.fmt, 0, mf_max(f.fmt)),
                       room = 1ull << (f.width == 4 ? 14 : 45);
        CHECK(ranks * largest < room && (ranks >> 31 || 2 * ranks * largest >= room), "%u of %llx",
              ranks, (unsigned long long)largest);
        CHECK(beat_fits(f, ranks) && (ranks >> 31 || !beat_fits(f, ranks + 1)),
              "more or fewer than %u ranks of %02x", ranks, format);
    }
    for (uint32_t byte = 0; byte < 257; byte++)
        for (uint32_t ranks = 1; ranks <= 64; ranks++)
            CHECK((int)beat_fits(beat_format(byte), ranks) == card_adds(byte, ranks),
                  "%u ranks of %02x", ranks, byte);
}

int main(void)
{
    static const uint32_t counts[] = {1, 2, 3, 8, 32, 33, 64};
    printf("seed %d\n", SEED);
    for (uint32_t from = 0; from < 257; from++)
        for (uint32_t to = 0; to < 257; to++) {
            if (!beat_format(from).width || !beat_format(to).width) {
                if (from % 16 == 3 || to % 16 == 3)
                    refused(2, 1, from, to, 0, 0);
                continue;
            }
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                if (card_adds(from, counts[i]) && (counts[i] < 8 || draw(6) == 0))
                    one(from, to, counts[i]);
        }
    limits();
    refused(0, 1, 0x43, 0x43, 0, 0);
    refused(65, 1, 0x43, 0x43, 0, 0);
    refused(33, 1, 0x5a, 0x5a, 0, 0);
    refused(2, 1, 0x43, 0x43, 7, 0);
    refused(2, 1, 0x43, 0x43, 0, 2);
    refused(1, (1u << 30) + 1, 0x52, 0x52, 0, 1);
    refused(1, 1u << 30, 0x30, 0x5a, 0, 1); /* 2^32 beats of sums */
    DONE();
}
