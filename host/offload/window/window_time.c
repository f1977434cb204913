/* window_time.c : handles results that do not come, with time-outs from measured round trips:
 * decides when to ask a card, with a PING of 64 bytes, for a slot's state, and what to do after the
 * answer.
 *
 *     timer ran out -PING-> has this rank's part, not all:    others are late: wait, twice as long
 *                           lacks this rank's part, or done:  send the lost packet again
 *                           impossible state:                 the card lost its state: abandon it
 *                           no answer within the deadline:    the card is gone: abandon it
 *
 * While results arrive in order the card is only slow, and no ping is sent. A packet is sent again
 * only if it or its result was lost, even if other ranks are very late. Time-outs follow the round
 * trips of the pings, whose echo fields tell which ping a pong answers. */
#include "base/deadline.h"
#include "hls/card/slot.h"
#include "offload/window/window_inside.h"

static const double first_s = 0.05, least_s = 0.01, most_s = 0.2, later_s = 0.002;
enum {
    MAX_DOUBLED = 8,
    /* packet m is probably lost if packet m + OVERTAKEN already has its result */
    OVERTAKEN = 4,
    MAX_QUESTIONS = 8,
    /* A card that answers pings but accepts no packets is abandoned after this many card deadlines,
     * a silent card after one. */
    TAKES_NONE = 2,
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* The time for an answer if no rank is late, at most most_s: one slow round trip must not delay the
 * recovery of later losses. */
static double timeout_s(const struct window_end *end)
{
    const double t = smaller(end->rtt_s + 4 * end->var_s, most_s);
    return end->rtt_s == 0 ? first_s : t > least_s ? t : least_s;
}

static void set_timer(struct window *w, struct window_slot *s, double now)
{
    const double once = timeout_s(s->end),
                 most = smaller(smaller(w->config.card_deadline_s / 5, most_s), MAX_DOUBLED * once);
    double t = once;
    for (int i = 0; i < s->tries && t < most; i++)
        t = smaller(2 * t, most);
    timer_wheel_add(&w->wheel, &s->timer, now + t);
}

static void send_again(struct window *w, struct window_slot *s, double now)
{
    w->count.resent += window_send(w, s);
    set_timer(w, s, now);
}

void window_time_start(struct window *w, double now)
{
    w->progress_at = w->turned_at = now;
}

void window_time_look(struct window *w, double now)
{
    const double away_s = now - w->turned_at;
    w->turned_at = now;
    if (away_s <= DEADLINE_GAP_S)
        return;
    w->back_at = now;
    w->progress_at += away_s;
    for (int i = 0; i < w->n_ends; i++) {
        struct window_end *end = &w->ends[i];
        end->answered_at += away_s;
        if (end->silent_since != 0)
            end->silent_since += away_s;
    }
}

void window_time_sent(struct window *w, struct window_slot *s, double now)
{
    s->tries = 0;
    s->first_echo = s->echo = 0;
    set_timer(w, s, now);
}

void window_time_answered(struct window *w, struct window_slot *s, double now)
{
    struct window_end *end = s->end;
    timer_wheel_remove(&s->timer);
    end->answered_at = now;
    if (s->m > end->answered)
        end->answered = s->m;
    w->progress_at = now;
    w->missing = 0;
}

void window_time_heard(struct window_end *end)
{
    end->silent_since = 0;
    end->n_questions = 0;
}

void window_time_measured(const struct window *w, const struct window_slot *s, uint64_t echo,
                          double now)
{
    struct window_end *end = s->end;
    const double asked_at = echo == s->echo ? s->asked_at : s->first_at;
    if ((echo != s->echo && echo != s->first_echo) ||
        /* the pong may have waited while this process was stopped */
        asked_at < w->back_at)
        return;
    const double rtt_s = now - asked_at,
                 off = rtt_s > end->rtt_s ? rtt_s - end->rtt_s : end->rtt_s - rtt_s;
    if (end->rtt_s == 0) {
        end->rtt_s = rtt_s;
        end->var_s = rtt_s / 2;
        return;
    }
    end->var_s += (off - end->var_s) / 4;
    end->rtt_s += (rtt_s - end->rtt_s) / 8;
}

void window_time_pong(struct window *w, struct window_slot *s, const struct pkt_header *h,
                      double now)
{
    window_time_measured(w, s, h->echo, now);
    s->first_echo = s->echo = 0;
    const uint32_t chunk = (uint32_t)(s->m / s->end->card.job.slots);
    const uint64_t in = pkt_get_bitmap(*h);
    switch (pong_says(h->status, h->chunk, in >> w->config.rank & 1, chunk,
                      s->m < s->end->card.job.slots)) {
    case PONG_OTHERS_LATE:
        w->missing = slot_everyone((unsigned)w->config.n_ranks) & ~in;
        break;
    case PONG_SEND_AGAIN:
        w->missing = 0; /* if a rank is late, another pong tells so */
        send_again(w, s, now);
        break;
    case PONG_LOST_STATE:
        window_lose(w, s->end, "has lost its state: it is at chunk %u of slot %u instead of %u",
                    h->chunk, h->slot, chunk);
        break;
    }
}

bool window_time_silent(const struct window *w, const struct window_end *end, double now)
{
    return end->silent_since != 0 && now - end->silent_since > w->config.card_deadline_s;
}

void window_time_ask(struct window *w, struct window_slot *s, size_t payload_bytes, double now)
{
    s->echo = ++w->last_echo;
    s->asked_at = now;
    if (!s->first_echo) {
        s->first_echo = s->echo;
        s->first_at = now;
    }
    window_send_ping(w, s, payload_bytes);
    s->end->n_questions++;
    if (s->end->silent_since == 0)
        s->end->silent_since = now;
    if (s->tries < UINT8_MAX)
        s->tries++;
    set_timer(w, s, now);
}

void window_time_due(struct window *w, struct window_slot *s, double now)
{
    struct window_end *end = s->end;
    const double waited_s = now - w->progress_at;
    if (end->answered < s->m + OVERTAKEN && now - end->answered_at < timeout_s(end))
        set_timer(w, s, now);
    else if (window_time_silent(w, end, now))
        window_lose(w, end, "has been silent for %.1f s", now - end->silent_since);
    else if (end->n_questions >= MAX_QUESTIONS && !s->echo)
        /* enough pings are unanswered: only slots that have pinged already ping again */
        timer_wheel_add(&w->wheel, &s->timer, now + later_s);
    else if (w->missing && waited_s > w->config.others_s) {
        w->state = WINDOW_STRAGGLER;
        w->lost = (int)(end - w->ends);
    } else if (!w->missing && waited_s > TAKES_NONE * w->config.card_deadline_s)
        window_lose(w, end, "answers pings of %d bytes but not packets of %zu", PKT_HEADER_BYTES,
                    s->n_frame);
    else
        window_time_ask(w, s, 0, now);
}
