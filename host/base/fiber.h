/* fiber.h : functions of one thread that hand over to each other, each with a stack of its own. */
#ifndef FIBER_H
#define FIBER_H
#include <stddef.h>
#include <ucontext.h>

/* What a thread is before it has fibers is one, too: all zero, without fiber_init(). */
struct fiber {
    ucontext_t context;
    char *stack; /* [bytes], above a page that ends the process when it is touched */
    size_t bytes;
    void (*run)(void *arg);
    void *arg;
    struct fiber *before; /* who handed over to it last */
    const void *low;      /* for sanitizers: where its stack lies */
    size_t low_bytes;     /* ... */
    void *fake;           /* ... what of it is kept elsewhere */
    unsigned valgrind_stack;
};

/* A fiber that begins with run(arg) when it is first handed over to. run must not return. It takes
 * memory as it uses it: a stack may be long. Returns 0 or -ENOMEM with a line. f: stays where it
 * is. */
int fiber_init(struct fiber *f, size_t stack_bytes, void (*run)(void *arg), void *arg);

/* Gives the stack back, whatever stands on it; not its own. f: filled, or all zero. */
void fiber_fini(struct fiber *f);

/* The caller, which is `from`, stops here, and `to` goes on; until somebody hands over to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
