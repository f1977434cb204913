/* sim_card.c : a simulated card: starts narrowcast-sim, and speaks to it: registers, frames, clocks. */
#include "app/sim_card.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sock.h"
#include "hls/simlink.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "narrowcast-sim"
enum { MOST_CLOCKS = 1u << 30 }; /* of one run: the card is stuck */

/* ---- its process ---- */

/* The path of the card beside this program's own file, if there is one, else its name alone, for PATH to find. */
static const char *find(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof PROGRAM - 1);
    if (n > 0) {
        path[n] = 0;
        char *slash = strrchr(path, '/');
        memcpy(slash ? slash + 1 : path, PROGRAM, sizeof PROGRAM);
        if (!access(path, X_OK))
            return path;
    }
    return PROGRAM;
}

/* In the child. Does not return: 127 says that there is no such program, as a shell would. */
static void become_card(int fd, const char *path, const char *model, const char *wave)
{
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    if (fcntl(fd, F_SETFD, 0) == 0) {
        if (wave)
            execlp(path, PROGRAM, "--fd", number, "--model", model, "--wave", wave, (char *)NULL);
        else
            execlp(path, PROGRAM, "--fd", number, "--model", model, (char *)NULL);
    }
    _exit(errno == ENOENT ? 127 : 126);
}

/* The other end has closed: says why, once, and returns -EIO or -ENOENT. */
static int died(struct sim_card *card)
{
    int status = 0;
    pid_t pid = card->pid > 0 ? waitpid(card->pid, &status, 0) : -1;
    card->pid = 0;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return ERR(-ENOENT, "cannot find the simulated card " PROGRAM ": `make sim` builds it, which needs Verilator");
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1)
        return -EIO; /* it said why */
    if (pid > 0 && WIFSIGNALED(status))
        return ERR(-EIO, "the simulated card was ended by signal %d", WTERMSIG(status));
    return ERR(-EIO, "the simulated card ended with status %d", pid > 0 ? WEXITSTATUS(status) : -1);
}

/* ---- messages ---- */

static int failed(struct sim_card *card, int rc)
{
    return rc == -EPIPE ? died(card) : ERR(rc, "cannot talk to the simulated card: %s", strerror(-rc));
}

static int say(struct sim_card *card, struct simlink m, const uint8_t *body)
{
    uint8_t header[SIMLINK_BYTES];
    simlink_put(m, header);
    int rc = sock_send(card->fd, header, sizeof header);
    if (!rc && m.bytes)
        rc = sock_send(card->fd, body, m.bytes);
    return rc ? failed(card, rc) : 0;
}

/* The next message of the card; card->body holds its bytes. */
static int hear(struct sim_card *card, struct simlink *m)
{
    uint8_t header[SIMLINK_BYTES];
    int rc = sock_recv(card->fd, header, sizeof header);
    if (!rc) {
        *m = simlink_get(header);
        rc = m->bytes > SIMLINK_MOST ? -EPROTO : sock_recv(card->fd, card->body, m->bytes);
    }
    return rc ? failed(card, rc) : 0;
}

/* An answer of this kind and no other. */
static int expect(struct sim_card *card, uint32_t kind, struct simlink *m)
{
    TRY(hear(card, m));
    if (m->kind != kind)
        return ERR(-EPROTO, "the simulated card answered with message %u instead of %u", m->kind, kind);
    return 0;
}

int sim_card_open(struct sim_card *card, const char *model, const char *wave)
{
    char path[PATH_MAX];
    const char *program = find(path);
    struct simlink hello;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return ERR(-errno, "cannot make a socket for the simulated card: %s", strerror(errno));
    fflush(NULL);
    *card = (struct sim_card){.fd = ends[0], .pid = fork()};
    if (card->pid == 0)
        become_card(ends[1], program, model, wave);
    int rc = card->pid < 0 ? ERR(-errno, "cannot start the simulated card: %s", strerror(errno)) : 0;
    close(ends[1]);
    if (!rc && !(card->body = buf_alloc(SIMLINK_MOST)))
        rc = -ENOMEM;
    if (!rc)
        rc = expect(card, SIMLINK_HELLO, &hello);
    if (!rc && hello.a != SIMLINK_VERSION)
        rc = ERR(-EPROTO, PROGRAM " speaks version %u, this program %d: build both anew", (unsigned)hello.a,
                 SIMLINK_VERSION);
    if (rc)
        sim_card_close(card);
    return rc;
}

void sim_card_close(struct sim_card *card)
{
    if (card->body) {
        uint8_t header[SIMLINK_BYTES];
        simlink_put((struct simlink){.kind = SIMLINK_QUIT}, header);
        (void)sock_send(card->fd, header, sizeof header);
    }
    if (card->fd > 0)
        close(card->fd);
    if (card->pid > 0)
        waitpid(card->pid, NULL, 0);
    free(card->body);
    *card = (struct sim_card){0};
}

int sim_card_write(struct sim_card *card, uint32_t at, uint32_t value)
{
    struct simlink m = {.kind = SIMLINK_WRITE, .a = at, .b = value};
    TRY(say(card, m, NULL));
    TRY(expect(card, SIMLINK_DONE, &m));
    return m.status ? ERR(-EIO, "the card has no register 0x%03x to write", at) : 0;
}

int sim_card_read(struct sim_card *card, uint32_t at, uint32_t *value)
{
    struct simlink m = {.kind = SIMLINK_READ, .a = at};
    TRY(say(card, m, NULL));
    TRY(expect(card, SIMLINK_DONE, &m));
    if (m.status)
        return ERR(-EIO, "the card has no register 0x%03x to read", at);
    *value = (uint32_t)m.b;
    return 0;
}

int sim_card_send(struct sim_card *card, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n, uint32_t gap)
{
    struct simlink m = {.kind = SIMLINK_FRAME, .bytes = (uint32_t)n, .a = ip, .b = port, .c = gap};
    return say(card, m, bytes);
}

int sim_card_run(struct sim_card *card, sim_card_frame *out, void *arg, struct sim_card_time *time)
{
    struct simlink m = {.kind = SIMLINK_RUN, .a = MOST_CLOCKS};
    double start = clock_s();
    TRY(say(card, m, NULL));
    for (;;) {
        TRY(hear(card, &m));
        if (m.kind == SIMLINK_DONE)
            break;
        if (m.kind != SIMLINK_FRAME)
            return ERR(-EPROTO, "the simulated card sent message %u while it ran", m.kind);
        TRY(out(arg, (uint32_t)m.a, (uint16_t)m.b, card->body, m.bytes));
    }
    time->clocks += m.a;
    time->beats_in += m.b;
    time->beats_out += m.c;
    time->seconds += clock_s() - start;
    return m.status ? ERR(-ETIMEDOUT, "the simulated card was still busy after %u clocks", MOST_CLOCKS) : 0;
}
