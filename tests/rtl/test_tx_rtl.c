/* test_tx_rtl.c : tests rtl/tx.sv under random stalls: results to masks of ranks or a group,
 * NAKs and PONGs. */
#include "check.h"
#include "hls/card/card.h"
#include "hls/card/packet.h"
#include "hls/card/regs.h"
#include "sim/rtl/verilated_model.h"
#include <string.h>

/* ---- ports of the Verilated rtl/tx.sv ---- */

static struct dut {
    struct model *m;
    uint8_t *rst, *send_valid, *send_ready, *send_slot, *send_job, *send_status, *send_beats, *busy,
        *busy_slot, *kr_valid, *send_group, *addr_group;
    uint8_t *kr_slot, *kr_beat, *ans_valid, *ans_ready, *ans_pong, *ans_status, *ans_job, *ans_rank,
        *ans_beats, *addr_job;
    uint8_t *addr_rank, *tx_last, *tx_valid, *tx_ready;
    uint16_t *ans_slot, *addr_port, *tx_port;
    uint32_t *send_chunk, *send_desc, *send_crc, *kr_data, *ans_chunk, *ans_tag, *addr_ip, *tx_data,
        *tx_ip, *drop_out, *random;
    uint32_t *count;
    uint64_t *send_mask, *send_key, *ans_key, *ans_echo, *ans_bitmap;
} d;

static void open_dut(int argc, char **argv)
{
    d.m = model_open(argc, argv);
    struct {
        const char *name;
        void *at;
    } ports[] = {
        {"rst_i", &d.rst},
        {"send_valid_i", &d.send_valid},
        {"send_ready_o", &d.send_ready},
        {"send_group_i", &d.send_group},
        {"addr_group_o", &d.addr_group},
        {"send_slot_i", &d.send_slot},
        {"send_job_i", &d.send_job},
        {"send_status_i", &d.send_status},
        {"send_beats_i", &d.send_beats},
        {"send_mask_i", &d.send_mask},
        {"send_key_i", &d.send_key},
        {"send_chunk_i", &d.send_chunk},
        {"send_desc_i", &d.send_desc},
        {"send_crc_i", &d.send_crc},
        {"busy_o", &d.busy},
        {"busy_slot_o", &d.busy_slot},
        {"kr_valid_o", &d.kr_valid},
        {"kr_slot_o", &d.kr_slot},
        {"kr_row_o", &d.kr_beat},
        {"kr_data_i", &d.kr_data},
        {"ans_valid_i", &d.ans_valid},
        {"ans_ready_o", &d.ans_ready},
        {"ans_pong_i", &d.ans_pong},
        {"ans_status_i", &d.ans_status},
        {"ans_job_i", &d.ans_job},
        {"ans_rank_i", &d.ans_rank},
        {"ans_slot_i", &d.ans_slot},
        {"ans_chunk_i", &d.ans_chunk},
        {"ans_key_i", &d.ans_key},
        {"ans_tag_i", &d.ans_tag},
        {"ans_echo_i", &d.ans_echo},
        {"ans_bitmap_i", &d.ans_bitmap},
        {"ans_beats_i", &d.ans_beats},
        {"addr_job_o", &d.addr_job},
        {"addr_rank_o", &d.addr_rank},
        {"addr_ip_i", &d.addr_ip},
        {"addr_port_i", &d.addr_port},
        {"tx_data_o", &d.tx_data},
        {"tx_last_o", &d.tx_last},
        {"tx_ip_o", &d.tx_ip},
        {"tx_port_o", &d.tx_port},
        {"tx_valid_o", &d.tx_valid},
        {"tx_ready_i", &d.tx_ready},
        {"drop_out_i", &d.drop_out},
        {"random_i", &d.random},
        {"count_o", &d.count},
    };
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        void *at = model_port(d.m, ports[i].name, NULL);
        memcpy(ports[i].at, &at, sizeof at);
    }
}

enum {
    SLOTS = CARD_SLOTS,
    ROWS = CARD_BEATS,
    JOBS = CARD_JOBS,
    RANKS = PKT_MAX_RANKS,
    QUEUE = 1 << 16
};

static uint64_t seed = 0x7c5eed;
static uint64_t rnd(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1du;
}
static unsigned below(unsigned n)
{
    return (unsigned)(rnd() >> 33) % n;
}

/* its payload is in `pool` at `at` */
struct want {
    struct pkt_header h;
    unsigned job, beats;
    uint32_t at;
};
struct queue {
    struct want *w;
    unsigned put, get;
};

static struct queue sends, answers;
static uint8_t (*pool)[64];
static uint32_t pool_put;
static uint8_t kept[SLOTS][ROWS][64], way[2][64];
static uint64_t counted[REG_COUNTERS], first_out, taken_at, clocks, bubbles, frames, lost;
static uint32_t frame_beats, address_of[JOBS][RANKS + 1];
static struct want now;
static unsigned group_of;
static int held, strict;
static uint32_t held_data[16];

static uint32_t store(const uint8_t (*beats)[64], unsigned n)
{
    if (pool_put + n > QUEUE)
        pool_put = 0;
    uint32_t at = pool_put;
    for (unsigned i = 0; i < n; i++)
        memcpy(pool[at + i], beats[i], 64);
    pool_put += n;
    return at;
}

/* Its frames are expected after tx accepts it. */
static struct want send_want;
static void offer_send(unsigned most_ranks, unsigned beats)
{
    struct pkt_header h = {.magic = PKT_MAGIC_VALUE, .op = PKT_OP_RESULT};
    unsigned slot = below(SLOTS), n = below(most_ranks + 1);
    if (beats && !n)
        n = 1;
    *d.send_mask = 0;
    for (unsigned i = 0; i < n; i++)
        *d.send_mask |= 1ull << below(RANKS);
    h.key = rnd();
    h.job = (uint16_t)below(JOBS);
    h.slot = (uint16_t)slot;
    h.chunk = (uint32_t)rnd();
    h.flags = (uint8_t)rnd();
    h.beats = (uint8_t)rnd();
    h.in_fmt = (uint8_t)rnd();
    h.out_fmt = (uint8_t)rnd();
    h.out_shift = (uint8_t)rnd();
    h.tag = (uint32_t)rnd();
    h.count = (uint32_t)rnd();
    h.status = below(8);
    if (!beats)
        beats = 1 + (below(3) ? below(4) : below(ROWS));
    h.len = (uint16_t)(64 * (beats + 1));
    h.payload_crc = (uint32_t)rnd(); /* passed on */
    *d.send_slot = (uint8_t)slot;
    *d.send_job = (uint8_t)h.job;
    *d.send_key = h.key;
    *d.send_chunk = h.chunk;
    *d.send_status = (uint8_t)h.status;
    *d.send_crc = h.payload_crc;
    *d.send_beats = (uint8_t)beats;
    d.send_desc[0] =
        (uint32_t)below(256) | (uint32_t)(h.flags << 8 | h.beats << 16) | (uint32_t)h.in_fmt << 24;
    d.send_desc[1] = (uint32_t)(h.out_fmt | h.out_shift << 8) | (uint32_t)below(65536) << 16;
    d.send_desc[2] = h.tag;
    d.send_desc[3] = h.count;
    send_want = (struct want){h, h.job, beats, 0};
    *d.send_group = group_of && *d.send_mask && !below(group_of);
    *d.send_valid = 1;
}

static void take_send(void)
{
    send_want.at = store((const uint8_t(*)[64])kept[*d.send_slot], send_want.beats);
    if (*d.send_group) {
        struct want once = send_want;
        once.h.rank = PKT_TO_GROUP;
        once.h.key = 0;
        sends.w[sends.put++ % QUEUE] = once;
    }
    for (unsigned r = 0; r < RANKS && !*d.send_group; r++) {
        if (!(*d.send_mask >> r & 1))
            continue;
        send_want.h.rank = (uint16_t)r;
        sends.w[sends.put++ % QUEUE] = send_want;
    }
    *d.send_valid = 0;
}

static struct want answer_want;
static void offer_answer(unsigned most_beats)
{
    static const uint8_t zeros[ROWS][64];
    int pong = (int)below(2);
    unsigned beats = pong ? below(most_beats + 1) : 0;
    struct pkt_header h = {.magic = PKT_MAGIC_VALUE, .op = pong ? PKT_OP_PONG : PKT_OP_NAK};
    *d.ans_pong = (uint8_t)pong;
    *d.ans_status = (uint8_t)rnd();
    *d.ans_job = (uint8_t)below(JOBS);
    *d.ans_rank = (uint8_t)below(RANKS);
    *d.ans_slot = (uint16_t)rnd();
    *d.ans_chunk = (uint32_t)rnd();
    *d.ans_key = rnd();
    *d.ans_tag = (uint32_t)rnd();
    *d.ans_echo = rnd();
    *d.ans_bitmap = rnd();
    *d.ans_beats = (uint8_t)(pong ? beats : below(ROWS)); /* a NAK ignores this */
    h.status = *d.ans_status;
    h.job = *d.ans_job;
    h.rank = *d.ans_rank;
    h.slot = *d.ans_slot;
    h.chunk = *d.ans_chunk;
    h.key = *d.ans_key;
    h.tag = pong ? (uint32_t)*d.ans_bitmap : *d.ans_tag;
    h.count = pong ? (uint32_t)(*d.ans_bitmap >> 32) : 0;
    h.echo = pong ? *d.ans_echo : 0;
    h.len = (uint16_t)(64 * (beats + 1));
    h.payload_crc = crc32c(zeros, 64 * beats);
    answer_want = (struct want){h, h.job, beats, store(zeros, beats)};
    *d.ans_valid = 1;
}

static void leaving(void)
{
    uint8_t bytes[64], header[64];
    memcpy(bytes, d.tx_data, 64);
    if (frame_beats == 0) {
        struct pkt_header h = pkt_get(bytes);
        struct queue *q = h.op == PKT_OP_RESULT ? &sends : &answers;
        if (!strict) { /* fault injection loses some */
            unsigned g = q->get;
            while (g != q->put &&
                   (q->w[g % QUEUE].h.key != h.key || q->w[g % QUEUE].h.rank != h.rank))
                g++;
            CHECK(g != q->put, "nobody asked for this frame (op %d)", h.op);
            if (g != q->put) {
                lost += g - q->get;
                q->get = g;
            }
        }
        CHECK(q->get != q->put, "a frame too many (op %d)", h.op);
        now = q->w[q->get++ % QUEUE];
        pkt_put(now.h, header);
        CHECK(!memcmp(bytes, header, 64), "header of op %d rank %d: first words %08x %08x", h.op,
              now.h.rank, d.tx_data[0], d.tx_data[1]);
        frames++;
    } else
        CHECK(frame_beats > now.beats || !memcmp(bytes, pool[now.at + frame_beats - 1], 64),
              "beat %u of op %d", frame_beats, now.h.op);
    uint32_t a = address_of[now.job][now.h.rank == PKT_TO_GROUP ? RANKS : now.h.rank];
    CHECK(*d.tx_ip == a && *d.tx_port == (uint16_t)(a >> 7), "address of rank %d", now.h.rank);
    CHECK(*d.tx_last == (frame_beats == now.beats), "last at beat %u of %u", frame_beats,
          now.beats);
    frame_beats = *d.tx_last ? 0 : frame_beats + 1;
}

static void clock_once(void)
{
    *d.random = (uint32_t)rnd();
    model_eval(d.m);
    if (*d.kr_valid) {
        CHECK(*d.busy && *d.busy_slot == *d.kr_slot, "reads slot %d without saying so", *d.kr_slot);
        memcpy(way[1], kept[*d.kr_slot][*d.kr_beat], 64);
    } else
        memset(way[1], 0xee, 64);
    int out = *d.tx_valid && *d.tx_ready;
    CHECK(!held || (*d.tx_valid && !memcmp(held_data, d.tx_data, 64)), "a stalled beat changes");
    held = *d.tx_valid && !*d.tx_ready;
    memcpy(held_data, d.tx_data, 64);
    if (out)
        leaving();
    if (*d.tx_valid && !first_out)
        first_out = clocks;
    bubbles += *d.tx_ready && !*d.tx_valid;
    for (int i = 0; i < REG_COUNTERS; i++)
        counted[i] += *d.count >> i & 1;
    int send = *d.send_valid && *d.send_ready, answer = *d.ans_valid && *d.ans_ready;
    uint32_t a = address_of[*d.addr_job][*d.addr_group ? RANKS : *d.addr_rank];
    model_tick(d.m);
    clocks++;
    memcpy(d.kr_data, way[0], 64);
    memcpy(way[0], way[1], 64);
    *d.addr_ip = a;
    *d.addr_port = (uint16_t)(a >> 7);
    if (send) {
        taken_at = clocks - 1;
        take_send();
    }
    if (answer) {
        answers.w[answers.put++ % QUEUE] = answer_want;
        *d.ans_valid = 0;
    }
    /* Rows that tx does not read may be overwritten. */
    unsigned slot = below(SLOTS), row = below(ROWS);
    if (!(*d.busy && *d.busy_slot == slot))
        for (int i = 0; i < 8; i++) {
            uint64_t r = rnd();
            memcpy(kept[slot][row] + 8 * i, &r, 8);
        }
}

static void drain(void)
{
    *d.tx_ready = 1;
    for (int i = 0;
         i < 20000 && (*d.busy || *d.tx_valid || *d.send_valid || *d.ans_valid || i < 20); i++)
        clock_once();
    for (int i = 0; i < 200; i++)
        clock_once();
    CHECK(frame_beats == 0, "ends within a frame");
    if (!strict) {
        lost += sends.put - sends.get + answers.put - answers.get;
        sends.get = sends.put;
        answers.get = answers.put;
    }
    CHECK(sends.get == sends.put && answers.get == answers.put,
          "%u results and %u answers never came", sends.put - sends.get, answers.put - answers.get);
}

int main(int argc, char **argv)
{
    printf("seed %llx\n", (unsigned long long)seed);
    open_dut(argc, argv);
    sends.w = calloc(QUEUE, sizeof *sends.w);
    answers.w = calloc(QUEUE, sizeof *answers.w);
    pool = calloc(QUEUE, sizeof *pool);
    if (!sends.w || !answers.w || !pool)
        return 1;
    for (int j = 0; j < JOBS; j++)
        for (int r = 0; r <= RANKS; r++)
            address_of[j][r] = (uint32_t)rnd();
    *d.rst = 1;
    clock_once();
    clock_once();
    *d.rst = 0;
    held = 0;
    strict = 1;

    *d.tx_ready = 1;
    for (int i = 0; i < 8; i++)
        clock_once();
    first_out = 0;
    offer_send(1, 22);
    for (int i = 0; i < 40; i++)
        clock_once();
    printf("first beat %d clocks after its request was taken\n", (int)(first_out - taken_at));
    CHECK(first_out - taken_at <= 4, "%d clocks", (int)(first_out - taken_at));

    for (int phase = 0; phase < 12; phase++) {
        group_of = (unsigned)phase % 3;
        unsigned ask = 1 + below(20), answer = 1 + below(40), take = 1 + below(8);
        for (int i = 0; i < 4000; i++) {
            if (!*d.send_valid && below(ask) == 0)
                offer_send(phase & 1 ? 64 : 3, 0);
            if (!*d.ans_valid && below(answer) == 0)
                offer_answer(phase & 2 ? 32 : 1);
            *d.tx_ready = below(take) == 0;
            clock_once();
        }
        drain();
    }
    uint64_t sent = counted[CNT_OUT_RESULT] + counted[CNT_OUT_NAK] + counted[CNT_OUT_PONG];
    CHECK(sent == frames && counted[CNT_OUT_NAK] && counted[CNT_OUT_PONG], "counted %d of %d",
          (int)sent, (int)frames);

    group_of = 0;
    /* No bubbles: results of one and more beats, answers, and both. */
    for (int phase = 0; phase < 4; phase++) {
        uint64_t start_answers = answers.put, start_sends = sends.put;
        for (int i = 0; i < 5010; i++) {
            if (phase != 2 && !*d.send_valid)
                offer_send(phase == 1 ? 64 : 1, phase == 0 ? 1 : 3);
            if (phase >= 2 && !*d.ans_valid)
                offer_answer(phase == 2 ? 0 : 2);
            *d.tx_ready = 1;
            if (i == 10)
                bubbles = 0;
            clock_once();
        }
        CHECK(bubbles == 0, "%d bubbles in phase %d", (int)bubbles, phase);
        if (phase == 3) {
            CHECK(answers.put - start_answers > 500 && sends.put - start_sends > 500,
                  "%d answers, %d results", (int)(answers.put - start_answers),
                  (int)(sends.put - start_sends));
        }
        drain();
    }

    strict = 0;
    *d.drop_out = 0x80000000u;
    uint64_t before = frames;
    for (int i = 0; i < 20000; i++) {
        if (!*d.send_valid)
            offer_send(8, 0);
        if (!*d.ans_valid && below(10) == 0)
            offer_answer(3);
        *d.tx_ready = below(3) != 0;
        clock_once();
    }
    drain();
    CHECK(lost == counted[CNT_LOST_TEST_OUT], "%d lost, %d counted", (int)lost,
          (int)counted[CNT_LOST_TEST_OUT]);
    CHECK(lost * 10 > (frames - before) * 9 && lost * 9 < (frames - before) * 10, "%d lost, %d not",
          (int)lost, (int)(frames - before));
    printf("%d frames in %d clocks, %d lost on purpose\n", (int)frames, (int)clocks, (int)lost);
    model_close(d.m);
    free(sends.w);
    free(answers.w);
    free(pool);
    DONE();
}
