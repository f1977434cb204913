/* conform_exchange.c : sends a frame of a vector and compares the card's answers and counters. */
#include "app/conform/conform_script.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct answer {
    const struct conform_end *to;
    uint8_t frame[CONFORM_FRAME_BYTES];
    size_t n;
    bool came;
};

struct exchange {
    const struct conform_end *from;
    uint8_t frame[CONFORM_FRAME_BYTES];
    size_t n;
    int counter; /* that counts the frame */
    int n_answers;
    struct answer answers[PKT_MAX_RANKS];
};

static const char *const counters[REG_COUNTERS] = {
#define COUNTER(NAME, index, what) [index] = #NAME,
#include "hls/card/regs.def"
};

/* ---- read the event ---- */

static int counter_of(const char *name)
{
    for (int i = 0; name && i < CNT_OUT_RESULT; i++) {
        const size_t n = strlen(counters[i]);
        if (*name == '"' && !strncmp(name + 1, counters[i], n) && name[n + 1] == '"')
            return i;
    }
    return -1;
}

static bool frame_of(const struct conform_script *s, const char *text, uint8_t *frame, size_t *n)
{
    const int bytes = conform_bytes(text, frame, CONFORM_FRAME_BYTES);
    if (bytes < 0)
        return false;
    *n = (size_t)bytes;
    conform_rekey(frame, *n, s->mask);
    return true;
}

/* An answer is [IP, port, frame], or [rank, lost, frame] in a step. */
static bool read_event(const struct conform_script *s, const char *event, struct exchange *x)
{
    const char *from = jsonl_member(event, "from"), *out = jsonl_member(event, "out");
    x->from = conform_end_of(s, from ? from : jsonl_member(event, "rank"));
    x->counter = counter_of(jsonl_member(event, "counter"));
    if (!x->from || x->counter < 0 || !out ||
        !frame_of(s, jsonl_member(event, "frame"), x->frame, &x->n))
        return false;
    for (const char *item; (item = jsonl_item(&out)); x->n_answers++) {
        struct answer *a = &x->answers[x->n_answers];
        const char *at = item;
        if (x->n_answers == PKT_MAX_RANKS || !jsonl_item(&at) || !jsonl_item(&at) ||
            !(a->to = conform_end_of(s, item)) || !frame_of(s, jsonl_item(&at), a->frame, &a->n))
            return false;
    }
    return true;
}

/* ---- answers ---- */

static int differs(struct conform_script *s, const char *why, const struct conform_end *to,
                   const uint8_t *frame, size_t n)
{
    char name[16], what[64];
    snprintf(what, sizeof what, "%s%s to %s", why, conform_op(frame, n),
             conform_end_name(s, to, name));
    return conform_fails(s, what, NULL, NULL, NULL);
}

/* Looks for a datagram among the wanted answers. */
static int take(struct conform_script *s, struct exchange *x, const struct conform_end *to,
                const uint8_t *frame, size_t n)
{
    struct answer *near = NULL;
    char bytes[32];
    s->c->counted = true;
    for (int i = 0; i < x->n_answers; i++) {
        struct answer *a = &x->answers[i];
        if (a->to != to || a->came)
            continue;
        if (!conform_differs(frame, n, a->frame, a->n, s->fault)) {
            a->came = true;
            return 0;
        }
        near = near ? near : a;
    }
    if (near) {
        (void)conform_differs(frame, n, near->frame, near->n, s->fault);
        return differs(s, "", to, near->frame, near->n);
    }
    snprintf(bytes, sizeof bytes, "%zu bytes", n);
    (void)conform_fails(s, NULL, "datagram", bytes, "none");
    return differs(s, "unexpected ", to, frame, n);
}

static bool complete(const struct exchange *x)
{
    for (int i = 0; i < x->n_answers; i++)
        if (!x->answers[i].came)
            return false;
    return true;
}

/* Takes datagrams until all answers are there, then those that already wait. */
static int take_answers(struct conform_script *s, struct exchange *x, double until)
{
    uint8_t frame[CONFORM_FRAME_BYTES];
    const struct conform_end *to;
    size_t n;
    while (conform_ends_receive(&s->ends, complete(x) ? 0 : until, &to, frame, sizeof frame, &n)) {
        const int rc = take(s, x, to, frame, n);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- counters ---- */

/* Returns the counter's difference that the vector wants. */
static uint64_t wanted_of(const struct exchange *x, int counter)
{
    uint64_t n = 0;
    for (int i = 0; i < x->n_answers; i++) {
        const int op = x->answers[i].frame[PKT_OP_AT];
        n += counter == (op == PKT_OP_RESULT ? CNT_OUT_RESULT
                         : op == PKT_OP_NAK  ? CNT_OUT_NAK
                                             : CNT_OUT_PONG);
    }
    return n + (counter == x->counter);
}

/* Names the counters that counted the frame. */
static void say_counted(const uint64_t *diff, char *to, size_t size)
{
    struct text text = text_in(to, size);
    for (int i = 0; i < CNT_OUT_RESULT; i++) {
        if (diff[i])
            text_add(&text, "%s%s", text.n ? ", " : "", counters[i]);
        if (diff[i] > 1)
            text_add(&text, " %+lld", (long long)diff[i]);
    }
    if (!text.n)
        text_add(&text, "none");
}

/* Reads counters until they are as wanted, or until the time `until`. Fills diff and *right.
 * Reports a negative errno. */
static int read_counters(struct conform_script *s, const struct exchange *x, double until,
                         uint64_t diff[REG_COUNTERS], bool *right)
{
    uint64_t of[REG_COUNTERS];
    for (;;) {
        TRY(conform_counters(s, of));
        *right = true;
        for (int i = 0; i < REG_COUNTERS; i++) {
            diff[i] = of[i] - s->latched[i];
            *right = *right && diff[i] == wanted_of(x, i);
            s->c->counted = s->c->counted || (i < CNT_OUT_RESULT && diff[i]);
        }
        if (*right || clock_s() >= until)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    memcpy(s->latched, of, sizeof of);
    return 0;
}

static int unheard(const struct conform_script *s)
{
    char address[INET_TEXT];
    return ERR(-ETIMEDOUT,
               "card %s does not count a frame sent to %s (R98): is UDP open between this host and "
               "the card?",
               s->c->card.name, inet_text(s->c->card_ip, s->c->card_port, address));
}

/* Reports the difference of counters, or that an answer is missing. */
static int missing(struct conform_script *s, const struct exchange *x, const uint64_t *diff)
{
    char by[48], what[64], name[16];
    struct conform_fault *f = s->fault;
    say_counted(diff, by, sizeof by);
    snprintf(what, sizeof what, "%s from %s", conform_op(x->frame, x->n),
             conform_end_name(s, x->from, name));
    uint64_t inside = 0;
    for (int i = 0; i < CNT_OUT_RESULT; i++)
        inside += diff[i];
    if (inside != 1 || !diff[x->counter])
        return conform_fails(s, what, "counter", by, counters[x->counter]);
    for (int i = 0; i < x->n_answers; i++)
        if (!x->answers[i].came) {
            (void)conform_fails(s, NULL, "datagram", NULL, NULL);
            snprintf(f->received, sizeof f->received, "none in %g s", s->c->deadline_s);
            snprintf(f->wanted, sizeof f->wanted, "%zu bytes", x->answers[i].n);
            return differs(s, "", x->answers[i].to, x->answers[i].frame, x->answers[i].n);
        }
    for (int i = CNT_OUT_RESULT; i < REG_COUNTERS; i++)
        if (diff[i] != wanted_of(x, i)) {
            snprintf(f->received, sizeof f->received, "%+lld", (long long)diff[i]);
            snprintf(f->wanted, sizeof f->wanted, "%+lld", (long long)wanted_of(x, i));
            return conform_fails(s, what, counters[i], NULL, NULL);
        }
    return 0;
}

static int exchange(struct conform_script *s, struct exchange *x)
{
    uint64_t diff[REG_COUNTERS] = {0};
    bool right = true;
    const double until = clock_s() + s->c->deadline_s;
    TRY(conform_ends_send(x->from, x->frame, x->n));
    int rc = take_answers(s, x, until);
    if (rc)
        return rc;
    if (s->own_latch) {
        /* only time tells that an unanswered frame has been counted */
        while (!x->n_answers && clock_s() < until)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        rc = take_answers(s, x, 0);
        if (rc || complete(x))
            return rc;
    }
    TRY(read_counters(s, x, complete(x) ? until : 0, diff, &right));
    if (!s->c->counted)
        return unheard(s);
    rc = take_answers(s, x, 0); /* surplus ones come before they are counted */
    return rc || (right && complete(x)) ? rc : missing(s, x, diff);
}

int conform_exchange(struct conform_script *s, const char *event)
{
    uint64_t lost = 0;
    (void)conform_number(jsonl_member(event, "lost"), &lost);
    if (lost)
        return 0; /* in a step, the network loses this frame */
    struct exchange *x = calloc(1, sizeof *x);
    if (!x)
        return ERR(-ENOMEM, "cannot run a vector: no memory");
    const int rc = read_event(s, event, x) ? exchange(s, x) : conform_malformed(s->in);
    free(x);
    return rc;
}
