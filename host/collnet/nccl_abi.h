/* nccl_abi.h : declares the tables between NCCL and a network plugin, versions 6 to 12.
 *
 *     NCCL     2.18  2.19  2.20-2.23  2.24-2.25  2.26-2.27  2.28-2.29  2.30
 *     asks for v6    v7    v8         v9         v10        v11        v12    first, then older
 *
 * A version consists of two symbols, ncclNetPlugin_vN and ncclCollNetPlugin_vN, each a table of
 * functions. NCCL loads no library without the first table. All functions return an enum
 * nccl_result. NULL entries are unsupported. The names are ours, the layout is NCCL's:
 * src/include/nccl_net.h (2.18 to 2.23), src/include/plugin/net/net_v6.h to net_v12.h, nccl.h. */
#ifndef NCCL_ABI_H
#define NCCL_ABI_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum nccl_result {
    NCCL_SUCCESS = 0,
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INTERNAL_ERROR = 3,
    NCCL_INVALID_ARGUMENT = 4,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6
};
enum nccl_type {
    NCCL_FP16 = 6,
    NCCL_FP32 = 7,
    NCCL_BF16 = 9,
    NCCL_E4M3FN = 10, /* this and the next: from NCCL 2.24 */
    NCCL_E5M2 = 11,
    NCCL_TYPES
};
enum { NCCL_SUM = 0 };
enum { NCCL_HOST = 1, NCCL_CUDA = 2 };                       /* kinds of memory */
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };               /* levels of log lines */
enum { NCCL_ABOUT = 0x1 | 0x10 };                            /* subsystems: init, net */
enum { NCCL_HANDLE_BYTES = 128, NCCL_DEVICES_OF_A_NIC = 8 }; /* 8 in v12, 4 before */

typedef void nccl_log(int level, unsigned long about, const char *file, int line,
                      const char *format, ...);

/* ---- a network interface ---- */

#define NIC_HEAD      \
    char *name, *pci; \
    uint64_t guid;    \
    int pointers /* kinds of memory that it can access */
#define NIC_PORT     \
    int speed, port; \
    float latency;   \
    int max_comms, max_recvs
#define NIC_DEVICE int device_type, device_version
#define NIC_LIMITS(most) \
    struct {             \
        int n, of[most]; \
    } made_of;           \
    size_t most_p2p_bytes, most_coll_bytes

struct nic_v6 {
    NIC_HEAD;
    NIC_PORT;
};
struct nic_v7 {
    NIC_HEAD;
    NIC_PORT;
    NIC_DEVICE;
};
struct nic_v8 {
    NIC_HEAD;
    int reg_is_global;
    NIC_PORT;
    NIC_DEVICE;
};
struct nic_v9 {
    NIC_HEAD;
    int reg_is_global, force_flush;
    NIC_PORT;
    NIC_DEVICE;
    NIC_LIMITS(4);
};
struct nic_v11 {
    NIC_HEAD;
    int reg_is_global, force_flush;
    NIC_PORT;
    NIC_DEVICE;
    NIC_LIMITS(4);
    int most_multi_request;
};
struct nic_v12 {
    NIC_HEAD;
    int reg_is_global, force_flush;
    NIC_PORT;
    NIC_DEVICE;
    NIC_LIMITS(NCCL_DEVICES_OF_A_NIC);
    int most_multi_request;
    int16_t rail, plane; /* -1: none */
};
#define nic_v10 nic_v9
static_assert(sizeof(struct nic_v6) == 48 && sizeof(struct nic_v8) == 64 &&
                  sizeof(struct nic_v9) == 104 && sizeof(struct nic_v12) == 128,
              "NCCL lays them out for 64 bits");

/* ---- the collective network: sums through a card ---- */

typedef int coll_init(nccl_log *log);
typedef int coll_init_v11(void **context, uint64_t comm, nccl_log *log);
typedef int coll_listen(int dev, void *handle, void **listening);
typedef int coll_listen_v11(void *context, int dev, void *handle, void **listening);
typedef int coll_register(void *comm, void *data, int bytes, int kind, void **mr);
typedef int coll_register_v8(void *comm, void *data, size_t bytes, int kind, void **mr);
typedef int coll_allreduce(void *comm, void *send, void *recv, int n, int type, int op,
                           void *send_mr, void *recv_mr, void **request);
typedef int coll_allreduce_v9(void *comm, void *send, void *recv, size_t n, int type, int op,
                              void *send_mr, void *recv_mr, void **request);

#define COLL_TABLE(v, INIT, LISTEN, REGISTER, ALLREDUCE, GATHER, END)                           \
    struct collnet_v##v {                                                                       \
        const char *name;                                                                       \
        INIT *init;                                                                             \
        int (*devices)(int *n);                                                                 \
        int (*properties)(int dev, struct nic_v##v *out);                                       \
        LISTEN *listen;                                                                         \
        int (*connect)(void *handles[], int n_ranks, int rank, void *listening, void **comm);   \
        int (*takes)(int type, int op, int *yes);                                               \
        REGISTER *reg;                                                                          \
        int (*reg_dma_buf)(void *comm, void *data, size_t bytes, int kind, uint64_t at, int fd, \
                           void **mr);                                                          \
        int (*dereg)(void *comm, void *mr);                                                     \
        ALLREDUCE *allreduce;                                                                   \
        GATHER                                                                                  \
        int (*flush)(void *comm, void *data, int bytes, void *mr, void **request);              \
        int (*test)(void *request, int *done, int *bytes);                                      \
        int (*close)(void *comm);                                                               \
        int (*close_listen)(void *listening);                                                   \
        END                                                                                     \
    }
/* Entries that are always NULL here, whatever their arguments. */
#define NO_GATHER  void (*allgather)(void), (*reduce_scatter)(void);
#define NO_VIRTUAL void (*make_virtual)(void);
#define FINALIZE   int (*finalize)(void *context);

COLL_TABLE(6, coll_init, coll_listen, coll_register, coll_allreduce, , );
COLL_TABLE(7, coll_init, coll_listen, coll_register, coll_allreduce, , );
COLL_TABLE(8, coll_init, coll_listen, coll_register_v8, coll_allreduce, NO_GATHER, );
COLL_TABLE(9, coll_init, coll_listen, coll_register_v8, coll_allreduce_v9, NO_GATHER, NO_VIRTUAL);
COLL_TABLE(10, coll_init, coll_listen, coll_register_v8, coll_allreduce_v9, NO_GATHER, NO_VIRTUAL);
COLL_TABLE(11, coll_init_v11, coll_listen_v11, coll_register_v8, coll_allreduce_v9, NO_GATHER,
           NO_VIRTUAL FINALIZE);
COLL_TABLE(12, coll_init_v11, coll_listen_v11, coll_register_v8, coll_allreduce_v9, NO_GATHER,
           NO_VIRTUAL FINALIZE);

#define SLOTS(what, n) static_assert(sizeof(struct what) == (n) * sizeof(void *), "NCCL has " #n)
SLOTS(collnet_v6, 15);
SLOTS(collnet_v7, 15);
SLOTS(collnet_v8, 17);
SLOTS(collnet_v9, 18);
SLOTS(collnet_v10, 18);
SLOTS(collnet_v11, 19);
SLOTS(collnet_v12, 19);

/* ---- the network: messages between ranks ---- */

typedef int net_init(nccl_log *log);
typedef int net_init_v10(nccl_log *log, void *profiler);
typedef int net_init_v11(void **context, uint64_t comm, void *config, nccl_log *log,
                         void *profiler);
typedef int net_connect(int dev, void *handle, void **comm);
typedef int net_connect_v7(int dev, void *handle, void **comm, void **device);
typedef int net_connect_v10(int dev, void *config, void *handle, void **comm, void **device);
typedef int net_connect_v11(void *context, int dev, void *handle, void **comm, void **device);
typedef int net_accept(void *listening, void **comm);
typedef int net_accept_v7(void *listening, void **comm, void **device);
typedef int net_send(void *comm, void *data, int bytes, int tag, void *mr, void **request);
typedef int net_send_v9(void *comm, void *data, size_t bytes, int tag, void *mr, void **request);
typedef int net_send_v10(void *comm, void *data, size_t bytes, int tag, void *mr, void *profile,
                         void **request);
typedef int net_recv(void *comm, int n, void **data, int *bytes, int *tags, void **mrs,
                     void **request);
typedef int net_recv_v9(void *comm, int n, void **data, size_t *bytes, int *tags, void **mrs,
                        void **request);
typedef int net_recv_v10(void *comm, int n, void **data, size_t *bytes, int *tags, void **mrs,
                         void **profile, void **request);

#define NET_TABLE(v, INIT, LISTEN, CONNECT, ACCEPT, REGISTER, SEND, RECV, END)                  \
    struct net_v##v {                                                                           \
        const char *name;                                                                       \
        INIT *init;                                                                             \
        int (*devices)(int *n);                                                                 \
        int (*properties)(int dev, struct nic_v##v *out);                                       \
        LISTEN *listen;                                                                         \
        CONNECT *connect; /* these two never block; *comm is NULL until connected */            \
        ACCEPT *accept;                                                                         \
        REGISTER *reg;                                                                          \
        int (*reg_dma_buf)(void *comm, void *data, size_t bytes, int kind, uint64_t at, int fd, \
                           void **mr);                                                          \
        int (*dereg)(void *comm, void *mr);                                                     \
        SEND *send; /* these two may leave *request NULL: not now */                            \
        RECV *recv;                                                                             \
        int (*flush)(void *comm, int n, void **data, int *bytes, void **mrs, void **request);   \
        int (*test)(void *request, int *done, int *bytes);                                      \
        int (*close_send)(void *comm);                                                          \
        int (*close_recv)(void *comm);                                                          \
        int (*close_listen)(void *listening);                                                   \
        END                                                                                     \
    }
#define NO_DEVICE void (*device_mr)(void), (*recv_consumed)(void);
#define NO_ATTR   void (*set_attr)(void);

NET_TABLE(6, net_init, coll_listen, net_connect, net_accept, coll_register, net_send, net_recv, );
NET_TABLE(7, net_init, coll_listen, net_connect_v7, net_accept_v7, coll_register, net_send,
          net_recv, NO_DEVICE);
NET_TABLE(8, net_init, coll_listen, net_connect_v7, net_accept_v7, coll_register_v8, net_send,
          net_recv, NO_DEVICE);
NET_TABLE(9, net_init, coll_listen, net_connect_v7, net_accept_v7, coll_register_v8, net_send_v9,
          net_recv_v9, NO_DEVICE NO_VIRTUAL);
NET_TABLE(10, net_init_v10, coll_listen, net_connect_v10, net_accept_v7, coll_register_v8,
          net_send_v10, net_recv_v10, NO_DEVICE NO_VIRTUAL);
NET_TABLE(11, net_init_v11, coll_listen_v11, net_connect_v11, net_accept_v7, coll_register_v8,
          net_send_v10, net_recv_v10, NO_DEVICE NO_VIRTUAL FINALIZE NO_ATTR);
NET_TABLE(12, net_init_v11, coll_listen_v11, net_connect_v11, net_accept_v7, coll_register_v8,
          net_send_v10, net_recv_v10, NO_DEVICE NO_VIRTUAL FINALIZE NO_ATTR);

SLOTS(net_v6, 17);
SLOTS(net_v7, 19);
SLOTS(net_v8, 19);
SLOTS(net_v9, 20);
SLOTS(net_v10, 20);
SLOTS(net_v11, 22);
SLOTS(net_v12, 22);

#endif
