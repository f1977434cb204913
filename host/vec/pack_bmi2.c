/* pack_bmi2.c : codes that lie in bytes, pairs or fours of bytes to a dense bit string and back, by pext and pdep:
 *
 *     w = 6     | 00 c3 | 00 c2 | 00 c1 | 00 c0 |  --pext-->  | c3 c2 c1 c0 |  --> behind the bits that are held already
 *
 * A word of codes gives at most 62 bits, which wait in `bits` until 64 are there. */
#include "vec/cast_x86.h"
#ifdef VEC_X86

#define BMI2 __attribute__((target("bmi2")))

static unsigned unit_bits(unsigned width)
{
    return width <= 8 ? 8 : width <= 16 ? 16 : 32;
}

/* The low `width` bits of every unit of a word. */
static uint64_t unit_mask(unsigned width)
{
    const uint64_t one = UINT64_MAX >> (64 - width);
    const unsigned unit = unit_bits(width);
    return one * (UINT64_MAX / (UINT64_MAX >> (64 - unit)));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

BMI2 void pack_bmi2_write(unsigned width, const void *codes, size_t n, uint8_t *bytes)
{
    const size_t unit = unit_bits(width) / 8, at_once = 8 / unit;
    const uint64_t mask = unit_mask(width);
    const uint8_t *from = codes;
    uint64_t bits = 0;
    unsigned held = 0; /* < 64 */
    for (size_t i = 0; i < n; i += at_once) {
        const size_t k = smaller(n - i, at_once);
        const unsigned more = (unsigned)k * width;
        uint64_t word = 0;
        if (k == at_once)
            memcpy(&word, from + i * unit, 8);
        else
            memcpy(&word, from + i * unit, k * unit);
        word = _pext_u64(word, mask);
        bits |= word << held;
        held += more;
        if (held >= 64) {
            memcpy(bytes, &bits, 8);
            bytes += 8;
            held -= 64;
            bits = word >> (more - held); /* more - held > 0: less than 64 bits were held */
        }
    }
    memcpy(bytes, &bits, (held + 7) / 8);
}

BMI2 void pack_bmi2_read(unsigned width, const uint8_t *bytes, size_t n, void *codes)
{
    const size_t unit = unit_bits(width) / 8, at_once = 8 / unit;
    const unsigned less = (unsigned)at_once * width;
    const uint64_t mask = unit_mask(width);
    const uint8_t *const end = bytes + (n * width + 7) / 8;
    uint8_t *to = codes;
    uint64_t bits = 0;
    unsigned held = 0; /* < 64; bits above are zero */
    for (size_t i = 0; i < n; i += at_once) {
        uint64_t word = bits;
        if (held >= less) {
            bits >>= less;
            held -= less;
        } else {
            uint64_t next = 0;
            const size_t left = (size_t)(end - bytes);
            if (left >= 8)
                memcpy(&next, bytes, 8);
            else
                memcpy(&next, bytes, left);
            bytes += smaller(left, 8);
            word |= next << held;
            bits = next >> (less - held);
            held += 64 - less;
        }
        word = _pdep_u64(word, mask);
        memcpy(to + i * unit, &word, 8);
    }
}
#endif
