/* collnet_drive.h : loads libnccl-net-narrowcast.so and calls it as each version of NCCL does. */
#ifndef COLLNET_DRIVE_H
#define COLLNET_DRIVE_H
#include "check.h"
#include "collnet/nccl_abi.h"
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

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

#endif
