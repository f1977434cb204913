/* net_tables.c : fills NCCL's network tables, one for each version. Operations that
 * are NULL are not supported. */
#include "collnet/collnet.h"

#define PLUGIN __attribute__((visibility("default")))

static int init(nccl_log *log)
{
    collnet_begin(log);
    return NCCL_SUCCESS;
}

static int init_v10(nccl_log *log, void *profiler)
{
    (void)profiler;
    return init(log);
}

static int init_v11(void **context, uint64_t comm, void *config, nccl_log *log, void *profiler)
{
    (void)comm, (void)config, (void)profiler;
    *context = NULL;
    return init(log);
}

static int listen_v11(void *context, int dev, void *handle, void **listening)
{
    (void)context;
    return net_listen(dev, handle, listening);
}

/* ---- connections; `device` is for cards that work without the host ---- */

static int connect_v6(int dev, void *handle, void **comm)
{
    (void)dev;
    return net_connect_to(handle, comm);
}

static int connect_v7(int dev, void *handle, void **comm, void **device)
{
    (void)dev, (void)device;
    return net_connect_to(handle, comm);
}

static int connect_v10(int dev, void *config, void *handle, void **comm, void **device)
{
    (void)config;
    return connect_v7(dev, handle, comm, device);
}

static int connect_v11(void *context, int dev, void *handle, void **comm, void **device)
{
    (void)context;
    return connect_v7(dev, handle, comm, device);
}

static int accept_v7(void *listening, void **comm, void **device)
{
    (void)device;
    return net_accept_from(listening, comm);
}

static int register_v6(void *comm, void *data, int bytes, int kind, void **mr)
{
    return collnet_register(comm, data, (size_t)bytes, kind, mr);
}

static int send_v6(void *comm, void *data, int bytes, int tag, void *mr, void **request)
{
    (void)tag, (void)mr;
    return bytes < 0 ? NCCL_INVALID_ARGUMENT : net_isend(comm, data, (size_t)bytes, request);
}

static int send_v9(void *comm, void *data, size_t bytes, int tag, void *mr, void **request)
{
    (void)tag, (void)mr;
    return net_isend(comm, data, bytes, request);
}

static int send_v10(void *comm, void *data, size_t bytes, int tag, void *mr, void *profile,
                    void **request)
{
    (void)profile;
    return send_v9(comm, data, bytes, tag, mr, request);
}

static int recv_v6(void *comm, int n, void **data, int *bytes, int *tags, void **mrs,
                   void **request)
{
    (void)tags, (void)mrs;
    return n != 1 || bytes[0] < 0 ? NCCL_INVALID_ARGUMENT
                                  : net_irecv(comm, data[0], (size_t)bytes[0], request);
}

static int recv_v9(void *comm, int n, void **data, size_t *bytes, int *tags, void **mrs,
                   void **request)
{
    (void)tags, (void)mrs;
    return n != 1 ? NCCL_INVALID_ARGUMENT : net_irecv(comm, data[0], bytes[0], request);
}

static int recv_v10(void *comm, int n, void **data, size_t *bytes, int *tags, void **mrs,
                    void **profile, void **request)
{
    (void)profile;
    return recv_v9(comm, n, data, bytes, tags, mrs, request);
}

static int flush(void *comm, int n, void **data, int *bytes, void **mrs, void **request)
{
    (void)comm, (void)n, (void)data, (void)bytes, (void)mrs;
    *request = NULL;
    return NCCL_SUCCESS;
}

#define ALL                                                                                    \
    .name = COLLNET_NAME, .devices = collnet_devices, .reg_dma_buf = collnet_register_dma_buf, \
    .dereg = collnet_deregister, .flush = flush, .test = net_test, .close_send = net_close,    \
    .close_recv = net_close, .close_listen = net_close_listen

#define TO_V9 .init = init, .listen = net_listen
#define FROM_V11                                                                         \
    .init = init_v11, .listen = listen_v11, .connect = connect_v11, .accept = accept_v7, \
    .reg = collnet_register, .send = send_v10, .recv = recv_v10, .finalize = collnet_finalize
#define IN_INTS .send = send_v6, .recv = recv_v6
#define FROM_V7 .connect = connect_v7, .accept = accept_v7

PLUGIN const struct net_v6 ncclNetPlugin_v6 = {ALL,
                                               TO_V9,
                                               IN_INTS,
                                               .connect = connect_v6,
                                               .accept = net_accept_from,
                                               .reg = register_v6,
                                               .properties = collnet_nic_v6};
PLUGIN const struct net_v7 ncclNetPlugin_v7 = {
    ALL, TO_V9, IN_INTS, FROM_V7, .reg = register_v6, .properties = collnet_nic_v7};
PLUGIN const struct net_v8 ncclNetPlugin_v8 = {
    ALL, TO_V9, IN_INTS, FROM_V7, .reg = collnet_register, .properties = collnet_nic_v8};
PLUGIN const struct net_v9 ncclNetPlugin_v9 = {ALL,
                                               TO_V9,
                                               FROM_V7,
                                               .send = send_v9,
                                               .recv = recv_v9,
                                               .reg = collnet_register,
                                               .properties = collnet_nic_v9};
PLUGIN const struct net_v10 ncclNetPlugin_v10 = {ALL,
                                                 .init = init_v10,
                                                 .listen = net_listen,
                                                 .connect = connect_v10,
                                                 .accept = accept_v7,
                                                 .reg = collnet_register,
                                                 .send = send_v10,
                                                 .recv = recv_v10,
                                                 .properties = collnet_nic_v9};
PLUGIN const struct net_v11 ncclNetPlugin_v11 = {ALL, FROM_V11, .properties = collnet_nic_v11};
PLUGIN const struct net_v12 ncclNetPlugin_v12 = {ALL, FROM_V11, .properties = collnet_nic_v12};
