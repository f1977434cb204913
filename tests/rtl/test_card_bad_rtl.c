/* test_card_bad_rtl.c : checks that 30,000 bad frames (`long`: a million) change nothing in
 * the Verilated card and the C model. Slots are in mid-chunk; the chunk's rest follows each batch.
 * In half of the batches frames come back to back: the card may drop some or not answer, but
 * counts each once. */
#include "card_pair.h"

enum { SEED = 31, SLOTS = 6, BASE = 9, BATCH = 400, MAX_BEATS = 32 };
static const struct frame_job victim = {1, 3, BASE, SLOTS, 0, 0xfeedface01234567u};
static const struct frame_job other = {2, 2, BASE + SLOTS, 4, 0, 0x1111222233334444u};
static uint32_t chunk;
static uint8_t frame[64 * (MAX_BEATS + 16)];

static struct pkt_header good(uint32_t slot, uint32_t of_chunk, uint32_t rank)
{
    static const uint8_t formats[SLOTS][2] = {
        {0x43, 0x43}, {0x52, 0x43}, {0x30, 0x43}, {0x5a, 0x34}, {0x21, 0x21}};
    static const uint8_t beats[SLOTS] = {1, 2, 4, 22, 1, 3};
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.job = (uint16_t)victim.index;
    h.key = victim.key;
    h.rank = (uint16_t)rank;
    h.slot = (uint16_t)(BASE + slot);
    h.chunk = of_chunk;
    h.op = slot == 5 ? PKT_OP_MAX : PKT_OP_SUM;
    h.beats = beats[slot];
    h.in_fmt = formats[slot][0];
    h.out_fmt = formats[slot][1];
    h.out_shift = (uint8_t)(slot == 5 ? 0 : of_chunk % 3);
    h.tag = of_chunk * 3 + slot;
    h.count = of_chunk;
    return h;
}

static size_t fill(struct pkt_header h, size_t beats)
{
    for (size_t i = 64; i < 64 * (beats + 1); i += 4)
        pkt_put_uint(frame + i, philox_u32(SEED + 1, pair_drawn++), 4);
    return frame_put(h, frame + 64, beats, frame);
}

static void contribute(uint32_t slot, uint32_t of_chunk, uint32_t rank, uint32_t gap)
{
    struct pkt_header h = good(slot, of_chunk, rank);
    size_t n = fill(h, payload_beats(h));
    queue_both((struct queued_frame){frame_ip(victim.index, rank), gap, frame_port(rank), n, 0},
               frame);
}

static void wrong_shape(struct pkt_header *h)
{
    switch (draw(7)) {
    case 0:
        h->in_fmt = h->op == PKT_OP_MAX ? 0x43 : (uint8_t)(0x60 | draw(16));
        break;
    case 1:
        h->out_fmt = h->op == PKT_OP_MAX ? 0x43 : (uint8_t)(0x80 | draw(64));
        break;
    case 2:
        h->out_shift = (uint8_t)(7 + draw(249));
        break;
    case 3:
        h->beats = draw(2) ? 0 : (uint8_t)(33 + draw(223));
        break;
    case 4:
        h->flags = (uint8_t)(1u << (1 + draw(7)));
        break;
    case 5:
        draw(2) ? (h->zero0 = (uint16_t)(1u << draw(16))) : (h->zero1 = 1u << draw(32));
        break;
    default:
        draw(2) ? (h->status = 1u << draw(32)) : (h->echo = 1ull << draw(64));
    }
}

/* *source: 1 if the caller must fake the source. */
static void bend(struct pkt_header *h, size_t *beats, int *source)
{
    switch (draw(13)) {
    case 0: /* no job of this card, a stopped one, or another job */
        h->job = (uint16_t)(draw(2) ? 4u << draw(14) | draw(4) : draw(2) ? 0 : other.index);
        break;
    case 1:
        h->key = draw(4) ? h->key ^ 1ull << draw(64) : other.key;
        break;
    case 2:
        h->rank = (uint16_t)(draw(2) ? victim.ranks + draw(70) : 64u << draw(10) | draw(64));
        break;
    case 3:
        *source = 1;
        break;
    case 4:
        h->slot = (uint16_t)(draw(2)   ? BASE + SLOTS + draw(4)
                             : draw(2) ? draw(BASE)
                                       : 128u << draw(9) | h->slot);
        break;
    case 5:
        h->op = (uint8_t)(draw(2) ? 4 + draw(4) : draw(2) ? 0 : 8 + draw(248));
        break;
    case 6:
        wrong_shape(h);
        break;
    case 7:
        *beats = *beats > 1 && draw(2) ? *beats - 1 : *beats + 1;
        break;
    case 8: /* another description; rank 2 is not yet in */
        h->rank = 2;
        draw(2) ? (h->tag ^= 1u << draw(32)) : (h->count ^= 1u << draw(32));
        break;
    case 9:
        h->rank = (uint16_t)draw(2);
        break;
    case 10:
        h->chunk += 1 + draw(3);
        break;
    case 11: /* old chunk: only rank 2 gets its result again */
        h->chunk -= 1 + draw(2);
        break;
    default:
        h->op = PKT_OP_PING;
        h->echo = (uint64_t)draw(1u << 31) << draw(32);
        *beats = draw(4) ? draw(4) : draw(MAX_BEATS + 1);
    }
}

static size_t damage(size_t n)
{
    uint32_t len;
    switch (draw(6)) {
    case 0:
        return 1 + draw((uint32_t)n - 1);
    case 1:
        len = 1 + draw(64 * 14);
        memset(frame + n, 0, len);
        return n + len;
    case 2: /* with a correct header CRC: magic or length */
        frame[draw(6)] ^= (uint8_t)(1u << draw(8));
        pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
        return n;
    case 3: /* with a correct header CRC: the payload's CRC */
        frame[PKT_PAYLOAD_CRC_AT + draw(4)] ^= (uint8_t)(1u << draw(8));
        pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
        return n;
    case 4:
        frame[draw(64)] ^= (uint8_t)(1u << draw(8));
        return n;
    default:
        frame[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
        return n;
    }
}

static int is_good(struct pkt_header h, uint32_t slot, size_t beats, int source)
{
    uint8_t a[64], b[64];
    struct pkt_header g = good(slot, chunk, 2);
    pkt_put(h, a);
    pkt_put(g, b);
    return !memcmp(a, b, PKT_HEADER_CRC_AT) && beats == payload_beats(g) && !source;
}

static void a_bad_frame(int close)
{
    uint32_t slot = draw(SLOTS), kind = draw(16);
    struct pkt_header h = good(slot, chunk, draw(3));
    size_t beats = payload_beats(h), n;
    int source = 0;
    for (uint32_t times = kind < 10 ? 1 : kind < 12 ? 2 + draw(2) : 0; times; times--)
        bend(&h, &beats, &source);
    if (kind < 12 && is_good(h, slot, beats, source))
        h.key ^= 1;
    n = fill(h, beats);
    if (kind >= 12 && kind < 15)
        n = damage(n);
    if (kind == 15) {
        n = 1 + draw(64 * 5);
        for (size_t i = 0; i < n; i++)
            frame[i] = (uint8_t)draw(256);
    }
    struct queued_frame f = {frame_ip(victim.index, h.rank), 0, frame_port(h.rank), n, 0};
    if (source)
        draw(2) ? (f.ip ^= 1u << draw(32)) : (f.port = (uint16_t)(f.port ^ 1u << draw(16)));
    f.gap = close ? 0 : (uint32_t)(2 * (n / 64) + 10);
    queue_both(f, frame);
}

static uint64_t total[REG_COUNTERS];
static int narrow; /* the card takes less than a beat a clock */

static int is_fate(uint32_t i)
{
    return i <= CNT_IN_PING || (i >= CNT_DROP_LENGTH && i <= CNT_DROP_DISABLED);
}

/* Runs the queued frames: n_good contributions and BATCH others. close: without idle clocks. */
static void run_batch(int close, uint64_t n_good)
{
    uint64_t a[REG_COUNTERS], b[REG_COUNTERS], a2[REG_COUNTERS], b2[REG_COUNTERS], fates = 0,
                                                                                   fates_c = 0;
    counters_of(&rtl, a);
    counters_of(&c, b);
    const struct shell_run run = pair_run();
    narrow = run.flits_in > run.beats_in;
    if (!close)
        same_frames();
    counters_of(&rtl, a2);
    counters_of(&c, b2);
    for (uint32_t i = 0; i < REG_COUNTERS; i++) {
        uint64_t x = a2[i] - a[i], y = b2[i] - b[i];
        total[i] += x;
        fates += is_fate(i) ? x : 0;
        fates_c += is_fate(i) ? y : 0;
        if (!close || i == CNT_IN_ADDED)
            CHECK(x == y, "counter %u: %llu in RTL, %llu in C", i, (unsigned long long)x,
                  (unsigned long long)y);
        CHECK(i == CNT_DROP_ROOM || i == CNT_LOST_NAK || x <= y,
              "counter %u: %llu in RTL, %llu in C", i, (unsigned long long)x,
              (unsigned long long)y);
    }
    CHECK(fates == BATCH + n_good && fates_c == fates, "%llu and %llu frames counted",
          (unsigned long long)fates, (unsigned long long)fates_c);
    CHECK(b2[CNT_IN_ADDED] == b[CNT_IN_ADDED] + n_good, "a bad frame was good: this test is wrong");
}

static void bad_batch(int close)
{
    for (int i = 0; i < BATCH; i++)
        a_bad_frame(close);
    run_batch(close, 0);
}

static void begin(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t rank = 0; rank < 2; rank++)
            contribute(slot, chunk, rank, 60);
    pair_run();
}

static void complete(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        contribute(slot, chunk, 2, 60);
    pair_run();
    CHECK(c.n_out == 3 * SLOTS, "%d results", c.n_out);
    same_frames();
    chunk++;
    begin();
}

static int drop_naks(struct side *s)
{
    int n = 0;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i].h.op != PKT_OP_NAK)
            s->out[n++] = s->out[i];
    return n;
}

/* Results leave slowly, and more headers need a NAK than the card can read or answer. */
static void storm(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        contribute(slot, chunk, 2, 0);
    for (int i = 0; i < BATCH; i++) {
        struct pkt_header h = good(draw(SLOTS), chunk, draw(3));
        h.op = 99;
        size_t n = fill(h, 0);
        queue_both(
            (struct queued_frame){frame_ip(victim.index, h.rank), 0, frame_port(h.rank), n, 0},
            frame);
    }
    rtl.ops->stall(rtl.shell, 140);
    run_batch(1, SLOTS);
    rtl.ops->stall(rtl.shell, 0);
    rtl.n_out = drop_naks(&rtl);
    c.n_out = drop_naks(&c);
    same_frames();
    chunk++;
    begin();
}

int main(int argc, char **argv)
{
    int n_batches = argc > 1 && !strcmp(argv[1], "long") ? 2500 : 75;
    if (!pair_open(SEED))
        return 1;
    pair_register(other);
    pair_register(victim);
    begin();
    complete();
    for (int i = 0; i < n_batches && !check_bad; i++) {
        rtl.ops->stall(rtl.shell, i % 5 == 4 ? 100 : 0);
        bad_batch(i % 2);
        rtl.ops->stall(rtl.shell, 0);
        i % 25 == 12 ? storm() : complete();
    }
    write_both(NULL, REG_DROP_IN, 0xffffffff);
    bad_batch(1);
    write_both(NULL, REG_DROP_IN, 0);
    write_both(NULL, REG_CTRL, 0);
    for (int i = 0; i < BATCH; i++)
        a_bad_frame(0);
    pair_run();
    CHECK(rtl.n_out == 0 && c.n_out == 0, "a card that is off answers");
    write_both(NULL, REG_CTRL, 1);
    total[CNT_DROP_DISABLED] = counter_of(&rtl, CNT_DROP_DISABLED);
    CHECK(total[CNT_DROP_DISABLED] == BATCH, "%llu dropped while off",
          (unsigned long long)total[CNT_DROP_DISABLED]);
    complete();

    /* admit takes headers faster than a card of less than 64 bytes a clock receives them */
    for (uint32_t i = CNT_IN_RESENT; i < REG_COUNTERS; i++)
        CHECK(total[i] > 0 || i == CNT_LOST_TEST_OUT || (i == CNT_DROP_ROOM && narrow),
              "counter %u was never reached", i);
    printf("%d bad frames: %llu dropped for want of room, %llu not answered\n",
           (n_batches + 2) * BATCH, (unsigned long long)total[CNT_DROP_ROOM],
           (unsigned long long)total[CNT_LOST_NAK]);
    pair_close();
    DONE();
}
