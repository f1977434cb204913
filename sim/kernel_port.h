/* kernel_port.h : declares the interface between the bus and a kernel on card memory. The kernel
 * has Vitis registers (ap_ctrl_hs; hls/card/kernels.def) and runs in pieces.
 *
 * A run with buffers outside card memory ends at once. It writes only its status KERNEL_NO_MEMORY,
 * if the place of the status is in memory. A refused run ends at once with a status as in hls/. */
#ifndef KERNEL_PORT_H
#define KERNEL_PORT_H
#include "hls/card/kernels.h"
#include "sim/card_memory.h"
#include <stdbool.h>

#define KERNEL_NO_MEMORY (1u << 31)

enum {
    KERNEL_CTRL_START = 1 << 0,
    KERNEL_CTRL_DONE = 1 << 1,
    KERNEL_CTRL_IDLE = 1 << 2,
    KERNEL_CTRL_READY = 1 << 3
};

struct kernel_ops {
    /* Makes a kernel as after reset. The caller keeps the memory. Returns 0, or a negative errno
     * after reporting. */
    int (*open)(enum kernel which, const struct card_memory *memory, void **kernel);
    void (*close)(void *kernel);

    /* Access a register in the first 4 KiB, where all multiples of 4 exist. Return 0, or -EIO after
     * reporting a kernel that does not answer. */
    int (*write)(void *kernel, uint32_t at, uint32_t value);
    int (*read)(void *kernel, uint32_t at, uint32_t *value);

    /* Runs for some milliseconds at most. Returns true if there is more to do. */
    bool (*step)(void *kernel);
};

extern const struct kernel_ops kernel_c, mm_rtl;

/* The arguments of reduce_mm. */
struct mm_run {
    uint64_t in, out;
    uint32_t parts, stride, beats, fmt, out_fmt, out_shift, saturate;
};

#endif
