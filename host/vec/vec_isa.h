/* vec_isa.h : Lists what each instruction set adds to the CPU's table of operations.
 *
 * Private to host/vec and its tests, except vec_isa_here(). A table starts as vec_plain. Then each
 * instruction set of the CPU, in the order of `enum vec_isa`, overwrites the slots that it speeds
 * up. All versions of a slot give the bits of vec_plain. */
#ifndef VEC_ISA_H
#define VEC_ISA_H
#include "vec/vec.h"

#if defined(__x86_64__)
#define VEC_X86 1
#endif

/* avx2: with F16C, FMA, BMI2. avx512: F, BW, CD, DQ, VL. avx512vbmi: also VBMI and VNNI. */
enum vec_isa { VEC_SCALAR, VEC_AVX2, VEC_AVX512, VEC_AVX512VBMI, VEC_ISAS };

/* the values of NARROWCAST_ISA */
const char *vec_isa_name(enum vec_isa isa);

/* Does this CPU have it? */
bool vec_isa_here(enum vec_isa isa);

/* Fills *ops, including its name. Returns false, with *ops untouched, where this CPU lacks isa. */
bool vec_isa_table(enum vec_isa isa, struct vec_ops *ops);

/* Which loops of avx512vbmi prefetch by software, as measured for the CPU's family (vec.c). */
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

/* levels, signs, ratio; the scalar ones are those of vec_plain */
void levels_avx2_fill(struct vec_ops *ops);
void levels_avx512_fill(struct vec_ops *ops);
void signs_avx2_fill(struct vec_ops *ops);
void signs_avx512_fill(struct vec_ops *ops);
void ratio_avx2_fill(struct vec_ops *ops);
void ratio_avx512_fill(struct vec_ops *ops);

#endif
