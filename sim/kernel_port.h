/* kernel_port.h : a kernel of the card that works on card memory, as the bus sees it: registers as
 * Vitis lays them out (ap_ctrl_hs; hls/card/mm_regs.def, hls/card/kernels.def), and a run that goes on piece
 * by piece. Behind it: kernel_c, the HLS C; mm_rtl, the Verilated reduce_mm.
 *
 * A run whose buffers are not all in card memory writes nothing but its status, KERNEL_NO_MEMORY,
 * where there is one to write it to; one that the kernel itself refuses says so as in hls/. Both are
 * done at once. */
#ifndef KERNEL_PORT_H
#define KERNEL_PORT_H
#include "hls/card/kernels.h"
#include "sim/bank.h"
#include <stdbool.h>

#define KERNEL_NO_MEMORY (1u << 31)

enum {
#define MM_REG(NAME, at, access, what) MM_##NAME = at,
#include "hls/card/mm_regs.def"
    MM_CTRL_START = 1 << 0,
    MM_CTRL_DONE = 1 << 1,
    MM_CTRL_IDLE = 1 << 2,
    MM_CTRL_READY = 1 << 3
};

struct kernel_ops {
    /* After reset. The bank stays the caller's. Returns 0 or a negative errno with a line. */
    int (*open)(enum kernel which, const struct bank *bank, void **kernel);
    void (*close)(void *kernel);

    /* A register of the kernel's first 4 KiB; every multiple of 4 answers. 0, or -EIO with a line:
     * the kernel does not answer. */
    int (*write)(void *kernel, uint32_t at, uint32_t value);
    int (*read)(void *kernel, uint32_t at, uint32_t *value);

    /* A piece of the run, some milliseconds at most. True while there is more to do. */
    bool (*step)(void *kernel);
};

extern const struct kernel_ops kernel_c, mm_rtl;

/* How a run of reduce_mm would end at once: 0: it runs; REDUCE_REFUSED, KERNEL_NO_MEMORY. */
struct mm_run {
    uint64_t in, out;
    uint32_t parts, stride, beats, fmt, out_fmt, out_shift, saturate;
};
uint32_t mm_check(const struct bank *bank, const struct mm_run *run);

#endif
