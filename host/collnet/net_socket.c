/* net_socket.c : sends NCCL's messages between ranks, over one TCP connection each, in order.
 * Ignores tags: NCCL needs them only for grouped receives, which the properties do not offer. */
#include "base/buf.h"
#include "base/callers.h"
#include "base/clock.h"
#include "collnet/collnet.h"
#include "collnet/mesh.h"
#include "base/inet.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUESTS = 64 }; /* NCCL has at most 32 in flight */

struct line;
struct request {
    struct stream_message message;
    struct line *line;
    bool used;
};

struct line {
    struct stream stream;
    bool connected;
    uint64_t secret; /* from the handle; sent first */
    struct request requests[REQUESTS];
};

/* NCCL passes the same handle in all calls of connect() until connected. */
struct handle {
    struct mesh_handle of;
    struct line *begun;
};
static_assert(sizeof(struct handle) <= NCCL_HANDLE_BYTES, "NCCL carries no more");

struct listening {
    struct mesh_listen at;
    struct callers callers; /* new connections, which must send the handle's secret */
};

int net_listen(int dev, void *handle, void **listening)
{
    struct err_lines lines = collnet_lines(), *before = err_turn(&lines);
    struct listening *l = NULL;
    int rc = dev == 0 && collnet_spec() ? 0 : -EINVAL;
    if (rc == 0)
        rc = (l = buf_alloc(sizeof *l)) ? mesh_listen(collnet_ip(), &l->at) : -ENOMEM;
    err_turn(before);
    if (rc < 0) {
        free(l);
        return collnet_result(rc);
    }
    const struct handle h = {.of = l->at.handle};
    callers_init(&l->callers, l->at.fd, sizeof l->at.handle.secret);
    memset(handle, 0, NCCL_HANDLE_BYTES);
    memcpy(handle, &h, sizeof h);
    *listening = l;
    return NCCL_SUCCESS;
}

int net_close_listen(void *listening)
{
    struct listening *l = listening;
    if (!l)
        return NCCL_SUCCESS;
    callers_fini(&l->callers);
    mesh_unlisten(&l->at);
    free(l);
    return NCCL_SUCCESS;
}

static struct line *make_line(int fd)
{
    const int on = 1;
    struct line *l = buf_alloc(sizeof *l);
    if (!l) {
        close(fd);
        return NULL;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    stream_open(&l->stream, fd, false);
    return l;
}

static int begin_call(const struct mesh_handle *h, struct line **out)
{
    const int fd = inet_call(h->ip, (uint16_t)h->port);
    if (fd < 0)
        return fd;
    if (!(*out = make_line(fd)))
        return -ENOMEM;
    (*out)->secret = h->secret;
    return 0;
}

static int is_connected(struct line *l)
{
    const int rc = inet_called(l->stream.fd, 0);
    if (rc <= 0)
        return rc;
    /* fits into a new socket's buffer */
    TRY(sock_send(l->stream.fd, &l->secret, sizeof l->secret));
    return 1;
}

int net_connect_to(void *handle, void **comm)
{
    struct err_lines lines = collnet_lines(), *before = err_turn(&lines);
    struct handle h;
    char text[INET_TEXT];
    memcpy(&h, handle, sizeof h);
    *comm = NULL;
    int rc = h.begun ? 0 : begin_call(&h.of, &h.begun);
    if (rc == 0)
        rc = is_connected(h.begun);
    if (rc < 0) {
        net_close(h.begun);
        ERR(rc, "cannot reach %s: %s", inet_text(h.of.ip, (uint16_t)h.of.port, text),
            strerror(-rc));
    }
    err_turn(before);
    if (rc > 0)
        *comm = h.begun;
    if (rc != 0)
        h.begun = NULL;
    memcpy(handle, &h, sizeof h);
    return rc < 0 ? collnet_result(rc) : NCCL_SUCCESS;
}

int net_accept_from(void *listening, void **comm)
{
    struct listening *l = listening;
    const double now = clock_s();
    uint64_t said;
    *comm = NULL;
    for (int i = 0, fd; i < CALLERS_MAX; i++, close(fd)) {
        if ((fd = callers_turn(&l->callers, now, &said)) < 0)
            return NCCL_SUCCESS;
        if (said == l->at.handle.secret)
            return (*comm = make_line(fd)) ? NCCL_SUCCESS : NCCL_SYSTEM_ERROR;
    }
    return NCCL_SUCCESS; /* no caller was ours; NCCL calls again */
}

static struct request *find_free(struct line *l)
{
    for (int i = 0; i < REQUESTS; i++)
        if (!l->requests[i].used) {
            l->requests[i].used = true;
            l->requests[i].line = l;
            return &l->requests[i];
        }
    return NULL;
}

int net_isend(void *comm, void *data, size_t bytes, void **request)
{
    struct line *l = comm;
    struct request *r = find_free(l);
    if (r)
        stream_send(&l->stream, &r->message, 0, data, bytes);
    *request = r;
    return NCCL_SUCCESS;
}

int net_irecv(void *comm, void *data, size_t bytes, void **request)
{
    struct line *l = comm;
    struct request *r = find_free(l);
    if (r)
        stream_recv(&l->stream, &r->message, 0, data, bytes);
    *request = r;
    return NCCL_SUCCESS;
}

int net_test(void *request, int *done, int *bytes)
{
    struct request *r = request;
    struct stream *s = &r->line->stream;
    if (!r->message.done)
        stream_turn(s);
    *done = r->message.done;
    if (!*done)
        return s->broken ? collnet_result(s->broken) : NCCL_SUCCESS;
    if (bytes)
        *bytes = (int)r->message.head.bytes;
    r->used = false;
    return NCCL_SUCCESS;
}

int net_close(void *comm)
{
    struct line *l = comm;
    if (l)
        stream_close(&l->stream);
    free(l);
    return NCCL_SUCCESS;
}
