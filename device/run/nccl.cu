/* nccl.cu : dev_nccl.h on NCCL. Communicators are non-blocking, so that no call exceeds its
 * deadline. */
#include "device/run/cu.cuh"
#include "device/run/dev_nccl.h"
#include <string.h>

static int gpu_id(uint64_t *id)
{
    cudaDeviceProp p;
    const int rc = cu_try(cudaGetDeviceProperties(&p, cu_ordinal), "asking for the device's place");
    if (rc == 0)
        *id = (uint64_t)(uint32_t)p.pciDomainID << 32 | (uint64_t)(uint16_t)p.pciBusID << 16 |
              (uint16_t)p.pciDeviceID;
    return rc;
}

#ifdef HAVE_NCCL
#include <nccl.h>
#include <sched.h>
#include <time.h>

static_assert(sizeof(ncclUniqueId) == DEV_NCCL_ID_BYTES, "NCCL's id has another size");

struct dev_nccl {
    ncclComm_t comm;
    double deadline_s;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int nccl_failed(ncclResult_t rc, const char *what)
{
    return cu_say(-EIO, "gpu: %s failed: NCCL says: %s", what, ncclGetErrorString(rc));
}

/* Polls a call "in progress" until the deadline, not counting time in which this process was
 * stopped. */
static int settle(struct dev_nccl *c, ncclResult_t rc, const char *what)
{
    double start = now_s(), seen = start;
    while (rc == ncclInProgress) {
        ncclResult_t state = ncclInternalError;
        rc = ncclCommGetAsyncError(c->comm, &state);
        if (rc == ncclSuccess)
            rc = state;
        const double now = now_s();
        start += now - seen > 1 ? now - seen : 0;
        seen = now;
        if (rc == ncclInProgress && now - start > c->deadline_s)
            return cu_say(-ETIMEDOUT, "gpu: %s failed: NCCL waited %g s for the other ranks", what,
                          c->deadline_s);
        sched_yield();
    }
    return rc == ncclSuccess ? 0 : nccl_failed(rc, what);
}

static bool here(void)
{
    return true;
}

static int make_id(uint8_t id[DEV_NCCL_ID_BYTES])
{
    ncclUniqueId made;
    const ncclResult_t rc = ncclGetUniqueId(&made);
    if (rc != ncclSuccess)
        return nccl_failed(rc, "starting NCCL");
    memcpy(id, &made, sizeof made);
    return 0;
}

static void close_nccl(struct dev_nccl *c)
{
    if (!c)
        return;
    if (c->comm && !cu_is_stuck()) /* it frees memory */
        (void)ncclCommAbort(c->comm);
    delete c;
}

static int open_nccl(const uint8_t id[DEV_NCCL_ID_BYTES], int rank, int n_ranks, double deadline_s,
                     struct dev_nccl **out)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId theirs;
    memcpy(&theirs, id, sizeof theirs);
    config.blocking = 0;
    (void)cu_stream(NULL); /* NCCL uses the thread's device */
    struct dev_nccl *c = new struct dev_nccl();
    c->deadline_s = deadline_s;
    const int rc =
        settle(c, ncclCommInitRankConfig(&c->comm, n_ranks, theirs, rank, &config), "joining NCCL");
    if (rc < 0) {
        close_nccl(c);
        return rc;
    }
    *out = c;
    return 0;
}

static int group_begin(void)
{
    const ncclResult_t rc = ncclGroupStart();
    return rc == ncclSuccess ? 0 : nccl_failed(rc, "grouping messages");
}

static int group_end(struct dev_nccl *c)
{
    return settle(c, ncclGroupEnd(), "exchanging codes");
}

/* group_end() settles a call "in progress". */
static int posted(ncclResult_t rc, const char *what)
{
    return rc == ncclSuccess || rc == ncclInProgress ? 0 : nccl_failed(rc, what);
}

static int send(struct dev_nccl *c, const void *p, size_t bytes, int to, struct dev_stream *s)
{
    return posted(ncclSend(p, bytes, ncclUint8, to, c->comm, cu_stream(s)), "sending codes");
}

static int recv(struct dev_nccl *c, void *p, size_t bytes, int from, struct dev_stream *s)
{
    return posted(ncclRecv(p, bytes, ncclUint8, from, c->comm, cu_stream(s)), "receiving codes");
}

static bool type_of(enum dev_nccl_type type, ncclDataType_t *out)
{
    switch (type) {
    case DEV_NCCL_FP32:
        return *out = ncclFloat32, true;
    case DEV_NCCL_FP16:
        return *out = ncclFloat16, true;
    case DEV_NCCL_BF16:
        return *out = ncclBfloat16, true;
#if NCCL_VERSION_CODE >= 22400
    case DEV_NCCL_E4M3:
        return *out = ncclFloat8e4m3, true;
    case DEV_NCCL_E5M2:
        return *out = ncclFloat8e5m2, true;
#endif
    default:
        return false;
    }
}

static int all_reduce(struct dev_nccl *c, const void *in, void *out, size_t n,
                      enum dev_nccl_type type, struct dev_stream *s)
{
    ncclDataType_t t;
    if (!type_of(type, &t))
        return cu_say(
            -ENOSYS,
            "gpu: cannot add these numbers by NCCL: it was built for version %d, fp8 needs 2.24",
            NCCL_VERSION_CODE);
    return settle(c, ncclAllReduce(in, out, n, t, ncclSum, c->comm, cu_stream(s)),
                  "all-reduce by NCCL");
}

static int check(struct dev_nccl *c)
{
    ncclResult_t state = ncclSuccess;
    const ncclResult_t rc = ncclCommGetAsyncError(c->comm, &state);
    return posted(rc == ncclSuccess ? state : rc, "exchanging codes");
}

#else

static bool here(void)
{
    return false;
}
static int none(void)
{
    return cu_say(-ENOSYS, "gpu: cannot use NCCL: this library was built without it");
}
static int make_id(uint8_t *)
{
    return none();
}
static int open_nccl(const uint8_t *, int, int, double, struct dev_nccl **)
{
    return none();
}
static void close_nccl(struct dev_nccl *) {}
static int group_begin(void)
{
    return none();
}
static int group_end(struct dev_nccl *)
{
    return none();
}
static int send(struct dev_nccl *, const void *, size_t, int, struct dev_stream *)
{
    return none();
}
static int recv(struct dev_nccl *, void *, size_t, int, struct dev_stream *)
{
    return none();
}
static int all_reduce(struct dev_nccl *, const void *, void *, size_t, enum dev_nccl_type,
                      struct dev_stream *)
{
    return none();
}
static int check(struct dev_nccl *)
{
    return none();
}
#endif

extern "C" const struct dev_nccl_ops dev_nccl = {
    .here = here,
    .gpu_id = gpu_id,
    .id = make_id,
    .open = open_nccl,
    .close = close_nccl,
    .group_begin = group_begin,
    .group_end = group_end,
    .send = send,
    .recv = recv,
    .all_reduce = all_reduce,
    .check = check,
};
