/* test_collnet_net.c : tests the point-to-point network of libnccl-net-narrowcast.so, as each
 * version of NCCL calls it. */
#include "collnet_ranks.h"

enum { MESSAGES = 7, ROOM = 3000000, STRANGERS = 50 };
static const size_t lengths[MESSAGES] = {1, 0, 4096, ROOM, 17, 70000, ROOM - 5};
static uint8_t sent[MESSAGES][ROOM], got[MESSAGES][ROOM];

static int connect_to(const struct drive *d, void *handle, void **comm)
{
    void *device = NULL;
    return d->v == 6    ? DRIVE_NET(d, 6, connect(0, handle, comm))
           : d->v == 7  ? DRIVE_NET(d, 7, connect(0, handle, comm, &device))
           : d->v == 8  ? DRIVE_NET(d, 8, connect(0, handle, comm, &device))
           : d->v == 9  ? DRIVE_NET(d, 9, connect(0, handle, comm, &device))
           : d->v == 10 ? DRIVE_NET(d, 10, connect(0, NULL, handle, comm, &device))
           : d->v == 11 ? DRIVE_NET(d, 11, connect(d->context, 0, handle, comm, &device))
                        : DRIVE_NET(d, 12, connect(d->context, 0, handle, comm, &device));
}

static int accept_from(const struct drive *d, void *listening, void **comm)
{
    void *device = NULL;
    return d->v == 6    ? DRIVE_NET(d, 6, accept(listening, comm))
           : d->v == 7  ? DRIVE_NET(d, 7, accept(listening, comm, &device))
           : d->v == 8  ? DRIVE_NET(d, 8, accept(listening, comm, &device))
           : d->v == 9  ? DRIVE_NET(d, 9, accept(listening, comm, &device))
           : d->v == 10 ? DRIVE_NET(d, 10, accept(listening, comm, &device))
           : d->v == 11 ? DRIVE_NET(d, 11, accept(listening, comm, &device))
                        : DRIVE_NET(d, 12, accept(listening, comm, &device));
}

static int send_it(const struct drive *d, void *comm, void *data, size_t bytes, void **request)
{
    return d->v == 6    ? DRIVE_NET(d, 6, send(comm, data, (int)bytes, 3, NULL, request))
           : d->v == 7  ? DRIVE_NET(d, 7, send(comm, data, (int)bytes, 3, NULL, request))
           : d->v == 8  ? DRIVE_NET(d, 8, send(comm, data, (int)bytes, 3, NULL, request))
           : d->v == 9  ? DRIVE_NET(d, 9, send(comm, data, bytes, 3, NULL, request))
           : d->v == 10 ? DRIVE_NET(d, 10, send(comm, data, bytes, 3, NULL, NULL, request))
           : d->v == 11 ? DRIVE_NET(d, 11, send(comm, data, bytes, 3, NULL, NULL, request))
                        : DRIVE_NET(d, 12, send(comm, data, bytes, 3, NULL, NULL, request));
}

static int recv_it(const struct drive *d, int n, void *comm, void *data, size_t bytes,
                   void **request)
{
    int few = (int)bytes, tag = 3;
    void *mr = NULL, *profile = NULL;
    return d->v == 6   ? DRIVE_NET(d, 6, recv(comm, n, &data, &few, &tag, &mr, request))
           : d->v == 7 ? DRIVE_NET(d, 7, recv(comm, n, &data, &few, &tag, &mr, request))
           : d->v == 8 ? DRIVE_NET(d, 8, recv(comm, n, &data, &few, &tag, &mr, request))
           : d->v == 9 ? DRIVE_NET(d, 9, recv(comm, n, &data, &bytes, &tag, &mr, request))
           : d->v == 10
               ? DRIVE_NET(d, 10, recv(comm, n, &data, &bytes, &tag, &mr, &profile, request))
           : d->v == 11
               ? DRIVE_NET(d, 11, recv(comm, n, &data, &bytes, &tag, &mr, &profile, request))
               : DRIVE_NET(d, 12, recv(comm, n, &data, &bytes, &tag, &mr, &profile, request));
}

/* Waiting for one request at a time would hang. */
static void wait_for_all(const struct drive *d, void *const *requests, int *bytes, int n)
{
    int left = n, done;
    for (int k = 0; k < n; k++)
        bytes[k] = -1;
    for (double start = clock_s(); left && clock_s() - start < 60; ranks_nap())
        for (int k = n - 1; k >= 0; k--) {
            if (bytes[k] >= 0)
                continue;
            CHECK(DRIVE_SAME(d, DRIVE_NET, test(requests[k], &done, &bytes[k])) == NCCL_SUCCESS,
                  "message %d", k);
            left -= done != 0;
        }
    CHECK(!left, "%d messages hang", left);
}

static int wait_for(const struct drive *d, void *request, int *bytes)
{
    int done = 0, rc;
    const double start = clock_s();
    do {
        rc = DRIVE_SAME(d, DRIVE_NET, test(request, &done, bytes));
        if (!done)
            ranks_nap();
    } while (rc == NCCL_SUCCESS && !done && clock_s() - start < 60);
    CHECK(rc != NCCL_SUCCESS || done, "a message hangs");
    return rc;
}

static void call_as_strangers(const char *handle)
{
    for (int i = 0; i < STRANGERS; i++)
        ranks_call(handle);
    CHECK(send(ranks_call(handle), "nonsense", 8, 0) == 8, "a stranger");
}

/* Connects in both directions, without blocking, like NCCL. */
static void join(struct drive *d, void **to, void **from)
{
    void *listening = NULL;
    char handle[NCCL_HANDLE_BYTES];
    CHECK(drive_init_net(d, ranks_log) == NCCL_SUCCESS &&
              drive_listen(d, true, ranks_shared->handles[ranks_own], &listening) == NCCL_SUCCESS,
          "listen: %s", ranks_shared->said[ranks_own]);
    call_as_strangers(ranks_shared->handles[ranks_own]);
    ranks_meet();
    memcpy(handle, ranks_shared->handles[!ranks_own], sizeof handle);
    for (double start = clock_s(); (!*to || !*from) && clock_s() - start < 30; ranks_nap()) {
        if (!*to)
            CHECK(connect_to(d, handle, to) == NCCL_SUCCESS, "connect");
        if (!*from)
            CHECK(accept_from(d, listening, from) == NCCL_SUCCESS, "accept");
    }
    CHECK(*to && *from, "no connection");
    CHECK(DRIVE_SAME(d, DRIVE_NET, close_listen(listening)) == NCCL_SUCCESS, "close_listen");
}

static void messages(struct drive *d)
{
    void *to = NULL, *from = NULL, *both[2 * MESSAGES], **in = both, **out = both + MESSAGES, *none;
    int bytes[2 * MESSAGES];
    join(d, &to, &from);
    if (!to || !from)
        return;
    for (int k = 0; k < MESSAGES; k++) {
        for (size_t i = 0; i < lengths[k]; i++)
            sent[k][i] = (uint8_t)(i * 7 + (size_t)k + (size_t)ranks_own);
        CHECK(send_it(d, to, sent[k], lengths[k], &out[k]) == NCCL_SUCCESS && out[k], "send %d", k);
    }
    CHECK(recv_it(d, 2, from, got[0], 1, &none) == NCCL_INVALID_ARGUMENT, "two in one");
    for (int k = 0; k < MESSAGES; k++)
        CHECK(recv_it(d, 1, from, got[k], k % 2 ? ROOM : lengths[k], &in[k]) == NCCL_SUCCESS &&
                  in[k],
              "receive %d", k);
    wait_for_all(d, both, bytes, 2 * MESSAGES);
    for (int k = 0; k < MESSAGES; k++) {
        CHECK((size_t)bytes[k] == lengths[k] && bytes[k] == bytes[k + MESSAGES],
              "message %d: %d bytes of %d", k, bytes[k], bytes[k + MESSAGES]);
        int bad = 0;
        for (size_t i = 0; i < lengths[k]; i++)
            bad += got[k][i] != (uint8_t)(i * 7 + (size_t)k + (size_t)!ranks_own);
        CHECK(!bad, "message %d: %d bytes differ", k, bad);
    }
    ranks_meet();
    CHECK(DRIVE_SAME(d, DRIVE_NET, close_send(to)) == NCCL_SUCCESS &&
              DRIVE_SAME(d, DRIVE_NET, close_recv(from)) == NCCL_SUCCESS,
          "close");
    CHECK(drive_finalize(d) == NCCL_SUCCESS, "finalize");
    CHECK(!ranks_shared->said[ranks_own][0], "said: %s", ranks_shared->said[ranks_own]);
}

static void dies(struct drive *d)
{
    void *to = NULL, *from = NULL, *in;
    join(d, &to, &from);
    if (ranks_own == 1)
        raise(SIGKILL);
    CHECK(recv_it(d, 1, from, got[0], ROOM, &in) == NCCL_SUCCESS && in, "receive");
    CHECK(wait_for(d, in, NULL) == NCCL_REMOTE_ERROR, "from the dead");
    DRIVE_SAME(d, DRIVE_NET, close_send(to));
    DRIVE_SAME(d, DRIVE_NET, close_recv(from));
}

/* Nothing is written to a buffer that is too short. */
static void too_long(struct drive *d)
{
    void *to = NULL, *from = NULL, *in, *out;
    join(d, &to, &from);
    if (ranks_own == 0) {
        CHECK(send_it(d, to, sent[0], 1000, &out) == NCCL_SUCCESS, "send");
    } else {
        CHECK(recv_it(d, 1, from, got[0], 999, &in) == NCCL_SUCCESS, "receive");
        memset(got[0], 1, 2000);
        CHECK(wait_for(d, in, NULL) != NCCL_SUCCESS && got[0][0] == 1, "1000 bytes in 999");
    }
    ranks_meet();
    DRIVE_SAME(d, DRIVE_NET, close_send(to));
    DRIVE_SAME(d, DRIVE_NET, close_recv(from));
}

int main(void)
{
    if (!ranks_begin())
        return 1;
    setenv("NARROWCAST_OFFLOAD", "udp://127.0.0.1:9", 1); /* no card is contacted */
    for (int v = DRIVE_FIRST; v <= DRIVE_LAST; v++)
        CHECK(ranks_run(2, v, messages) == 0, "version %d", v);
    CHECK(ranks_run(2, 12, dies) == 0, "a rank dies");
    CHECK(ranks_run(2, 12, too_long) == 0, "too long");
    DONE();
}
