/* collnet_ranks.h : runs ranks as processes that call libnccl-net-narrowcast.so with a simulated
 * card. Shared memory replaces NCCL's bootstrap. */
#ifndef COLLNET_RANKS_H
#define COLLNET_RANKS_H
#include "capture.h"
#include "check.h"
#include "collnet/nccl_abi.h"
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "collnet/mesh.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* ---- calls libnccl-net-narrowcast.so as each version of NCCL does ---- */

enum { DRIVE_FIRST = 6, DRIVE_LAST = 12 };

struct drive {
    int v;
    void *library, *context;
    const void *coll, *net;
};

#define DRIVE_COLL(d, v_, expr) ((const struct collnet_v##v_ *)(d)->coll)->expr
#define DRIVE_NET(d, v_, expr)  ((const struct net_v##v_ *)(d)->net)->expr
#define DRIVE_SAME(d, WHICH, expr)       \
    ((d)->v == 6    ? WHICH(d, 6, expr)  \
     : (d)->v == 7  ? WHICH(d, 7, expr)  \
     : (d)->v == 8  ? WHICH(d, 8, expr)  \
     : (d)->v == 9  ? WHICH(d, 9, expr)  \
     : (d)->v == 10 ? WHICH(d, 10, expr) \
     : (d)->v == 11 ? WHICH(d, 11, expr) \
                    : WHICH(d, 12, expr))

/* Loads the plugin as NCCL 2.30 does, but with the tables of version v. */
static inline bool drive_load(struct drive *d, int v)
{
    char self[PATH_MAX], path[PATH_MAX + 64], name[64];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    snprintf(path, sizeof path, "%s/libnccl-net-narrowcast.so", dirname(dirname(self)));
    *d = (struct drive){.v = v, .library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    CHECK(d->library, "%s", dlerror());
    if (!d->library)
        return false;
    snprintf(name, sizeof name, "ncclNetPlugin_v%d", v);
    d->net = dlsym(d->library, name);
    snprintf(name, sizeof name, "ncclCollNetPlugin_v%d", v);
    d->coll = dlsym(d->library, name);
    CHECK(d->net && d->coll, "version %d is not there", v);
    return d->net && d->coll;
}

static inline int drive_init_net(struct drive *d, nccl_log *log)
{
    switch (d->v) {
    case 11:
        return DRIVE_NET(d, 11, init(&d->context, 77, NULL, log, NULL));
    case 12:
        return DRIVE_NET(d, 12, init(&d->context, 77, NULL, log, NULL));
    case 10:
        return DRIVE_NET(d, 10, init(log, NULL));
    default:
        return d->v == 6   ? DRIVE_NET(d, 6, init(log))
               : d->v == 7 ? DRIVE_NET(d, 7, init(log))
               : d->v == 8 ? DRIVE_NET(d, 8, init(log))
                           : DRIVE_NET(d, 9, init(log));
    }
}

static inline int drive_init_coll(struct drive *d, nccl_log *log)
{
    switch (d->v) {
    case 11:
        return DRIVE_COLL(d, 11, init(&d->context, 77, log));
    case 12:
        return DRIVE_COLL(d, 12, init(&d->context, 77, log));
    default:
        return d->v == 6   ? DRIVE_COLL(d, 6, init(log))
               : d->v == 7 ? DRIVE_COLL(d, 7, init(log))
               : d->v == 8 ? DRIVE_COLL(d, 8, init(log))
               : d->v == 9 ? DRIVE_COLL(d, 9, init(log))
                           : DRIVE_COLL(d, 10, init(log));
    }
}

static inline int drive_finalize(struct drive *d)
{
    return d->v == 11
               ? DRIVE_COLL(d, 11, finalize(d->context)) | DRIVE_NET(d, 11, finalize(d->context))
           : d->v == 12
               ? DRIVE_COLL(d, 12, finalize(d->context)) | DRIVE_NET(d, 12, finalize(d->context))
               : NCCL_SUCCESS;
}

static inline int drive_devices(const struct drive *d, int *coll, int *net)
{
    return DRIVE_SAME(d, DRIVE_COLL, devices(coll)) | DRIVE_SAME(d, DRIVE_NET, devices(net));
}

/* Both tables must describe the same card. *bytes: longest all-reduce, if reported. */
#define DRIVE_PROPERTIES(v_, most)                                                        \
    case v_: {                                                                            \
        struct nic_v##v_ a = {.name = NULL}, b = {.name = NULL};                          \
        const int rc = DRIVE_COLL(d, v_, properties(0, &a)) |                             \
                       DRIVE_NET(d, v_, properties(0, &b)) |                              \
                       (DRIVE_COLL(d, v_, properties(1, &a)) == NCCL_SUCCESS);            \
        CHECK(a.name == b.name && a.pci == b.pci && a.guid == b.guid && a.speed > 0 &&    \
                  a.pointers == NCCL_HOST && b.pointers == NCCL_HOST && a.max_recvs == 1, \
              "%s, %s", a.name, b.name);                                                  \
        *bytes = most;                                                                    \
        return rc;                                                                        \
    }
static inline int drive_properties(const struct drive *d, size_t *bytes)
{
    switch (d->v) {
        DRIVE_PROPERTIES(6, 1)
        DRIVE_PROPERTIES(7, 1)
        DRIVE_PROPERTIES(8, 1)
        DRIVE_PROPERTIES(9, a.most_coll_bytes)
        DRIVE_PROPERTIES(10, a.most_coll_bytes)
        DRIVE_PROPERTIES(11, a.most_coll_bytes)
        DRIVE_PROPERTIES(12, a.most_coll_bytes)
    }
    return -1;
}

static inline int drive_listen(const struct drive *d, bool net, void *handle, void **out)
{
    switch (d->v) {
    case 11:
        return net ? DRIVE_NET(d, 11, listen(d->context, 0, handle, out))
                   : DRIVE_COLL(d, 11, listen(d->context, 0, handle, out));
    case 12:
        return net ? DRIVE_NET(d, 12, listen(d->context, 0, handle, out))
                   : DRIVE_COLL(d, 12, listen(d->context, 0, handle, out));
    case 6:
        return net ? DRIVE_NET(d, 6, listen(0, handle, out))
                   : DRIVE_COLL(d, 6, listen(0, handle, out));
    case 7:
        return net ? DRIVE_NET(d, 7, listen(0, handle, out))
                   : DRIVE_COLL(d, 7, listen(0, handle, out));
    case 8:
        return net ? DRIVE_NET(d, 8, listen(0, handle, out))
                   : DRIVE_COLL(d, 8, listen(0, handle, out));
    case 9:
        return net ? DRIVE_NET(d, 9, listen(0, handle, out))
                   : DRIVE_COLL(d, 9, listen(0, handle, out));
    default:
        return net ? DRIVE_NET(d, 10, listen(0, handle, out))
                   : DRIVE_COLL(d, 10, listen(0, handle, out));
    }
}

static inline int drive_allreduce(const struct drive *d, void *comm, void *send, void *recv,
                                  size_t n, int type, void *mr, void **request)
{
    const int few = (int)n;
    switch (d->v) {
    case 6:
        return DRIVE_COLL(d, 6, allreduce(comm, send, recv, few, type, NCCL_SUM, mr, mr, request));
    case 7:
        return DRIVE_COLL(d, 7, allreduce(comm, send, recv, few, type, NCCL_SUM, mr, mr, request));
    case 8:
        return DRIVE_COLL(d, 8, allreduce(comm, send, recv, few, type, NCCL_SUM, mr, mr, request));
    case 9:
        return DRIVE_COLL(d, 9, allreduce(comm, send, recv, n, type, NCCL_SUM, mr, mr, request));
    case 10:
        return DRIVE_COLL(d, 10, allreduce(comm, send, recv, n, type, NCCL_SUM, mr, mr, request));
    case 11:
        return DRIVE_COLL(d, 11, allreduce(comm, send, recv, n, type, NCCL_SUM, mr, mr, request));
    default:
        return DRIVE_COLL(d, 12, allreduce(comm, send, recv, n, type, NCCL_SUM, mr, mr, request));
    }
}

enum { RANKS_MAX = 4, RANKS_TEXT = 4000 };

struct ranks_shared {
    atomic_int here[64];
    char handles[RANKS_MAX][NCCL_HANDLE_BYTES];
    char said[RANKS_MAX][RANKS_TEXT];
    char info[RANKS_MAX][RANKS_TEXT];
    pid_t card;
};
static struct ranks_shared *ranks_shared;
static int ranks_own, ranks_n, ranks_meetings;

static inline void ranks_log(int level, unsigned long about, const char *file, int line,
                             const char *format, ...)
{
    char *to = (level == NCCL_LOG_INFO ? ranks_shared->info : ranks_shared->said)[ranks_own];
    const size_t n = strlen(to);
    va_list ap;
    (void)line;
    CHECK((level == NCCL_LOG_WARN || level == NCCL_LOG_INFO) && about && file, "level %d", level);
    va_start(ap, format);
    vsnprintf(to + n, RANKS_TEXT - 2 - n, format, ap);
    va_end(ap);
    strcat(to, "\n");
}

static inline void ranks_nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static inline void ranks_meet(void)
{
    atomic_int *here = &ranks_shared->here[ranks_meetings++];
    atomic_fetch_add(here, 1);
    const double start = clock_s();
    while (atomic_load(here) < ranks_n && clock_s() - start < 60)
        ranks_nap();
}

/* Returns a socket that stays open until the process ends, or -1 if the call is refused, or reset
 * by a listener that closes meanwhile. */
static inline int ranks_try_call(const char *handle)
{
    struct mesh_handle at;
    memcpy(&at, handle, sizeof at);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at.port)};
    to.sin_addr.s_addr = htonl(at.ip);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    CHECK(errno == ECONNREFUSED || errno == ECONNRESET, "connect: %s", strerror(errno));
    close(fd);
    return -1;
}

static inline int ranks_call(const char *handle)
{
    const int fd = ranks_try_call(handle);
    CHECK(fd >= 0, "a stranger cannot connect");
    return fd;
}

static inline bool ranks_start_card(void)
{
    char self[PATH_MAX], path[PATH_MAX + 64], line[128] = "", word[160];
    int out[2];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    snprintf(path, sizeof path, "%s/narrowcast-sim", dirname(dirname(self)));
    if (pipe(out))
        return false;
    fflush(NULL);
    const pid_t card = fork();
    if (card == 0) {
        dup2(out[1], 1);
        close(out[0]);
        execl(path, path, "--engine", "c", "--listen", "127.0.0.1:0", (char *)NULL);
        _exit(127);
    }
    ranks_shared->card = card;
    close(out[1]);
    for (size_t at = 0; at < sizeof line - 1 && read(out[0], line + at, 1) == 1 && line[at] != '\n';
         at++)
        ;
    close(out[0]);
    line[strcspn(line, "\n")] = 0;
    snprintf(word, sizeof word, "udp://%s", line + (strlen(line) > 13 ? 13 : 0));
    CHECK(!strncmp(line, "listening on ", 13), "the card says '%s'", line);
    return setenv("NARROWCAST_OFFLOAD", word, 1) == 0 && strlen(line) > 13;
}

static inline void ranks_stop_card(void)
{
    if (ranks_shared->card > 0) {
        kill(ranks_shared->card, SIGKILL);
        waitpid(ranks_shared->card, NULL, 0);
    }
    ranks_shared->card = 0;
}

/* Returns the number of failed ranks, not counting killed ones. */
static inline int ranks_run(int n_ranks, int v, void (*body)(struct drive *d))
{
    int failed = 0, status;
    pid_t pid[RANKS_MAX];
    const pid_t card = ranks_shared->card;
    memset(ranks_shared, 0, sizeof *ranks_shared);
    ranks_shared->card = card;
    fflush(NULL);
    for (int r = 0; r < n_ranks; r++) {
        if ((pid[r] = fork()) > 0)
            continue;
        struct drive d;
        check_bad = 0;
        ranks_own = r, ranks_n = n_ranks;
        alarm(100);
        if (drive_load(&d, v))
            body(&d);
        exit(check_bad != 0); /* not _exit: sanitizers report at exit */
    }
    for (int r = 0; r < n_ranks; r++) {
        waitpid(pid[r], &status, 0);
        failed += !(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
                  !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    return failed;
}

static inline bool ranks_begin(void)
{
    ranks_shared =
        mmap(NULL, sizeof *ranks_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return ranks_shared != MAP_FAILED;
}

/* Makes NCCL's calls before the first all-reduce. Returns connect's result; *comm stays NULL on
 * failure. */
static inline int ranks_connect(struct drive *d, void **comm)
{
    void *listening = NULL, *handles[RANKS_MAX];
    *comm = NULL;
    CHECK(drive_init_net(d, ranks_log) == NCCL_SUCCESS &&
              drive_init_coll(d, ranks_log) == NCCL_SUCCESS,
          "init");
    CHECK(drive_listen(d, false, ranks_shared->handles[ranks_own], &listening) == NCCL_SUCCESS &&
              listening,
          "listen: %s", ranks_shared->said[ranks_own]);
    ranks_meet();
    for (int r = 0; r < ranks_n; r++)
        handles[r] = ranks_shared->handles[r];
    /* The plugin must neither adopt nor change this mode. Some CPUs cannot enable traps. */
    fesetround(ranks_own % 2 ? FE_UPWARD : FE_TONEAREST);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_INEXACT);
    const int traps = fegetexcept();
    const int rc = DRIVE_SAME(d, DRIVE_COLL, connect(handles, ranks_n, ranks_own, listening, comm));
    CHECK(fegetexcept() == traps && (fegetround() == FE_UPWARD) == (ranks_own % 2 == 1),
          "the caller's floating-point mode after connect");
    fesetenv(FE_DFL_ENV);
    CHECK(DRIVE_SAME(d, DRIVE_COLL, close_listen(listening)) == NCCL_SUCCESS, "close_listen");
    return rc;
}

static inline int ranks_wait(struct drive *d, void *request, int *bytes)
{
    int done = 0, rc;
    const double start = clock_s();
    do {
        rc = DRIVE_SAME(d, DRIVE_COLL, test(request, &done, bytes));
        if (!done)
            ranks_nap();
    } while (rc == NCCL_SUCCESS && !done && clock_s() - start < 60);
    CHECK(rc != NCCL_SUCCESS || done, "a request hangs");
    return rc;
}

#endif
