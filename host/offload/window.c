/* window.c : one rank's packets under way: what is sent as slots become free, and what that means
 * to the caller. */
#include "offload/window.h"
#include "base/buf.h"
#include "base/err.h"
#include "offload/frame.h"
#include "offload/window_inside.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 32, TOGETHER = 8 };   /* packets cast at once, decoded at once */
static const double timers_s = 0.01; /* timers run so often even in a flood of datagrams */

/* ---- life ---- */

static int make_ends(struct window *w, const struct window_card *cards)
{
    size_t n_slots = 0;
    w->ends = buf_alloc((size_t)w->n_ends * sizeof *w->ends);
    for (int i = 0; i < w->n_ends; i++)
        n_slots += cards[i].job.slots + 1;
    const size_t frame_bytes = PKT_HEADER_BYTES + (size_t)w->config.beats * PKT_BEAT_BYTES;
    w->frames = buf_alloc(n_slots * frame_bytes);
    w->slots = buf_alloc(n_slots * sizeof *w->slots);
    if (!w->ends || !w->frames || !w->slots)
        return -ENOMEM;
    size_t first = 0;
    for (int i = 0; i < w->n_ends; i++) {
        struct window_end *end = &w->ends[i];
        *end = (struct window_end){.card = cards[i], .slots = w->slots + first};
        for (size_t s = 0; s <= cards[i].job.slots; s++) {
            end->slots[s].end = end;
            end->slots[s].frame = w->frames + (first + s) * frame_bytes;
        }
        first += cards[i].job.slots + 1;
    }
    return 0;
}

int window_open(const struct window_config *config, const struct window_card *cards, int n_cards,
                double now, struct window **out)
{
    const uint32_t beats =
        card_fit_most(&config->fit, config->beats < WINDOW_BEATS ? config->beats : WINDOW_BEATS);
    if (!beats)
        return ERR(-EINVAL, "cannot put these formats into frames of %u beats", config->beats);
    struct window *w = buf_alloc(sizeof *w);
    if (!w)
        return -ENOMEM;
    w->config = *config;
    w->config.beats = beats;
    w->config.packets = config->packets ? config->packets : WINDOW_PACKETS;
    w->n_ends = n_cards;
    w->state = WINDOW_DONE;
    w->last_echo = (uint64_t)(now * 1e6);
    wheel_init(&w->wheel, now);
    int rc = make_ends(w, cards);
    if (rc) {
        window_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

void window_close(struct window *w)
{
    if (!w)
        return;
    free(w->ends);
    free(w->slots);
    free(w->frames);
    free(w);
}

const char *window_why(const struct window *w)
{
    return w->why;
}
int window_lost(const struct window *w)
{
    return w->lost;
}
uint64_t window_missing(const struct window *w)
{
    return w->missing;
}

struct way_count window_counted(const struct window *w)
{
    struct way_count count = w->count;
    for (int i = 0; i < w->n_ends; i++)
        if (w->ends[i].rtt_s > count.rtt_s)
            count.rtt_s = w->ends[i].rtt_s;
    return count;
}

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

/* ---- packets ---- */

size_t window_range(const struct window_work *work, uint64_t i, size_t *at)
{
    *at = (size_t)i * work->per_packet;
    const size_t left = work->n - *at;
    return left < work->per_packet ? left : work->per_packet;
}

/* The slot of packet i of the work, and which packet of its card that is. */
static struct window_slot *slot_of(const struct window *w, uint64_t i, uint64_t *m)
{
    const uint64_t n = w->base + i;
    const struct window_end *end = &w->ends[n % (uint64_t)w->n_ends];
    *m = n / (uint64_t)w->n_ends;
    return &end->slots[*m % end->card.job.slots];
}

/* What all frames to this slot have in common. */
static struct pkt_header header_to(const struct window *w, const struct window_slot *s)
{
    const struct fpga_job *job = &s->end->card.job;
    return (struct pkt_header){.rank = (uint16_t)w->config.rank,
                               .key = job->key,
                               .job = (uint16_t)job->index,
                               .slot = (uint16_t)(job->slot_base + s->m % job->slots),
                               .chunk = (uint32_t)(s->m / job->slots)};
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
    memcpy(payload, work->sum.codes + at * fit->in_width / 8, held);
    if (n * fit->in_width % 8)
        payload[held - 1] &= 15;
    memset(payload + held, 0, bytes - held);
    struct pkt_header h = header_to(w, s);
    h.op = PKT_OP_SUM;
    h.flags = w->config.saturate ? PKT_FLAG_SATURATE : 0;
    h.beats = (uint8_t)beats;
    h.in_fmt = (uint8_t)fit->in_fmt;
    h.out_fmt = (uint8_t)fit->out_fmt;
    h.out_shift = (uint8_t)w->config.out_shift;
    h.tag = frame_tag(work->tag, w->config.nonce, at, (uint32_t)n);
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
    h.tag = frame_tag(work->tag, w->config.nonce, at, (uint32_t)n);
    h.count = (uint32_t)n;
    s->n_result = bytes;
    s->n_frame = frame_put_header(h, bytes, s->frame);
}

/* What the wire has not sent. */
static void not_sent(struct window *w, const struct window_end *end, int rc)
{
    if (rc == -EMSGSIZE)
        window_too_long(w, end);
    else if (rc != -EAGAIN)
        window_lose(w, end, "cannot be sent to: %s", strerror(-rc));
}

/* Hands a frame to the wire. False: it had no room. */
static bool put_on_wire(struct window *w, struct window_end *end, const uint8_t *frame, size_t n)
{
    int rc = end->card.wire.ops->send(end->card.wire.own, frame, n);
    if (rc)
        not_sent(w, end, rc);
    else
        w->count.sent_bytes += n;
    return !rc;
}

void window_resend(struct window *w, struct window_slot *s, double now)
{
    w->count.resent += put_on_wire(w, s->end, s->frame, s->n_frame);
    window_set_timer(w, s, now);
}

void window_send_ping(struct window *w, struct window_slot *s, size_t payload_bytes, double now)
{
    uint8_t frame[WINDOW_FRAME_BYTES];
    struct pkt_header h = header_to(w, s);
    h.op = PKT_OP_PING;
    h.echo = s->echo = ++w->last_echo;
    if (!s->first_echo) {
        s->first_echo = s->echo;
        s->first_at = now;
    }
    memset(frame + PKT_HEADER_BYTES, 0, payload_bytes);
    w->count.pings += put_on_wire(w, s->end, frame, frame_put_header(h, payload_bytes, frame));
    s->asked_at = now;
    s->end->n_questions++;
    if (s->end->silent_since == 0)
        s->end->silent_since = now;
}

/* Codes of packets 0..i, and of some behind them, are there. */
static void need(struct window_work *work, uint64_t i)
{
    const size_t want = ((size_t)i + 1) * work->per_packet;
    if (work->kind != WINDOW_SUM || work->needed >= work->n || work->needed >= want)
        return;
    size_t n = (size_t)AHEAD * work->per_packet;
    if (n > work->n - work->needed)
        n = work->n - work->needed;
    if (work->sum.flow.need)
        algo_need(&work->sum.flow, work->needed, n);
    work->needed += n;
}

void window_need_rest(struct window *w)
{
    struct window_work *work = &w->work;
    if (work->kind == WINDOW_SUM && work->sum.flow.need)
        algo_need(&work->sum.flow, work->needed, work->n - work->needed);
    work->needed = work->n;
}

void window_make_ready(struct window *w, struct window_slot *s, uint64_t m)
{
    struct window_end *end = s->end;
    const uint64_t n = m * (uint64_t)w->n_ends + (uint64_t)(end - w->ends);
    if (n - w->base >= w->work.n_packets)
        return;
    s->next_m = m;
    s->next_ready = NULL;
    if (end->ready)
        end->last_ready->next_ready = s;
    else
        end->ready = s;
    end->last_ready = s;
}

/* The next packet to one card, if a slot is free and the card has not too many. False: none. */
static bool send_next(struct window *w, struct window_end *end, double now)
{
    struct window_work *work = &w->work;
    struct window_slot *s = end->ready;
    if (!s || end->n_out >= (uint32_t)w->config.packets || w->state != WINDOW_BUSY)
        return false;
    const uint64_t before = s->m,
                   i = s->next_m * (uint64_t)w->n_ends + (uint64_t)(end - w->ends) - w->base;
    need(work, i);
    s->m = s->next_m;
    (work->kind == WINDOW_SUM ? build_sum : build_max)(w, s, i);
    if (!put_on_wire(w, end, s->frame, s->n_frame)) {
        s->m = before;
        return false;
    }
    end->ready = s->next_ready;
    s->out = s->used = true;
    s->tries = 0;
    s->first_echo = s->echo = 0;
    end->n_out++;
    w->count.packets++;
    window_set_timer(w, s, now);
    return true;
}

/* To all cards by turns. A slot that waits holds up no other one. */
static bool send_new(struct window *w, double now)
{
    bool moved = false;
    for (bool any = true; any; moved = moved || any) {
        any = false;
        for (int i = 0; i < w->n_ends; i++)
            any = send_next(w, &w->ends[i], now) || any;
    }
    return moved;
}

/* Tells the flow what stands: whole packets, in order, some at a time. */
static void have(struct window *w)
{
    struct window_work *work = &w->work;
    for (uint64_t m; work->done < work->n_packets; work->done++) {
        const struct window_slot *s = slot_of(w, work->done, &m);
        if (!s->used || s->m < m || (s->m == m && s->out))
            break;
    }
    size_t to = (size_t)work->done * work->per_packet;
    if (work->done == work->n_packets)
        to = work->n;
    if (work->kind != WINDOW_SUM ||
        (to < work->n && to - work->had < (size_t)TOGETHER * work->per_packet))
        return;
    if (work->sum.flow.have)
        algo_have(&work->sum.flow, work->had, to - work->had);
    work->had = to;
}

/* ---- work ---- */

void window_start(struct window *w, struct window_work work, double now)
{
    w->base += w->work.kind == WINDOW_PING ? 0 : w->work.n_packets;
    work.n_packets = work.per_packet ? (work.n + work.per_packet - 1) / work.per_packet : 0;
    w->work = work;
    w->state = WINDOW_BUSY;
    w->progress_at = w->turned_at = now;
    for (int i = 0; i < w->n_ends; i++) {
        struct window_end *end = &w->ends[i];
        const uint64_t n_ends = (uint64_t)w->n_ends, r = (uint64_t)i, n_slots = end->card.job.slots;
        /* of this card in this work */
        const uint64_t first = w->base > r ? (w->base - r + n_ends - 1) / n_ends : 0;
        end->ready = NULL;
        for (uint64_t m = first; m < first + n_slots; m++)
            window_make_ready(w, &end->slots[m % n_slots], m);
    }
}

void window_start_max(struct window *w, uint32_t tag, int8_t *x, size_t n, double now)
{
    const uint32_t per_packet = w->config.beats * PKT_BEAT_BYTES;
    window_start(w,
                 (struct window_work){
                     .kind = WINDOW_MAX, .tag = tag, .per_packet = per_packet, .n = n, .x = x},
                 now);
}

void window_start_sum(struct window *w, const struct way_sum *sum, double now)
{
    const uint32_t per_packet = w->config.beats * 512 / w->config.fit.wider;
    window_start(w,
                 (struct window_work){.kind = WINDOW_SUM,
                                      .tag = sum->tag,
                                      .per_packet = per_packet,
                                      .n = sum->n,
                                      .sum = *sum},
                 now);
}

static void run_timers(struct window *w, double now)
{
    w->timed_at = now;
    wheel_turn(&w->wheel, now);
    for (struct wheel_timer *t; (t = wheel_pop(&w->wheel));)
        if (w->state == WINDOW_BUSY)
            window_ask(w, (struct window_slot *)t, now);
}

static void flush(struct window *w)
{
    for (int i = 0; i < w->n_ends && w->state == WINDOW_BUSY; i++) {
        struct window_end *end = &w->ends[i];
        int rc = end->card.wire.ops->flush(end->card.wire.own);
        if (rc)
            not_sent(w, end, rc);
    }
}

enum window_state window_turn(struct window *w, double now, bool *moved)
{
    bool drained;
    *moved = false;
    if (w->state != WINDOW_BUSY)
        return w->state;
    window_look(w, now);
    *moved = window_receive(w, now, &drained);
    if (w->state == WINDOW_BUSY && (drained || now - w->timed_at > timers_s))
        run_timers(w, now);
    if (w->state == WINDOW_BUSY)
        *moved = send_new(w, now) || *moved;
    flush(w);
    have(w);
    if (w->state == WINDOW_BUSY && w->work.done == w->work.n_packets && !w->n_asked)
        w->state = WINDOW_DONE;
    return w->state;
}
