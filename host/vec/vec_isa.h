/* vec_isa.h : what each instruction set brings to the CPU's table of operations; inside host/vec
 * and its tests, but for vec_isa_here().
 *
 * A table starts as vec_plain. Every instruction set that the CPU has overwrites, in the order
 * below, the slots that it does better; a slot it leaves alone keeps what the ones before put
 * there. All that they put there gives the same bits as vec_plain. */
#ifndef VEC_ISA_H
#define VEC_ISA_H
#include "vec/vec.h"

#if defined(__x86_64__)
#define VEC_X86 1
#endif

/* avx2: with F16C, FMA, BMI2; avx512: F, BW, CD, DQ, VL; avx512vbmi: VBMI and
 * VNNI, too */
enum vec_isa { VEC_SCALAR, VEC_AVX2, VEC_AVX512, VEC_AVX512VBMI, VEC_ISAS };

/* "scalar", "avx2", "avx512", "avx512vbmi": the words of NARROWCAST_ISA. */
const char *vec_isa_name(enum vec_isa isa);

/* This CPU has it. */
bool vec_isa_here(enum vec_isa isa);

/* Fills *ops (its name too) for an instruction set. Returns false, *ops untouched, where this CPU
 * lacks it. */
bool vec_isa_table(enum vec_isa isa, struct vec_ops *ops);

/* What asks by software for the memory that it will read, with avx512vbmi: chosen for this CPU by what
 * was measured; vec.c. */
enum vec_asks { VEC_ASKS_CASTS = 1, VEC_ASKS_SCANS = 2 };
unsigned vec_isa_asks(void);

/* absmax, encode, scan_encode, decode */
void cast_c_fill(struct vec_ops *ops);
void cast_avx2_fill(struct vec_ops *ops);
void cast_avx512_fill(struct vec_ops *ops);
void cast_avx512vbmi_fill(struct vec_ops *ops);
void cast_avx512_ask(struct vec_ops *ops, unsigned asks); /* enum vec_asks */

/* fold, finish, spill, fold_wide */
void sum_c_fill(struct vec_ops *ops);
void sum_avx2_fill(struct vec_ops *ops);
void sum_avx512_fill(struct vec_ops *ops);
void sum_avx512vbmi_fill(struct vec_ops *ops); /* add, sum */

/* levels, signs, ratio; the scalar ones are vec_plain's */
void levels_avx2_fill(struct vec_ops *ops);
void levels_avx512_fill(struct vec_ops *ops);
void signs_avx2_fill(struct vec_ops *ops);
void signs_avx512_fill(struct vec_ops *ops);
void ratio_avx2_fill(struct vec_ops *ops);
void ratio_avx512_fill(struct vec_ops *ops);

#endif
