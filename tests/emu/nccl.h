/* nccl.h : replaces NCCL's header for processes of one machine. Like NCCL, accepts only device
 * memory and one rank per GPU. Non-blocking communicators return "in progress" until all ranks are
 * there; a dead peer is an asynchronous error. */
#ifndef EMU_NCCL_H
#define EMU_NCCL_H
#include <cuda_runtime.h>

#define NCCL_VERSION_CODE 22809
enum { NCCL_UNIQUE_ID_BYTES = 128 };

typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;
typedef struct {
    int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER \
    {                           \
        1                       \
    }

typedef enum {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress
} ncclResult_t;
typedef enum { ncclSum } ncclRedOp_t;
typedef enum {
    ncclUint8 = 1,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11
} ncclDataType_t;

const char *ncclGetErrorString(ncclResult_t rc);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void *p, size_t n, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t s);
ncclResult_t ncclRecv(void *p, size_t n, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t s);
ncclResult_t ncclAllReduce(const void *in, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t s);

#endif
