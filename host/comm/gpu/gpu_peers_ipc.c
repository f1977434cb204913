/* gpu_peers_ipc.c : links ranks of one machine whose GPUs can access each other's memory (CUDA
 * IPC). Kernels read codes in place, and copies write to their destination:
 *
 *     gather:  synchronise (all codes are in place), then sum kernels read
 *     spread:  copy to all, then synchronise
 *
 * Between a gather and the next spread or fence no member writes memory that others read. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "comm/gpu/gpu_peers.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/gpu_lane.h"
#include <assert.h>
#include <stdlib.h>

enum { CODES, RESULT, SCRATCH, GATHERED, N_REGIONS };

struct exported { /* describes a member's buffers to the others */
    struct dev_ipc handles[N_REGIONS];
    uint64_t bytes[N_REGIONS];
};

struct ipc {
    struct exported *exports; /* [set.n] */
    uint8_t **bases;          /* [set.n * N_REGIONS] other members' regions, mapped here */
};

static uint8_t *region(const struct algo_buffers *buffers, int r, size_t *bytes)
{
    switch (r) {
    case CODES:
        return *bytes = buffers->codes_bytes, buffers->codes;
    case RESULT:
        return *bytes = buffers->result_bytes, buffers->result;
    case SCRATCH:
        return *bytes = buffers->scratch_bytes, buffers->scratch;
    default:
        return *bytes = buffers->gathered_bytes, buffers->gathered;
    }
}

/* Returns member i's counterpart of p, as mapped here. */
static uint8_t *at(const struct gpu_peers *m, int i, const uint8_t *p)
{
    const struct ipc *ipc = m->state;
    for (int r = 0; r < N_REGIONS; r++) {
        size_t bytes;
        uint8_t *own = region(m->buffers, r, &bytes);
        if (p >= own && p < own + bytes)
            return (i == m->set.me ? own : ipc->bases[i * N_REGIONS + r]) + (p - own);
    }
    assert(false); /* not in the registered buffers */
    return NULL;
}

static int export_own(struct gpu_peers *m, struct exported *own)
{
    for (int r = 0; r < N_REGIONS; r++) {
        size_t bytes;
        uint8_t *p = region(m->buffers, r, &bytes);
        own->bytes[r] = bytes;
        if (bytes > 0)
            TRY(gpu()->run->ipc_export(p, &own->handles[r]));
    }
    return 0;
}

static int import_others(struct gpu_peers *m, const struct exported *own)
{
    struct ipc *ipc = m->state;
    for (int i = 0; i < m->set.n; i++)
        for (int r = 0; r < N_REGIONS && i != m->set.me; r++) {
            const struct exported *theirs = &ipc->exports[i];
            void *base = NULL;
            if (theirs->bytes[r] != own->bytes[r])
                return ERR(
                    -EPROTO,
                    "cannot share GPU memory: ranks %d and %d have buffers of different lengths",
                    comm_rank(m->comm), algo_rank(&m->set, i));
            if (theirs->bytes[r] > 0)
                TRY(gpu()->run->ipc_import(&theirs->handles[r], &base));
            ipc->bases[i * N_REGIONS + r] = base;
        }
    return 0;
}

static int ipc_open(struct gpu_peers *m)
{
    struct exported own = {.bytes = {0}};
    struct ipc *ipc = m->state = buf_alloc(sizeof *ipc);
    if (ipc) {
        ipc->exports = buf_alloc((size_t)m->set.n * sizeof *ipc->exports);
        ipc->bases = buf_alloc((size_t)m->set.n * N_REGIONS * sizeof *ipc->bases);
    }
    int rc = ipc && ipc->exports && ipc->bases ? export_own(m, &own) : -ENOMEM;
    TRY(comm_agree(m->comm, rc)); /* before any member waits for another's handles */
    TRY(gpu_peers_exchange(m, &own, sizeof own, ipc->exports));
    return import_others(m, &own);
}

static void ipc_close(struct gpu_peers *m)
{
    struct ipc *ipc = m->state;
    if (!ipc)
        return;
    for (int i = 0; ipc->bases && i < m->set.n * N_REGIONS; i++)
        if (ipc->bases[i])
            gpu()->run->ipc_close(ipc->bases[i]);
    if (!m->failed)
        (void)gpu_peers_meet(m); /* memory is freed only after all have closed it */
    free(ipc->exports);
    free(ipc->bases);
    free(ipc);
}

static int ipc_gather(struct gpu_peers *m, const struct algo_cut *cut, const uint8_t *codes,
                      uint8_t *store, const uint8_t **parts)
{
    (void)store;
    TRY(gpu_peers_meet(m));
    for (int i = 0; i < m->set.n; i++)
        parts[i] = cut->whole.n > 0 ? at(m, i, codes) + algo_cut_at(cut, m->set.me) : codes;
    return 0;
}

/* Copies bytes at p to members 0 to n_to - 1. */
static int copy_to(struct gpu_peers *m, int n_to, uint8_t *p, size_t bytes)
{
    const struct dev_run_ops *run = gpu()->run;
    struct gpu_lane *lane = gpu_lane();
    if (!lane)
        return gpu_failed();
    for (int k = 0; k < n_to && bytes > 0; k++) {
        /* each member starts with a different destination */
        const int i = (m->set.me + k) % n_to;
        if (i != m->set.me)
            TRY(run->copy(at(m, i, p), p, bytes, lane->stream));
    }
    return run->wait(lane->stream);
}

static int ipc_spread(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    TRY(copy_to(m, m->set.n, vector + algo_cut_at(cut, m->set.me), algo_cut_bytes(cut, m->set.me)));
    return gpu_peers_meet(m);
}

static int ipc_to_first(struct gpu_peers *m, const struct algo_cut *cut, uint8_t *vector)
{
    TRY(copy_to(m, 1, vector + algo_cut_at(cut, m->set.me), algo_cut_bytes(cut, m->set.me)));
    return gpu_peers_meet(m);
}

static int ipc_from_first(struct gpu_peers *m, uint8_t *vector, size_t bytes)
{
    if (m->set.me == 0)
        TRY(copy_to(m, m->set.n, vector, bytes));
    return gpu_peers_meet(m);
}

const struct gpu_peers_link gpu_peers_ipc = {
    .stores = false,
    .open = ipc_open,
    .close = ipc_close,
    .gather = ipc_gather,
    .spread = ipc_spread,
    .to_first = ipc_to_first,
    .from_first = ipc_from_first,
};
