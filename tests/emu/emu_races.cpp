/* emu_races.cpp : with EMU_RACES, finds races between a kernel's threads. The compiler calls these
 * functions, those of -fsanitize=thread, at each access of a kernel to memory.
 *
 * Two accesses to a byte, at least one of them a write and not both atomic, race if they are of
 *     two blocks of a launch, in global memory
 *     two threads of a block, without a barrier of the block between them or, within a warp, an
 *     operation of the warp */
#ifdef EMU_RACES
#include "emu_block.h"
#include <dlfcn.h>
#include <mutex>
#include <unordered_map>

struct emu_side {
    uint32_t launch, block, barriers, warp;
    int thread;
    bool set, atomic;
    const char *code; /* address of the instruction */
};
struct emu_cell {
    emu_side read, write; /* the last ones */
};
enum { EMU_CELLS = 4096 };

static std::mutex &lock = *new std::mutex;
static std::unordered_map<uintptr_t, emu_cell *> &pages =
    *new std::unordered_map<uintptr_t, emu_cell *>;

static bool emu_apart(const emu_side &was, const emu_side &now, bool is_shared)
{
    if (!was.set || was.launch != now.launch || (was.atomic && now.atomic))
        return false;
    if (was.block != now.block)
        return !is_shared; /* blocks take turns in the same shared memory */
    return was.thread != now.thread && was.barriers == now.barriers &&
           (was.thread / 32 != now.thread / 32 || was.warp == now.warp);
}

[[noreturn]] static void emu_race(const emu_block *b, const emu_side &was, const emu_side &now,
                                  const char *what, bool is_shared)
{
    Dl_info in = {};
    (void)dladdr(now.code, &in);
    const char *base = (const char *)in.dli_fbase;
    emu_die("%s: race in %s memory: thread %d of block %u %s thread %d of block %u: addr2line -e "
            "%s %#zx %#zx",
            b->name, is_shared ? "shared" : "global", now.thread, now.block, what, was.thread,
            was.block, in.dli_fname ? in.dli_fname : "?", (size_t)(was.code - base),
            (size_t)(now.code - base));
}

static void emu_access(const volatile void *p, size_t n, bool writes, bool atomic, void *code)
{
    emu_block *b = emu_now.runs;
    const char *a = (const char *)p;
    if (!b || !b->running || (a >= (char *)&emu_now && a < (char *)(&emu_now + 1)) ||
        (a >= b->running->stack && a < b->running->stack + b->running->bytes))
        return;
    const bool is_shared = (a >= emu_now.statics && a < emu_now.statics + emu_now.statics_bytes) ||
                           (a >= b->shared.data() && a < b->shared.data() + b->shared.size());
    const int thread = b->running->thread;
    const emu_side now = {b->launch, b->number, b->n_barriers, b->n_warp[thread / 32],
                          thread,    true,      atomic,        (const char *)code - 1};
    std::lock_guard<std::mutex> hold(lock);
    for (size_t i = 0; i < n; i++) {
        const uintptr_t at = (uintptr_t)(a + i);
        emu_cell *&page = pages[at / EMU_CELLS];
        if (!page)
            page = (emu_cell *)calloc(EMU_CELLS, sizeof *page);
        emu_cell &c = page[at % EMU_CELLS];
        if (emu_apart(c.write, now, is_shared))
            emu_race(b, c.write, now,
                     writes ? "writes after a write of" : "reads what was written by", is_shared);
        if (writes && emu_apart(c.read, now, is_shared))
            emu_race(b, c.read, now, "overwrites what was read by", is_shared);
        (writes ? c.write : c.read) = now;
    }
}

#define CODE __builtin_return_address(0)
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void __tsan_read_range(void *p, long n)
{
    emu_access(p, (size_t)n, false, false, CODE);
}
void __tsan_write_range(void *p, long n)
{
    emu_access(p, (size_t)n, true, false, CODE);
}
#define EMU_PLAIN(n, word, atomic)             \
    void __tsan_##word##read##n(void *p)       \
    {                                          \
        emu_access(p, n, false, atomic, CODE); \
    }                                          \
    void __tsan_##word##write##n(void *p)      \
    {                                          \
        emu_access(p, n, true, atomic, CODE);  \
    }
#define EMU_SIZE(n)                 \
    EMU_PLAIN(n, , false)           \
    EMU_PLAIN(n, unaligned_, false) \
    EMU_PLAIN(n, volatile_, true)   \
    EMU_PLAIN(n, unaligned_volatile_, true)
EMU_SIZE(1)
EMU_SIZE(2)
EMU_SIZE(4)
EMU_SIZE(8)
EMU_SIZE(16)
#define EMU_ATOMICS(bits, T)                                                                       \
    T __tsan_atomic##bits##_load(const volatile T *p, int)                                         \
    {                                                                                              \
        emu_access(p, sizeof *p, false, true, CODE);                                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile T *p, T x, int)                                      \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        __atomic_store_n(p, x, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    T __tsan_atomic##bits##_exchange(volatile T *p, T x, int)                                      \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_add(volatile T *p, T x, int)                                     \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST);                                         \
    }                                                                                              \
    T __tsan_atomic##bits##_fetch_sub(volatile T *p, T x, int)                                     \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        return __atomic_fetch_sub(p, x, __ATOMIC_SEQ_CST);                                         \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T *p, T *want, T x, int, int)       \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        return __atomic_compare_exchange_n(p, want, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T *p, T *want, T x, int, int)         \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        return __atomic_compare_exchange_n(p, want, x, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
    }                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *p, T want, T x, int, int)             \
    {                                                                                              \
        emu_access(p, sizeof *p, true, true, CODE);                                                \
        __atomic_compare_exchange_n(p, &want, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return want;                                                                               \
    }
EMU_ATOMICS(8, uint8_t)
EMU_ATOMICS(16, uint16_t)
EMU_ATOMICS(32, uint32_t)
EMU_ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}
}
#endif
