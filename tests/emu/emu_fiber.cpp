/* emu_fiber.cpp : stacks and the switch between them. */
#include "emu_block.h"
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define EMU_ASAN
#endif
#ifdef EMU_ASAN
#include <sanitizer/common_interface_defs.h>
enum { EMU_STACK = 1 << 18 };
#else
enum { EMU_STACK = 1 << 16 };
#endif
enum { EMU_GUARD = 4096 };

static void emu_fiber_begin(emu_fiber *f, void (*entry)(emu_fiber *))
{
#ifdef EMU_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    entry(f);
    abort();
}

#ifdef __x86_64__
extern "C" void emu_switch_stacks(void **from_sp, void *to_sp);
extern "C" void emu_first_step();
asm(".text\n"
    ".hidden emu_switch_stacks\n"
    ".globl emu_switch_stacks\n"
    ".type emu_switch_stacks, @function\n"
    "emu_switch_stacks:\n"
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp, (%rdi)\n"
    "mov %rsi, %rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
    "ret\n"
    ".size emu_switch_stacks, .-emu_switch_stacks\n"
    ".hidden emu_first_step\n"
    ".globl emu_first_step\n"
    ".type emu_first_step, @function\n"
    "emu_first_step:\n"
    "mov %r12, %rdi\n mov %r13, %rsi\n"
    "call *%r14\n"
    "hlt\n"
    ".size emu_first_step, .-emu_first_step\n");

static void emu_prepare(emu_fiber *f, void (*entry)(emu_fiber *))
{
    void **sp = (void **)(f->stack + EMU_STACK);
    *--sp = nullptr; /* emu_first_step() starts at a multiple of 16 */
    *--sp = nullptr;
    *--sp = (void *)emu_first_step;
    *--sp = nullptr;                 /* rbp */
    *--sp = nullptr;                 /* rbx */
    *--sp = (void *)f;               /* r12 */
    *--sp = (void *)entry;           /* r13 */
    *--sp = (void *)emu_fiber_begin; /* r14 */
    *--sp = nullptr;                 /* r15 */
    f->sp = sp;
}
static void emu_jump(emu_fiber *from, emu_fiber *to)
{
    emu_switch_stacks(&from->sp, to->sp);
}
#else
static void emu_first_step(unsigned f_low, unsigned f_high, unsigned e_low, unsigned e_high)
{
    emu_fiber_begin((emu_fiber *)((uintptr_t)f_high << 32 | f_low),
                    (void (*)(emu_fiber *))((uintptr_t)e_high << 32 | e_low));
}
static void emu_prepare(emu_fiber *f, void (*entry)(emu_fiber *))
{
    ucontext_t *c = new ucontext_t;
    const uint64_t fp = (uint64_t)(uintptr_t)f, ep = (uint64_t)(uintptr_t)entry;
    getcontext(c);
    c->uc_stack.ss_sp = f->stack;
    c->uc_stack.ss_size = EMU_STACK;
    c->uc_link = nullptr;
    makecontext(c, (void (*)())emu_first_step, 4, (unsigned)fp, (unsigned)(fp >> 32), (unsigned)ep,
                (unsigned)(ep >> 32));
    f->sp = c;
}
static void emu_jump(emu_fiber *from, emu_fiber *to)
{
    if (!from->sp)
        from->sp = new ucontext_t;
    swapcontext((ucontext_t *)from->sp, (ucontext_t *)to->sp);
}
#endif

void emu_fiber_make(emu_fiber *f, void (*entry)(emu_fiber *))
{
    void *p = mmap(nullptr, EMU_STACK + EMU_GUARD, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p, EMU_GUARD, PROT_NONE))
        emu_die("no memory for the stack of a thread");
    f->stack = (char *)p + EMU_GUARD;
    f->bytes = EMU_STACK;
    f->fake = nullptr;
    emu_prepare(f, entry);
}

void emu_fiber_self(emu_fiber *f)
{
    *f = {};
#ifdef EMU_ASAN
    pthread_attr_t a;
    void *p;
    if (pthread_getattr_np(pthread_self(), &a) || pthread_attr_getstack(&a, &p, &f->bytes))
        emu_die("a thread does not know its stack");
    pthread_attr_destroy(&a);
    f->stack = (char *)p;
#endif
}

void emu_fiber_free(emu_fiber *f)
{
    munmap(f->stack - EMU_GUARD, EMU_STACK + EMU_GUARD);
}

void emu_fiber_switch(emu_fiber *from, emu_fiber *to)
{
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->bytes);
    emu_jump(from, to);
    __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#else
    emu_jump(from, to);
#endif
}
