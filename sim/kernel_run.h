/* kernel_run.h : a run of an HLS kernel over card memory, piece by piece: the C of hls/ called for some
 * beats at a time, with the bits of one call for all of them. */
#ifndef KERNEL_RUN_H
#define KERNEL_RUN_H
#include "sim/kernel_port.h"

enum { KERNEL_RUN_WORDS = 0x80 / 4 }; /* of registers, the last argument's and STATUS among them */

struct kernel_run {
    enum kernel which; /* any but NIC_CORE */
    const struct bank *bank;
    uint32_t reg[KERNEL_RUN_WORDS]; /* what the registers held when it started */
    uint32_t at, absmax;            /* beats or values that are done; the largest of them */
    uint32_t status;                /* of REDUCE_MM */
};

/* Both return true while there is more to do. status and what a kernel writes to memory are there
 * when they return false. */
bool kernel_run_start(struct kernel_run *run);
bool kernel_run_step(struct kernel_run *run);

#endif
