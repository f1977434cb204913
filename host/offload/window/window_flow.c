/* window_flow.c : sends packets as slots become free, and calls the flow's have() (algo.h) for
 * complete results. */
#include "offload/window/window_inside.h"

/* minimum packets per call of need() and of have() */
enum { AHEAD = 32, TOGETHER = 8 };

static void window_start(struct window *w, struct window_work work, double now)
{
    w->base += w->work.kind == WINDOW_PING ? 0 : w->work.n_packets;
    work.n_packets = work.per_packet ? (work.n + work.per_packet - 1) / work.per_packet : 0;
    w->work = work;
    w->state = WINDOW_BUSY;
    window_time_start(w, now);
    for (int i = 0; i < w->n_ends; i++) {
        struct window_end *end = &w->ends[i];
        const uint64_t n_ends = (uint64_t)w->n_ends, r = (uint64_t)i, n_slots = end->card.job.slots;
        /* the card's first packet (m) in this work */
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

void window_start_sum(struct window *w, const struct card_path_sum *sum, double now)
{
    const uint32_t per_packet = card_fit_codes(&w->config.fit, w->config.beats);
    window_start(w,
                 (struct window_work){.kind = WINDOW_SUM,
                                      .tag = sum->tag,
                                      .per_packet = per_packet,
                                      .n = sum->n,
                                      .sum = *sum},
                 now);
}

/* *m: the packet's number on its card. */
static struct window_slot *slot_of(const struct window *w, uint64_t i, uint64_t *m)
{
    const uint64_t n = w->base + i;
    const struct window_end *end = &w->ends[n % (uint64_t)w->n_ends];
    *m = n / (uint64_t)w->n_ends;
    return &end->slots[*m % end->card.job.slots];
}

/* Calls need() for the packets up to i and at least AHEAD, unless it was called for packet i. */
static void need(struct window_work *work, uint64_t i)
{
    const size_t want = ((size_t)i + 1) * work->per_packet;
    if (work->kind != WINDOW_SUM || work->needed >= work->n || work->needed >= want)
        return;
    size_t n = (size_t)AHEAD * work->per_packet;
    if (n < want - work->needed) /* earlier slots wait for results that were lost */
        n = want - work->needed;
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

static bool send_next(struct window *w, struct window_end *end, double now)
{
    struct window_work *work = &w->work;
    struct window_slot *s = end->ready;
    if (!s || w->state != WINDOW_BUSY)
        return false;
    const uint64_t before = s->m,
                   i = s->next_m * (uint64_t)w->n_ends + (uint64_t)(end - w->ends) - w->base;
    need(work, i);
    s->m = s->next_m;
    window_build(w, s, i);
    if (!window_send(w, s)) {
        s->m = before;
        return false;
    }
    end->ready = s->next_ready;
    s->out = s->used = true;
    w->count.packets++;
    window_time_sent(w, s, now);
    return true;
}

bool window_send_new(struct window *w, double now)
{
    bool moved = false;
    for (bool any = true; any; moved = moved || any) {
        any = false;
        for (int i = 0; i < w->n_ends; i++)
            any = send_next(w, &w->ends[i], now) || any;
    }
    return moved;
}

void window_have(struct window *w)
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

/* ---- path length, tested before the first packet ---- */

/*     PING as long as the card and the route allow --x    no answer: again, then shorter ones
 *                                                <----   PONG of the same length: this passes
 *
 * If a path carries only shorter frames later, the card is abandoned for this step, and the
 * next pings find the new length. */

enum { SURE = 3 }; /* repetitions of the longest ping before shorter ones */

static uint32_t known_beats(const struct window *w, const struct window_end *end)
{
    const size_t most = end->card.wire.ops->most(end->card.wire.own);
    const size_t beats = most < PKT_HEADER_BYTES ? 0 : (most - PKT_HEADER_BYTES) / PKT_BEAT_BYTES;
    return beats < w->config.beats ? (uint32_t)beats : w->config.beats;
}

/* Returns at least the beats of the shortest frame. */
static uint32_t ping_beats(const struct window *w, const struct window_slot *s)
{
    uint32_t beats = known_beats(w, s->end);
    for (int i = SURE; i < s->tries && beats; i++)
        beats = beats > PKT_USUAL_BEATS ? PKT_USUAL_BEATS : beats - 1;
    beats = card_fit_most(&w->config.fit, beats);
    return beats ? beats : w->config.fit.ratio;
}

void window_path_due(struct window *w, struct window_slot *s, double now)
{
    if (window_time_silent(w, s->end, now))
        window_lose(w, s->end, "answers neither pings of %zu bytes nor shorter ones",
                    PKT_HEADER_BYTES + (size_t)known_beats(w, s->end) * PKT_BEAT_BYTES);
    else
        window_time_ask(w, s, (size_t)ping_beats(w, s) * PKT_BEAT_BYTES, now);
}

void window_start_pings(struct window *w, double now)
{
    window_start(w, (struct window_work){.kind = WINDOW_PING}, now);
    for (int i = 0; i < w->n_ends; i++) {
        struct window_slot *s = &w->ends[i].slots[w->ends[i].card.job.slots];
        s->out = true;
        w->n_asked++;
        window_time_sent(w, s, now);
        window_path_due(w, s, now);
    }
}

void window_take_first_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                            size_t n, double now)
{
    const uint32_t beats =
        card_fit_most(&w->config.fit, (uint32_t)((n - PKT_HEADER_BYTES) / PKT_BEAT_BYTES));
    /* a pong is as long as a ping */
    if (!beats || n != PKT_HEADER_BYTES + (size_t)beats * PKT_BEAT_BYTES) {
        w->foreign++;
        return;
    }
    window_time_measured(w, s, h->echo, now);
    timer_wheel_remove(&s->timer);
    s->out = false;
    w->n_asked--;
    window_limit(w, beats);
    if (h->chunk != UINT32_MAX || h->status != PKT_PONG_EMPTY)
        window_lose(w, s->end, "has slots in use at the start of the job");
}

uint32_t window_beats(const struct window *w)
{
    return w->config.beats;
}

void window_limit(struct window *w, uint32_t beats)
{
    if (beats < w->config.beats)
        w->config.beats = beats;
}
