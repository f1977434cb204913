/* library.cu : defines the library's one symbol. */
#include "device/run/run.cuh"
#include "device/run/dev_nccl.h"
#include "device/nn/dev_nn.h"
#include "device/vec/dev_vec.h"

#ifdef HAVE_NN /* cuDNN and cuBLAS */
#define LAYERS &dev_nn
#else
#define LAYERS NULL
#endif

extern "C" __attribute__((visibility("default"))) const struct dev_library narrowcast_cuda = {
    .version = DEV_VERSION,
    .run = &dev_run,
    .vec = &dev_vec,
    .nn = LAYERS,
    .nccl = &dev_nccl,
};
