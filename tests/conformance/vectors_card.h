/* vectors_card.h : vectors of a card: a job, frames in and out, the counter of each frame. */
#ifndef VECTORS_CARD_H
#define VECTORS_CARD_H
#include "hls/card/regs.h"
#include "vectors_ranks.h"

enum { SCRIPT_OUT = 64 };

static struct {
    struct card *card;
    struct frame_job job;
    int n_out, n_events;
    struct {
        uint32_t ip;
        uint16_t port;
        size_t n;
        uint8_t bytes[CARD_FRAME_BYTES];
    } out[SCRIPT_OUT];
} script;

static void script_takes(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    if (script.n_out == SCRIPT_OUT)
        abort();
    script.out[script.n_out].ip = ip;
    script.out[script.n_out].port = port;
    script.out[script.n_out].n = n;
    memcpy(script.out[script.n_out++].bytes, bytes, n);
}

static void script_writes(void *arg, uint32_t at, uint32_t value)
{
    if (card_write(arg, at, value))
        abort();
}

static const char *counter_name(unsigned i)
{
    switch (i) {
#define COUNTER(NAME, index, what) \
    case index:                    \
        return #NAME;
#include "hls/card/regs.def"
    default:
        return "";
    }
}

static void script_open_kind(const char *name, const char *rules, struct frame_job job,
                             uint32_t group, bool narrow)
{
    char id[64];
    uint32_t caps = 0;
    script.card = card_open(script_takes, NULL);
    if (narrow)
        card_make_narrow(script.card);
    script.job = job;
    script.n_events = 0;
    frame_register_group(job, group, 6000, script_writes, script.card);
    snprintf(id, sizeof id, "card/%s", name);
    line_open(id, "card", rules);
    fprintf(line_to,
            ",\"job\":{\"index\":%u,\"ranks\":%u,\"slot_base\":%u,\"slots\":%u,\"in_fmt\":\"%02x\","
            "\"out_fmt\":\"%02x\",\"key\":\"%016llx\",\"group\":\"%08x\",\"group_port\":%d,"
            "\"addresses\":[",
            job.index, job.ranks, job.base, job.slots, job.formats & 255, job.formats >> 8,
            (unsigned long long)job.key, group, group ? 6000 : 0);
    for (unsigned r = 0; r < job.ranks; r++)
        fprintf(line_to, "%s[\"%08x\",%d]", r ? "," : "", frame_ip(job.index, r), frame_port(r));
    fputs("]}", line_to);
    if (narrow) {
        (void)card_read(script.card, REG_CAP_FORMATS, &caps);
        line_words("cap_formats", &caps, 1, 8);
    }
    fputs(",\"events\":[", line_to);
}

static void script_open(const char *name, const char *rules, struct frame_job job, uint32_t group)
{
    script_open_kind(name, rules, job, group, false);
}

/* A frame from ip:port, the counter that counts it, and the answers. */
static void script_give_from(uint32_t ip, uint16_t port, const uint8_t *frame, size_t n)
{
    uint64_t before[REG_COUNTERS];
    for (unsigned i = 0; i < REG_COUNTERS; i++)
        before[i] = card_counter(script.card, i);
    script.n_out = 0;
    card_frame(script.card, ip, port, frame, n);
    fprintf(line_to, "%s{\"from\":[\"%08x\",%d],\"frame\":", script.n_events++ ? "," : "", ip,
            port);
    line_bare_bytes(frame, n);
    for (unsigned i = 0; i < CNT_OUT_RESULT; i++)
        if (card_counter(script.card, i) != before[i])
            line_text("counter", counter_name(i));
    fputs(",\"out\":[", line_to);
    for (int i = 0; i < script.n_out; i++) {
        fprintf(line_to, "%s[\"%08x\",%d,", i ? "," : "", script.out[i].ip, script.out[i].port);
        line_bare_bytes(script.out[i].bytes, script.out[i].n);
        fputc(']', line_to);
    }
    fputs("]}", line_to);
}

/* from the address of h.rank */
static void script_give(struct pkt_header h, const uint8_t *payload, size_t beats)
{
    uint8_t frame[CARD_FRAME_BYTES];
    const size_t n = frame_put(h, payload, beats, frame);
    script_give_from(frame_ip(h.job, h.rank), frame_port(h.rank), frame, n);
}

static void script_close(void)
{
    fputs("]", line_to);
    line_close();
    card_close(script.card);
}

static const struct frame_job usual_job = {1, 2, 8, 4, 0, 0x0123456789abcdefu};

static struct pkt_header sum_of(struct frame_job job, uint16_t rank, uint32_t chunk, uint32_t in,
                                uint32_t out, uint32_t beats)
{
    return (struct pkt_header){.rank = rank,
                               .key = job.key,
                               .job = (uint16_t)job.index,
                               .slot = (uint16_t)(job.base + 1),
                               .chunk = chunk,
                               .op = PKT_OP_SUM,
                               .flags = PKT_FLAG_SATURATE,
                               .beats = (uint8_t)beats,
                               .in_fmt = (uint8_t)in,
                               .out_fmt = (uint8_t)out,
                               .tag = 0x51000000u + chunk,
                               .count = 50};
}

static struct pkt_header ping_of(struct frame_job job, uint16_t rank, uint64_t echo)
{
    struct pkt_header h = sum_of(job, rank, 0, 0, 0, 0);
    h.op = PKT_OP_PING;
    h.flags = 0;
    h.tag = h.count = 0;
    h.echo = echo;
    return h;
}

/* Codes of a rank: finite and small if `finite`. */
static const uint8_t *payload_of(uint16_t rank, uint32_t chunk, bool finite)
{
    static uint8_t payload[4 * PKT_BEAT_BYTES];
    for (uint32_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(philox_u32(700 + rank + 8 * chunk, i) & (finite ? 0xb3u : 0xffu));
    return payload;
}

static void sums_script(const char *name, uint32_t in, uint32_t out, uint32_t beats,
                        uint32_t in_beats, uint32_t shift, uint32_t flags, bool finite)
{
    script_open(name, "R87 R88 R89 R94 R95 R103 R104 R105", usual_job, 0);
    for (int k = 1; k >= 0; k--) {
        struct pkt_header h = sum_of(usual_job, (uint16_t)k, 0, in, out, beats);
        h.out_shift = (uint8_t)shift;
        h.flags = (uint8_t)flags;
        script_give(h, payload_of((uint16_t)k, 0, finite), in_beats);
    }
    script_close();
}

static void give_sum(uint16_t rank, uint32_t chunk)
{
    script_give(sum_of(script.job, rank, chunk, 0x43, 0x43, 1), payload_of(rank, chunk, true), 1);
}

static void slot_scripts(void)
{
    script_open("duplicate", "R106", usual_job, 0);
    give_sum(0, 0);
    give_sum(0, 0);
    give_sum(1, 0);
    script_close();
    script_open("resend", "R105 R107 R108", usual_job, 0);
    give_sum(0, 0);
    give_sum(1, 0);
    give_sum(0, 0); /* DONE(0): the result again */
    give_sum(1, 1); /* FILLING(1) */
    give_sum(0, 0); /* not in 1: again */
    give_sum(1, 0); /* in 1: stale */
    give_sum(0, 1);
    give_sum(1, 0);                                               /* DONE(1): stale */
    struct pkt_header h = sum_of(usual_job, 0, 1, 0x43, 0x43, 1); /* another tag and shift: */
    h.tag ^= 1;
    h.out_shift = 1;
    script_give(h, payload_of(0, 1, true), 1); /* the result of chunk 1 as it was */
    script_close();
    script_open("stale", "R103 R108", usual_job, 0);
    give_sum(0, 0xffffffff); /* nothing is kept */
    give_sum(0, 1);
    give_sum(0, 0x80000000);
    give_sum(0, 0);
    give_sum(1, 1);
    give_sum(1, 0xffffffff);
    give_sum(1, 0);
    give_sum(1, 2);
    script_close();
    script_open("ping", "R93 R97 R103 R110", usual_job, 0);
    script_give(ping_of(usual_job, 1, 1), NULL, 0);
    give_sum(1, 0);
    script_give(ping_of(usual_job, 1, 2), payload_of(0, 0, false), 1);
    script_give(ping_of(usual_job, 0, 3), NULL, 0);
    give_sum(0, 0);
    script_give(ping_of(usual_job, 1, 0xffffffffffffffffu), NULL, 0);
    give_sum(0, 1);
    script_give(ping_of(usual_job, 0, 4), NULL, 0);
    script_close();
    const struct frame_job many = {1, 41, 8, 4, 0, 6};
    script_open("ping-many", "R97", many, 0);
    give_sum(40, 0);
    script_give(ping_of(many, 40, 5), NULL, 0);
    script_close();
    const struct frame_job one = {2, 1, 0, 2, 0x4343, 5};
    script_open("one-rank", "R104 R105 R107", one, 0);
    give_sum(0, 0);
    give_sum(0, 0);
    give_sum(0, 1);
    script_close();
    script_open("group", "R94 R107 R111", usual_job, 0xef010203);
    give_sum(0, 0);
    give_sum(1, 0);
    give_sum(1, 0);
    for (uint16_t r = 0; r < 2; r++) {
        h = sum_of(usual_job, r, 1, 0, 0, 1);
        h.op = PKT_OP_MAX;
        h.flags = 0;
        script_give(h, payload_of(r, 1, false), 1);
    }
    script_close();
}

static void max_script(void)
{
    script_open("max", "R92 R94 R104 R105", usual_job, 0);
    for (uint16_t r = 0; r < 2; r++) {
        struct pkt_header h = sum_of(usual_job, r, 0, 0, 0, 1);
        h.op = PKT_OP_MAX;
        h.flags = r ? 0 : 0;
        script_give(h, payload_of(r, 3, false), 1);
    }
    script_close();
}

static void desc_script(void)
{
    struct pkt_header h;
    script_open("bad-desc", "R96 R109", usual_job, 0);
    give_sum(0, 0);
    h = sum_of(usual_job, 1, 0, 0x43, 0x43, 1);
    h.tag ^= 1;
    script_give(h, payload_of(1, 0, true), 1);
    h.tag ^= 1;
    h.count = 49;
    script_give(h, payload_of(1, 0, true), 1);
    h.count = 50;
    h.out_shift = 1;
    script_give(h, payload_of(1, 0, true), 1);
    h.out_shift = 0;
    h.flags = 0;
    script_give(h, payload_of(1, 0, true), 1);
    h.flags = 1;
    h.in_fmt = 0x52;
    script_give(h, payload_of(1, 0, true), 1);
    h = sum_of(usual_job, 0, 0, 0x43, 0x43, 1); /* a rank that is in: duplicate */
    h.tag ^= 1;
    script_give(h, payload_of(0, 0, true), 1);
    give_sum(1, 0);
    script_close();
}

static void card_refuse_lines(void);

static void card_lines(void)
{
    sums_script("sum-e4m3", 0x43, 0x43, 1, 1, 0, 1, true);
    sums_script("sum-e5m2-inf", 0x52, 0x52, 1, 1, 0, 0, false);
    sums_script("sum-e5m2-saturate", 0x52, 0x52, 1, 1, 0, 1, false);
    sums_script("sum-e4m3-shift", 0x43, 0x43, 1, 1, 6, 0, false);
    sums_script("sum-e4m3fn", 0xc3, 0xc3, 1, 1, 1, 0, false);
    sums_script("sum-4-to-8", 0x30, 0x43, 2, 1, 0, 1, false);
    sums_script("sum-8-to-16", 0x52, 0x5a, 2, 1, 0, 1, false);
    sums_script("sum-16-to-4", 0x5a, 0x21, 4, 4, 2, 1, false);
    sums_script("sum-4-to-4", 0x21, 0x30, 1, 1, 0, 0, false);
    max_script();
    slot_scripts();
    desc_script();
    card_refuse_lines();
}

/* ---- frames that a card drops or refuses ---- */

static void nak_script(void)
{
    static const struct change bad[] = {
        {"slot-below", 18, 2, 7, 0, 0}, {"slot-above", 18, 2, 12, 0, 0},
        {"op-0", 24, 1, 0, 0, 0},       {"op-result", 24, 1, 4, 0, 0},
        {"flags", 25, 1, 3, 0, 0},      {"beats-0", 26, 1, 0, 0, 0},
        {"beats-2", 26, 1, 2, 0, 0},    {"in-fmt", 27, 1, 0x60, 0, 0},
        {"in-fn", 27, 1, 0xd2, 0, 0},   {"in-width", 27, 1, 0x22, 0, 0},
        {"out-fmt", 28, 1, 0x00, 0, 0}, {"shift-7", 29, 1, 7, 0, 0},
        {"zero0", 30, 2, 0x100, 0, 0},  {"status", 36, 4, 1, 0, 0},
        {"echo", 40, 8, 1, 0, 0},       {"zero1", 52, 4, 0x80000000u, 0, 0}};
    static const uint8_t large[CARD_FRAME_BYTES];
    const struct frame_job job = {3, 33, 8, 4, 0, 9};
    uint8_t frame[CARD_FRAME_BYTES];
    script_open("nak", "R96 R101 R102", usual_job, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        frame_put(sum_of(usual_job, 1, 0, 0x43, 0x43, 1), payload_of(1, 0, true), 1, frame);
        pkt_put_uint(frame + bad[i].at, bad[i].value, bad[i].n);
        pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
        script_give_from(frame_ip(1, 1), frame_port(1), frame, 128);
    }
    struct pkt_header h = sum_of(usual_job, 1, 0, 0x30, 0x43, 1); /* 4 to 8 bits: an odd beat */
    script_give(h, payload_of(1, 0, true), 1);
    h = sum_of(usual_job, 1, 0, 0, 0, 1);
    h.op = PKT_OP_MAX;
    script_give(h, payload_of(1, 0, true), 1); /* FLAG_SATURATE of a MAX is no fault */
    h.chunk = 1;
    h.out_fmt = 0x43;
    script_give(h, payload_of(1, 0, true), 1);
    h.out_fmt = 0;
    h.beats = 2; /* of one beat of payload */
    script_give(h, payload_of(1, 0, true), 1);
    h = sum_of(usual_job, 1, 0, 0x52, 0x5a, 3); /* no multiple of 2, though 3 / 2 is 1 */
    script_give(h, payload_of(1, 0, true), 1);
    h = sum_of(usual_job, 1, 0, 0x30, 0x5a, CARD_BEATS + 4); /* fits, but the result would not */
    script_give(h, large, (CARD_BEATS + 4) / 4);
    h = ping_of(usual_job, 1, 5);
    h.slot = 7;
    script_give(h, NULL, 0);
    script_close();
    const struct frame_job narrow = {1, 2, 8, 4, 0x4352, 9};
    script_open("nak-job-formats", "R102", narrow, 0);
    script_give(sum_of(narrow, 0, 0, 0x52, 0x43, 1), payload_of(0, 0, true), 1);
    script_give(sum_of(narrow, 0, 0, 0x43, 0x43, 1), payload_of(0, 0, true), 1);
    script_give(sum_of(narrow, 0, 0, 0x52, 0x52, 1), payload_of(0, 0, true), 1);
    script_close();
    script_open("nak-ranks", "R88 R102", job, 0);
    script_give(sum_of(job, 0, 0, 0x5a, 0x5a, 1), payload_of(0, 0, true), 1);
    script_close();
}

/* in_fmt, out_fmt of a card that adds only e1m6f and e2m5f */
static void narrow_script(void)
{
    static const uint32_t formats[][2] = {{0xa5, 0xa5}, {0x96, 0x52}, {0xa5, 0xc3}, {0x43, 0x43},
                                          {0xb4, 0xb4}, {0xa5, 0x5a}, {0x21, 0x25}, {0x25, 0xa5}};
    script_open_kind("narrow", "R88 R95 R102 R113", usual_job, 0, true);
    for (uint32_t k = 0, chunk = 0; k < sizeof formats / sizeof *formats; k++) {
        const uint32_t in = formats[k][0], beats = formats[k][1] == 0x5a || in == 0x21 ? 2 : 1;
        for (uint16_t r = 0; r < 2; r++)
            script_give(sum_of(usual_job, r, chunk, in, formats[k][1], beats),
                        payload_of(r, k, false), 1);
        chunk += k < 3;
    }
    script_close();
}

static void drop_script(void)
{
    static const struct change bad[] = {{"len", 4, 2, 64, 0, 0},
                                        {"magic", 0, 4, 0x0273636e, 0, 0},
                                        {"job-free", 16, 2, 2, 0, 0},
                                        {"job-none", 16, 2, 4, 0, 0},
                                        {"key", 8, 8, 0x0123456789abcdeeu, 0, 0},
                                        {"rank", 6, 2, 2, 0, 0},
                                        {"rank-group", 6, 2, 0xffff, 0, 0}};
    static const uint8_t large[CARD_FRAME_BYTES];
    uint8_t frame[CARD_FRAME_BYTES + PKT_BEAT_BYTES];
    struct pkt_header h = sum_of(usual_job, 1, 0, 0x43, 0x43, 1);
    script_open("drop", "R83 R85 R98 R99 R100 R112", usual_job, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        frame_put(h, payload_of(1, 0, true), 1, frame);
        pkt_put_uint(frame + bad[i].at, bad[i].value, bad[i].n);
        pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
        script_give_from(frame_ip(1, 1), frame_port(1), frame, 128);
    }
    script_give_from(frame_ip(1, 1), frame_port(1), frame,
                     frame_put(h, large, CARD_BEATS + 1, frame));
    frame_put(h, payload_of(1, 0, true), 1, frame);
    pkt_put_uint(frame + PKT_LEN_AT, 96, 2); /* a length that is right, but no multiple of 64 */
    pkt_put_uint(frame + PKT_PAYLOAD_CRC_AT, crc32c(frame + PKT_HEADER_BYTES, 32), 4);
    pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc32c(frame, PKT_HEADER_CRC_AT), 4);
    script_give_from(frame_ip(1, 1), frame_port(1), frame, 96);
    frame_put(h, payload_of(1, 0, true), 1, frame);
    script_give_from(frame_ip(1, 1), frame_port(1), frame, 127);
    script_give_from(frame_ip(1, 1), frame_port(1), frame, 63);
    script_give_from(frame_ip(1, 0), frame_port(1), frame, 128);
    script_give_from(frame_ip(1, 1), frame_port(0), frame, 128);
    frame[90] ^= 0x10;
    script_give_from(frame_ip(1, 1), frame_port(1), frame, 128);
    frame[33] ^= 0x10;
    script_give_from(frame_ip(1, 1), frame_port(1), frame, 128);
    h.key++; /* two faults: the first check counts */
    h.rank = 7;
    h.slot = 100;
    script_give(h, payload_of(1, 0, true), 1);
    h.key--;
    h.rank = 1;
    frame_put(h, payload_of(1, 0, true), 1, frame);
    script_give_from(frame_ip(1, 0), frame_port(1), frame, 128);
    script_close();
}

static void card_refuse_lines(void)
{
    nak_script();
    narrow_script();
    drop_script();
}

#endif
