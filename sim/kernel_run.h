/* kernel_run.h : runs an HLS kernel over card memory in pieces. The results equal those of a
 * single call. */
#ifndef KERNEL_RUN_H
#define KERNEL_RUN_H
#include "sim/kernel_port.h"

enum { KERNEL_RUN_WORDS = 0x80 / 4 }; /* up to the last argument and STATUS */

struct kernel_run {
    enum kernel which; /* except NIC_CORE */
    const struct card_memory *memory;
    uint32_t reg[KERNEL_RUN_WORDS]; /* values at the start */
    uint32_t at, absmax;            /* at: beats or values done; absmax: largest so far */
    uint32_t status;                /* only REDUCE_MM */
};

/* Returns 0, or the status with which a run must end at once: KERNEL_NO_MEMORY, or refused as in
 * hls/. */
uint32_t kernel_run_check(const struct kernel_run *run);

/* Start and continue a run. Return true if there is more to do; else status and written memory are
 * complete. */
bool kernel_run_start(struct kernel_run *run);
bool kernel_run_step(struct kernel_run *run);

#endif
