/* cast_drive.h : Casts a whole vector with the few loops that an instruction set provides.
 *
 * The loops know codes of four shapes: half a byte, one, two and four bytes. Formats of 4, 8,
 * 16 and 32 bits are written directly. Others pass through a buffer of the next larger shape
 * and the packers. */
#ifndef CAST_DRIVE_H
#define CAST_DRIVE_H
#include "vec/cast/cast_plan.h"

enum { CAST_STEP = 64 }; /* elements per step of the loops */
enum cast_shape { CAST_4, CAST_8, CAST_16, CAST_32 };

/* For ENC_DRAW's decisions by all 32 random bits. */
struct cast_draw {
    const struct vec_cast *cast;
    int shift;
};

/* One instruction set's loops, in IEEE floating-point mode. n is any number, codes need no
 * alignment, and nothing outside the vectors is touched. */
struct cast_loops {
    /* codes = cast(x); returns absmax(x). random: n words, readable up to a multiple of CAST_STEP,
     * for stochastic rounding only. stream: past the caches, for codes aligned to the shape's
     * size. */
    uint32_t (*encode)(const struct enc_plan *p, enum cast_shape shape, const float *x, size_t n,
                       const uint32_t *random, void *codes, bool stream);

    /* ENC_DRAW for elements at ... at + n - 1 of a layer: the upper 16 bits of philox_round_u32()
     * first. stream: as above, codes aligned to 64. NULL: encode() does it, as ENC_ANY. */
    uint32_t (*draw)(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream);

    /* x = value(codes) * 2^shift / divisor. stream: x past the caches. */
    void (*decode)(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                   float *x, bool stream);

    /* words of philox.h's blocks (block, half) ... (block + n_blocks - 1, half) */
    void (*random)(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);

    /* Codes in the smallest shape of 1, 2 or 4 bytes with room for width, to a bit string and back.
     * unpack may write 8 bytes at a time. */
    void (*pack)(unsigned width, const void *codes, size_t n, uint8_t *bytes);
    void (*unpack)(unsigned width, const uint8_t *bytes, size_t n, void *codes);
};

/* The slots encode, scan_encode and decode of vec.h, for an instruction set's loops. */
uint32_t cast_encode(const struct cast_loops *loops, const struct vec_cast *cast, const float *x,
                     size_t n, size_t at, int shift, uint8_t *codes);
void cast_decode(const struct cast_loops *loops, struct mf_fmt fmt, const uint8_t *codes, size_t n,
                 int shift, float divisor, float *x);

#endif
