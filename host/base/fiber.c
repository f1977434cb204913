/* fiber.c : implements fibers with ucontext and the stack annotations of sanitizers and
 * valgrind. */
#include "base/fiber.h"
#include "base/err.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id)      (void)(id)
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

static void before_switch(struct fiber *from, const struct fiber *to)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake, to->low, to->low_bytes);
#else
    (void)from, (void)to;
#endif
}

/* The first switch away from a fiber reveals its stack's bounds. */
static void after_switch(struct fiber *to)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(to->fake, &to->before->low, &to->before->low_bytes);
#else
    (void)to;
#endif
}

/* makecontext() passes only ints */
static void enter(unsigned high, unsigned low)
{
    struct fiber *f = (struct fiber *)((uintptr_t)high << 16 << 16 | low);
    after_switch(f);
    f->run(f->arg);
    abort(); /* run must not return */
}

int fiber_init(struct fiber *f, size_t stack_bytes, void (*run)(void *arg), void *arg)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 bytes = (stack_bytes + page - 1) / page * page;
    char *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) < 0) {
        if (memory != MAP_FAILED)
            munmap(memory, page + bytes);
        return ERR(-ENOMEM, "cannot allocate a stack of %zu bytes: out of memory", stack_bytes);
    }
    *f = (struct fiber){.stack = memory + page, .bytes = bytes, .run = run, .arg = arg};
    f->low = f->stack;
    f->low_bytes = bytes;
    f->valgrind_stack = VALGRIND_STACK_REGISTER(f->stack, f->stack + bytes - 1);
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = bytes;
    makecontext(&f->context, (void (*)(void))enter, 2, (unsigned)((uintptr_t)f >> 16 >> 16),
                (unsigned)(uintptr_t)f);
    return 0;
}

void fiber_fini(struct fiber *f)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!f->stack)
        return;
    VALGRIND_STACK_DEREGISTER(f->valgrind_stack);
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(f->stack, f->bytes); /* the memory may be reused */
#endif
    munmap(f->stack - page, page + f->bytes);
    f->stack = NULL;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    to->before = from;
    before_switch(from, to);
    swapcontext(&from->context, &to->context);
    after_switch(from);
}
