/* callers.c : reads greetings of a listening socket's clients. */
#include "base/callers.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 100 };

void callers_init(struct callers *c, int listener, size_t bytes)
{
    *c = (struct callers){.listener = listener, .bytes = bytes};
}

void callers_fini(struct callers *c)
{
    for (int i = 0; i < c->n; i++)
        close(c->at[i].fd);
    c->n = 0;
}

void callers_wait(const struct callers *c)
{
    struct pollfd polls[1 + CALLERS_MAX] = {{.fd = c->full ? -1 : c->listener, .events = POLLIN}};
    for (int i = 0; i < c->n; i++)
        polls[1 + i] = (struct pollfd){.fd = c->at[i].fd, .events = POLLIN};
    (void)poll(polls, 1 + (nfds_t)c->n, WAIT_MS);
}

static int take(struct callers *c, int i)
{
    const int fd = c->at[i].fd;
    c->n--;
    memmove(&c->at[i], &c->at[i + 1], (size_t)(c->n - i) * sizeof c->at[0]);
    return fd;
}

static bool has_said_all(const struct callers *c, int i)
{
    return c->at[i].got == c->bytes;
}

static void make_room(struct callers *c, double now)
{
    c->full = !c->n || has_said_all(c, 0) || now - c->at[0].since_s < CALLERS_GRACE_S;
    if (!c->full)
        close(take(c, 0));
}

static void let_in(struct callers *c, double now)
{
    c->full = false;
    for (int i = 0; i < CALLERS_MAX && !c->full; i++) {
        if (c->n == CALLERS_MAX) {
            make_room(c, now);
            continue;
        }
        const int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            c->at[c->n++] = (struct caller){.fd = fd, .since_s = now};
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            make_room(c, now);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
    }
}

static bool hear(struct callers *c, int i, double now)
{
    struct caller *a = &c->at[i];
    if (has_said_all(c, i))
        return true;
    const ssize_t n = recv(a->fd, a->said + a->got, c->bytes - a->got, MSG_DONTWAIT);
    const bool is_open = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
    a->got += n > 0 ? (size_t)n : 0;
    return is_open && (has_said_all(c, i) || now - a->since_s < CALLERS_HELLO_S);
}

int callers_turn(struct callers *c, double now, void *said)
{
    let_in(c, now);
    for (int i = 0; i < c->n;)
        if (hear(c, i, now))
            i++;
        else
            close(take(c, i));
    for (int i = 0; i < c->n; i++)
        if (has_said_all(c, i)) {
            memcpy(said, c->at[i].said, c->bytes);
            return take(c, i);
        }
    return -1;
}
