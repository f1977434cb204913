/* mesh.c : sends messages between ranks over the mesh's connections, for struct nc_transport. */
#include "collnet/mesh.h"
#include "base/buf.h"
#include "base/callers.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/inet.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
    struct stream_message message;
    int peer;
};

static int begin(struct mesh *m, int peer, int tag, void *buf, size_t bytes, bool sends,
                 void **request)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->peer = peer;
    if (sends)
        stream_send(&m->streams[peer], &r->message, (uint64_t)tag, buf, bytes);
    else
        stream_recv(&m->streams[peer], &r->message, (uint64_t)tag, buf, bytes);
    *request = r;
    return 0;
}

static int send_to(void *arg, int to, int tag, const void *buf, size_t bytes, void **request)
{
    return begin(arg, to, tag, (void *)(uintptr_t)buf, bytes, true, request);
}

static int recv_from(void *arg, int from, int tag, void *buf, size_t bytes, void **request)
{
    return begin(arg, from, tag, buf, bytes, false, request);
}

static int test(void *arg, void *request, int *done)
{
    const struct mesh *m = arg;
    struct request *r = request;
    if (!r->message.done)
        return m->streams[r->peer].broken;
    free(r);
    *done = 1;
    return 0;
}

/* Tests of messages, not this function, report the loss of a peer. */
static int progress(void *arg)
{
    struct mesh *m = arg;
    for (int r = 0; r < m->n_ranks; r++)
        if (atomic_load(&m->cut))
            m->streams[r].broken = -ECANCELED;
        else
            stream_turn(&m->streams[r]);
    return 0;
}

static void cancel(void *arg, void *request)
{
    struct request *r = request;
    stream_cancel(&((struct mesh *)arg)->streams[r->peer], &r->message);
    free(r);
}

struct nc_transport mesh_transport(struct mesh *m)
{
    return (struct nc_transport){.size = sizeof(struct nc_transport),
                                 .arg = m,
                                 .rank = m->rank,
                                 .n_ranks = m->n_ranks,
                                 .isend = send_to,
                                 .irecv = recv_from,
                                 .test = test,
                                 .progress = progress,
                                 .cancel = cancel,
                                 .threads = 1};
}

void mesh_close(struct mesh *m)
{
    for (int r = 0; m->streams && r < m->n_ranks; r++)
        stream_close(&m->streams[r]);
    free(m->streams);
    m->streams = NULL;
}

/* ---- connecting every pair of ranks ----
 *
 * A connecting rank sends {magic, rank, secret}. Only ranks got the secret, with the listening
 * rank's handle from NCCL; other connections are closed. */

enum { MAGIC = 0x6e63636e, MAX_RANKS = 4096 };

struct hello {
    uint32_t magic;
    int32_t rank;
    uint64_t secret;
};
static_assert(sizeof(struct hello) <= CALLERS_BYTES, "what a caller says first");

int mesh_listen(uint32_t ip, struct mesh_listen *out)
{
    char text[INET_TEXT];
    uint16_t port = 0;
    struct mesh_handle h = {.magic = MAGIC, .ip = ip};
    const int fd = inet_listen(ip, &port, MAX_RANKS);
    if (fd < 0)
        return ERR(fd, "cannot listen on %s: %s", inet_text(ip, 0, text), strerror(-fd));
    if (getrandom(&h.secret, sizeof h.secret, 0) != sizeof h.secret) {
        close(fd);
        return ERR(-EIO, "cannot listen on %s: the system has no random numbers for a secret",
                   inet_text(ip, port, text));
    }
    h.port = port;
    *out = (struct mesh_listen){.fd = fd, .handle = h};
    return 0;
}

void mesh_unlisten(struct mesh_listen *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

static void begin_stream(struct mesh *m, int peer, int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    stream_open(&m->streams[peer], fd, true);
}

static int call(struct mesh *m, int peer, const struct mesh_handle *h, struct deadline *d)
{
    const struct hello hello = {MAGIC, m->rank, h->secret};
    char text[INET_TEXT];
    const int fd = inet_connect(h->ip, (uint16_t)h->port, d);
    /* does not block: it fits into a new socket's buffer */
    const int rc = fd < 0 ? fd : sock_send(fd, &hello, sizeof hello);
    if (rc == 0)
        begin_stream(m, peer, fd);
    else if (fd >= 0)
        close(fd);
    return rc == 0 ? 0
                   : ERR(rc, "cannot reach rank %d at %s: %s", peer,
                         inet_text(h->ip, (uint16_t)h->port, text), strerror(-rc));
}

static int rank_of(const struct mesh *m, const struct hello *hello, uint64_t secret)
{
    const bool ours = hello->magic == MAGIC && hello->secret == secret && hello->rank > m->rank &&
                      hello->rank < m->n_ranks && m->streams[hello->rank].fd < 0;
    return ours ? hello->rank : -1;
}

static int be_called(struct mesh *m, const struct mesh_listen *own, struct deadline *d)
{
    struct callers callers;
    struct hello hello;
    int left = m->n_ranks - 1 - m->rank;
    callers_init(&callers, own->fd, sizeof hello);
    while (left > 0 && !deadline_passed(d, clock_s())) {
        const int fd = callers_turn(&callers, clock_s(), &hello);
        const int peer = fd < 0 ? -1 : rank_of(m, &hello, own->handle.secret);
        if (peer >= 0) {
            begin_stream(m, peer, fd);
            left--;
        } else if (fd >= 0) {
            close(fd);
        } else {
            callers_wait(&callers);
        }
    }
    callers_fini(&callers);
    return left ? ERR(-ETIMEDOUT, "%d of %d ranks did not connect", left, m->n_ranks) : 0;
}

static int meet(struct mesh *m, const struct mesh_listen *own, void *const *handles,
                double deadline_s)
{
    struct deadline d = deadline_in(clock_s(), deadline_s);
    for (int r = 0; r < m->rank; r++) {
        struct mesh_handle h;
        memcpy(&h, handles[r], sizeof h);
        if (h.magic != MAGIC)
            return ERR(-EINVAL, "the handle of rank %d was not made by narrowcast", r);
        TRY(call(m, r, &h, &d));
    }
    return be_called(m, own, &d);
}

int mesh_meet(const struct mesh_listen *own, void *const *handles, int n_ranks, int rank,
              double deadline_s, struct mesh *m)
{
    if (n_ranks < 1 || n_ranks > MAX_RANKS || rank < 0 || rank >= n_ranks)
        return ERR(-EINVAL, "cannot be rank %d of %d", rank, n_ranks);
    m->rank = rank, m->n_ranks = n_ranks;
    m->streams = buf_alloc((size_t)n_ranks * sizeof *m->streams);
    if (!m->streams)
        return -ENOMEM;
    for (int r = 0; r < n_ranks; r++)
        stream_open(&m->streams[r], -1, true);
    const int rc = meet(m, own, handles, deadline_s);
    if (rc < 0)
        mesh_close(m);
    return rc;
}
