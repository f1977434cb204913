/* stream.c : moves messages' bytes over a socket. */
#include "collnet/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void append(struct stream_list *l, struct stream_message *m)
{
    m->next = NULL;
    *l->end = m;
    l->end = &m->next;
}

static struct stream_message *take(struct stream_list *l, const struct stream_message *m,
                                   uint64_t tag)
{
    struct stream_message **at = &l->first, *found;
    while (*at && (m ? *at != m : (*at)->head.tag != tag))
        at = &(*at)->next;
    found = *at;
    if (found && !(*at = found->next))
        l->end = at;
    return found;
}

static void drop_early(struct stream_message *m)
{
    free(m->buf);
    free(m);
}

void stream_open(struct stream *s, int fd, bool keeps_early)
{
    *s = (struct stream){.fd = fd, .keeps_early = keeps_early};
    s->out.end = &s->out.first;
    s->posted.end = &s->posted.first;
    s->early.end = &s->early.first;
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void stream_close(struct stream *s)
{
    for (struct stream_message *m; (m = s->early.first);) {
        s->early.first = m->next;
        drop_early(m);
    }
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void push(struct stream *s)
{
    const size_t head = sizeof(struct stream_head);
    struct stream_message *m;
    while ((m = s->out.first) && !s->broken) {
        const bool in_head = m->at < head;
        const char *from = in_head ? (const char *)&m->head + m->at : m->buf + (m->at - head);
        const size_t left = in_head ? head - m->at : head + m->head.bytes - m->at;
        const int more = in_head && m->head.bytes ? MSG_MORE : 0;
        const ssize_t n = send(s->fd, from, left, MSG_NOSIGNAL | more);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            s->broken = -errno;
            return;
        }
        m->at += (size_t)n;
        if (m->at == head + m->head.bytes)
            take(&s->out, m, 0)->done = true;
    }
}

static struct stream_message *make_early(const struct stream *s)
{
    struct stream_message *m = calloc(1, sizeof *m);
    if (m && !(m->buf = malloc(s->head.bytes ? s->head.bytes : 1))) {
        free(m);
        m = NULL;
    }
    if (m) {
        m->head = s->head;
        m->early = true;
    }
    return m;
}

/* Returns false while the next head has no message yet. */
static bool begin_in(struct stream *s)
{
    struct stream_message *m = take(&s->posted, NULL, s->head.tag);
    if (m) {
        if (s->keeps_early ? m->head.bytes != s->head.bytes : m->head.bytes < s->head.bytes)
            s->broken = -EPROTO;
        m->head.bytes = s->head.bytes;
        m->at = 0;
    } else if (!s->keeps_early) {
        return false;
    } else if (!(m = make_early(s))) {
        s->broken = -ENOMEM;
    } else {
        append(&s->early, m);
    }
    s->in = m;
    return !s->broken;
}

static void end_in(struct stream *s)
{
    s->in->done = true;
    s->in = NULL;
    s->head_at = 0;
}

static bool pull_some(struct stream *s, char *to, size_t left, size_t *at)
{
    const ssize_t n = recv(s->fd, to, left, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        s->broken = n < 0 ? -errno : -ECONNRESET;
        return false;
    }
    *at += (size_t)n;
    return true;
}

static void pull(struct stream *s)
{
    while (!s->broken) {
        if (s->head_at < sizeof s->head) {
            if (!pull_some(s, (char *)&s->head + s->head_at, sizeof s->head - s->head_at,
                           &s->head_at))
                return;
            continue;
        }
        if (!s->in && !begin_in(s))
            return;
        if (s->in->at == s->head.bytes)
            end_in(s);
        else if (!pull_some(s, s->in->buf + s->in->at, s->head.bytes - s->in->at, &s->in->at))
            return;
    }
}

void stream_turn(struct stream *s)
{
    if (s->fd < 0)
        return;
    push(s);
    pull(s);
}

static void fill(struct stream_message *m, uint64_t tag, const void *buf, size_t bytes)
{
    *m = (struct stream_message){.head = {tag, bytes}, .buf = (char *)(uintptr_t)buf};
}

void stream_send(struct stream *s, struct stream_message *m, uint64_t tag, const void *buf,
                 size_t bytes)
{
    fill(m, tag, buf, bytes);
    append(&s->out, m);
    push(s);
}

void stream_recv(struct stream *s, struct stream_message *m, uint64_t tag, void *buf, size_t bytes)
{
    struct stream_message *early = take(&s->early, NULL, tag);
    fill(m, tag, buf, bytes);
    if (!early) {
        append(&s->posted, m);
        return;
    }
    if (early->head.bytes != bytes)
        s->broken = -EPROTO;
    else
        memcpy(buf, early->buf, early->at);
    m->at = early->at;
    m->done = early->done && early->head.bytes == bytes;
    if (s->in == early)
        s->in = m;
    drop_early(early);
}

void stream_cancel(struct stream *s, struct stream_message *m)
{
    if ((s->in == m || (s->out.first == m && m->at > 0)) && !s->broken)
        s->broken = -ECANCELED;
    take(&s->out, m, 0);
    take(&s->posted, m, 0);
    if (s->in == m)
        s->in = NULL;
}
