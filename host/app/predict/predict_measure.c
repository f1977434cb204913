/* predict_measure.c : measures how fast one core casts, adds and sends.
 *
 *     formats x algorithms x ranks -> tasks, each once -> CPU seconds a byte -> rows, as in a file
 *
 * Time is CPU time of this thread, on which other work has little effect. */
#include "app/predict/predict.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "job/cost.h"
#include "offload/wire/wire.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Arrays exceed a core's caches. A slow cast can stop after any chunk; a chunk's codes fit the
 * cache. */
enum { FLOATS = 4 << 20, CHUNK = 1 << 18, PARTS = 8 };
enum { LARGEST = 12 }; /* values are less than 2^(1 - LARGEST) */

struct task {
    enum predict_kind kind;
    struct mf_fmt fmt;
    struct vec_sum sum;
    const struct vec_ops *ops;
    int shift;
};

struct tasks {
    struct task of[PREDICT_RATES];
    int n;
};

struct ground {
    float *x, *y;   /* [FLOATS] */
    uint8_t *codes; /* [4 FLOATS] */
    uint8_t *out;   /* [4 CHUNK] */
    size_t at;      /* next chunk, in floats */
};

static void want(struct tasks *t, const struct codec *codec, enum predict_kind kind,
                 struct mf_fmt fmt)
{
    for (int i = 0; i < t->n; i++)
        if (t->of[i].kind == kind && mf_same(t->of[i].fmt, fmt))
            return;
    if (t->n == PREDICT_RATES)
        return;
    struct task *task = &t->of[t->n++];
    *task = (struct task){kind, fmt, *codec_sum(codec), codec->ops, 0};
    if (task->sum.n_ranks < PARTS)
        task->sum.n_ranks = PARTS;
    if (fmt.e < 8) /* the largest value of fill() becomes 1 */
        task->shift = LARGEST;
}

static void want_type(struct tasks *t, const struct predict *p, const char *type)
{
    struct predict_way way;
    for (int i = 0; i < p->algos.n; i++)
        for (int r = 0; r < p->n_ranks; r++) {
            err_hold();
            const int rc = predict_settle(p->o, p->algos.word[i], type, p->ranks[r], &way);
            err_release(false);
            if (rc < 0)
                continue;
            const struct vec_sum *sum = codec_sum(&way.codecs[0]);
            want(t, &way.codecs[0], PREDICT_ENCODE, sum->in);
            want(t, &way.codecs[0], predict_adds(sum), sum->in);
            want(t, &way.codecs[0], PREDICT_DECODE, sum->out);
        }
}

/* Values span 16 powers of two, like gradients. */
static void fill(struct ground *g)
{
    for (size_t i = 0; i < FLOATS; i++) {
        const uint32_t r = (uint32_t)(i * 0x9e3779b9u) ^ (uint32_t)(i >> 7) * 0x85ebca6bu;
        const uint32_t bits = (r & 0x807fffffu) | (127u - LARGEST - (r >> 23 & 15u)) << 23;
        memcpy(&g->x[i], &bits, sizeof bits);
    }
    memset(g->y, 0xff, FLOATS * sizeof *g->y);
    memset(g->out, 0xff, CHUNK * sizeof *g->x);
}

static void fill_codes(struct ground *g, const struct task *t)
{
    const struct vec_cast cast = {.fmt = t->fmt};
    const size_t bytes = vec_bytes(t->fmt, CHUNK), n = FLOATS * sizeof *g->x / bytes;
    t->ops->encode(&cast, g->x, CHUNK, 0, t->shift, g->codes);
    for (size_t i = 1; i < n; i++)
        memcpy(g->codes + i * bytes, g->codes, bytes);
}

static size_t add_chunk(struct ground *g, const struct task *t, size_t at)
{
    const bool in_place = t->kind == PREDICT_ADD && !t->sum.acc.e;
    const size_t n_parts = in_place ? 2 : PARTS, part = CHUNK * sizeof *g->x / n_parts;
    const size_t n = part / mf_width(t->fmt) * 8; /* whole bytes */
    uint8_t *const codes = g->codes + at * sizeof *g->x;
    const uint8_t *parts[PARTS];
    for (size_t i = 0; i < n_parts; i++)
        parts[i] = codes + i * part;
    if (in_place)
        t->ops->add(&t->sum, codes, parts[1], n);
    else
        t->ops->sum(&t->sum, parts, PARTS, n, t->sum.out, t->sum.out_shift, g->out);
    return n_parts * vec_bytes(t->fmt, n);
}

/* Returns the bytes to count (row_of() in predict_rates.c). */
static size_t do_chunk(struct ground *g, const struct task *t)
{
    const struct vec_cast cast = {.fmt = t->fmt};
    const size_t at = g->at;
    g->at = (at + CHUNK) % FLOATS;
    if (t->kind == PREDICT_ENCODE)
        (void)t->ops->scan_encode(&cast, g->x + at, CHUNK, 0, t->shift, g->out);
    else if (t->kind == PREDICT_DECODE)
        t->ops->decode(t->fmt, g->codes, CHUNK, -t->shift, PARTS, g->y + at);
    else
        return add_chunk(g, t, at);
    return CHUNK * sizeof *g->x;
}

static double seconds_a_byte(struct ground *g, const struct task *t, double slice_s)
{
    size_t bytes = 0;
    double took;
    fill_codes(g, t);
    (void)do_chunk(g, t);
    const double start = clock_cpu_s();
    do
        bytes += do_chunk(g, t);
    while ((took = clock_cpu_s() - start) < slice_s);
    return took / (double)bytes;
}

static int open_ground(struct ground *g)
{
    const size_t bytes = FLOATS * sizeof *g->x;
    *g = (struct ground){.x = buf_alloc(bytes),
                         .y = buf_alloc(bytes),
                         .codes = buf_alloc(bytes),
                         .out = buf_alloc(CHUNK * sizeof *g->x)};
    return g->x && g->y && g->codes && g->out ? 0 : -ENOMEM;
}

static void close_ground(struct ground *g)
{
    free(g->x);
    free(g->y);
    free(g->codes);
    free(g->out);
}

int predict_measure(const struct predict *p, double budget_s, struct predict_rates *out)
{
    struct tasks tasks = {.n = 0};
    struct ground g;
    const int rc = open_ground(&g);
    for (int f = 0; f < p->formats.n; f++)
        want_type(&tasks, p, p->formats.word[f]);
    want_type(&tasks, p, "fp32");
    if (rc == 0)
        fill(&g);
    for (int i = 0; i < tasks.n && rc == 0; i++) {
        const struct task *t = &tasks.of[i];
        out->rows[out->n_rows++] = (struct predict_rate_row){
            t->kind, t->fmt, seconds_a_byte(&g, t, budget_s / tasks.n), 1};
    }
    close_ground(&g);
    return rc;
}

/* Messages go over 127.0.0.1:
 *
 *     to ranks    TCP, 64 KiB at a time
 *     to a card   UDP over the wire of jobs (offload/wire/wire.h), in frames of the card's length
 *
 * One thread sends and receives, so its CPU time includes both ends. */

enum { PIECE = 64 << 10, FRAMES = 32, BUFFER = 16 << 20 };

/* longer than a core's caches */
struct buffers {
    uint8_t *from, *to; /* [BUFFER] */
    size_t sent, got;   /* positions */
};

static int bound(int type, struct sockaddr_in *name)
{
    socklen_t size = sizeof *name;
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    *name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)name, size) < 0 ||
        getsockname(fd, (struct sockaddr *)name, &size) < 0) {
        const int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

static int connected(int fd[2])
{
    struct sockaddr_in name;
    const int listener = bound(SOCK_STREAM, &name);
    int rc = listener < 0 ? listener : 0;
    fd[0] = fd[1] = -1;
    if (rc == 0)
        fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (rc == 0 && (fd[0] < 0 || listen(listener, 1) < 0 ||
                    connect(fd[0], (struct sockaddr *)&name, sizeof name) < 0 ||
                    (fd[1] = accept(listener, NULL, NULL)) < 0))
        rc = -errno;
    if (listener >= 0)
        close(listener);
    return rc;
}

static uint8_t *next(uint8_t *buffer, size_t *at, size_t bytes)
{
    *at = *at + 2 * bytes > BUFFER ? 0 : *at + bytes;
    return buffer + *at;
}

static size_t drain(struct buffers *b, int fd)
{
    size_t bytes = 0;
    for (ssize_t n; (n = recv(fd, next(b->to, &b->got, PIECE), PIECE, MSG_DONTWAIT)) > 0;)
        bytes += (size_t)n;
    return bytes;
}

struct sender {
    int (*send)(const struct sender *s, struct buffers *b);
    int fd;
    const struct wire *wire;
    size_t frame;
};

static int send_tcp(const struct sender *s, struct buffers *b)
{
    const ssize_t n =
        send(s->fd, next(b->from, &b->sent, PIECE), PIECE, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 && errno != EAGAIN ? -errno : 0;
}

static int send_udp(const struct sender *s, struct buffers *b)
{
    int rc = 0;
    for (int i = 0; i < FRAMES && rc == 0; i++)
        rc = s->wire->ops->send(s->wire->own, next(b->from, &b->sent, s->frame), s->frame);
    if (rc == 0)
        rc = s->wire->ops->flush(s->wire->own);
    return rc == -EAGAIN ? 0 : rc;
}

static int run(const struct sender *s, int fd, double budget_s, double *port_s)
{
    struct buffers b = {.from = buf_alloc(BUFFER), .to = buf_alloc(BUFFER)};
    size_t bytes = 0;
    int rc = b.from && b.to ? 0 : -ENOMEM;
    if (rc == 0) { /* touches the pages */
        memset(b.from, 0x55, BUFFER);
        memset(b.to, 0x55, BUFFER);
    }
    const double start = clock_cpu_s();
    double took = 0;
    while (rc == 0 && took < budget_s) {
        rc = s->send(s, &b);
        bytes += drain(&b, fd);
        took = clock_cpu_s() - start;
    }
    free(b.from);
    free(b.to);
    *port_s = bytes > 0 ? took / (2 * (double)bytes) : 0;
    return rc == 0 && bytes == 0 ? -EIO : rc;
}

static int measure_tcp(double budget_s, double *port_s)
{
    int fd[2], rc = connected(fd);
    if (rc == 0)
        rc = run(&(struct sender){.send = send_tcp, .fd = fd[0]}, fd[1], budget_s, port_s);
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return rc;
}

static int measure_udp(size_t frame, double budget_s, double *port_s)
{
    char why[WIRE_WHY_BYTES];
    struct sockaddr_in name;
    struct wire wire;
    const int fd = bound(SOCK_DGRAM, &name);
    if (fd < 0)
        return fd;
    const struct wire_options o = {
        .card_ip = INADDR_LOOPBACK, .card_port = ntohs(name.sin_port), .frame_bytes = frame};
    int rc = wire_open(&o, &wire, why);
    if (rc == 0) {
        rc = run(&(struct sender){.send = send_udp, .wire = &wire, .frame = frame}, fd, budget_s,
                 port_s);
        wire.ops->close(wire.own);
    }
    close(fd);
    return rc;
}

int predict_measure_ports(int mtu, double budget_s, double *port_s)
{
    int rc = measure_tcp(budget_s / 2, &port_s[0]);
    if (rc == 0)
        rc = measure_udp(cost_frame_bytes(mtu), budget_s / 2, &port_s[1]);
    if (rc < 0)
        return ERR(rc, "cannot measure messages over 127.0.0.1: %s; give --port-rate",
                   strerror(-rc));
    return 0;
}
