/* cast_drive.h : a cast of a whole vector, made of the few loops that an instruction set brings.
 *
 * Those loops know codes of four shapes: two in a byte, a byte, two bytes and four bytes each.
 * Formats of 4, 8, 16 and 32 bits are written as they are; all others go through a small buffer of
 * the next larger shape, and the packers. */
#ifndef CAST_DRIVE_H
#define CAST_DRIVE_H
#include "vec/cast/cast_plan.h"

enum { CAST_STEP = 64 }; /* elements that the loops take at a time */
enum cast_shape { CAST_4, CAST_8, CAST_16, CAST_32 };

/* Stochastic rounding: what is drawn, and what a decision by all 32 bits needs. */
struct cast_draw {
    const struct vec_cast *cast;
    int shift;
};

/* One instruction set's loops. n may be anything; pointers to codes have no alignment; nothing is
 * read or written beyond. They run in IEEE floating-point mode. */
struct cast_loops {
    /* codes = cast(x); returns absmax(x). random: stochastic rounding only, n words and room to
     * read on to a multiple of CAST_STEP. stream: past the caches; codes lies on a multiple of the
     * shape's size. */
    uint32_t (*encode)(const struct enc_plan *p, enum cast_shape shape, const float *x, size_t n,
                       const uint32_t *random, void *codes, bool stream);

    /* Stochastic rounding where the plan says ENC_DRAW, elements at ... of their layer: the upper 16
     * bits of philox_round_u32() first. stream: as above, codes on a multiple of 64. NULL: encode()
     * does it, as ENC_ANY. */
    uint32_t (*draw)(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream);

    /* x = value(codes) * 2^shift / divisor; stream: x past the caches. */
    void (*decode)(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                   float *x, bool stream);

    /* philox.h's blocks (block, half) ... (block + n_blocks - 1, half). */
    void (*random)(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);

    /* Codes of the byte, two-byte or four-byte shape that has room for width, to a bit string and
     * back; unpack may write 8 bytes at a time. */
    void (*pack)(unsigned width, const void *codes, size_t n, uint8_t *bytes);
    void (*unpack)(unsigned width, const uint8_t *bytes, size_t n, void *codes);
};

/* The slots encode, scan_encode and decode of vec.h by an instruction set's loops. */
uint32_t cast_encode(const struct cast_loops *loops, const struct vec_cast *cast, const float *x,
                     size_t n, size_t at, int shift, uint8_t *codes);
void cast_decode(const struct cast_loops *loops, struct mf_fmt fmt, const uint8_t *codes, size_t n,
                 int shift, float divisor, float *x);

#endif
