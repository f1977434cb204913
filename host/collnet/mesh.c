/* mesh.c : messages from rank to rank over the mesh's connections, as struct nc_transport wants them. */
#include "collnet/mesh.h"
#include <errno.h>
#include <stdlib.h>

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

/* Who is gone, the messages to and from it will say. */
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
