/* kernel_list.c : hls/card/kernels.def as tables. */
#include "offload/xrt/kernel_list.h"
#include <stddef.h>

enum { USER, HS };      /* KERNEL's control */
enum { VALUE, MEMORY }; /* KERNEL_ARG's kind */

static const struct kernel_about kernels[N_KERNELS] = {
#define KERNEL(NAME, name, base, control, what) {#name, base, control == HS},
#include "hls/card/kernels.def"
};

static const struct kernel_arg args[] = {
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type) \
    {KERNEL_##KERNEL, index, #name, offset, kind == MEMORY, c_type},
#include "hls/card/kernels.def"
};

enum { IN, OUT }; /* KERNEL_STREAM's way */

static const struct kernel_stream streams[] = {
#define KERNEL_STREAM(KERNEL, index, port, way, what) {KERNEL_##KERNEL, index, #port, way == IN},
#include "hls/card/kernels.def"
};

static const struct kernel_bank banks[N_KERNEL_BANKS] = {
#define BANK(NAME, base, kib, what) {#NAME, base, kib},
#include "hls/card/kernels.def"
};

const struct kernel_about *kernel_about(enum kernel k)
{
    return &kernels[k];
}

const struct kernel_arg *kernel_arg(enum kernel k, int index)
{
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (args[i].kernel == k && args[i].index == index)
            return &args[i];
    return NULL;
}

const struct kernel_stream *kernel_stream(enum kernel k, int n)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (streams[i].kernel == k && n-- == 0)
            return &streams[i];
    return NULL;
}

const struct kernel_bank *kernel_bank(int index)
{
    return &banks[index];
}
