/* window.c : opens, turns and closes a window. */
#include "offload/window/window.h"
#include "base/buf.h"
#include "base/err.h"
#include "offload/window/window_inside.h"
#include <stdlib.h>

/* between runs of timers, at most */
static const double timers_s = 0.01;

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
        w->grouped = w->grouped || cards[i].group.ops;
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
    w->n_ends = n_cards;
    w->state = WINDOW_DONE;
    w->last_echo = (uint64_t)(now * 1e6);
    timer_wheel_init(&w->wheel, now);
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
bool window_group_failed(const struct window *w)
{
    return w->group_failed;
}
uint64_t window_digest(const struct window *w)
{
    return w->digest;
}
int window_lost(const struct window *w)
{
    return w->lost;
}
uint64_t window_missing(const struct window *w)
{
    return w->missing;
}

struct card_path_count window_counted(const struct window *w)
{
    struct card_path_count count = w->count;
    for (int i = 0; i < w->n_ends; i++)
        if (w->ends[i].rtt_s > count.rtt_s)
            count.rtt_s = w->ends[i].rtt_s;
    return count;
}

static void run_timers(struct window *w, double now)
{
    void (*const due)(struct window *, struct window_slot *, double) =
        w->work.kind == WINDOW_PING ? window_path_due : window_time_due;
    w->timed_at = now;
    timer_wheel_turn(&w->wheel, now);
    for (struct timer_wheel_entry *t; (t = timer_wheel_pop(&w->wheel));)
        if (w->state == WINDOW_BUSY)
            due(w, (struct window_slot *)t, now);
}

enum window_state window_turn(struct window *w, double now, bool *moved)
{
    bool drained;
    *moved = false;
    if (w->state != WINDOW_BUSY)
        return w->state;
    window_time_look(w, now);
    *moved = window_receive(w, now, &drained);
    if (w->state == WINDOW_BUSY && (drained || now - w->timed_at > timers_s))
        run_timers(w, now);
    if (w->state == WINDOW_BUSY)
        *moved = window_send_new(w, now) || *moved;
    window_flush(w);
    window_have(w);
    if (w->state == WINDOW_BUSY && w->work.done == w->work.n_packets && !w->n_asked)
        w->state = WINDOW_DONE;
    return w->state;
}
