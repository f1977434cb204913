/* library.cu : the library's one symbol: its tables. */
#include "device/run.cuh"
#include "device/dev_gemm.h"
#include "device/dev_nccl.h"
#include "device/dev_nn.h"
#include "device/dev_vec.h"

extern "C" __attribute__((visibility("default"))) const struct dev_library narrowcast_cuda = {
    .version = DEV_VERSION,
    .run = &dev_run,
    .vec = &dev_vec,
    .nn = &dev_nn,
    .gemm = &dev_gemm,
    .nccl = &dev_nccl,
};
