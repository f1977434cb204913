/* test_card_refuse.c : tests the life of a slot, rejections and counters of the card's C model. */
#include "card_fixture.h"
#include "card_formats.h"
#include "hls/core/beat.h"
#include "sim/card_state.h"

static uint8_t payload[CARD_BEATS * 64];

static uint32_t read_reg(uint32_t at)
{
    uint32_t value = 0xdead;
    CHECK(card_read(card, at, &value) == 0, "register %x", at);
    return value;
}

static void expect_(unsigned counter, int n_frames, struct pkt_header h, size_t beats, int line)
{
    uint64_t before = card_counter(card, counter);
    int n = give(h, payload, beats);
    CHECK(card_counter(card, counter) == before + 1, "line %d: counter %u did not go up", line,
          counter);
    CHECK(n == n_frames, "line %d: %d frames out, want %d", line, n, n_frames);
    books_balance();
}
#define EXPECT(...) expect_(__VA_ARGS__, __LINE__)

static struct pkt_header with_rank(struct pkt_header h, uint16_t rank)
{
    h.rank = rank;
    return h;
}

static void is_pong(uint32_t chunk, uint64_t bitmap, uint32_t status, size_t beats)
{
    struct pkt_header got = pkt_get(sent[0].bytes);
    CHECK(got.op == PKT_OP_PONG && got.chunk == chunk && got.status == status &&
              got.echo == 0x1122334455667788u && got.tag == (uint32_t)bitmap &&
              got.count == bitmap >> 32 && sent[0].n == 64 * (1 + beats),
          "pong: chunk %u, bitmap %x, status %u", got.chunk, got.tag, got.status);
    for (size_t i = 64; i < sent[0].n; i++)
        CHECK(!sent[0].bytes[i], "a pong's payload is not zero");
}

static void life(void)
{
    struct pkt_header h = sum_header(0x43, 0x43, 2), ping = h, bad = h;
    ping.op = PKT_OP_PING;
    ping.echo = 0x1122334455667788u;
    open_job(3, 0);
    memset(payload, 0x38, sizeof payload);
    EXPECT(CNT_IN_PING, 1, ping, 0);
    is_pong(0xffffffff, 0, 0, 0);
    h.chunk = 0xffffffff;
    EXPECT(CNT_DROP_STALE, 0, h, 2);
    h.chunk = 0;
    EXPECT(CNT_IN_ADDED, 0, with_rank(h, 2), 2);
    EXPECT(CNT_IN_PING, 1, ping, CARD_BEATS);
    is_pong(0, 4, 1, CARD_BEATS);
    EXPECT(CNT_DROP_DUPLICATE, 0, with_rank(h, 2), 2);
    EXPECT(CNT_IN_ADDED, 0, h, 2);
    bad = with_rank(h, 1);
    bad.tag = 1;
    EXPECT(CNT_DROP_DESC, 1, bad, 2);
    CHECK(pkt_get(sent[0].bytes).op == PKT_OP_NAK &&
              pkt_get(sent[0].bytes).status == PKT_NAK_BAD_DESC &&
              pkt_get(sent[0].bytes).tag == 1 && pkt_get(sent[0].bytes).rank == 1 &&
              sent[0].port == frame_port(1) && sent[0].n == 64,
          "NAK");
    EXPECT(CNT_IN_ADDED, 3, with_rank(h, 1), 2);
    uint8_t result[64 + 128];
    memcpy(result, sent[1].bytes, sizeof result);
    EXPECT(CNT_IN_PING, 1, ping, 1);
    is_pong(0, 7, 2, 1);
    EXPECT(CNT_IN_RESENT, 1, with_rank(h, 1), 2);
    CHECK(!memcmp(result, sent[0].bytes, sizeof result), "a resent result differs");

    h.chunk = 1; /* another description; the kept result keeps its own */
    h.tag = 77;
    EXPECT(CNT_IN_ADDED, 0, h, 2);
    h.chunk = 0;
    EXPECT(CNT_IN_RESENT, 1, with_rank(h, 1), 2);
    CHECK(!memcmp(result, sent[0].bytes, sizeof result),
          "a result resent while the next is filled differs");
    EXPECT(CNT_DROP_STALE, 0, h, 2); /* rank 0 is in chunk 1, so it has chunk 0 */
    h.chunk = 2;
    EXPECT(CNT_DROP_STALE, 0, with_rank(h, 1), 2);
    open_job(3, 0);
    h.chunk = 1;
    EXPECT(CNT_DROP_STALE, 0, with_rank(h, 1), 2); /* registered again: chunk 0 comes first */
}

static void refused(unsigned counter, int n_frames, struct pkt_header h, size_t beats, int line)
{
    static struct card_slot before[18];
    memcpy(before, card->slot + 7, sizeof before);
    expect_(counter, n_frames, h, beats, line);
    CHECK(!memcmp(before, card->slot + 7, sizeof before), "line %d: a slot was touched", line);
}
#define REFUSED(counter, n_frames, base, field, value, beats) \
    do {                                                      \
        struct pkt_header changed = base;                     \
        changed.field = value;                                \
        refused(counter, n_frames, changed, beats, __LINE__); \
    } while (0)

static void refusals(void)
{
    struct pkt_header h = sum_header(0x43, 0x43, 2), m = h, wide = sum_header(0x43, 0x5a, 2),
                      half = h;
    m.op = PKT_OP_MAX;
    m.in_fmt = m.out_fmt = 0;
    open_job(33, 0);
    EXPECT(CNT_IN_ADDED, 0, h, 2); /* a contribution that could be harmed */
    REFUSED(CNT_DROP_JOB, 0, h, job, 0, 2);
    REFUSED(CNT_DROP_JOB, 0, h, job, 2, 2);
    REFUSED(CNT_DROP_JOB, 0, h, job, CARD_JOBS + 1, 2);
    REFUSED(CNT_DROP_JOB, 0, h, job, 0x8001, 2);
    const struct frame_job first = {0, 1, 24, 1, 0, job_key};
    frame_register(first, write_reg, card); /* job CARD_JOBS is not job 0 */
    REFUSED(CNT_DROP_JOB, 0, h, job, CARD_JOBS, 2);
    write_reg(card, REG_JOB_INDEX, first.index);
    write_reg(card, REG_JOB_COMMIT, 0);
    REFUSED(CNT_DROP_KEY, 0, h, key, job_key ^ 1, 2);
    REFUSED(CNT_DROP_KEY, 0, h, key, job_key ^ 1ull << 63, 2);
    REFUSED(CNT_DROP_RANK, 0, h, rank, 33, 2);
    REFUSED(CNT_DROP_RANK, 0, h, rank, 256, 2);
    REFUSED(CNT_DROP_SLOT, 1, h, slot, 7, 2);
    CHECK(pkt_get(sent[0].bytes).status == PKT_NAK_BAD_SLOT && pkt_get(sent[0].bytes).slot == 7,
          "NAK");
    REFUSED(CNT_DROP_SLOT, 1, h, slot, 24, 2);
    REFUSED(CNT_DROP_SLOT, 1, h, slot, 8 + CARD_SLOTS, 2);
    static const uint8_t no_ops[] = {0, PKT_OP_RESULT, PKT_OP_NAK, PKT_OP_PONG, 7, 255};
    for (size_t i = 0; i < sizeof no_ops; i++)
        REFUSED(CNT_DROP_OP, 1, h, op, no_ops[i], 2);
    CHECK(pkt_get(sent[0].bytes).status == PKT_NAK_BAD_OP, "NAK");

    h.rank = 1;
    for (uint32_t f = 0; f < 256; f++)
        if (!card_adds(f, 33))
            REFUSED(CNT_DROP_FORMAT, 1, h, in_fmt, (uint8_t)f, 2);
    for (uint32_t f = 0; f < 256; f++)
        if (!beat_format(f).width)
            REFUSED(CNT_DROP_FORMAT, 1, h, out_fmt, (uint8_t)f, 2);
    CHECK(pkt_get(sent[0].bytes).status == PKT_NAK_BAD_FORMAT, "NAK");
    REFUSED(CNT_DROP_FORMAT, 1, h, out_shift, 7, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, flags, 2, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, flags, 0x81, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, zero0, 1, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, zero1, 1u << 31, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, status, 4, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, echo, 1ull << 40, 2);
    REFUSED(CNT_DROP_FORMAT, 1, h, beats, 0, 0);
    REFUSED(CNT_DROP_FORMAT, 1, h, beats, CARD_BEATS + 1, CARD_BEATS);
    REFUSED(CNT_DROP_FORMAT, 1, h, beats, 3, 2);
    /* 8 -> 16 bits: an even number of result beats, half as many sent */
    REFUSED(CNT_DROP_FORMAT, 1, wide, beats, 3, 1);
    REFUSED(CNT_DROP_FORMAT, 1, wide, beats, 2, 2);
    half.in_fmt = 0x30; /* 4 -> 16 bits: a multiple of 4 */
    half.out_fmt = 0x5a;
    REFUSED(CNT_DROP_FORMAT, 1, half, beats, 6, 1);
    m.rank = 1;
    REFUSED(CNT_DROP_FORMAT, 1, m, in_fmt, 0x43, 2);
    REFUSED(CNT_DROP_FORMAT, 1, m, out_fmt, 0x43, 2);
    REFUSED(CNT_DROP_FORMAT, 1, m, out_shift, 1, 2);
    REFUSED(CNT_DROP_FORMAT, 1, m, beats, 2, 1);
    REFUSED(CNT_DROP_DESC, 1, m, beats, 2, 2);
    open_job(2, 0x4352);
    REFUSED(CNT_DROP_FORMAT, 1, h, out_fmt, 0x43, 2); /* in_fmt: only e5m2 */
    h.in_fmt = 0x52;
    REFUSED(CNT_DROP_FORMAT, 1, h, out_fmt, 0x52, 2);
    EXPECT(CNT_IN_ADDED, 0, h, 2);
}

static void damaged(unsigned counter, const uint8_t *frame, size_t n, uint32_t ip, uint16_t port)
{
    uint64_t before = card_counter(card, counter);
    n_out = 0;
    n_in++;
    card_frame(card, ip, port, frame, n);
    CHECK(card_counter(card, counter) == before + 1 && !n_out, "counter %u, %zu bytes", counter, n);
    books_balance();
}

static void damage(void)
{
    uint8_t frame[CARD_FRAME_BYTES + 64], copy[CARD_FRAME_BYTES + 64];
    struct pkt_header h = sum_header(0x43, 0x43, 2);
    uint32_t ip = frame_ip(1, 0);
    uint16_t port = frame_port(0);
    memset(frame, 0, sizeof frame);
    open_job(2, 0);
    size_t n = frame_put(h, payload, 2, frame);
    for (size_t k = 1; k < sizeof frame; k++)
        if (k != n)
            damaged(CNT_DROP_LENGTH, frame, k, ip, port);
    for (size_t k = 65; k < 128; k++) { /* its own length, but not whole beats */
        struct pkt_header odd;
        memset(copy, 0, sizeof copy);
        frame_put(h, copy, 0, copy);
        odd = pkt_get(copy);
        odd.len = (uint16_t)k;
        odd.payload_crc = crc32c(copy + 64, k - 64);
        pkt_put(odd, copy);
        damaged(CNT_DROP_LENGTH, copy, k, ip, port);
    }
    for (size_t bit = 0; bit < n * 8; bit++) {
        unsigned at = (unsigned)bit / 8, counter = CNT_DROP_HEADER_CRC;
        memcpy(copy, frame, sizeof copy);
        copy[at] ^= (uint8_t)(1 << bit % 8);
        if (at < 4)
            counter = CNT_DROP_MAGIC;
        else if (at < 6)
            counter = CNT_DROP_LENGTH;
        else if (at >= 64)
            counter = CNT_DROP_PAYLOAD_CRC;
        damaged(counter, copy, n, ip, port);
    }
    h.op = PKT_OP_PING;
    frame_put(h, payload, 0, copy);
    struct pkt_header g = pkt_get(copy);
    g.payload_crc = 1; /* must be 0 without payload */
    pkt_put(g, copy);
    damaged(CNT_DROP_PAYLOAD_CRC, copy, 64, ip, port);
    damaged(CNT_DROP_SOURCE, frame, n, ip ^ 1u << 31, port);
    CHECK(read_reg(REG_SEEN_RANK) == (1u << 31 | 1u << 16) &&
              read_reg(REG_SEEN_IP) == (ip ^ 1u << 31) && read_reg(REG_SEEN_PORT) == port,
          "seen");
    damaged(CNT_DROP_SOURCE, frame, n, ip, port ^ 1);
    CHECK(read_reg(REG_SEEN_PORT) == (port ^ 1u), "seen port");
    write_reg(card, REG_DROP_IN, 0xffffffff);
    damaged(CNT_DROP_TEST_IN, frame, n, ip, port);
    write_reg(card, REG_DROP_IN, 0);
    write_reg(card, REG_DROP_OUT, 0xffffffff);
    damaged(CNT_OUT_PONG, copy, frame_put(h, payload, 0, copy), ip, port);
    CHECK(card_counter(card, CNT_LOST_TEST_OUT) > 0, "nothing was lost");
    write_reg(card, REG_DROP_OUT, 0);
    write_reg(card, REG_CTRL, 0);
    damaged(CNT_DROP_DISABLED, frame, n, ip, port);
    write_reg(card, REG_CTRL, 1);
    write_reg(card, REG_JOB_COMMIT, 0);
    damaged(CNT_DROP_JOB, frame, n, ip, port);
}

/* Starts a job beside job 1, which has slots 8..23. True if it runs. */
static int starts(uint32_t ranks, uint32_t base, uint32_t slots)
{
    struct frame_job job = {2, ranks, base, slots, 0, job_key};
    struct pkt_header h = sum_header(0x43, 0x43, 2);
    frame_register(job, write_reg, card);
    h.job = 2;
    h.slot = (uint16_t)base;
    h.op = PKT_OP_PING;
    uint64_t before = card_counter(card, CNT_DROP_JOB);
    give(h, payload, 0);
    return card_counter(card, CNT_DROP_JOB) == before;
}

static void jobs(void)
{
    open_job(2, 0);
    CHECK(starts(2, 0, 8) && starts(2, 24, 104) && starts(64, 24, 1) && starts(1, 127, 1),
          "a job was refused");
    CHECK(!starts(0, 0, 8) && !starts(65, 0, 8), "number of ranks");
    CHECK(!starts(2, 0, 0) && !starts(2, 127, 2) && !starts(2, 129, 1) &&
              !starts(2, 24, 0xffffffff) && !starts(2, 0xffffffff, 2),
          "slots the card does not have");
    CHECK(!starts(2, 0, 9) && !starts(2, 23, 1) && !starts(2, 10, 2) && !starts(2, 0, 128),
          "another job's slots");
    write_reg(card, REG_JOB_INDEX, 1);
    write_reg(card, REG_JOB_KEY_LO, 1);
    write_reg(card, REG_JOB_COMMIT, 1); /* the job runs: the old key stays */
    EXPECT(CNT_IN_ADDED, 0, sum_header(0x43, 0x43, 2), 2);
    write_reg(card, REG_JOB_INDEX, CARD_JOBS);
    write_reg(card, REG_JOB_COMMIT, 1);
    write_reg(card, REG_JOB_COMMIT, 0);
}

static void registers(void)
{
    uint32_t value;
    CHECK(read_reg(REG_ID) == REG_ID_VALUE && read_reg(REG_VERSION) == REG_VERSION_VALUE, "id");
    CHECK(read_reg(REG_CAP_SLOTS) == 128 && read_reg(REG_CAP_JOBS) == 0x400004 &&
              read_reg(REG_CAP_BEATS) == 32 && read_reg(REG_CAP_FORMATS) == 0x12e07,
          "capabilities");
    for (uint32_t at = 0; at < REG_WINDOW; at++) {
        int known = 0;
#define REG(NAME, place, access, what) known |= at == (place);
#include "hls/card/regs.def"
        CHECK((card_read(card, at, &value) == 0) == known && (known || value == 0), "register %x",
              at);
    }
    static const uint32_t secret[] = {REG_JOB_RANKS,     REG_JOB_KEY_LO, REG_JOB_KEY_HI,
                                      REG_JOB_SLOT_BASE, REG_JOB_SLOTS,  REG_JOB_FORMATS,
                                      REG_RANK_INDEX,    REG_RANK_IP,    REG_RANK_PORT};
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
        write_reg(card, secret[i], 0x55);
        CHECK(read_reg(secret[i]) == 0, "register %x can be read", secret[i]);
    }
    /* The commit clears the staged values, which are refused. */
    write_reg(card, REG_JOB_INDEX, 3);
    write_reg(card, REG_JOB_COMMIT, 1);
    CHECK(read_reg(REG_STATUS) == 2, "a job of 85 ranks");
    write_reg(card, REG_JOB_RANKS, 1);
    write_reg(card, REG_JOB_SLOTS, 1);
    write_reg(card, REG_JOB_COMMIT, 1);
    CHECK(read_reg(REG_STATUS) == 0, "what was written before a commit is there after it");
    write_reg(card, REG_JOB_COMMIT, 0);
    CHECK(card_write(card, 0x5c, 1) < 0 && card_write(card, 0xffc, 1) < 0, "no register");
    write_reg(card, REG_COUNTER_INDEX, CNT_IN_ADDED);
    write_reg(card, REG_CTRL, 3);
    uint64_t latched = read_reg(REG_COUNTER_LO) | (uint64_t)read_reg(REG_COUNTER_HI) << 32;
    CHECK(latched == card_counter(card, CNT_IN_ADDED) && latched > 0 && read_reg(REG_CTRL) == 1,
          "latched counter");
    open_job(1, 0);
    EXPECT(CNT_IN_ADDED, 1, sum_header(0x43, 0x43, 2), 2);
    CHECK(read_reg(REG_COUNTER_LO) == (uint32_t)latched, "a latched counter moved");
}

int main(void)
{
    card = card_open(take, NULL);
    if (!card)
        return 1;
    life();
    refusals();
    damage();
    jobs();
    registers();
    for (unsigned i = 0; i < REG_COUNTERS; i++)
        CHECK((card_counter(card, i) > 0) == (i != CNT_DROP_ROOM && i != CNT_LOST_NAK),
              "counter %u", i);
    card_close(card);
    DONE();
}
