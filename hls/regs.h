/* regs.h : the card's registers and counters in C: REG_JOB_COMMIT (byte offset), REG_ID_VALUE,
 * CNT_IN_ADDED (index). hls/regs.def is the list and says what each of them is. */
#ifndef REGS_H
#define REGS_H

enum {
#define REG_CONST(NAME, value, what) REG_##NAME = value,
#define REG(NAME, at, access, what)  REG_##NAME = at,
#define COUNTER(NAME, index, what)   CNT_##NAME = index,
#include "regs.def"
    REG_WINDOW = 0x1000 /* bytes of the registers' address space */
};

#endif
