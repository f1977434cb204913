/* cast_drive.h : casts a whole vector with the few loops that an instruction set provides.
 *
 * Loops write and read codes of half a byte, one, two and four bytes. Others pass through a buffer
 * of the next larger shape and the packers. */
#ifndef CAST_DRIVE_H
#define CAST_DRIVE_H
#include "vec/cast/cast_plan.h"

enum { CAST_STEP = 64 }; /* elements per step of the loops */
enum cast_shape { CAST_4, CAST_8, CAST_16, CAST_32 };

/* mf_enc()'s arguments where ENC_DRAW needs all 32 random bits */
struct cast_draw {
    const struct vec_cast *cast;
    int shift;
};

/* One instruction set's loops. The caller sets IEEE floating-point mode. n may be any number; codes
 * need no alignment; nothing outside the vectors is accessed. */
struct cast_loops {
    /* codes = cast(x). Returns absmax(x). random: for stochastic rounding only: n words, readable
     * up to a multiple of CAST_STEP. stream: the codes bypass the caches; aligned to the size of
     * their shape. */
    uint32_t (*encode)(const struct enc_plan *p, enum cast_shape shape, const float *x, size_t n,
                       const uint32_t *random, void *codes, bool stream);

    /* Encodes elements [at, at + n) of a layer by ENC_DRAW, with the upper 16 bits of
     * philox_round_u32() first. stream: as in encode, codes aligned to 64 bytes. NULL: encode does
     * these casts, by ENC_ANY. */
    uint32_t (*draw)(const struct enc_plan *p, const struct cast_draw *d, enum cast_shape shape,
                     const float *x, size_t n, uint64_t at, void *codes, bool stream);

    /* x = value(codes) * 2^shift / divisor. stream: x bypasses the caches. */
    void (*decode)(const struct dec_plan *p, enum cast_shape shape, const void *codes, size_t n,
                   float *x, bool stream);

    /* Writes the random words of Philox blocks (block, half) to (block + n_blocks - 1, half),
     * numbered as in philox.h. */
    void (*random)(uint64_t key, uint64_t block, uint32_t half, size_t n_blocks, uint32_t *words);

    /* Convert codes to a bit string and back. Unpacked codes have the smallest shape of 1, 2 or 4
     * bytes that holds `width` bits. unpack may write up to 7 bytes after the last code. */
    void (*pack)(unsigned width, const void *codes, size_t n, uint8_t *bytes);
    void (*unpack)(unsigned width, const uint8_t *bytes, size_t n, void *codes);
};

/* The slots pack and unpack in plain C. */
void cast_c_pack(unsigned width, const void *codes, size_t n, uint8_t *bytes);
void cast_c_unpack(unsigned width, const uint8_t *bytes, size_t n, void *codes);

/* Implement encode, scan_encode and decode of vec.h with an instruction set's loops. cast_encode()
 * returns absmax(x). */
uint32_t cast_encode(const struct cast_loops *loops, const struct vec_cast *cast, const float *x,
                     size_t n, size_t at, int shift, uint8_t *codes);
void cast_decode(const struct cast_loops *loops, struct mf_fmt fmt, const uint8_t *codes, size_t n,
                 int shift, float divisor, float *x);

#endif
