/* gpu_peers_nccl.c : links ranks with one GPU each by NCCL's send and recv, on the thread's stream.
 * NCCL waits without a deadline. The stream therefore sets a flag after the messages; the wait for
 * it has a deadline, checks NCCL for errors and answers the liveness check. */
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/gpu/gpu_peers.h"
#include "comm/gpu/gpu_peers_nccl.h"
#include "device/run/dev_nccl.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include <sched.h>

/* Ends kernels that wait for other ranks: otherwise freeing memory would wait for them. */
static int stop_kernels(struct gpu_peers *m, int rc)
{
    gpu()->nccl->close(m->state);
    m->state = NULL;
    return rc;
}

static int wait_for_messages(struct gpu_peers *m)
{
    struct gpu_lane *lane = gpu_lane();
    struct comm_watch watch = comm_watch(m->comm);
    const uint32_t passed = __atomic_load_n(lane->flag, __ATOMIC_ACQUIRE) + 1;
    TRY(gpu()->run->signal(lane->flag, passed, lane->stream));
    while (__atomic_load_n(lane->flag, __ATOMIC_ACQUIRE) != passed) {
        TRY(gpu()->nccl->check(m->state));
        TRY(comm_look(m->comm, &watch));
        sched_yield();
    }
    TRY(gpu()->nccl->check(
        m->state)); /* messages that NCCL has given up also let the stream pass */
    m->comm->count.wait_s += clock_s() - watch.start_s;
    return gpu()->run->wait(lane->stream);
}

int gpu_peers_nccl_wait(struct gpu_peers *m)
{
    const int rc = wait_for_messages(m);
    return rc < 0 ? stop_kernels(m, rc) : 0;
}

static int nccl_open(struct gpu_peers *m)
{
    uint8_t id[DEV_NCCL_ID_BYTES] = {0};
    const int first = algo_rank(&m->set, 0);
    const uint64_t sent = m->comm->count.sent_bytes;
    struct dev_nccl *nccl = NULL;
    TRY(comm_agree(m->comm, m->set.me == 0 ? gpu()->nccl->id(id) : 0));
    for (int i = 1; i < m->set.n; i++) {
        if (m->set.me == 0)
            TRY(comm_send(m->comm, algo_rank(&m->set, i), id, sizeof id));
        else if (m->set.me == i)
            TRY(comm_recv(m->comm, first, id, sizeof id));
    }
    TRY(comm_wait(m->comm));
    m->comm->count.sent_bytes = sent;
    TRY(gpu()->nccl->open(id, m->set.me, m->set.n, m->comm->deadline_s, &nccl));
    m->state = nccl;
    return 0;
}

static void nccl_close(struct gpu_peers *m)
{
    if (!m->failed)
        (void)gpu_peers_meet(m);
    gpu()->nccl->close(m->state);
}

/* Ends a group whose posting returned rc: also after a failure, for an open group would swallow all
 * later calls. */
static int end_group(struct gpu_peers *m, int rc)
{
    const int ended = gpu()->nccl->group_end(m->state);
    if (rc < 0 || ended < 0)
        return stop_kernels(m, rc < 0 ? rc : ended);
    return gpu_peers_nccl_wait(m);
}

static int nccl_gather(struct gpu_peers *m, const struct algo_cut *cut, const uint8_t *codes,
                       uint8_t *store, const uint8_t **parts)
{
    const struct dev_nccl_ops *nccl = gpu()->nccl;
    struct gpu_lane *lane = gpu_lane();
    const size_t mine = algo_cut_bytes(cut, m->set.me);
    int rc = 0;
    if (!lane)
        return gpu_failed();
    TRY(nccl->group_begin());
    for (int by = 1; by < m->set.n && rc == 0; by++) {
        const int to = (m->set.me + by) % m->set.n, from = (m->set.me - by + m->set.n) % m->set.n;
        uint8_t *place = store + (size_t)(by - 1) * algo_cut_most(cut);
        parts[from] = place;
        if (algo_cut_bytes(cut, to) > 0)
            rc = nccl->send(m->state, codes + algo_cut_at(cut, to), algo_cut_bytes(cut, to), to,
                            lane->stream);
        if (mine > 0 && rc == 0)
            rc = nccl->recv(m->state, place, mine, from, lane->stream);
    }
    parts[m->set.me] = codes + algo_cut_at(cut, m->set.me);
    return end_group(m, rc);
}

static int nccl_spread(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    const struct dev_nccl_ops *nccl = gpu()->nccl;
    struct gpu_lane *lane = gpu_lane();
    const size_t mine = algo_cut_bytes(cut, m->set.me);
    int rc = 0;
    if (!lane)
        return gpu_failed();
    TRY(nccl->group_begin());
    for (int by = 1; by < m->set.n && rc == 0; by++) {
        const int to = (m->set.me + by) % m->set.n, from = (m->set.me - by + m->set.n) % m->set.n;
        if (mine > 0)
            rc = nccl->send(m->state, vector + algo_cut_at(cut, m->set.me), mine, to, lane->stream);
        if (algo_cut_bytes(cut, from) > 0 && rc == 0)
            rc = nccl->recv(m->state, vector + algo_cut_at(cut, from), algo_cut_bytes(cut, from),
                            from, lane->stream);
    }
    return end_group(m, rc);
}

/* If cut is NULL, all members move the same `bytes`. */
static int with_first(struct gpu_peers *m, bool to_first, const struct algo_cut *cut,
                      uint8_t *vector, size_t bytes)
{
    const struct dev_nccl_ops *nccl = gpu()->nccl;
    struct gpu_lane *lane = gpu_lane();
    int rc = 0;
    if (!lane)
        return gpu_failed();
    TRY(nccl->group_begin());
    for (int i = 1; i < m->set.n && rc == 0; i++) {
        uint8_t *p = vector + (cut ? algo_cut_at(cut, i) : 0);
        const size_t n = cut ? algo_cut_bytes(cut, i) : bytes;
        if (n == 0 || (m->set.me != 0 && m->set.me != i))
            continue;
        if ((m->set.me == 0) == to_first)
            rc = nccl->recv(m->state, p, n, m->set.me == 0 ? i : 0, lane->stream);
        else
            rc = nccl->send(m->state, p, n, m->set.me == 0 ? i : 0, lane->stream);
    }
    return end_group(m, rc);
}

static int nccl_to_first(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    return with_first(m, true, cut, vector, 0);
}
static int nccl_from_first(struct gpu_peers *m, uint8_t *vector, size_t bytes)
{
    return with_first(m, false, NULL, vector, bytes);
}

const struct gpu_peers_link gpu_peers_nccl = {
    .stores = true,
    .open = nccl_open,
    .close = nccl_close,
    .gather = nccl_gather,
    .spread = nccl_spread,
    .to_first = nccl_to_first,
    .from_first = nccl_from_first,
};
