/* gpu_peers.c : implements sets of GPU peers for all links. */
#include "comm/gpu/gpu_peers.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include <stdlib.h>
#include <string.h>

int gpu_peers_open(struct comm *c, const struct algo_set *set, const struct gpu_peers_link *link,
                   const struct algo_buffers *buffers, struct gpu_peers **out)
{
    struct gpu_peers *m = buf_alloc(sizeof *m);
    int rc = m ? 0 : -ENOMEM;
    if (m) {
        *m = (struct gpu_peers){
            .comm = c, .set = *set, .link = link, .buffers = buffers, .failed = true};
        m->parts = buf_alloc((size_t)set->n * sizeof *m->parts);
        m->order = buf_alloc((size_t)set->n * sizeof *m->order);
        rc = m->parts && m->order ? 0 : -ENOMEM;
    }
    rc = comm_agree(c, rc);
    if (rc == 0)
        rc = comm_agree(c, link->open(m));
    if (rc < 0) {
        gpu_peers_close(m);
        return rc;
    }
    m->failed = false;
    *out = m;
    return 0;
}

void gpu_peers_close(struct gpu_peers *m)
{
    if (!m)
        return;
    m->link->close(m);
    free(m->parts);
    free(m->order);
    free(m);
}

size_t gpu_peers_store_bytes(const struct gpu_peers_link *link, const struct algo_cut *cut)
{
    return link->stores ? (size_t)(cut->n_parts - 1) * algo_cut_most(cut) : 0;
}

int gpu_peers_noted(struct gpu_peers *m, int rc)
{
    m->failed = m->failed || rc < 0;
    return rc;
}

static void count(struct gpu_peers *m, size_t bytes)
{
    if (m->set.n == 1)
        return;
    m->comm->count.sent_bytes += bytes;
    m->comm->count.rounds++;
}

int gpu_peers_gather(struct gpu_peers *m, const struct algo_cut *cut, const uint8_t *codes,
                     uint8_t *store)
{
    size_t sent = 0;
    for (int i = 0; i < m->set.n; i++)
        sent += i == m->set.me ? 0 : algo_cut_bytes(cut, i);
    count(m, sent);
    return gpu_peers_noted(m, m->link->gather(m, cut, codes, store, m->parts));
}

int gpu_peers_spread(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    count(m, (size_t)(m->set.n - 1) * algo_cut_bytes(cut, m->set.me));
    return gpu_peers_noted(m, m->link->spread(m, cut, vector));
}

int gpu_peers_to_first(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    count(m, m->set.me > 0 ? algo_cut_bytes(cut, m->set.me) : 0);
    return gpu_peers_noted(m, m->link->to_first(m, cut, vector));
}

int gpu_peers_from_first(struct gpu_peers *m, uint8_t *vector, size_t bytes)
{
    count(m, m->set.me == 0 ? (size_t)(m->set.n - 1) * bytes : 0);
    return gpu_peers_noted(m, m->link->from_first(m, vector, bytes));
}

/* This is a dissemination barrier: the distance doubles every round. */
int gpu_peers_meet(struct gpu_peers *m)
{
    const uint64_t sent = m->comm->count.sent_bytes;
    uint8_t word = 0, heard;
    for (int by = 1; by < m->set.n; by *= 2) {
        TRY(comm_recv(m->comm, algo_rank(&m->set, (m->set.me - by + m->set.n) % m->set.n), &heard,
                      1));
        TRY(comm_send(m->comm, algo_rank(&m->set, (m->set.me + by) % m->set.n), &word, 1));
        TRY(comm_wait(m->comm));
    }
    m->comm->count.sent_bytes = sent;
    return 0;
}

int gpu_peers_fence(struct gpu_peers *m)
{
    return m->link->stores ? 0 : gpu_peers_noted(m, gpu_peers_meet(m));
}

int gpu_peers_exchange(struct gpu_peers *m, const void *mine, size_t bytes, void *all)
{
    const uint64_t sent = m->comm->count.sent_bytes;
    uint8_t *places = all;
    memcpy(places + (size_t)m->set.me * bytes, mine, bytes);
    for (int i = 0; i < m->set.n; i++)
        if (i != m->set.me)
            TRY(comm_recv(m->comm, algo_rank(&m->set, i), places + (size_t)i * bytes, bytes));
    for (int i = 0; i < m->set.n; i++)
        if (i != m->set.me)
            TRY(comm_send(m->comm, algo_rank(&m->set, i), mine, bytes));
    TRY(comm_wait(m->comm));
    m->comm->count.sent_bytes = sent;
    return 0;
}

int gpu_peers_copy(void *dst, const void *src, size_t bytes)
{
    struct gpu_lane *lane = gpu_lane();
    if (!lane)
        return gpu_failed();
    TRY(gpu()->run->copy(dst, src, bytes, lane->stream));
    return gpu()->run->wait(lane->stream);
}
