/* emu_block.h : declares a running block. Each thread has its own fiber after its first barrier. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H
#include "emu.h"
#include "emu_threads.h"
#include <vector>

struct emu_fiber {
    void *sp;
    char *stack;
    size_t bytes;
    int thread;
    void *fake; /* AddressSanitizer's */
};
void emu_fiber_make(emu_fiber *f, void (*entry)(emu_fiber *)); /* entry never returns */
/* f becomes the calling OS thread's own stack. */
void emu_fiber_self(emu_fiber *f);
void emu_fiber_free(emu_fiber *f);
/* Returns when `to` switches back. */
void emu_fiber_switch(emu_fiber *from, emu_fiber *to);

enum emu_state { EMU_NEW, EMU_READY, EMU_AT_BLOCK, EMU_AT_WARP, EMU_DONE };
struct emu_member {
    emu_state state;
    emu_fiber *fiber;
    uint3 place;    /* threadIdx */
    emu_warp_op op; /* operation that its warp awaits */
    unsigned mask;
    uint64_t value, result;
    int from;
};

/* Where a kernel has been seen to write in static shared memory: bytes from..to */
struct emu_written {
    size_t from, to;
    uint32_t n_blocks;
};

struct emu_block {
    const char *name;
    emu_written written;
    const std::function<void()> *body;
    int n, n_done, n_at, n_started;
    /* for emu_races.cpp: the launch, the block in it, barriers and each warp's operations so far */
    uint32_t launch, number, n_barriers, n_warp[32];
    unsigned sum, result;
    const char *file;
    int line;
    emu_state kind;
    emu_fiber scheduler, *running;
    std::vector<emu_member> lanes;
    std::vector<emu_fiber *> idle;
    std::vector<char> shared;
};
void emu_block_run(emu_block *b); /* set emu_now.block, block_dim, grid_dim first */

#endif
