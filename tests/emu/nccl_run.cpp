/* nccl_run.cpp : NCCL's calls through shared memory, with a mailbox for every pair of ranks.
 *
 *       send: | full? : bytes : data | <- a chunk at a time, waits until it is empty
 *       recv: the other end
 *
 * All messages of a group move together, so the order in which ranks post them does not matter. */
#include "hls/arith/mf.h"
#include "nccl.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

enum { CHUNK = 1 << 16, MAX_RANKS = 64 };

struct mailbox {
    std::atomic<uint32_t> full;
    uint32_t bytes;
    uint8_t data[CHUNK];
};

struct shared {
    std::atomic<int> joined;
    std::atomic<int> pid[MAX_RANKS], gpu[MAX_RANKS];
    mailbox boxes[]; /* [n_ranks * n_ranks], from * n_ranks + to */
};

struct ncclComm {
    shared *all;
    size_t bytes;
    int rank, n_ranks;
    bool ready;
    std::atomic<int> error;
    std::atomic<bool> aborted;
};

struct message {
    uint8_t *p;
    size_t left;
    int peer;
    bool sends;
};

const char *ncclGetErrorString(ncclResult_t rc)
{
    static const char *const names[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "in progress"};
    return names[rc];
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static std::atomic<int> count;
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/emu-nccl-%d-%d", (int)getpid(), (int)count++);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    int gpu = 0;
    cudaDeviceProp prop;
    if (rank < 0 || rank >= n_ranks || n_ranks > MAX_RANKS)
        return ncclInvalidArgument;
    if (config->blocking)
        emu_die("NCCL: blocking communicators have no deadline");
    const size_t bytes = sizeof(shared) + (size_t)n_ranks * (size_t)n_ranks * sizeof(mailbox);
    const int fd = shm_open(id.internal, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return ncclSystemError;
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED || cudaGetDevice(&gpu) != cudaSuccess ||
        cudaGetDeviceProperties(&prop, gpu) != cudaSuccess)
        return ncclSystemError;
    ncclComm *c = new ncclComm{(shared *)p, bytes, rank, n_ranks, false, {ncclSuccess}, {false}};
    c->all->pid[rank] = (int)getpid();
    c->all->gpu[rank] = prop.pciBusID << 8 | prop.pciDeviceID;
    if (++c->all->joined == n_ranks)
        shm_unlink(id.internal);
    *comm = c;
    return ncclInProgress;
}

static bool peer_is_gone(const ncclComm *c)
{
    for (int r = 0; r < c->n_ranks; r++)
        if (c->all->pid[r] && kill(c->all->pid[r], 0) != 0)
            return true;
    return false;
}

static ncclResult_t all_joined(ncclComm_t c)
{
    if (c->all->joined < c->n_ranks)
        return peer_is_gone(c) ? ncclRemoteError : ncclInProgress;
    for (int a = 0; a < c->n_ranks; a++)
        for (int b = 0; b < a; b++)
            if (c->all->gpu[a] == c->all->gpu[b])
                return ncclInvalidUsage;
    c->ready = true;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *state)
{
    *state = c->ready ? (ncclResult_t)(int)c->error : all_joined(c);
    return ncclSuccess;
}

static struct {
    int depth;
    ncclComm *comm;
    cudaStream_t stream;
    std::vector<message> messages;
} group; /* used by one thread */

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    if (group.depth > 0)
        emu_die("NCCL: a communicator is closed inside a group");
    c->aborted = true;
    cudaDeviceSynchronize();
    munmap(c->all, c->bytes);
    delete c;
    return ncclSuccess;
}

static bool step(ncclComm *c, message &m)
{
    const int from = m.sends ? c->rank : m.peer, to = m.sends ? m.peer : c->rank;
    mailbox &box = c->all->boxes[from * c->n_ranks + to];
    if (m.left == 0 || box.full.load(std::memory_order_acquire) != (m.sends ? 0u : 1u))
        return false;
    const size_t n = m.sends ? std::min<size_t>(m.left, CHUNK) : box.bytes;
    if (n > m.left)
        emu_die("NCCL: rank %d sends more than rank %d receives", from, to);
    memcpy(m.sends ? box.data : m.p, m.sends ? m.p : box.data, n);
    box.bytes = (uint32_t)n;
    m.p += n;
    m.left -= n;
    box.full.store(m.sends ? 1 : 0, std::memory_order_release);
    return true;
}

static void exchange(ncclComm *c, std::vector<message> messages)
{
    unsigned idle = 0;
    for (;;) {
        bool left = false, moved = false;
        std::vector<bool> busy((size_t)c->n_ranks * 2);
        for (message &m : messages) {
            const size_t pair = (size_t)m.peer * 2 + m.sends;
            if (m.left == 0 || busy[pair])
                continue;
            moved = step(c, m) || moved;
            busy[pair] = m.left > 0;
            left = left || m.left > 0;
        }
        if (!left || c->aborted)
            return;
        if (!moved && ++idle % 1024 == 0 && peer_is_gone(c)) {
            c->error = ncclRemoteError;
            return;
        }
        if (!moved)
            sched_yield();
    }
}

ncclResult_t ncclGroupStart()
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
    if (group.depth == 0)
        return ncclInvalidUsage;
    if (--group.depth > 0 || group.messages.empty())
        return ncclSuccess;
    ncclComm *c = group.comm;
    const std::vector<message> messages = std::move(group.messages);
    group.messages.clear();
    return emu_enqueue(group.stream, [c, messages] { exchange(c, messages); }) == cudaSuccess
               ? ncclSuccess
               : ncclUnhandledCudaError;
}

static void must_be_device(const void *p, size_t bytes)
{
    char *base = nullptr;
    size_t room = 0;
    if (bytes > 0 && (!emu_find(p, &base, &room) || (const char *)p + bytes > base + room))
        emu_die("NCCL: %zu bytes at %p are not device memory", bytes, p);
}

static ncclResult_t post(ncclComm_t c, void *p, size_t n, ncclDataType_t type, int peer, bool sends,
                         cudaStream_t s)
{
    if (!c->ready || peer < 0 || peer >= c->n_ranks || peer == c->rank || type != ncclUint8)
        return ncclInvalidArgument;
    must_be_device(p, n);
    if (!group.messages.empty() && (group.comm != c || group.stream != s))
        emu_die("NCCL: a group on several streams or communicators");
    (void)ncclGroupStart();
    group.comm = c;
    group.stream = s;
    group.messages.push_back({(uint8_t *)p, n, peer, sends});
    return ncclGroupEnd();
}

ncclResult_t ncclSend(const void *p, size_t n, ncclDataType_t type, int to, ncclComm_t c,
                      cudaStream_t s)
{
    static const long long fails = emu_env("EMU_NCCL_FAILS", 0);
    static long long n_sent;
    if (++n_sent == fails)
        return ncclInvalidArgument;
    return post(c, const_cast<void *>(p), n, type, to, true, s);
}

ncclResult_t ncclRecv(void *p, size_t n, ncclDataType_t type, int from, ncclComm_t c,
                      cudaStream_t s)
{
    return post(c, p, n, type, from, false, s);
}

static struct mf_fmt format_of(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat16:
        return {5, 10, 0};
    case ncclBfloat16:
        return {8, 7, 0};
    case ncclFloat8e4m3:
        return {4, 3, 1};
    case ncclFloat8e5m2:
        return {5, 2, 0};
    default:
        return {8, 23, 0};
    }
}

static void add(struct mf_fmt fmt, uint8_t *sum, const uint8_t *x, size_t n)
{
    const size_t width = mf_width(fmt) / 8;
    for (size_t i = 0; i < n; i++, sum += width, x += width) {
        uint32_t a = 0, b = 0;
        memcpy(&a, sum, width);
        memcpy(&b, x, width);
        a = mf_add(fmt, a, b, MF_INF);
        memcpy(sum, &a, width);
    }
}

static void reduce(ncclComm *c, const uint8_t *in, uint8_t *out, size_t n, ncclDataType_t type)
{
    const struct mf_fmt fmt = format_of(type);
    const size_t bytes = n * (mf_width(fmt) / 8);
    std::vector<std::vector<uint8_t>> all((size_t)c->n_ranks, std::vector<uint8_t>(bytes));
    std::vector<message> messages;
    for (int r = 0; r < c->n_ranks; r++) {
        if (r == c->rank) {
            memcpy(all[(size_t)r].data(), in, bytes);
            continue;
        }
        messages.push_back({const_cast<uint8_t *>(in), bytes, r, true});
        messages.push_back({all[(size_t)r].data(), bytes, r, false});
    }
    exchange(c, messages);
    for (int r = 1; r < c->n_ranks; r++)
        add(fmt, all[0].data(), all[(size_t)r].data(), n);
    memcpy(out, all[0].data(), bytes);
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t n, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t c, cudaStream_t s)
{
    int gpu = 0;
    const bool fp8 = type == ncclFloat8e4m3 || type == ncclFloat8e5m2;
    if (!c->ready || cudaGetDevice(&gpu) != cudaSuccess || (fp8 && emu_capability(gpu) < 90))
        return ncclInvalidArgument;
    must_be_device(in, n * (mf_width(format_of(type)) / 8));
    must_be_device(out, n * (mf_width(format_of(type)) / 8));
    const auto work = [=] { reduce(c, (const uint8_t *)in, (uint8_t *)out, n, type); };
    return emu_enqueue(s, work) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
