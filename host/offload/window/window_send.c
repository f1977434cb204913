/* window_send.c : builds frames of packets and pings and hands them to the wires. */
#include "base/err.h"
#include "offload/window/frame.h"
#include "offload/window/window_inside.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void window_lose(struct window *w, const struct window_end *end, const char *format, ...)
{
    va_list ap;
    snprintf(w->why, sizeof w->why, "card %s ", end->card.name);
    const size_t n = strlen(w->why);
    va_start(ap, format);
    vsnprintf(w->why + n, sizeof w->why - n, format, ap);
    va_end(ap);
    w->state = WINDOW_LOST;
    w->lost = (int)(end - w->ends);
}

size_t window_range(const struct window_work *work, uint64_t i, size_t *at)
{
    *at = (size_t)i * work->per_packet;
    const size_t left = work->n - *at;
    return left < work->per_packet ? left : work->per_packet;
}

static struct pkt_header header_to(const struct window *w, const struct window_slot *s)
{
    const struct fpga_job *job = &s->end->card.job;
    return (struct pkt_header){.rank = (uint16_t)w->config.rank,
                               .key = job->key,
                               .job = (uint16_t)job->index,
                               .slot = (uint16_t)(job->slot_base + s->m % job->slots),
                               .chunk = (uint32_t)(s->m / job->slots)};
}

static uint32_t tag_of(const struct window *w, size_t at, uint32_t n)
{
    return w->grouped ? frame_secret_tag(w->work.tag, w->config.secret, at, n)
                      : frame_tag(w->work.tag, w->config.nonce, at, n);
}

static void build_sum(const struct window *w, struct window_slot *s, uint64_t i)
{
    const struct card_fit *fit = &w->config.fit;
    const struct window_work *work = &w->work;
    uint8_t *payload = s->frame + PKT_HEADER_BYTES;
    size_t at, n = window_range(work, i, &at);
    const uint32_t beats = card_fit_beats(fit, n);
    const size_t bytes = (size_t)beats * fit->in_width / fit->wider * PKT_BEAT_BYTES;
    const size_t held = (n * fit->in_width + 7) / 8;
    if (!work->sum.codec || !codec_to_card(work->sum.codec, work->sum.codes, at, n, payload))
        memcpy(payload, work->sum.codes + at * fit->in_width / 8, held);
    if (n * fit->in_width % 8) /* an odd number of 4-bit codes */
        payload[held - 1] &= 15;
    memset(payload + held, 0, bytes - held);
    struct pkt_header h = header_to(w, s);
    h.op = PKT_OP_SUM;
    h.flags = w->config.saturate ? PKT_FLAG_SATURATE : 0;
    h.beats = (uint8_t)beats;
    h.in_fmt = (uint8_t)fit->in_fmt;
    h.out_fmt = (uint8_t)fit->out_fmt;
    h.out_shift = (uint8_t)w->config.out_shift;
    h.tag = tag_of(w, at, (uint32_t)n);
    h.count = (uint32_t)n;
    s->n_result = (size_t)beats * fit->out_width / fit->wider * PKT_BEAT_BYTES;
    s->n_frame = frame_put_header(h, bytes, s->frame);
}

static void build_max(const struct window *w, struct window_slot *s, uint64_t i)
{
    const struct window_work *work = &w->work;
    uint8_t *payload = s->frame + PKT_HEADER_BYTES;
    size_t at, n = window_range(work, i, &at);
    const size_t bytes = (n + PKT_BEAT_BYTES - 1) / PKT_BEAT_BYTES * PKT_BEAT_BYTES;
    memcpy(payload, work->x + at, n);
    memset(payload + n, INT8_MIN & 255, bytes - n);
    struct pkt_header h = header_to(w, s);
    h.op = PKT_OP_MAX;
    h.beats = (uint8_t)(bytes / PKT_BEAT_BYTES);
    h.tag = tag_of(w, at, (uint32_t)n);
    h.count = (uint32_t)n;
    s->n_result = bytes;
    s->n_frame = frame_put_header(h, bytes, s->frame);
}

void window_build(const struct window *w, struct window_slot *s, uint64_t i)
{
    (w->work.kind == WINDOW_SUM ? build_sum : build_max)(w, s, i);
}

static void not_sent(struct window *w, const struct window_end *end, int rc)
{
    if (rc != -EMSGSIZE && rc != -EAGAIN)
        window_lose(w, end, "cannot be reached: %s", strerror(-rc));
    /* a ping may be too long: the next is shorter */
    else if (rc == -EMSGSIZE && w->work.kind != WINDOW_PING)
        window_lose(w, end, "can now be reached only with packets of at most %zu bytes",
                    end->card.wire.ops->most(end->card.wire.own));
}

static bool put_on_wire(struct window *w, struct window_end *end, const uint8_t *frame, size_t n)
{
    int rc = end->card.wire.ops->send(end->card.wire.own, frame, n);
    if (rc)
        not_sent(w, end, rc);
    else
        w->count.sent_bytes += n;
    return !rc;
}

bool window_send(struct window *w, struct window_slot *s)
{
    return put_on_wire(w, s->end, s->frame, s->n_frame);
}

void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes)
{
    uint8_t frame[WINDOW_FRAME_BYTES];
    struct pkt_header h = header_to(w, s);
    h.op = PKT_OP_PING;
    h.echo = s->echo;
    memset(frame + PKT_HEADER_BYTES, 0, payload_bytes);
    w->count.pings += put_on_wire(w, s->end, frame, frame_put_header(h, payload_bytes, frame));
}

void window_flush(struct window *w)
{
    for (int i = 0; i < w->n_ends && w->state == WINDOW_BUSY; i++) {
        struct window_end *end = &w->ends[i];
        int rc = end->card.wire.ops->flush(end->card.wire.own);
        if (rc)
            not_sent(w, end, rc);
    }
}
