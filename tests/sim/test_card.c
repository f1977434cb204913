/* test_card.c : compares sums of the card's C model with vec_plain. */
#include "card_fixture.h"
#include "hls/core/beat.h"
#include "vec/vec.h"

enum { SEED = 21 };
#include "seeded.h"

static uint8_t parts[64][CARD_BEATS * 64];

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
    for (int i = 0; i < n_out; i++) {
        struct pkt_header got = pkt_get(sent[i].bytes), like = h;
        CHECK(pkt_good(sent[i].bytes) && got.payload_crc == crc32c(sent[i].bytes + 64, out_bytes),
              "CRCs of a result");
        like.magic = PKT_MAGIC_VALUE;
        like.rank = (uint16_t)i;
        like.len = (uint16_t)(64 + out_bytes);
        like.op = PKT_OP_RESULT;
        like.status = got.status;
        like.payload_crc = got.payload_crc;
        uint8_t bytes[64];
        pkt_put(like, bytes);
        CHECK(!memcmp(bytes, sent[i].bytes, 64), "header of a result");
        CHECK(sent[i].ip == frame_ip(1, (uint32_t)i) && sent[i].port == frame_port((uint32_t)i),
              "address %d", i);
        CHECK(sent[i].n == 64 + out_bytes && !memcmp(sent[i].bytes + 64, want, out_bytes),
              "%02x -> %02x, %u ranks, %u beats, shift %d", in_byte, out_byte, p, beats,
              h.out_shift);
    }

    uint32_t status = 0; /* plain sums never saturate */
    sum.overflow = MF_INF;
    vec_plain.sum(&sum, list, (int)p, out_bytes * 8 / to.width, to.fmt, h.out_shift, want);
    for (size_t i = 0; i < out_bytes * 8 / to.width; i++) {
        uint32_t flags = 0;
        for (uint32_t r = 0; r < p; r++) {
            uint64_t acc = mf_acc_add(in.fmt, 0,
                                      beat_get(beat_load(parts[r] + i * in.width / 512 * 64),
                                               in.width, (uint32_t)i % (512 / in.width)));
            flags |= acc >> 62 & 1 ? PKT_STATUS_PINF : 0;
            flags |= acc >> 63 ? PKT_STATUS_NINF : 0;
        }
        uint32_t code = beat_get(beat_load(want + i * to.width / 512 * 64), to.width,
                                 (uint32_t)i % (512 / to.width));
        if (!flags && (code & mf_nan(to.fmt)) > mf_max(to.fmt))
            flags = PKT_STATUS_OVERFLOW;
        status |= flags;
    }
    CHECK(pkt_get(sent[0].bytes).status == status,
          "status of %02x -> %02x, %u ranks: got %x, want %x", in_byte, out_byte, p,
          pkt_get(sent[0].bytes).status, status);
}

static void sums(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 7, 32, 64};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        uint32_t chunk = 0;
        open_job(ranks[k], 0);
        for (uint32_t in = 0; in < 256; in++)
            for (uint32_t to = 0; to < 256; to++) {
                if (!beat_format(to).width || !beat_fits(beat_format(in), ranks[k]) ||
                    (ranks[k] > 3 && draw(4)))
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
    narrow();
    card_close(card);
    DONE();
}
