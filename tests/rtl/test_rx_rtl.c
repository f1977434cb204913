/* test_rx_rtl.c : compares rx with a plain model, clock by clock. `long`: ten times as many
 * frames. */
#include <string.h>
#include "check.h"
#include "hls/card/packet.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"

enum { SEED = 25, MAX_BEATS = 12, FIFO_BEATS = 32, DESCS = 6, ALL_BEATS = 32, RING = 64 };
enum {
#define COUNTER(NAME, index, what) CNT_##NAME = index,
#include "hls/card/regs.def"
};
enum { CNT_TAKEN = 31 }; /* not a counter: the frame leaves rx if there is room */

struct frame {
    uint8_t bytes[ALL_BEATS][64];
    uint64_t keep[ALL_BEATS];
    uint32_t ip;
    uint16_t port;
    unsigned n_beats;
};

static struct {
    struct model *m;
    uint32_t *data, *ip, *drop_in, *random, *desc, *pay, *drop;
    uint64_t *keep;
    uint16_t *port;
    uint8_t *rst, *last, *valid, *ready, *enable, *desc_valid, *desc_ready, *pay_valid, *pay_ready;
} dut;

static void spoil(struct frame *f, uint64_t *rand)
{
    unsigned at = rtl_rand(rand) % f->n_beats, bit = rtl_rand(rand) % 512;
    uint32_t len = (uint32_t)pkt_get_uint(f->bytes[0] + PKT_LEN_AT, 2);
    switch (rtl_rand(rand) % 11) {
    case 0:
        f->bytes[at][bit / 8] ^= (uint8_t)(1 << bit % 8);
        break;
    case 1:
        f->bytes[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
        break;
    case 2:
        f->keep[rtl_chance(rand, 128) ? at : f->n_beats - 1] =
            rtl_chance(rand, 128) ? ~0ull >> (1 + bit % 63) : 0;
        break;
    case 3:
        f->n_beats = at + 1;
        break;
    case 4:
        f->n_beats += f->n_beats < ALL_BEATS;
        break;
    case 5: /* with a correct header CRC: another length */
        pkt_put_uint(f->bytes[0] + PKT_LEN_AT, len + (rtl_chance(rand, 128) ? 64u : 1u << bit % 16),
                     2);
        pkt_put(pkt_get(f->bytes[0]), f->bytes[0]);
        break;
    case 6: /* with a correct header CRC: another protocol */
        f->bytes[0][bit % 4] ^= (uint8_t)(1 << bit % 8);
        pkt_put(pkt_get(f->bytes[0]), f->bytes[0]);
        break;
    case 7: /* with a correct header CRC: another payload CRC */
        f->bytes[0][PKT_PAYLOAD_CRC_AT + bit % 4] ^= (uint8_t)(1 << bit % 8);
        pkt_put(pkt_get(f->bytes[0]), f->bytes[0]);
        break;
    case 8: /* 16 beats more than the header says: a 4-bit count would miss them */
        if (f->n_beats + 16 <= ALL_BEATS) {
            struct pkt_header h = pkt_get(f->bytes[0]);
            f->n_beats += 16;
            h.payload_crc = crc32c(f->bytes[1], 64 * (size_t)(f->n_beats - 1));
            pkt_put(h, f->bytes[0]);
        }
        break;
    case 9:
        for (int i = 0; i < 64; i++) {
            uint8_t x = f->bytes[at][i];
            f->bytes[at][i] = f->bytes[f->n_beats - 1][i];
            f->bytes[f->n_beats - 1][i] = x;
        }
        break;
    default: /* a header CRC of 0 or all ones */
        memset(f->bytes[0] + PKT_HEADER_CRC_AT, bit & 1 ? 0xff : 0, 4);
        break;
    }
}

static void make_frame(struct frame *f, uint64_t *rand, unsigned faulty)
{
    unsigned n_payload = rtl_chance(rand, 60) ? 0 : 1 + rtl_rand(rand) % MAX_BEATS;
    if (rtl_chance(rand, 8))
        n_payload = MAX_BEATS + 1 + rtl_rand(rand) % 4;
    f->n_beats = n_payload + 1;
    f->ip = rtl_rand(rand);
    f->port = (uint16_t)rtl_rand(rand);
    for (unsigned b = 0; b < ALL_BEATS; b++) {
        for (int i = 0; i < 64; i += 4)
            pkt_put_uint(f->bytes[b] + i, rtl_rand(rand), 4);
        f->keep[b] = ~0ull;
    }
    struct pkt_header h = pkt_get(f->bytes[0]);
    h.magic = PKT_MAGIC_VALUE;
    h.len = (uint16_t)(64 * f->n_beats);
    h.payload_crc = crc32c(f->bytes[1], 64 * (size_t)n_payload);
    pkt_put(h, f->bytes[0]);
    if (rtl_chance(rand, faulty))
        for (unsigned n = 1 + rtl_rand(rand) % 3; n > 0; n--)
            spoil(f, rand);
}

/* The first reason to drop a frame, except fault injection and lack of room. */
static int verdict(const struct frame *f, int enabled)
{
    struct pkt_header h = pkt_get(f->bytes[0]);
    if (!enabled)
        return CNT_DROP_DISABLED;
    for (unsigned b = 0; b < f->n_beats; b++)
        if (f->keep[b] != ~0ull)
            return CNT_DROP_LENGTH;
    if (h.len != 64 * f->n_beats || f->n_beats > MAX_BEATS + 1)
        return CNT_DROP_LENGTH;
    if (h.magic != PKT_MAGIC_VALUE)
        return CNT_DROP_MAGIC;
    if (h.header_crc != crc32c(f->bytes[0], PKT_HEADER_CRC_AT))
        return CNT_DROP_HEADER_CRC;
    if (h.payload_crc != crc32c(f->bytes[1], 64 * (size_t)(f->n_beats - 1)))
        return CNT_DROP_PAYLOAD_CRC;
    return CNT_TAKEN;
}

struct beat {
    int valid, first, last, enabled; /* enabled: as of the frame's begin */
    const struct frame *frame;
    unsigned at;
};

struct plain {
    struct beat c1, c2, c3;
    uint8_t pay[RING][64], desc[RING][70];
    unsigned pay_first, n_free, n_open, desc_first, n_descs;
    int room_lost, enabled;
    unsigned fresh;
};

static int plain_clock(struct plain *p, struct beat in, int lose, int take_desc, int take_pay)
{
    struct beat in2 = p->c2, b = p->c3;
    int reason = -1, desc_room = p->n_descs < DESCS;
    if (in2.valid && !in2.first) {
        p->room_lost |= p->n_free + p->n_open == FIFO_BEATS;
        if (!p->room_lost)
            memcpy(p->pay[(p->pay_first + p->n_free + p->n_open++) % RING],
                   in2.frame->bytes[in2.at], 64);
    }
    p->pay_first += (unsigned)take_pay;
    p->n_free -= (unsigned)take_pay;
    p->fresh = 0;
    if (b.valid && b.last) {
        reason = verdict(b.frame, b.enabled);
        if (reason == CNT_TAKEN && lose)
            reason = CNT_DROP_TEST_IN;
        if (reason == CNT_TAKEN && (p->room_lost || !desc_room))
            reason = CNT_DROP_ROOM;
        if (reason == CNT_TAKEN) {
            uint8_t *desc = p->desc[(p->desc_first + p->n_descs++) % RING];
            memcpy(desc, b.frame->bytes[0], 64);
            pkt_put_uint(desc + 64, b.frame->port, 2);
            pkt_put_uint(desc + 66, b.frame->ip, 4);
            p->fresh = p->n_open;
            p->n_free += p->fresh;
        }
        p->n_open = 0;
        p->room_lost = 0;
    }
    p->desc_first += (unsigned)take_desc;
    p->n_descs -= (unsigned)take_desc;
    p->c3 = p->c2;
    p->c2 = p->c1;
    p->c1 = in;
    return reason;
}

static void open_dut(int argc, char **argv)
{
    struct model *m = dut.m = model_open(argc, argv);
    dut.data = model_port(m, "rx_data_i", NULL);
    dut.keep = model_port(m, "rx_keep_i", NULL);
    dut.last = model_port(m, "rx_last_i", NULL);
    dut.ip = model_port(m, "rx_ip_i", NULL);
    dut.port = model_port(m, "rx_port_i", NULL);
    dut.valid = model_port(m, "rx_valid_i", NULL);
    dut.ready = model_port(m, "rx_ready_o", NULL);
    dut.enable = model_port(m, "enable_i", NULL);
    dut.drop_in = model_port(m, "drop_in_i", NULL);
    dut.random = model_port(m, "random_i", NULL);
    dut.desc = model_port(m, "desc_data_o", NULL);
    dut.desc_valid = model_port(m, "desc_valid_o", NULL);
    dut.desc_ready = model_port(m, "desc_ready_i", NULL);
    dut.pay = model_port(m, "pay_data_o", NULL);
    dut.pay_valid = model_port(m, "pay_valid_o", NULL);
    dut.pay_ready = model_port(m, "pay_ready_i", NULL);
    dut.drop = model_port(m, "drop_o", NULL);
    dut.rst = model_port(m, "rst_i", NULL);
}

static void check_outputs(const struct plain *p, int reason, uint64_t clock)
{
    unsigned long long at = clock;
    uint32_t drop = reason < 0 || reason == CNT_TAKEN ? 0 : 1u << reason;
    CHECK(*dut.ready, "clock %llu: not ready", at);
    CHECK(*dut.drop == drop, "clock %llu: drop %08x, must be %08x", at, *dut.drop, drop);
    CHECK(*dut.desc_valid == (p->n_descs > 0), "clock %llu: %u headers, valid %d", at, p->n_descs,
          *dut.desc_valid);
    CHECK(!*dut.desc_valid || !memcmp(dut.desc, p->desc[p->desc_first % RING], 70),
          "clock %llu: header", at);
    CHECK(*dut.pay_valid == (p->n_free > p->fresh), "clock %llu: %u beats, valid %d", at, p->n_free,
          *dut.pay_valid);
    CHECK(!*dut.pay_valid || !memcmp(dut.pay, p->pay[p->pay_first % RING], 64),
          "clock %llu: payload", at);
}

int main(int argc, char **argv)
{
    uint64_t n_frames = argc > 1 && !strcmp(argv[1], "long") ? 2500000 : 250000;
    static struct frame frames[4]; /* the last three may still be inside */
    static struct plain p, empty;
    uint64_t rand = SEED, seen[32] = {0}, frame = 0, clock = 0, ended = 0, resets = 0;
    unsigned at = 0, in_stall = 0, desc_stall = 0, pay_stall = 0, faulty = 0;
    int lose = 0, lose_next = 0, reason = -1;
    printf("seed %d\n", SEED);
    open_dut(1, argv);
    make_frame(&frames[0], &rand, 0);
    for (; frame < n_frames; clock++) {
        const struct frame *f = &frames[frame % 4];
        if (clock % 512 == 0) {
            in_stall = rtl_stall(&rand);
            desc_stall = rtl_stall(&rand);
            pay_stall = rtl_stall(&rand);
            faulty = rtl_stall(&rand);
            *dut.drop_in = rtl_chance(&rand, 200) ? 0 : rtl_rand(&rand);
        }
        int starts = clock % 65536 < 3; /* two clocks of reset, one until ready */
        *dut.rst = clock % 65536 < 2;
        *dut.valid = (uint8_t)(!starts && !rtl_chance(&rand, in_stall));
        *dut.enable = (uint8_t)!rtl_chance(&rand, faulty ? 8 : 0);
        *dut.desc_ready = (uint8_t)!rtl_chance(&rand, desc_stall);
        *dut.pay_ready = (uint8_t)!rtl_chance(&rand, pay_stall);
        *dut.random =
            rtl_chance(&rand, 16) ? *dut.drop_in : rtl_rand(&rand); /* equal is not below */
        memcpy(dut.data, f->bytes[at], 64);
        *dut.keep = f->keep[at];
        *dut.last = at + 1 == f->n_beats;
        *dut.ip = at == 0 ? f->ip : rtl_rand(&rand);
        *dut.port = at == 0 ? f->port : (uint16_t)rtl_rand(&rand);
        model_eval(dut.m);
        if (!starts)
            check_outputs(&p, reason, clock);

        if (at == 0)
            p.enabled = *dut.enable;
        struct beat in = {*dut.valid, at == 0, *dut.last, p.enabled, f, at};
        reason = plain_clock(&p, in, lose, *dut.desc_valid && *dut.desc_ready,
                             *dut.pay_valid && *dut.pay_ready);
        /* sampled one clock after the last beat, effective two clocks later */
        lose = lose_next;
        lose_next = *dut.random < *dut.drop_in;
        if (!*dut.rst && reason >= 0) {
            seen[reason]++;
            ended++;
        }
        at += *dut.valid;
        if (at == f->n_beats || (*dut.rst && at > 0)) {
            at = 0;
            frame++;
            make_frame(&frames[frame % 4], &rand, faulty);
        }
        if (*dut.rst) {
            resets++;
            p = empty;
            reason = -1;
        }
        model_tick(dut.m);
    }
#define COUNTER(NAME, index, what) \
    if (seen[index])               \
        printf("%-16s %9llu\n", #NAME, (unsigned long long)seen[index]);
#include "hls/card/regs.def"
    printf("%-16s %9llu of %llu frames in %llu clocks\n", "taken",
           (unsigned long long)seen[CNT_TAKEN], (unsigned long long)n_frames,
           (unsigned long long)clock);
    CHECK(seen[CNT_TAKEN] > n_frames / 4, "too few frames were taken");
    CHECK(ended + 3 + 3 * resets >= n_frames, "%llu frames ended", (unsigned long long)ended);
    static const int reasons[] = {CNT_DROP_DISABLED,   CNT_DROP_LENGTH,      CNT_DROP_MAGIC,
                                  CNT_DROP_HEADER_CRC, CNT_DROP_PAYLOAD_CRC, CNT_DROP_TEST_IN,
                                  CNT_DROP_ROOM};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        CHECK(seen[reasons[i]] > n_frames / 1000, "reason %d: only %llu frames", reasons[i],
              (unsigned long long)seen[reasons[i]]);
    model_close(dut.m);
    DONE();
}
