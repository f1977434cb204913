/* cast_x86.h : declares the x86 loops for the slots of cast_drive.h. */
#ifndef CAST_X86_H
#define CAST_X86_H
#include "vec/cast/cast_step.h"
#include "vec/vec_isa.h"

#ifdef VEC_X86
#include <immintrin.h>
#include <string.h>

void pack_bmi2_write(unsigned width, const void *codes, size_t n, uint8_t *bytes);
void pack_bmi2_read(unsigned width, const uint8_t *bytes, size_t n, void *codes);

uint32_t draw_avx2(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                   const float *x, size_t n, uint64_t at, void *codes, bool stream);
void philox_avx2(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);
void uncast_avx2(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                 float *x, bool stream);

/* x = value(codes) * by[i / 8], for codes of 4 or 8 bits. n: a multiple of 32. */
void uncast_scaled_avx2(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                        size_t n, const float *by, float *x);

uint32_t draw_avx512(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream);
void philox_avx512(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);
void uncast_avx512(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                   float *x, bool stream);

/* as uncast_scaled_avx2(); n: a multiple of 64 */
void uncast_scaled_avx512(const struct dec_plan *p, enum cast_shape shape, const uint8_t *codes,
                          size_t n, const float *by, float *x);

#endif
#endif
