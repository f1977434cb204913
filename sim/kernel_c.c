/* kernel_c.c : implements a kernel's registers (ap_ctrl_hs of Vitis) over its HLS C. */
#include "base/err.h"
#include "sim/kernel_run.h"
#include <stdlib.h>
#include <string.h>

struct c_kernel {
    uint32_t reg[KERNEL_RUN_WORDS]; /* only arguments */
    struct kernel_run run;
    bool runs, done, gie, ier, isr;
};

static int c_open(enum kernel which, const struct card_memory *memory, void **kernel)
{
    struct c_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return ERR(-ENOMEM, "cannot make a kernel: no memory");
    k->run.which = which;
    k->run.memory = memory;
    *kernel = k;
    return 0;
}

static bool is_argument(enum kernel which, uint32_t at)
{
    enum { VALUE = 1, MEMORY };
#define KERNEL_ARG(KERNEL, index, name, offset, kind, c_type)                     \
    if (which == KERNEL_##KERNEL && at >= (offset) && at < (offset) + 4 * (kind)) \
        return true;
#include "hls/card/kernels.def"
    return false;
}

static void ended(struct c_kernel *k)
{
    k->runs = false;
    k->done = true;
    k->isr = k->isr || k->ier;
}

static int c_write(void *kernel, uint32_t at, uint32_t value)
{
    struct c_kernel *k = kernel;
    if (at == KERNEL_CTRL && value & 1 && !k->runs) {
        memcpy(k->run.reg, k->reg, sizeof k->reg);
        k->runs = true;
        if (!kernel_run_start(&k->run))
            ended(k);
    } else if (at == KERNEL_GIE) {
        k->gie = value & 1;
    } else if (at == KERNEL_IER) {
        k->ier = value & 1;
    } else if (at == KERNEL_ISR) {
        k->isr = k->isr && !(value & 1);
    } else if (is_argument(k->run.which, at)) {
        k->reg[at / 4] = value;
    }
    return 0;
}

static int c_read(void *kernel, uint32_t at, uint32_t *value)
{
    struct c_kernel *k = kernel;
    *value = 0;
    if (at == KERNEL_CTRL) {
        *value = k->runs ? KERNEL_CTRL_START : KERNEL_CTRL_IDLE;
        *value |= k->done ? KERNEL_CTRL_DONE | KERNEL_CTRL_READY : 0;
        k->done = false;
    } else if (at == KERNEL_GIE) {
        *value = k->gie;
    } else if (at == KERNEL_IER) {
        *value = k->ier;
    } else if (at == KERNEL_ISR) {
        *value = k->isr;
    } else if (at == KERNEL_STATUS && k->run.which == KERNEL_REDUCE_MM) {
        *value = k->run.status;
    } else if (is_argument(k->run.which, at)) {
        *value = k->reg[at / 4];
    }
    return 0;
}

static bool c_step(void *kernel)
{
    struct c_kernel *k = kernel;
    if (k->runs && !kernel_run_step(&k->run))
        ended(k);
    return k->runs;
}

const struct kernel_ops kernel_c = {
    .open = c_open, .close = free, .write = c_write, .read = c_read, .step = c_step};
