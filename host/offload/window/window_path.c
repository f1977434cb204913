/* window_path.c : how long frames may be: before the first packet the path to each card is tried,
 * both ways, at the full length.
 *
 *     PING as long as the card and this host's route allow --x   no answer: again; then shorter and shorter ones
 *                                                          <---  PONG of the same length: so much goes through
 *
 * Datagrams are not sent in fragments, by neither side. A path that becomes narrower in the middle
 * of a sum is given up, like a card: what the next pings find is used from then on. */
#include "offload/window/window_inside.h"

enum { SURE = 3 }; /* pings at full length */

/* What the route takes, in beats, at least one frame of the format. */
static uint32_t known_beats(const struct window *w, const struct window_end *end)
{
    const size_t most = end->card.wire.ops->most(end->card.wire.own);
    const size_t beats = most < PKT_HEADER_BYTES ? 0 : (most - PKT_HEADER_BYTES) / PKT_BEAT_BYTES;
    return beats < w->config.beats ? (uint32_t)beats : w->config.beats;
}

/* Of the next ping at the start. */
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
        window_lose(w, s->end, "does not answer pings of %zu bytes, nor shorter ones",
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
    /* no ping was so long */
    if (!beats || n != PKT_HEADER_BYTES + (size_t)beats * PKT_BEAT_BYTES) {
        w->foreign++;
        return;
    }
    window_time_measured(w, s, h->echo, now);
    wheel_remove(&s->timer);
    s->out = false;
    w->n_asked--;
    window_limit(w, beats);
    if (h->chunk != UINT32_MAX || h->status != PKT_PONG_EMPTY)
        window_lose(w, s->end, "has slots that are not new");
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
