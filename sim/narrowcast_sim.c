/* narrowcast_sim.c : the program narrowcast-sim: one simulated card, driven over a socket in the words of hls/simlink.h. */
#include "base/err.h"
#include "base/opt.h"
#include "base/sock.h"
#include "hls/simlink.h"
#include "sim/shell.h"
#include <stdlib.h>
#include <string.h>

struct sim_options {
    const char *model, *wave;
    int64_t fd;
};

#define AT(field) offsetof(struct sim_options, field)
static const struct opt opts[] = {
    {"fd", "N", "-1", "The socket, inherited from the program that starts this one, to talk over.", OPT_INT, AT(fd), -1,
     1 << 20, 0},
    {"model", "rtl|c", "rtl", "The Verilated core, or the card in plain C, which answers alike but has no clock.",
     OPT_CHOICE, AT(model), 0, 0, 0},
    {"wave", "FILE.fst", NULL, "Writes all signals there, for GTKWave (rtl alone).", OPT_TEXT, AT(wave), 0, 0, 0},
};

static const struct opt_command command = {
    .name = "narrowcast-sim",
    .alone = true,
    .args = "",
    .about = "A simulated card. Other programs of narrowcast start it: `narrowcast reduce --on rtl`.",
    .examples = "  narrowcast reduce --on rtl --format e4m3 rank0.e4m3 rank1.e4m3 sum.e4m3\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

struct sim {
    const struct shell_ops *ops;
    void *shell;
    int fd, lost; /* lost: a frame out could not be said, -errno */
    struct frame_queue in;
    uint8_t body[SIMLINK_MOST];
};

static int say(int fd, struct simlink m, const uint8_t *body)
{
    uint8_t header[SIMLINK_BYTES];
    simlink_put(m, header);
    TRY(sock_send(fd, header, sizeof header));
    return m.bytes ? sock_send(fd, body, m.bytes) : 0;
}

static void frame_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct sim *s = arg;
    struct simlink m = {.kind = SIMLINK_FRAME, .bytes = (uint32_t)n, .a = ip, .b = port};
    if (!s->lost)
        s->lost = say(s->fd, m, bytes);
}

static int frame_in(struct sim *s, struct simlink m)
{
    struct queued_frame f = {.ip = (uint32_t)m.a, .port = (uint16_t)m.b, .gap = (uint32_t)m.c, .n = m.bytes};
    return m.bytes ? frame_queue_put(&s->in, f, s->body) : 0;
}

/* Does what m asks for. 0, 1 at the end, or a negative errno with a line. */
static int obey(struct sim *s, struct simlink m)
{
    struct simlink answer = {.kind = SIMLINK_DONE};
    struct shell_run run;
    uint32_t value = 0;
    int rc = 0;
    switch (m.kind) {
    case SIMLINK_WRITE:
        TRY(rc = s->ops->write(s->shell, (uint32_t)m.a, (uint32_t)m.b));
        break;
    case SIMLINK_READ:
        TRY(rc = s->ops->read(s->shell, (uint32_t)m.a, &value));
        answer.b = value;
        break;
    case SIMLINK_FRAME:
        return frame_in(s, m);
    case SIMLINK_RUN:
        run = s->ops->run(s->shell, &s->in, m.a);
        rc = !run.quiet;
        answer.a = run.clocks;
        answer.b = run.beats_in;
        answer.c = run.beats_out;
        break;
    case SIMLINK_QUIT:
        return 1;
    default:
        return ERR(-EPROTO, "cannot understand message %u: is `narrowcast` of another version?", m.kind);
    }
    answer.status = (uint32_t)rc;
    return say(s->fd, answer, NULL);
}

/* Until the other end has had enough, which is no failure. */
static int serve(struct sim *s)
{
    int rc = say(s->fd, (struct simlink){.kind = SIMLINK_HELLO, .a = SIMLINK_VERSION}, NULL);
    while (!rc && !s->lost) {
        uint8_t header[SIMLINK_BYTES];
        rc = sock_recv(s->fd, header, sizeof header);
        if (rc)
            break;
        struct simlink m = simlink_get(header);
        if (m.bytes > SIMLINK_MOST)
            return ERR(-EPROTO, "cannot take a message of %u bytes: %u at most", m.bytes, SIMLINK_MOST);
        rc = sock_recv(s->fd, s->body, m.bytes);
        if (!rc)
            rc = obey(s, m);
    }
    return rc == -EPIPE || rc > 0 ? 0 : rc;
}

int main(int argc, char **argv)
{
    struct sim_options o = {0};
    struct opt_parsed p;
    if (opt_parse(&command, argc - 1, argv + 1, &o, &p) < 0)
        return 1;
    if (p.help)
        return opt_help(&command, stdout), 0;
    if (o.fd < 0)
        return ERR(1, "narrowcast-sim has nobody to talk to: it is started by other programs, see --help");

    struct sim *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(1, "cannot make a card: no memory");
    s->fd = (int)o.fd;
    s->ops = strcmp(o.model, "c") ? &shell_rtl : &shell_c;
    int rc = s->ops->open(o.wave, frame_out, s, &s->shell);
    if (!rc) {
        rc = serve(s);
        s->ops->close(s->shell);
    }
    frame_queue_free(&s->in);
    free(s);
    return rc < 0;
}
