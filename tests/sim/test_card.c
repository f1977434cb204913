/* test_card.c : compares sums of the card's C model with vec_plain. */
#include "card_fixture.h"
#include "card_formats.h"
#include "hls/core/beat.h"
#include "vec/vec.h"

enum { SEED = 21 };
#include "seeded.h"

static uint8_t parts[64][CARD_BEATS * 64];

/* Returns the status of a result of n codes; list: the ranks' codes. Plain sums never saturate. */
static uint32_t status_of(struct vec_sum sum, const uint8_t *const *list, size_t n)
{
    static uint8_t codes[CARD_BEATS * 64];
    const uint32_t in = mf_width(sum.in), to = mf_width(sum.out);
    uint32_t status = 0;
    sum.overflow = MF_INF;
    vec_plain.sum(&sum, list, sum.n_ranks, n, sum.out, sum.out_shift, codes);
    for (size_t i = 0; i < n; i++) {
        uint32_t flags = 0;
        for (int r = 0; r < sum.n_ranks; r++) {
            uint64_t acc = mf_acc_add(
                sum.in, 0,
                beat_get(beat_load(list[r] + i * in / 512 * 64), in, (uint32_t)i % (512 / in)));
            flags |= acc >> 62 & 1 ? PKT_STATUS_PINF : 0;
            flags |= acc >> 63 ? PKT_STATUS_NINF : 0;
        }
        uint32_t code =
            beat_get(beat_load(codes + i * to / 512 * 64), to, (uint32_t)i % (512 / to));
        if (!flags && (code & mf_nan(sum.out)) > mf_max(sum.out))
            flags = PKT_STATUS_OVERFLOW;
        status |= flags;
    }
    return status;
}

static void one_sum(uint32_t in_byte, uint32_t out_byte, uint32_t p, uint32_t chunk)
{
    struct beat_fmt in = beat_format(in_byte), to = beat_format(out_byte);
    uint32_t wider = in.width > to.width ? in.width : to.width,
             narrow = in.width + to.width - wider;
    uint32_t beats = (1 + draw(CARD_BEATS * narrow / wider)) * (wider / narrow), kind = draw(3);
    size_t in_beats = beats * in.width / wider, out_bytes = 64u * beats * to.width / wider;
    struct pkt_header h = sum_header(in_byte, out_byte, beats);
    h.flags = (uint8_t)draw(2);
    h.out_shift = (uint8_t)draw(PKT_MAX_SHIFT + 1);
    h.tag = draw(1u << 31);
    h.count = draw(1u << 31);
    h.chunk = chunk;
    for (uint32_t r = 0; r < p; r++) /* any codes; no inf and nan; only large ones of both signs */
        for (size_t i = 0; i < in_beats * 64; i++)
            parts[r][i] = (uint8_t)(kind      ? draw(256) & (kind == 1 ? 0xbb : 0xff)
                                    : draw(2) ? 0x77
                                              : 0xf7);

    uint32_t order[64];
    for (uint32_t r = 0; r < p; r++)
        order[r] = r;
    for (uint32_t r = p - 1; r > 0; r--) {
        uint32_t other = draw(r + 1), was = order[r];
        order[r] = order[other];
        order[other] = was;
    }
    for (uint32_t i = 0; i < p; i++) {
        h.rank = (uint16_t)order[i];
        int n = give(h, parts[h.rank], in_beats);
        CHECK(n == (i + 1 == p ? (int)p : 0), "contribution %u of %u: %d frames out", i + 1, p, n);
        if (i + 1 < p && draw(3) == 0)
            CHECK(give(h, parts[h.rank], in_beats) == 0, "a duplicate was answered");
    }

    struct vec_sum sum = {.rule = VEC_EXACT,
                          .overflow = h.flags ? MF_SATURATE : MF_INF,
                          .in = in.fmt,
                          .out = to.fmt,
                          .out_shift = h.out_shift,
                          .n_ranks = (int)p};
    const uint8_t *list[64];
    static uint8_t want[CARD_BEATS * 64];
    for (uint32_t r = 0; r < p; r++)
        list[r] = parts[r];
    vec_plain.sum(&sum, list, (int)p, out_bytes * 8 / to.width, to.fmt, h.out_shift, want);
    const uint32_t status = status_of(sum, list, out_bytes * 8 / to.width);
    for (int i = 0; i < n_out; i++) {
        struct pkt_header got = pkt_get(sent[i].bytes), like = h;
        CHECK(pkt_good(sent[i].bytes) && got.payload_crc == crc32c(sent[i].bytes + 64, out_bytes),
              "CRCs of a result");
        like.magic = PKT_MAGIC_VALUE;
        like.rank = (uint16_t)i;
        like.len = (uint16_t)(64 + out_bytes);
        like.op = PKT_OP_RESULT;
        like.status = status;
        like.payload_crc = got.payload_crc;
        uint8_t bytes[64];
        pkt_put(like, bytes);
        CHECK(!memcmp(bytes, sent[i].bytes, 64),
              "header of result %d, %02x -> %02x, %u ranks: status %x, want %x", i, in_byte,
              out_byte, p, got.status, status);
        CHECK(sent[i].ip == frame_ip(1, (uint32_t)i) && sent[i].port == frame_port((uint32_t)i),
              "address %d", i);
        CHECK(sent[i].n == 64 + out_bytes && !memcmp(sent[i].bytes + 64, want, out_bytes),
              "%02x -> %02x, %u ranks, %u beats, shift %d", in_byte, out_byte, p, beats,
              h.out_shift);
    }
}

static void sums(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 7, 32, 64};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        uint32_t chunk = 0;
        open_job(ranks[k], 0);
        for (uint32_t in = 0; in < 256; in++)
            for (uint32_t to = 0; to < 256; to++) {
                if (!beat_format(to).width || !card_adds(in, ranks[k]) ||
                    (ranks[k] > 3 && in != 0x5a && draw(4)))
                    continue;
                one_sum(in, to, ranks[k], chunk++);
            }
        CHECK(chunk > 10, "%u sums of %u ranks", chunk, ranks[k]);
    }
    books_balance();
}

static void maxima(void)
{
    open_job(5, 0x4343); /* the job's formats apply only to sums */
    for (uint32_t chunk = 0; chunk < 20; chunk++) {
        struct pkt_header h = sum_header(0, 0, 1 + draw(CARD_BEATS));
        h.op = PKT_OP_MAX;
        h.chunk = chunk;
        int8_t want[CARD_BEATS * 64];
        memset(want, -128, sizeof want);
        for (uint16_t r = 0; r < 5; r++) {
            for (int i = 0; i < h.beats * 64; i++) {
                int8_t x = (int8_t)((int)draw(256) - 128);
                want[i] = x > want[i] ? x : want[i];
                parts[r][i] = (uint8_t)x;
            }
            h.rank = r;
            CHECK(give(h, parts[r], h.beats) == (r == 4 ? 5 : 0), "MAX of rank %d", r);
        }
        CHECK(!memcmp(want, sent[2].bytes + 64, h.beats * 64u), "maxima");
        CHECK(pkt_get(sent[2].bytes).status == 0, "status of MAX");
    }
    books_balance();
}

/* A sum goes once to the multicast group, without key; sent again and maxima, to each rank. */
static void group(void)
{
    const struct frame_job job = {1, 3, 8, 16, 0, job_key};
    struct pkt_header h = sum_header(0x43, 0x43, 1), got;
    memset(parts, 0x38, sizeof parts);
    frame_register_group(job, 0xefff4d02, 0xabcd, write_reg, card);
    for (h.rank = 0; h.rank < 3; h.rank++)
        CHECK(give(h, parts[0], 1) == (h.rank == 2), "rank %u of a group", h.rank);
    got = pkt_get(sent[0].bytes);
    CHECK(sent[0].ip == 0xefff4d02 && sent[0].port == 0xabcd, "a group's result goes to %x:%u",
          sent[0].ip, sent[0].port);
    CHECK(pkt_good(sent[0].bytes) && got.op == PKT_OP_RESULT && got.rank == PKT_TO_GROUP &&
              got.key == 0 && got.job == 1 && got.slot == 8 && sent[0].n == 128,
          "a group's result: rank %x, key %llx", got.rank, (unsigned long long)got.key);
    h.rank = 1;
    CHECK(give(h, parts[0], 1) == 1, "no result is sent again");
    got = pkt_get(sent[0].bytes);
    CHECK(sent[0].ip == frame_ip(1, 1) && sent[0].port == frame_port(1) && got.rank == 1 &&
              got.key == job_key,
          "the result goes again to %x:%u", sent[0].ip, sent[0].port);
    h.op = PKT_OP_MAX;
    h.in_fmt = h.out_fmt = 0;
    h.chunk = 1;
    for (h.rank = 0; h.rank < 3; h.rank++)
        CHECK(give(h, parts[0], 1) == (h.rank == 2 ? 3 : 0), "MAX of rank %u", h.rank);
    CHECK(sent[2].ip == frame_ip(1, 2) && pkt_get(sent[2].bytes).key == job_key,
          "a maximum goes to %x", sent[2].ip);
    books_balance();
}

/* A card with Narrow=1 adds only e1m6f and e2m5f. */
static void narrow(void)
{
    uint32_t chunk = 0, refused = 0, slots, formats;
    card_close(card);
    card = card_open(take, NULL);
    n_in = n_sent = 0;
    if (!card)
        exit(1);
    card_make_narrow(card);
    CHECK(card_read(card, REG_CAP_SLOTS, &slots) == 0 && slots == 384 &&
              card_read(card, REG_CAP_FORMATS, &formats) == 0 && formats == 0x31002,
          "%u slots, formats %x", slots, formats);
    open_job(64, 0);
    for (uint32_t in = 0; in < 256; in++)
        for (uint32_t to = 0; to < 256; to++)
            if ((in == 0x96 || in == 0xa5) && beat_format(to).width == 8) {
                one_sum(in, to, 64, chunk++);
            } else {
                struct pkt_header h = sum_header((uint8_t)in, (uint8_t)to, 1);
                h.chunk = chunk;
                CHECK(give(h, parts[0], 1) == 1 &&
                          pkt_get(sent[0].bytes).status == PKT_NAK_BAD_FORMAT,
                      "%02x -> %02x", in, to);
                refused++;
            }
    CHECK(chunk == 18 && refused == 65536 - 18, "%u sums", chunk);
    books_balance();
    maxima();
}

int main(void)
{
    printf("seed %d\n", SEED);
    card = card_open(take, NULL);
    if (!card)
        return 1;
    sums();
    maxima();
    group();
    narrow();
    card_close(card);
    DONE();
}
