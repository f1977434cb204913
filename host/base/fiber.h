/* fiber.h : switches between fibers: cooperative threads in one thread, each with its own stack. */
#ifndef FIBER_H
#define FIBER_H
#include <stddef.h>
#include <ucontext.h>

/* A zeroed struct, without fiber_init(), is the thread's original context. */
struct fiber {
    ucontext_t context;
    char *stack; /* [bytes], above a guard page */
    size_t bytes;
    void (*run)(void *arg);
    void *arg;
    struct fiber *before; /* that switched here last */
    /* for sanitizers: bounds of the stack */
    const void *low;
    size_t low_bytes;
    void *fake; /* for AddressSanitizer: the fake stack */
    unsigned valgrind_stack;
};

/* Prepare a fiber that calls run(arg) on the first switch to it. run must not return. Only touched
 * stack uses memory. f must not move. Reports -ENOMEM. */
int fiber_init(struct fiber *f, size_t stack_bytes, void (*run)(void *arg), void *arg);

/* Free the stack of f (initialized or all zero), whatever its state. A fiber must not free its own
 * stack. */
void fiber_fini(struct fiber *f);

/* Suspend `from`, which is running, and continue `to`. Returns when a fiber switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
