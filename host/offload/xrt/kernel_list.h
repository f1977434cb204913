/* kernel_list.h : provides hls/card/kernels.def as tables. */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H
#include "hls/card/kernels.h"
#include <stdbool.h>
#include <stdint.h>

struct kernel_about {
    const char *name;
    uint64_t base;
    bool starts; /* has runs, not only registers */
};
const struct kernel_about *kernel_about(enum kernel k);

struct kernel_arg {
    enum kernel kernel;
    int index;
    const char *name;
    uint32_t offset;
    bool memory; /* an address of 8 bytes, else a value of 4 */
    const char *c_type;
};
/* Returns NULL after the last argument. */
const struct kernel_arg *kernel_arg(enum kernel k, int index);

struct kernel_stream {
    enum kernel kernel;
    int index; /* streams are numbered after the arguments */
    const char *port;
    bool in;
};
/* Returns the nth stream, or NULL after the last. */
const struct kernel_stream *kernel_stream(enum kernel k, int n);

struct kernel_bank {
    const char *tag;
    uint64_t base, kib;
};
enum {
#define BANK(NAME, base, kib, what) KERNEL_BANK_##NAME,
#include "hls/card/kernels.def"
    N_KERNEL_BANKS
};
const struct kernel_bank *kernel_bank(int index);

#endif
