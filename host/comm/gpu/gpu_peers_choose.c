/* gpu_peers_choose.c : chooses gradients' transport. */
#include "comm/gpu/gpu_peers_choose.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/algo/algo_step.h"
#include "comm/comm_inside.h"
#include "comm/comm.h"
#include "device/run/dev_nccl.h"
#include "vec/gpu/gpu.h"
#include "vec/gpu/vec_cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum transport { NCCL, IPC, MPI, PINNED, N_TRANSPORTS };
static const char *const words[N_TRANSPORTS] = {"nccl", "ipc", "mpi", "pinned"};

static const struct algo *by(const struct algo *a, enum transport t)
{
    return t == NCCL ? a->by_nccl : t == IPC ? a->by_ipc : a;
}

static const char mpi_is_silent[] = "MPI does not report that it takes device memory";
static const char ranks_are_virtual[] = "virtual ranks copy messages on the CPU";

struct facts {
    const char *no[N_TRANSPORTS]; /* why a transport is impossible, or NULL */
    char text[96];
};

struct place {
    int32_t machine, zero;
    uint64_t gpu;
};

/* comm_agree() would release lines that the caller holds. */
static int any_failed(struct comm *c, int rc)
{
    int8_t code = (int8_t)-rc;
    TRY(comm_max_i8(c, &code, 1));
    return rc < 0 ? rc : -code;
}

static int all_places(struct comm *c, struct place *places, int32_t *nodes)
{
    struct place mine = {.machine = 0};
    TRY(comm_nodes(c, nodes));
    int rc = gpu()->nccl->gpu_id(&mine.gpu);
    mine.machine = nodes[comm_rank(c)];
    TRY(any_failed(c, rc));
    TRY(comm_gather(c, &mine, sizeof mine, places));
    return comm_bcast(c, places, (size_t)comm_n_ranks(c) * sizeof *places, 0);
}

/* A transport that one rank's library or MPI lacks is impossible for all ranks. */
static int library_facts(struct comm *c, struct facts *f)
{
    int8_t no[] = {!gpu()->nccl->here(), !comm_cuda_aware()};
    TRY(comm_max_i8(c, no, sizeof no));
    f->no[NCCL] = no[0] ? "the GPU library was built without it" : NULL;
    f->no[MPI] = no[1] ? mpi_is_silent : NULL;
    if (!comm_is_mpi(c))
        f->no[MPI] = "the caller has a transport of its own";
    if (comm_is_virtual(c))
        f->no[NCCL] = f->no[MPI] = ranks_are_virtual;
    return 0;
}

static void nccl_fact(struct comm *c, const struct place *places, struct facts *f)
{
    for (int a = 0; a < comm_n_ranks(c); a++)
        for (int b = 0; b < a && !f->no[NCCL]; b++)
            if (places[a].machine == places[b].machine && places[a].gpu == places[b].gpu) {
                snprintf(f->text, sizeof f->text, "ranks %d and %d share a GPU, which NCCL refuses",
                         b, a);
                f->no[NCCL] = f->text;
            }
}

static int try_ipc(struct comm *c, const int32_t *nodes, bool *works)
{
    const int n = comm_n_ranks(c), me = comm_rank(c);
    const struct dev_run_ops *run = gpu()->run;
    struct dev_ipc mine = {{0}}, *all = buf_alloc((size_t)n * sizeof *all);
    void *theirs = NULL;
    int rc = 0;
    gpu_quiet(true); /* not an error: other transports remain */
    void *p = run->alloc(DEV_IPC_BYTES);
    *works = any_failed(c, all && p ? run->ipc_export(p, &mine) : -ENOMEM) == 0;
    if (*works)
        rc = comm_gather(c, &mine, sizeof mine, all);
    if (*works && rc == 0)
        rc = comm_bcast(c, all, (size_t)n * sizeof *all, 0);
    for (int r = 0; r < n && rc == 0 && *works; r++) {
        if (r == me || nodes[r] != nodes[me])
            continue;
        *works = run->ipc_import(&all[r], &theirs) == 0;
        if (*works)
            run->ipc_close(theirs);
    }
    int8_t bad = !*works;
    if (rc == 0)
        rc = comm_max_i8(c, &bad, 1); /* also keeps the memory until all ranks have tried */
    *works = !bad;
    gpu_quiet(false);
    run->free(p);
    free(all);
    return rc;
}

static int ipc_fact(struct comm *c, const struct algo *a, int group, const int32_t *nodes,
                    struct facts *f)
{
    const int size = group ? group : comm_n_ranks(c);
    bool works;
    for (int r = 0; r < comm_n_ranks(c); r++)
        if (nodes[r] != nodes[r - r % size]) {
            f->no[IPC] = group ? "a group spans machines" : "the ranks are on several machines";
            return 0;
        }
    if (comm_is_virtual(c))
        f->no[IPC] = ranks_are_virtual;
    if (!a->by_ipc || f->no[IPC])
        return 0;
    TRY(try_ipc(c, nodes, &works));
    f->no[IPC] = works ? NULL : "a rank cannot open another one's GPU memory";
    return 0;
}

static int find_facts(struct comm *c, const struct algo *a, bool cards, int group, struct facts *f)
{
    struct place *places = buf_alloc((size_t)comm_n_ranks(c) * sizeof *places);
    int32_t *nodes = buf_alloc((size_t)comm_n_ranks(c) * sizeof *nodes);
    int rc = any_failed(c, places && nodes ? 0 : -ENOMEM);
    if (rc == 0)
        rc = all_places(c, places, nodes);
    if (rc == 0)
        rc = library_facts(c, f);
    if (rc == 0) {
        nccl_fact(c, places, f);
        rc = ipc_fact(c, a, group, nodes, f);
    }
    free(places);
    free(nodes);
    for (enum transport t = NCCL; t < MPI; t++)
        if (!by(a, t))
            f->no[t] = "the algorithm has no variant for it";
    if (!a->device_codes)
        f->no[MPI] = "the algorithm adds on the CPU";
    for (int t = NCCL; t < PINNED && cards; t++)
        f->no[t] = "codes go to cards from the CPU's memory";
    return rc;
}

/* *out is N_TRANSPORTS for auto. */
static int asked(struct comm *c, enum transport *out)
{
    char word[16] = "auto";
    const char *given = getenv("NARROWCAST_GPU_TRANSPORT");
    if (given && *given)
        snprintf(word, sizeof word, "%s", given);
    TRY(comm_bcast(c, word, sizeof word, 0));
    int t = 0;
    while (t < N_TRANSPORTS && strcmp(word, words[t]) != 0)
        t++;
    if (t == N_TRANSPORTS && strcmp(word, "auto") != 0)
        return comm_rank(c) > 0 ? -EINVAL
                                : ERR(-EINVAL,
                                      "unknown NARROWCAST_GPU_TRANSPORT \"%s\": need auto, nccl, "
                                      "ipc, mpi or pinned",
                                      word);
    *out = (enum transport)t;
    return 0;
}

static int take(struct comm *c, const struct algo *a, enum transport wanted, struct facts *f,
                enum transport *out)
{
    if (wanted == MPI && f->no[MPI] == mpi_is_silent)
        f->no[MPI] = NULL; /* not every MPI declares its abilities */
    if (wanted < N_TRANSPORTS && f->no[wanted])
        return comm_rank(c) > 0
                   ? -EINVAL
                   : ERR(-EINVAL, "cannot run \"%s\" with NARROWCAST_GPU_TRANSPORT=%s: %s", a->name,
                         words[wanted], f->no[wanted]);
    int t = wanted < N_TRANSPORTS ? (int)wanted : 0;
    while (f->no[t])
        t++; /* ends at pinned, which is always possible */
    *out = (enum transport)t;
    return 0;
}

static void say(const struct comm *c, const struct algo *a, enum transport t, const struct facts *f,
                char *said, size_t size)
{
    const char *const names[N_TRANSPORTS] = {
        "NCCL", "CUDA IPC", "MPI from device memory",
        comm_is_mpi(c) ? "MPI from pinned memory" : "the caller's transport from pinned memory"};
    const int first = a->by_nccl ? NCCL : a->by_ipc ? IPC : MPI;
    if ((int)t == first || !f->no[first])
        snprintf(said, size, "%s by %s", a->name, names[t]);
    else
        snprintf(said, size, "%s by %s (not %s: %s)", a->name, names[t], names[first],
                 f->no[first]);
}

int gpu_peers_take_nccl(struct comm *c, const struct algo *algo, bool cards)
{
    struct facts facts = {.no = {NULL}};
    enum transport wanted = N_TRANSPORTS;
    TRY(asked(c, &wanted));
    if (wanted != NCCL && wanted != N_TRANSPORTS)
        return 0;
    TRY(find_facts(c, algo, cards, 0, &facts));
    return !facts.no[NCCL];
}

int gpu_peers_choose(struct comm *c, bool cards, bool rescale, int group, const struct algo **algo,
                     const struct vec_ops **ops, char *said, size_t size)
{
    struct facts facts = {.no = {NULL}};
    enum transport wanted = N_TRANSPORTS, t = PINNED;
    if (*algo == &algo_self) { /* nothing travels */
        *ops = cards ? vec_cuda() : vec_cuda_device();
        snprintf(said, size, "self, on the GPU");
        return 0;
    }
    TRY(asked(c, &wanted));
    if (group && algo_check_group((*algo)->name, comm_n_ranks(c), group) < 0)
        return -EINVAL;
    TRY(find_facts(c, *algo, cards, group, &facts));
    if (rescale)
        facts.no[NCCL] = facts.no[IPC] = "--rescale needs MPI between its stages";
    TRY(take(c, *algo, wanted, &facts, &t));
    say(c, *algo, t, &facts, said, size);
    if (comm_is_virtual(c))
        snprintf(said, size, "%s by copies of pinned memory", (*algo)->name);
    *algo = by(*algo, t);
    *ops = t == PINNED ? vec_cuda() : vec_cuda_device();
    return 0;
}
