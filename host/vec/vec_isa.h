/* vec_isa.h : declares the operations that each instruction set adds to the CPU's table.
 *
 * Private to host/vec, except enum vec_isa, vec_isa_name() and vec_isa_here(); tests and benches
 * also choose tables and prefetching. A table starts as a copy of vec_plain; the CPU's instruction
 * sets, in the order of `enum vec_isa`, overwrite the slots that they speed up. */
#ifndef VEC_ISA_H
#define VEC_ISA_H
#include "vec/vec.h"

/* VEC_PLAIN, for quick builds: without instruction sets. */
#if defined(VEC_PLAIN)
#elif defined(__x86_64__)
#define VEC_X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && defined(__AARCH64EL__)
#define VEC_ARM 1
#endif

/* VEC_AVX2 includes F16C, FMA and BMI2. VEC_AVX512 is F, BW, CD, DQ and VL. VEC_AVX512VBMI adds
 * VBMI and VNNI, VEC_AVX512FP16 half arithmetic. Every 64-bit ARM has VEC_NEON. */
enum vec_isa {
    VEC_SCALAR,
    VEC_AVX2,
    VEC_AVX512,
    VEC_AVX512VBMI,
    VEC_AVX512FP16,
    VEC_NEON,
    VEC_ISAS
};

/* Returns the name, as in NARROWCAST_ISA. */
const char *vec_isa_name(enum vec_isa isa);

bool vec_isa_here(enum vec_isa isa);

/* Fills *ops, including its name. Returns false and leaves *ops unchanged if this CPU lacks isa. */
bool vec_isa_table(enum vec_isa isa, struct vec_ops *ops);

/* Loops of AVX-512 that may prefetch by software. vec_isa_prefetches() returns an OR of those that
 * are faster with it on this CPU. */
enum vec_prefetch { VEC_PREFETCH_CASTS = 1, VEC_PREFETCH_SCANS = 2 };
unsigned vec_isa_prefetches(void);

/* Fill the slots of casts that the instructions speed up: some of absmax, encode, scan_encode,
 * scale, encode_scaled, decode_scaled and decode. */
void cast_c_fill(struct vec_ops *ops);
void cast_avx2_fill(struct vec_ops *ops);
void cast_avx512_fill(struct vec_ops *ops);
void cast_avx512vbmi_fill(struct vec_ops *ops);
void cast_neon_fill(struct vec_ops *ops);
/* Choose the loops that prefetch. which: an OR of enum vec_prefetch */
void cast_avx512_prefetch(struct vec_ops *ops, unsigned which);

void sum_c_fill(struct vec_ops *ops);
void sum_avx2_fill(struct vec_ops *ops);
void sum_avx512_fill(struct vec_ops *ops);
void sum_avx512vbmi_fill(struct vec_ops *ops); /* add, sum, sum_to_wide, sum_of_wide */
void sum_avx512fp16_fill(struct vec_ops *ops); /* add and sum */
void sum_neon_fill(struct vec_ops *ops);

/* Fill the slots levels, signs and ratio. The scalar versions are those of vec_plain. */
void levels_avx2_fill(struct vec_ops *ops);
void levels_avx512_fill(struct vec_ops *ops);
void signs_avx2_fill(struct vec_ops *ops);
void signs_avx512_fill(struct vec_ops *ops);
void ratio_avx2_fill(struct vec_ops *ops);
void ratio_avx512_fill(struct vec_ops *ops);

#endif
