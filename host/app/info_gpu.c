/* info_gpu.c : what `narrowcast info` says about the GPU: the library that serves it, the device,
 * and by what codes could travel. */
#include "app/info.h"
#include "comm/comm_node.h"
#include "device/dev_nccl.h"
#include "vec/gpu.h"

static void device(struct info *info)
{
    const struct dev_info *d = gpu_info();
    size_t free_bytes = 0, all_bytes = 0;
    gpu()->run->memory(&free_bytes, &all_bytes);
    info_add(info, "CUDA", "%s, runtime %d.%d, driver for %d.%d", gpu_library_path(),
             d->runtime / 1000, d->runtime % 1000 / 10, d->driver / 1000, d->driver % 1000 / 10);
    info_add(info, "GPU", "%s, number %d of %d, compute capability %d.%d, %d multiprocessors",
             d->name, d->ordinal, gpu()->run->count(), d->major, d->minor, d->n_sms);
    info_add(info, "GPU memory", "%.1f GiB, %.1f free, L2 %.1f MiB",
             (double)d->memory_bytes / (1 << 30), (double)free_bytes / (1 << 30),
             (double)d->l2_bytes / (1 << 20));
    info_add(info, "NCCL", "%s",
             gpu()->nccl->here() ? "in the GPU library" : "not in the GPU library");
}

void info_gpu(struct info *info)
{
    char why[INFO_VALUE] = "";
    if (!gpu_here(why, sizeof why)) {
        info_add(info, "CUDA", "no: %s", why);
    } else if (gpu_open(0) == 0) {
        device(info);
        gpu_close();
    }
    info_add(info, "MPI and GPUs", "%s",
             comm_cuda_aware() ? "takes device memory"
                               : "does not say that it takes device memory");
}
