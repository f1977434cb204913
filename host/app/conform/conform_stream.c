/* conform_stream.c : plays a vector of a control stream on a connection of its own. */
#include "app/conform/conform.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "offload/card/fpga_link.h"
#include <inttypes.h>
#include <string.h>

struct message {
    struct simlink head;
    uint8_t bytes[SIMLINK_BYTES + CONFORM_FRAME_BYTES];
};

static bool read_message(const char *text, struct message *m)
{
    const int n = conform_bytes(text, m->bytes, sizeof m->bytes);
    if (n < SIMLINK_BYTES)
        return false;
    m->head = simlink_get(m->bytes);
    return m->head.bytes == (uint32_t)n - SIMLINK_BYTES;
}

static bool differ(const char *field, uint64_t got, uint64_t want, struct conform_fault *f)
{
    if (got == want)
        return false;
    snprintf(f->field, sizeof f->field, "%s", field);
    snprintf(f->received, sizeof f->received, "%" PRIx64, got);
    snprintf(f->wanted, sizeof f->wanted, "%" PRIx64, want);
    return true;
}

/* asked: kind of the request. The answer to ADDRESS depends on the card. */
static bool answers_differ(struct simlink got, const uint8_t *body, const struct message *want,
                           uint32_t asked, struct conform_fault *f)
{
    const struct simlink *w = &want->head;
    const bool any = asked == SIMLINK_ADDRESS;
    if (differ("kind", got.kind, w->kind, f) || differ("status", got.status, w->status, f) ||
        differ("bytes", got.bytes, w->bytes, f) || differ("zero", got.zero, w->zero, f) ||
        (!any && (differ("a", got.a, w->a, f) || differ("b", got.b, w->b, f))) ||
        differ("c", got.c, w->c, f))
        return true;
    for (uint32_t i = 0; i < got.bytes; i++) {
        char field[24];
        snprintf(field, sizeof field, "body byte %u", i);
        if (differ(field, body[i], want->bytes[SIMLINK_BYTES + i], f))
            return true;
    }
    return false;
}

/* The first message, HELLO, has been received and checked. */
static int play(struct conform *c, struct fpga_link *l, const struct jsonl_in *in,
                struct conform_fault *fault)
{
    const char *events = jsonl_in_value(in, "events");
    struct message m;
    struct simlink got = {0};
    uint32_t asked = 0;
    for (const char *event; events && (event = jsonl_item(&events));) {
        const char *host = jsonl_member(event, "host");
        const double until = clock_s() + c->deadline_s;
        if (!read_message(host ? host : jsonl_member(event, "card"), &m))
            return conform_malformed(in);
        if (++fault->event == 1 && !host)
            continue;
        snprintf(fault->what, sizeof fault->what, "answer to kind %u", asked);
        int rc = host ? fpga_link_say(l, m.head, m.bytes + SIMLINK_BYTES, until)
                      : fpga_link_hear(l, &got, until);
        if (rc) {
            snprintf(fault->field, sizeof fault->field, "message");
            snprintf(fault->received, sizeof fault->received, "%s", strerror(-rc));
            snprintf(fault->wanted, sizeof fault->wanted, "kind %u", m.head.kind);
            return CONFORM_FAILED;
        }
        if (!host && answers_differ(got, l->body, &m, asked, fault))
            return CONFORM_FAILED;
        asked = host ? m.head.kind : asked;
    }
    return events ? CONFORM_PASSED : conform_malformed(in);
}

int conform_stream(struct conform *c, const struct jsonl_in *in, struct conform_fault *fault)
{
    uint32_t ip;
    uint16_t port;
    struct fpga_link link;
    struct deadline d = deadline_in(clock_s(), CONFORM_CONTROL_S);
    TRY(inet_parse(c->card.name + strlen(fpga_ops_udp.prefix), &ip, &port));
    const int fd = inet_connect(ip, port, &d);
    int rc = fd < 0 ? fd : fpga_link_open(&link, fd, d.at);
    if (rc)
        return ERR(rc, "cannot open a second connection to card %s: %s", c->card.name,
                   strerror(-rc));
    rc = play(c, &link, in, fault);
    fpga_link_close(&link);
    return rc;
}
