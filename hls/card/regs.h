/* regs.h : the card's registers and counters (regs.def) in C. REG_JOB_COMMIT is a byte offset,
 * REG_JOB_COMMIT_START a mask and CNT_IN_ADDED an index. */
#ifndef REGS_H
#define REGS_H

enum {
#define REG_CONST(NAME, value, what)       REG_##NAME = value,
#define REG(NAME, at, access, what)        REG_##NAME = at,
#define REG_BIT(REGISTER, NAME, bit, what) REG_##REGISTER##_##NAME = 1 << bit,
#define COUNTER(NAME, index, what)         CNT_##NAME = index,
#include "regs.def"
    REG_WINDOW = 0x1000 /* bytes of the registers' address space */
};

#endif
