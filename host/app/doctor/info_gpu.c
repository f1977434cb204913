/* info_gpu.c : adds facts of the GPU and its libraries. */
#include "app/doctor/info.h"
#include "comm/comm.h"
#include "device/nn/dev_nn.h"
#include "vec/gpu/gpu.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* ask: a function of NVIDIA's library `file`, passed to version(). */
static void library(struct info *info, const char *name, const char *file, const char *ask,
                    void (*version)(void *ask, char *text, size_t size))
{
    struct link_map *l = NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    if (self && dlinfo(self, RTLD_DI_LINKMAP, &l))
        l = NULL;
    while (l && !strstr(l->l_name, file))
        l = l->l_next;
    void *handle = l ? dlopen(l->l_name, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *function = handle ? dlsym(handle, ask) : NULL;
    char text[32] = "of an unknown version";
    if (function)
        version(function, text, sizeof text);
    if (l)
        info_add(info, name, "%s, %s", text, l->l_name);
    else
        info_add(info, name, "not in the GPU library");
}

static void version_cublas(void *ask, char *text, size_t size)
{
    int part[3] = {0};
    for (int i = 0; i < 3; i++)
        ((int (*)(int, int *))ask)(i, &part[i]);
    snprintf(text, size, "%d.%d.%d", part[0], part[1], part[2]);
}

static void version_cudnn(void *ask, char *text, size_t size)
{
    const size_t n = ((size_t(*)(void))ask)();
    snprintf(text, size, "%zu.%zu.%zu", n / 10000, n / 100 % 100, n % 100);
}

static void version_nccl(void *ask, char *text, size_t size)
{
    int n = 0;
    ((int (*)(int *))ask)(&n);
    snprintf(text, size, "%d.%d.%d", n / 10000, n / 100 % 100, n % 100);
}

static void device(struct info *info)
{
    const struct dev_info *d = gpu_info();
    size_t free_bytes = 0, all_bytes = 0;
    gpu()->run->memory(&free_bytes, &all_bytes);
    info_add(info, "CUDA", "%s, runtime %d.%d, driver for %d.%d", gpu_library_path(),
             d->runtime / 1000, d->runtime % 1000 / 10, d->driver / 1000, d->driver % 1000 / 10);
    info_add(info, "GPU", "%s, number %d of %d, compute capability %d.%d, %d multiprocessors",
             d->name, d->ordinal, gpu()->run->count(), d->major, d->minor, d->n_sms);
    if (d->jit)
        info_add(info, "GPU code", "compiled on loading: make GPU_ARCHS=sm_%d%d has machine code",
                 d->major, d->minor);
    info_add(info, "MPS", "%s", d->mps ? "on" : "off: ranks that share a GPU take turns on it");
    info_add(info, "GPU memory", "%.1f GiB, %.1f free, L2 %.1f MiB",
             (double)d->memory_bytes / (1 << 30), (double)free_bytes / (1 << 30),
             (double)d->l2_bytes / (1 << 20));
    library(info, "cuBLAS", "/libcublas.so", "cublasGetProperty", version_cublas);
    library(info, "cuDNN", "/libcudnn.so", "cudnnGetVersion", version_cudnn);
    library(info, "NCCL", "/libnccl.so", "ncclGetVersion", version_nccl);
}

/* Lists the kinds of math for which cuDNN has no engine, or cannot add to an existing dx within a
 * convolution. */
static void additions(struct info *info)
{
    const struct nn_window g = {{8, 8, 8}, {8, 8, 8}, 3, 1, 1, 1, 0, 1};
    char apart[64] = "", none[64] = "";
    struct dev_stream *s = NULL;
    if (!gpu()->nn || gpu()->run->stream_open(false, &s) < 0)
        return;
    gpu_quiet(true);
    for (int math = NN_FP32; math <= NN_FP16_PURE; math++) {
        struct dev_nn *d = NULL;
        size_t bytes;
        const bool plans = gpu()->nn->open((enum nn_math)math, s, &d) == 0 &&
                           gpu()->nn->conv_plan(d, &g, true, true, 2, &bytes) == 0;
        char *to = !plans ? none : gpu()->nn->conv_apart(d) ? apart : NULL;
        if (to)
            snprintf(to + strlen(to), sizeof apart - strlen(to), " %s",
                     nn_math_word((enum nn_math)math));
        gpu()->nn->close(d);
    }
    gpu_quiet(false);
    gpu()->run->stream_close(s);
    info_add(info, "dx += of cuDNN", "%s%s%s%s",
             *apart  ? "made apart, then added:"
             : *none ? ""
                     : "all",
             apart, *none ? *apart ? "; no engine:" : "no engine:" : "", none);
}

void info_gpu(struct info *info)
{
    char why[INFO_VALUE] = "";
    if (!gpu_here(false, why, sizeof why)) {
        info_add(info, "CUDA", "no: %s", why);
    } else if (gpu_open(0) == 0) {
        device(info);
        additions(info);
        gpu_close();
    }
    info_add(info, "MPI and GPUs", "%s",
             comm_cuda_aware() ? "takes device memory"
                               : "does not say that it takes device memory");
}
