/* wire_process.c : queues frames and exchanges them with a simulated card. */
#include "offload/wire/wire_process.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLOCKS = 1u << 30, FIRST_PORT = 49152 }; /* MAX_CLOCKS: a longer run is stuck */
static const uint32_t first_ip = 0x0a000001;

/* a queue of frames, each after its length */
struct frames {
    uint8_t *bytes;
    size_t room, n, at; /* at: next to read */
};

struct end {
    struct frames to_card, from_card;
};

struct wire_process {
    struct fpga_process *card;
    uint32_t gap;
    int n_ranks;
    struct end ends[];
};

static int put(struct frames *f, const uint8_t *bytes, size_t n)
{
    if (f->at == f->n)
        f->at = f->n = 0;
    if (f->n + sizeof n + n > f->room) {
        const size_t room = 2 * f->room + sizeof n + n;
        uint8_t *more = realloc(f->bytes, room);
        if (!more)
            return -ENOMEM;
        f->bytes = more;
        f->room = room;
    }
    memcpy(f->bytes + f->n, &n, sizeof n);
    memcpy(f->bytes + f->n + sizeof n, bytes, n);
    f->n += sizeof n + n;
    return 0;
}

static int next(struct frames *f, const uint8_t **bytes, size_t *n)
{
    if (f->at == f->n)
        return 0;
    memcpy(n, f->bytes + f->at, sizeof *n);
    *bytes = f->bytes + f->at + sizeof *n;
    f->at += sizeof *n + *n;
    return 1;
}

static int process_send(void *wire, const uint8_t *bytes, size_t n)
{
    return put(&((struct end *)wire)->to_card, bytes, n);
}

static int process_flush(void *wire)
{
    (void)wire; /* wire_process_run() sends */
    return 0;
}

static int process_receive(void *wire, const uint8_t **bytes, size_t *n)
{
    return next(&((struct end *)wire)->from_card, bytes, n);
}

static size_t process_most(const void *wire)
{
    (void)wire;
    return SIMLINK_MAX;
}

static void process_close(void *wire)
{
    (void)wire;
}

static const struct wire_ops ops = {
    .send = process_send,
    .flush = process_flush,
    .receive = process_receive,
    .most = process_most,
    .close = process_close,
};

static int failed(struct wire_process *p, int rc)
{
    char why[FPGA_WHY_BYTES];
    if (rc != -EPIPE)
        return ERR(rc, "cannot talk to the simulated card: %s", strerror(-rc));
    rc = fpga_process_died(p->card, why);
    return rc == -ECHILD ? rc : ERR(rc, "%s", why);
}

static int give(struct wire_process *p)
{
    int n_frames = 0;
    for (int before = -1; n_frames > before;) {
        before = n_frames;
        for (int r = 0; r < p->n_ranks; r++) {
            struct simlink m = {.kind = SIMLINK_FRAME, .c = p->gap};
            struct end *end = &p->ends[r];
            const uint8_t *bytes;
            size_t n;
            if (!next(&end->to_card, &bytes, &n))
                continue;
            m.a = first_ip + (uint32_t)r;
            m.b = FIRST_PORT + (uint32_t)r;
            m.bytes = (uint32_t)n;
            TRY(fpga_link_say(&p->card->link, m, bytes, INFINITY));
            n_frames++;
        }
    }
    return n_frames;
}

static int take(struct wire_process *p, struct simlink m, const uint8_t *bytes)
{
    const uint64_t rank = m.a - first_ip;
    if (m.kind != SIMLINK_FRAME)
        return ERR(-EPROTO, "the simulated card sent message %u while it was running", m.kind);
    if (rank >= (uint64_t)p->n_ranks || m.b != FIRST_PORT + rank)
        return ERR(-EIO, "the simulated card sent a frame to an unknown address: %08x, port %u",
                   (uint32_t)m.a, (uint32_t)m.b);
    return put(&p->ends[rank].from_card, bytes, m.bytes)
               ? ERR(-ENOMEM, "no memory for the packets of the simulated card")
               : 0;
}

int wire_process_run(struct wire_process *p, struct wire_process_time *time)
{
    struct simlink m = {.kind = SIMLINK_RUN, .a = MAX_CLOCKS};
    struct fpga_link *link = &p->card->link;
    int rc = give(p);
    if (rc <= 0)
        return rc ? failed(p, rc) : 0;
    const double start = clock_s();
    rc = fpga_link_say(link, m, NULL, INFINITY);
    while (!rc && !(rc = fpga_link_hear(link, &m, INFINITY)) && m.kind != SIMLINK_DONE)
        TRY(take(p, m, link->body));
    if (rc)
        return failed(p, rc);
    time->clocks += m.a;
    time->beats_in += m.b;
    time->beats_out += m.c;
    time->seconds += clock_s() - start;
    return m.status
               ? ERR(-ETIMEDOUT, "the simulated card was still busy after %u clocks", MAX_CLOCKS)
               : 1;
}

struct wire wire_process_of(struct wire_process *p, int rank)
{
    return (struct wire){&ops, &p->ends[rank], first_ip + (uint32_t)rank,
                         (uint16_t)(FIRST_PORT + rank)};
}

int wire_process_open(struct fpga_process *card, int n_ranks, uint32_t gap,
                      struct wire_process **out)
{
    struct wire_process *p = buf_alloc(sizeof *p + (size_t)n_ranks * sizeof *p->ends);
    if (!p)
        return -ENOMEM;
    p->card = card;
    p->gap = gap;
    p->n_ranks = n_ranks;
    *out = p;
    return 0;
}

void wire_process_close(struct wire_process *p)
{
    if (!p)
        return;
    for (int r = 0; r < p->n_ranks; r++) {
        free(p->ends[r].to_card.bytes);
        free(p->ends[r].from_card.bytes);
    }
    free(p);
}
