/* kernels.h : the kernels of a card (kernels.def, shell.def) in C. KERNEL_REDUCE_MM is an index in
 * the list, KERNEL_REDUCE_MM_BASE a base address. KERNEL_CTRL is the offset of a register of every
 * kernel that is started, and SHELL_IP of one of the shell. */
#ifndef KERNELS_H
#define KERNELS_H

enum kernel {
#define KERNEL(NAME, name, base, control, what) KERNEL_##NAME,
#include "kernels.def"
    N_KERNELS
};

enum {
#define KERNEL(NAME, name, base, control, what) KERNEL_##NAME##_BASE = base,
#include "kernels.def"
    KERNEL_WINDOW = 0x10000,
    KERNEL_MAX_ARGS = 9
};

enum {
#define KERNEL_REG(NAME, at, access, what) KERNEL_##NAME = at,
#include "kernels.def"
};

enum {
#define SHELL_REG(NAME, at, access, what) SHELL_##NAME = at,
#include "shell.def"
};

#endif
