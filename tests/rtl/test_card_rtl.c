/* test_card_rtl.c : compares the Verilated card with the card in C on random contributions, some
 * late, early, damaged or foreign. */
#include "card_formats.h"
#include "card_pair.h"

enum { SEED = 8, SLOTS = 3, BATCH = 24, ROUNDS = 30, BEATS = 32 };
#ifdef PAIR_NARROW
enum { BASE = CARD_NARROW_SLOTS - SLOTS };
static const uint8_t in_formats[] = {0x96, 0xa5},
                     out_formats[] = {0x16, 0x25, 0x34, 0x43, 0x52, 0xc3, 0x96, 0xa5, 0xb4};
#else
enum { BASE = 5 };
#define in_formats  card_formats
#define out_formats card_formats
#endif
static const uint64_t job_key = 0xfeedface01234567u;
static uint32_t current[SLOTS];
static uint32_t turn[SLOTS];
static uint32_t formats; /* JOB_FORMATS */

/* Every third job limits the addends to one format, or the results, or both. */
static void open_job(uint32_t ranks, uint64_t key, size_t k)
{
    static const uint32_t bytes[] = {0x0000ff, 0x00ff00, 0x00ffff};
    formats = k % 3 == 1 ? 0x43a5 & bytes[k / 3 % 3] : 0;
    struct frame_job job = {2, ranks, BASE, SLOTS, formats, key};
    /* Odd jobs have a multicast group; a unicast address counts as none. */
    const uint32_t group = key % 8 == 1 ? 0x0aff0001 : 0xeff00000 | (uint32_t)(key % 99);
    pair_register_group(job, key % 2 ? group : 0, (uint16_t)(5000 + key % 99));
    for (int i = 0; i < SLOTS; i++)
        current[i] = 0xffffffff, turn[i] = 0;
}

/* All ranks send this header; sometimes no card accepts it. */
static struct pkt_header header_of(uint32_t slot, uint32_t chunk, uint64_t key)
{
    uint64_t of = (uint64_t)chunk * 64 + slot;
    uint32_t a = philox_u32(SEED + 1, of), b = philox_u32(SEED + 2, of);
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = key;
    h.job = 2;
    h.slot = (uint16_t)(BASE + slot);
    h.chunk = chunk;
    h.op = a % 8 ? PKT_OP_SUM : PKT_OP_MAX;
    h.flags = (uint8_t)(a >> 4 & 1);
    h.tag = b;
    h.count = a;
    h.beats = (uint8_t)(1 + (a >> 8) % (b % 4 ? 4 : BEATS));
    if (h.op == PKT_OP_MAX)
        return h;
    h.in_fmt = (uint8_t)(formats & 255);
    h.out_fmt = (uint8_t)(formats >> 8);
    if (!h.in_fmt)
        h.in_fmt = in_formats[(a >> 16) % sizeof in_formats];
    if (!h.out_fmt)
        h.out_fmt = out_formats[(b >> 16) % sizeof out_formats];
    h.out_shift = (uint8_t)(b % 7);
    uint32_t in = beat_format(h.in_fmt).width, out = beat_format(h.out_fmt).width;
    uint32_t ratio = in > out ? in / out : out / in;
    h.beats = (uint8_t)((h.beats + ratio - 1) / ratio * ratio);
    return h;
}

static void change_a_field(struct pkt_header *h)
{
    switch (draw(15)) {
    case 0:
        h->rank = (uint16_t)(draw(3) ? draw(70) : draw(65536));
        break;
    case 1:
        h->key ^= 1ull << draw(64);
        break;
    case 2:
        h->job = (uint16_t)(draw(3) ? draw(6) : draw(65536));
        break;
    case 3:
        h->slot = (uint16_t)(draw(3) ? draw(12) : draw(65536));
        break;
    case 4:
        h->chunk = draw(3) ? h->chunk ^ 1u << draw(32) : draw(1u << 31);
        break;
    case 5:
        h->op = (uint8_t)(draw(3) ? draw(8) : draw(256));
        break;
    case 6:
        h->flags = (uint8_t)draw(256);
        break;
    case 7:
        h->beats = (uint8_t)(draw(2) ? draw(40) : draw(256));
        break;
    case 8:
        h->in_fmt = (uint8_t)draw(256);
        break;
    case 9:
        h->out_fmt = (uint8_t)draw(256);
        break;
    case 10:
        h->out_shift = (uint8_t)draw(256);
        break;
    case 11:
        h->tag ^= 1u << draw(32);
        break;
    case 12:
        h->count ^= 1u << draw(32);
        break;
    case 13:
        h->status = draw(2), h->echo = (uint64_t)draw(2) << draw(64);
        break;
    default:
        h->zero0 = (uint16_t)draw(2), h->zero1 = draw(2);
    }
}

static void a_frame(uint32_t ranks, uint64_t key)
{
    static uint8_t payload[BEATS * 64], frame[64 * (BEATS + 2)];
    uint32_t slot = draw(SLOTS), kind = draw(16), luck = draw(12);
    uint32_t chunk = current[slot] + (luck < 9 ? 1 : luck == 9 ? 0 : luck == 10 ? 2 : 0xffffffff);
    struct pkt_header h = header_of(slot, chunk, key);
    h.rank = (uint16_t)(draw(8) ? turn[slot]++ % ranks : draw(ranks));
    if (kind == 0)
        h.op = PKT_OP_PING, h.echo = (uint64_t)draw(1u << 31) << 13;
    if (kind == 4 && h.op == PKT_OP_SUM && formats & 255)
        h.in_fmt = in_formats[draw(sizeof in_formats)];
    if (kind == 5 && h.op == PKT_OP_SUM && formats >> 8)
        h.out_fmt = out_formats[draw(sizeof out_formats)];
    size_t beats = h.op == PKT_OP_PING ? draw(BEATS + 1) : payload_beats(h), n;
    for (size_t i = 0; i < beats * 64; i++)
        payload[i] = (uint8_t)(chunk % 2 ? draw(256) : draw(256) & 0xbb);
    uint32_t from_rank = h.rank;
    if (kind == 1)
        change_a_field(&h);
    n = frame_put(h, payload, beats, frame);
    struct queued_frame f = {frame_ip(2, from_rank), 0, frame_port(from_rank), n, 0};
    f.gap = ranks * (BEATS + 1) + 4 * BEATS; /* room for all frames */
    if (kind == 2 && draw(2))
        frame[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
    else if (kind == 2 && draw(2))
        f.n = 1 + draw((uint32_t)n + 64);
    else if (kind == 2)
        draw(2) ? (f.ip ^= 1u << draw(32)) : (f.port = (uint16_t)(f.port ^ 1u << draw(16)));
    queue_both(f, frame);
    if (kind == 3)
        queue_both(f, frame);
}

static void run_both(void)
{
    pair_run();
    for (int i = 0; i < c.n_out; i++)
        if (c.out[i].h.op == PKT_OP_RESULT &&
            (int32_t)(c.out[i].h.chunk - current[c.out[i].h.slot - BASE]) > 0)
            current[c.out[i].h.slot - BASE] = c.out[i].h.chunk;
    same_frames();
    same_counters();
}

int main(void)
{
    static const uint32_t ranks[] = {1, 2, 3, 5, 3, 2, 64, 2};
    if (!pair_open(SEED))
        return 1;
    for (uint32_t at = 0; at < 0x100; at += 4)
        if (at != REG_STATUS)
            read_both(at);
    uint64_t n = 0;
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks && !check_bad; k++) {
        uint64_t key = job_key + k;
        open_job(ranks[k], key, k);
        for (int round = 0; round < (ranks[k] > 8 ? ROUNDS / 3 : ROUNDS) && !check_bad; round++) {
            for (int i = 0; i < BATCH; i++)
                a_frame(ranks[k], draw(20) ? key : key - 1);
            run_both();
            n += (uint64_t)c.n_out;
        }
    }
    for (uint32_t i = 0; i < REG_COUNTERS; i++) {
        uint32_t value = 0;
        write_both(NULL, REG_COUNTER_INDEX, i);
        value = read_both(REG_COUNTER_LO);
        int never = i == CNT_DROP_ROOM || i == CNT_LOST_NAK || i == CNT_LOST_TEST_OUT ||
                    i == CNT_DROP_TEST_IN || i == CNT_DROP_DISABLED;
        CHECK(check_bad || (value > 0) != never, "counter %u is %u", i, value);
    }
    printf("%llu frames out; %llu clocks of RTL at %.0f kHz\n", (unsigned long long)n,
           (unsigned long long)pair_rtl.clocks, 1e-3 * (double)pair_rtl.clocks / pair_rtl.seconds);
    pair_close();
    DONE();
}
