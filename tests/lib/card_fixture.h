/* card_fixture.h : gives frames to one card of the C model and checks its counters. */
#ifndef CARD_FIXTURE_H
#define CARD_FIXTURE_H
#include "card_frames.h"
#include "check.h"
#include "sim/card_model.h"

enum { MAX_OUT = 512 };
static struct {
    uint32_t ip;
    uint16_t port;
    size_t n;
    uint8_t bytes[CARD_FRAME_BYTES];
} sent[MAX_OUT];
static int n_out;
static uint64_t n_in, n_sent;
static struct card *card;

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    n_sent++;
    CHECK(n_out < MAX_OUT && n <= CARD_FRAME_BYTES, "%d frames", n_out);
    if (n_out >= MAX_OUT)
        return;
    sent[n_out].ip = ip;
    sent[n_out].port = port;
    sent[n_out].n = n;
    memcpy(sent[n_out++].bytes, bytes, n);
}

static void write_reg(void *arg, uint32_t at, uint32_t value)
{
    CHECK(card_write(arg, at, value) == 0, "register %x", at);
}

/* Sends from rank h.rank's address. */
static int give(struct pkt_header h, const uint8_t *payload, size_t beats)
{
    uint8_t frame[CARD_FRAME_BYTES];
    size_t n = frame_put(h, payload, beats, frame);
    n_out = 0;
    n_in++;
    card_frame(card, frame_ip(h.job, h.rank), frame_port(h.rank), frame, n);
    return n_out;
}

static void books_balance(void)
{
    uint64_t in = 0, left = 0;
    for (unsigned i = 0; i < REG_COUNTERS; i++)
        if (i <= CNT_IN_PING || (i >= CNT_DROP_LENGTH && i <= CNT_DROP_DISABLED))
            in += card_counter(card, i);
    left = card_counter(card, CNT_OUT_RESULT) + card_counter(card, CNT_OUT_NAK) +
           card_counter(card, CNT_OUT_PONG);
    CHECK(in == n_in, "%llu frames in, %llu counted", (unsigned long long)n_in,
          (unsigned long long)in);
    CHECK(left == n_sent + card_counter(card, CNT_LOST_TEST_OUT), "frames out are not counted");
}

static const uint64_t job_key = 0x0123456789abcdefu;

static struct pkt_header sum_header(uint32_t in, uint32_t out_fmt, uint32_t beats)
{
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = job_key;
    h.job = 1;
    h.slot = 8;
    h.op = PKT_OP_SUM;
    h.beats = (uint8_t)beats;
    h.in_fmt = (uint8_t)in;
    h.out_fmt = (uint8_t)out_fmt;
    return h;
}

static void open_job(uint32_t ranks, uint32_t formats)
{
    struct frame_job job = {1, ranks, 8, 16, formats, job_key};
    frame_register(job, write_reg, card);
}

#endif
