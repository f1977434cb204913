/* collnet_tables.c : fills NCCL's collective network tables, one for each version. NCCL itself
 * executes operations that are NULL (all-gather, reduce-scatter). */
#include "collnet/collnet.h"

#define PLUGIN __attribute__((visibility("default")))

static int init(nccl_log *log)
{
    collnet_begin(log);
    return NCCL_SUCCESS;
}

static int init_v11(void **context, uint64_t comm, nccl_log *log)
{
    (void)comm;
    *context = NULL;
    return init(log);
}

static int listen_v11(void *context, int dev, void *handle, void **listening)
{
    (void)context;
    return collnet_listen(dev, handle, listening);
}

static int register_v6(void *comm, void *data, int bytes, int kind, void **mr)
{
    return collnet_register(comm, data, (size_t)bytes, kind, mr);
}

static int allreduce(void *comm, void *send, void *recv, size_t n, int type, int op, void *send_mr,
                     void *recv_mr, void **request)
{
    (void)send_mr, (void)recv_mr;
    return collnet_allreduce(comm, send, recv, n, type, op, request);
}

static int allreduce_v6(void *comm, void *send, void *recv, int n, int type, int op, void *send_mr,
                        void *recv_mr, void **request)
{
    return n > 0 ? allreduce(comm, send, recv, (size_t)n, type, op, send_mr, recv_mr, request)
                 : NCCL_INVALID_ARGUMENT;
}

/* The CPU has written the sums, so nothing needs a flush. */
static int flush(void *comm, void *data, int bytes, void *mr, void **request)
{
    (void)comm, (void)data, (void)bytes, (void)mr;
    *request = NULL;
    return NCCL_SUCCESS;
}

#define ALL                                                                                       \
    .name = COLLNET_NAME, .devices = collnet_devices, .connect = collnet_connect,                 \
    .takes = collnet_takes, .reg_dma_buf = collnet_register_dma_buf, .dereg = collnet_deregister, \
    .flush = flush, .test = collnet_test, .close = collnet_close,                                 \
    .close_listen = collnet_close_listen

#define TO_V10   .init = init, .listen = collnet_listen
#define FROM_V11 .init = init_v11, .listen = listen_v11, .finalize = collnet_finalize
#define IN_INTS  .reg = register_v6, .allreduce = allreduce_v6
#define IN_SIZES .reg = collnet_register, .allreduce = allreduce

PLUGIN const struct collnet_v6 ncclCollNetPlugin_v6 = {ALL, TO_V10, IN_INTS,
                                                       .properties = collnet_nic_v6};
PLUGIN const struct collnet_v7 ncclCollNetPlugin_v7 = {ALL, TO_V10, IN_INTS,
                                                       .properties = collnet_nic_v7};
PLUGIN const struct collnet_v8 ncclCollNetPlugin_v8 = {
    ALL, TO_V10, .reg = collnet_register, .allreduce = allreduce_v6, .properties = collnet_nic_v8};
PLUGIN const struct collnet_v9 ncclCollNetPlugin_v9 = {ALL, TO_V10, IN_SIZES,
                                                       .properties = collnet_nic_v9};
PLUGIN const struct collnet_v10 ncclCollNetPlugin_v10 = {ALL, TO_V10, IN_SIZES,
                                                         .properties = collnet_nic_v9};
PLUGIN const struct collnet_v11 ncclCollNetPlugin_v11 = {ALL, FROM_V11, IN_SIZES,
                                                         .properties = collnet_nic_v11};
PLUGIN const struct collnet_v12 ncclCollNetPlugin_v12 = {ALL, FROM_V11, IN_SIZES,
                                                         .properties = collnet_nic_v12};
