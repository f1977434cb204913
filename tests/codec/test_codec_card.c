/* test_codec_card.c : ternary sums in a card's formats are those of the reduce op. */
#include "check.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include "hls/card/packet.h"
#include <string.h>

enum { N = 1003, AT = 64, MORE = 8 };
static uint8_t codes[PKT_MAX_RANKS][4 * N], cards[PKT_MAX_RANKS][4 * N];
static const uint8_t *parts[PKT_MAX_RANKS], *card_parts[PKT_MAX_RANKS];

/* The first elements get the extreme sums. */
static void make_codes(uint32_t rank)
{
    for (uint32_t i = 0; i < sizeof codes[0]; i++)
        codes[rank][i] = (uint8_t)philox_u32(philox_key(5, rank, 0, 0, 0), i);
    memset(codes[rank], 0x55, 8);
    memset(codes[rank] + 8, 0xff, 8);
}

static void settle(int n_ranks, struct codec *c)
{
    const struct codec_adder by = {.name = "direct"};
    CHECK(codec_parse(&(struct codec_spec){.codec = "ternary"}, c) == 0 &&
              codec_settle(c, n_ranks, &by) == 0,
          "%d ranks", n_ranks);
}

static void check_sums(int n_ranks)
{
    struct codec c;
    uint8_t want[4 * N + MORE] = {0}, got[4 * N + MORE] = {0}, sums[4 * N + MORE];
    settle(n_ranks, &c);
    const struct codec_call call = {.codec = &c};
    const struct reduce_op op = codec_reduce_op(&call);
    const struct vec_sum *sum = codec_card_sum(&c);
    for (uint32_t r = 0; r < (uint32_t)n_ranks; r++) {
        make_codes(r);
        CHECK(codec_to_card(&c, codes[r], 0, AT, cards[r]), "has a card's formats");
        codec_to_card(&c, codes[r], AT, N - AT, cards[r] + vec_bytes(sum->in, AT));
        parts[r] = codes[r];
        card_parts[r] = cards[r];
    }
    op.ops->sum(&op, 0, parts, n_ranks, N, true, want);
    vec_plain.sum(sum, card_parts, n_ranks, N, sum->out, sum->out_shift, sums);
    codec_from_card(&c, sums, 0, AT, got);
    codec_from_card(&c, sums + vec_bytes(sum->out, AT), AT, N - AT, got);
    CHECK(!memcmp(got, want, sizeof got), "%d ranks: other sums", n_ranks);
}

/* A wrong sum changes no other bits. */
static void check_lies(void)
{
    struct codec c;
    uint8_t lies[AT], got[AT] = {0}, zero[AT] = {0};
    settle(5, &c);
    memset(lies, 0x7f, sizeof lies);
    codec_from_card(&c, lies, 0, AT, got);
    CHECK(!memcmp(got + AT / 2, zero + AT / 2, AT / 2),
          "64 sums of 4 bits take more than 32 bytes");
    lies[1] = 0;
    codec_from_card(&c, lies, 0, AT, got);
    CHECK(got[0] >> 4 == 5, "the second sum is %d", got[0] >> 4);
}

int main(void)
{
    for (int n_ranks = 1; n_ranks <= PKT_MAX_RANKS; n_ranks++)
        check_sums(n_ranks);
    check_lies();
    DONE();
}
