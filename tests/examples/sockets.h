/* sockets.h : a transport for narrowcast without MPI: connected stream sockets, one for each other
 * rank. A message travels as a head {tag, bytes}, then its bytes. If it arrives before its
 * receive, it waits in memory.
 *
 *     struct sockets s;
 *     sockets_open(&s, rank, n_ranks, fd)      fd[n_ranks]: connected to the ranks; own unused
 *     const struct nc_transport t = sockets_transport(&s);
 *     nc_open_over(&t, ...) ... nc_close()
 *     sockets_close(&s)                        closes them */
#ifndef SOCKETS_H
#define SOCKETS_H
#include <errno.h>
#include <fcntl.h>
#include <narrowcast.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sockets_head {
    uint64_t tag, bytes;
};

struct sockets_message {
    struct sockets_message *next;
    struct sockets_head head;
    char *buf;
    size_t at; /* of head and data that have travelled */
    int peer, done;
};

struct sockets_peer {
    int fd, broken;                               /* broken: a negative errno */
    struct sockets_message *out, **out_end;       /* to be sent, in order */
    struct sockets_message *posted, **posted_end; /* receives without a message */
    struct sockets_message *early, **early_end;   /* messages without a receive */
    struct sockets_message *in;                   /* arriving: a receive, or an early one */
    struct sockets_head head;                     /* of the arriving message */
    size_t head_at;
};

struct sockets {
    int rank, n_ranks;
    struct sockets_peer *peers;
};

static inline int sockets_open(struct sockets *s, int rank, int n_ranks, const int *fd)
{
    s->rank = rank;
    s->n_ranks = n_ranks;
    s->peers = calloc((size_t)n_ranks, sizeof *s->peers);
    for (int r = 0; r < n_ranks && s->peers; r++) {
        struct sockets_peer *p = &s->peers[r];
        p->fd = r == rank ? -1 : fd[r];
        p->out_end = &p->out, p->posted_end = &p->posted, p->early_end = &p->early;
        if (r != rank)
            fcntl(p->fd, F_SETFL, fcntl(p->fd, F_GETFL) | O_NONBLOCK);
    }
    return s->peers ? 0 : -ENOMEM;
}

static inline void sockets_append(struct sockets_message ***end, struct sockets_message *m)
{
    m->next = NULL;
    **end = m;
    *end = &m->next;
}

/* The first message with this tag; NULL: none. */
static inline struct sockets_message *sockets_take(struct sockets_message **at,
                                                   struct sockets_message ***end, uint64_t tag)
{
    struct sockets_message *m;
    while ((m = *at) && m->head.tag != tag)
        at = &m->next;
    if (m && !(*at = m->next))
        *end = at;
    return m;
}

static inline void sockets_drop(struct sockets_message **at, struct sockets_message ***end,
                                const struct sockets_message *m)
{
    while (*at && *at != m)
        at = &(*at)->next;
    if (*at && !(*at = m->next))
        *end = at;
}

static inline void sockets_push(struct sockets_peer *p)
{
    struct sockets_message *m;
    while ((m = p->out) && !p->broken) {
        const size_t head = sizeof m->head;
        const int in_head = m->at < head;
        const char *from = in_head ? (const char *)&m->head + m->at : m->buf + (m->at - head);
        const size_t left = in_head ? head - m->at : head + m->head.bytes - m->at;
        const ssize_t n = send(p->fd, from, left, MSG_NOSIGNAL | (in_head ? MSG_MORE : 0));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            p->broken = -errno;
            return;
        }
        m->at += (size_t)n;
        if (m->at == head + m->head.bytes) {
            m->done = 1;
            sockets_take(&p->out, &p->out_end, m->head.tag);
        }
    }
}

static inline int sockets_begin_in(struct sockets_peer *p)
{
    p->in = sockets_take(&p->posted, &p->posted_end, p->head.tag);
    if (p->in) {
        p->in->at = 0;
        return p->in->head.bytes == p->head.bytes ? 0 : -EPROTO;
    }
    p->in = calloc(1, sizeof *p->in);
    if (!p->in || !(p->in->buf = malloc(p->head.bytes)))
        return -ENOMEM;
    p->in->head = p->head;
    sockets_append(&p->early_end, p->in);
    return 0;
}

static inline void sockets_pull(struct sockets_peer *p)
{
    while (!p->broken) {
        const int in_head = p->head_at < sizeof p->head;
        char *to = in_head ? (char *)&p->head + p->head_at : p->in->buf + p->in->at;
        const size_t left = in_head ? sizeof p->head - p->head_at : p->head.bytes - p->in->at;
        const ssize_t n = recv(p->fd, to, left, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            p->broken = n < 0 ? -errno : -ECONNRESET;
            return;
        }
        if (in_head) {
            p->head_at += (size_t)n;
            if (p->head_at == sizeof p->head)
                p->broken = sockets_begin_in(p);
            continue;
        }
        p->in->at += (size_t)n;
        if (p->in->at == p->head.bytes) {
            p->in->done = 1;
            p->in = NULL;
            p->head_at = 0;
        }
    }
}

static inline int sockets_progress(void *arg)
{
    struct sockets *s = arg;
    for (int r = 0; r < s->n_ranks; r++)
        if (r != s->rank) {
            sockets_push(&s->peers[r]);
            sockets_pull(&s->peers[r]);
        }
    return 0; /* messages to or from a lost rank report it */
}

static inline struct sockets_message *sockets_message(int peer, int tag, const void *buf,
                                                      size_t bytes)
{
    struct sockets_message *m = calloc(1, sizeof *m);
    if (m) {
        m->head = (struct sockets_head){(uint64_t)tag, bytes};
        m->buf = (char *)(uintptr_t)buf;
        m->peer = peer;
    }
    return m;
}

static inline int sockets_isend(void *arg, int to, int tag, const void *buf, size_t bytes,
                                void **request)
{
    struct sockets_peer *p = &((struct sockets *)arg)->peers[to];
    struct sockets_message *m = sockets_message(to, tag, buf, bytes);
    if (!m)
        return -ENOMEM;
    sockets_append(&p->out_end, m);
    sockets_push(p);
    *request = m;
    return 0;
}

static inline int sockets_irecv(void *arg, int from, int tag, void *buf, size_t bytes,
                                void **request)
{
    struct sockets_peer *p = &((struct sockets *)arg)->peers[from];
    struct sockets_message *m = sockets_message(from, tag, buf, bytes), *early = p->early;
    if (!m)
        return -ENOMEM;
    while (early && early->head.tag != (uint64_t)tag)
        early = early->next;
    *request = m;
    if (!early) {
        sockets_append(&p->posted_end, m);
        return 0;
    }
    sockets_drop(&p->early, &p->early_end, early);
    if (early->head.bytes != bytes) {
        p->broken = -EPROTO;
    } else {
        memcpy(buf, early->buf, early->at);
        m->at = early->at;
        m->done = early->done;
    }
    if (p->in == early)
        p->in = m; /* the rest goes to its receive */
    free(early->buf);
    free(early);
    return 0;
}

static inline int sockets_test(void *arg, void *request, int *done)
{
    struct sockets_message *m = request;
    const struct sockets_peer *p = &((struct sockets *)arg)->peers[m->peer];
    if (!m->done)
        return p->broken;
    free(m);
    *done = 1;
    return 0;
}

/* A message cut off in the middle leaves the socket unusable. */
static inline void sockets_cancel(void *arg, void *request)
{
    struct sockets_message *m = request;
    struct sockets_peer *p = &((struct sockets *)arg)->peers[m->peer];
    if ((p->in == m || (p->out == m && m->at > 0)) && !p->broken)
        p->broken = -ECANCELED;
    sockets_drop(&p->out, &p->out_end, m);
    sockets_drop(&p->posted, &p->posted_end, m);
    free(m);
}

static inline struct nc_transport sockets_transport(struct sockets *s)
{
    return (struct nc_transport){.size = sizeof(struct nc_transport),
                                 .arg = s,
                                 .rank = s->rank,
                                 .n_ranks = s->n_ranks,
                                 .isend = sockets_isend,
                                 .irecv = sockets_irecv,
                                 .test = sockets_test,
                                 .progress = sockets_progress,
                                 .cancel = sockets_cancel,
                                 .threads = 1};
}

static inline void sockets_close(struct sockets *s)
{
    for (int r = 0; r < s->n_ranks; r++) {
        struct sockets_peer *p = &s->peers[r];
        for (struct sockets_message *m = p->early, *next; m; m = next) {
            next = m->next;
            free(m->buf);
            free(m);
        }
        if (p->fd >= 0)
            close(p->fd);
    }
    free(s->peers);
}

#endif
