/* mates.c : Opens sets of GPU peers, synchronises them and counts their traffic, for all links. */
#include "comm/gpu/mates.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include <stdlib.h>
#include <string.h>

int mates_open(struct comm *c, const struct algo_set *set, const struct mates_link *link,
               const struct algo_home *home, struct mates **out)
{
    struct mates *m = buf_alloc(sizeof *m);
    int rc = m ? 0 : -ENOMEM;
    if (m) {
        *m = (struct mates){.comm = c, .set = *set, .link = link, .home = home, .failed = true};
        m->parts = buf_alloc((size_t)set->n * sizeof *m->parts);
        m->order = buf_alloc((size_t)set->n * sizeof *m->order);
        rc = m->parts && m->order ? 0 : -ENOMEM;
    }
    rc = comm_agree(c, rc);
    if (rc == 0)
        rc = comm_agree(c, link->open(m));
    if (rc < 0) {
        mates_close(m);
        return rc;
    }
    m->failed = false;
    *out = m;
    return 0;
}

void mates_close(struct mates *m)
{
    if (!m)
        return;
    m->link->close(m);
    free(m->parts);
    free(m->order);
    free(m);
}

size_t mates_store_bytes(const struct mates_link *link, const struct algo_cut *cut)
{
    return link->stores ? (size_t)(cut->n_parts - 1) * algo_cut_most(cut) : 0;
}

int mates_noted(struct mates *m, int rc)
{
    m->failed = m->failed || rc < 0;
    return rc;
}

static void count(struct mates *m, size_t bytes)
{
    if (m->set.n == 1)
        return;
    m->comm->count.sent_bytes += bytes;
    m->comm->count.rounds++;
}

int mates_gather(struct mates *m, const struct algo_cut *cut, const uint8_t *codes, uint8_t *store)
{
    const size_t begin = algo_place(cut->fold, cut->form, cut->whole.at),
                 end = algo_place(cut->fold, cut->form, cut->whole.at + cut->whole.n);
    count(m, end - begin - algo_cut_bytes(cut, m->set.me));
    return mates_noted(m, m->link->gather(m, cut, codes, store, m->parts));
}

int mates_spread(struct mates *m, const struct algo_cut *cut, uint8_t *vector)
{
    count(m, (size_t)(m->set.n - 1) * algo_cut_bytes(cut, m->set.me));
    return mates_noted(m, m->link->spread(m, cut, vector));
}

int mates_to_first(struct mates *m, const struct algo_cut *cut, uint8_t *vector)
{
    count(m, m->set.me > 0 ? algo_cut_bytes(cut, m->set.me) : 0);
    return mates_noted(m, m->link->to_first(m, cut, vector));
}

int mates_from_first(struct mates *m, uint8_t *vector, size_t bytes)
{
    count(m, m->set.me == 0 ? (size_t)(m->set.n - 1) * bytes : 0);
    return mates_noted(m, m->link->from_first(m, vector, bytes));
}

/* Implements a dissemination barrier: the distance doubles every round. After the last round each
 * member has heard, directly or not, from every other member. */
int mates_meet(struct mates *m)
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

int mates_tell(struct mates *m, const void *mine, size_t bytes, void *all)
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

int mates_copy(void *dst, const void *src, size_t bytes)
{
    struct gpu_lane *lane = gpu_lane();
    if (!lane)
        return gpu_failed();
    TRY(gpu()->run->copy(dst, src, bytes, lane->stream));
    return gpu()->run->wait(lane->stream);
}
