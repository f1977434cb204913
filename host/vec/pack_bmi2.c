/* pack_bmi2.c : packs codes of 1, 2 or 4 bytes into a bit string and back, with pext and pdep.
 *
 * Eight codes of w bits fill w bytes: one pext from 1-byte units, two from 2-byte units, each of 4
 * codes (4 w bits). The second 4 codes begin in byte w / 2; if w is odd, in its middle:
 *
 *  w = 9  | 0000000 c3 | 0000000 c2 | 0000000 c1 | 0000000 c0 |  --pext-->  | c3 c2 c1 c0 | 36 bits
 *         byte 8 ... byte 4              byte 3 ... byte 0
 *         | c7 c6 c5 c4 : (4 bits of c3) | c3 c2 c1 c0 |
 *
 * Codes in 4-byte units, and a vector's last codes, are collected in a 64-bit word instead, since
 * bytes after the vector must not be accessed. */
#include "vec/cast/cast_x86.h"
#ifdef VEC_X86

#define BMI2        __attribute__((target("bmi2")))
#define BMI2_INLINE static inline __attribute__((always_inline, target("bmi2")))

/* bytes that loads and stores of eight codes may access: at most w / 2 + 8 */
enum { ROOM = 16 };

static unsigned unit_of(unsigned width)
{
    return width <= 8 ? 1 : width <= 16 ? 2 : 4;
}

static uint64_t unit_mask(unsigned width)
{
    const uint64_t one = UINT64_MAX >> (64 - width);
    return one * (UINT64_MAX / (UINT64_MAX >> (64 - 8 * unit_of(width))));
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

BMI2_INLINE uint64_t load(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    return word;
}

BMI2_INLINE void store(uint8_t *to, uint64_t word)
{
    memcpy(to, &word, 8);
}

/* Stops when fewer than ROOM bytes are left. Returns the number of codes packed. */
BMI2_INLINE size_t write_groups(unsigned unit, unsigned width, const uint8_t *codes, size_t n,
                                uint8_t *bytes)
{
    const uint64_t mask = unit_mask(width);
    /* bits of the first 4 codes in the byte where the second 4 begin */
    const unsigned odd = width % 2 * 4;
    size_t i = 0;
    for (size_t left = (n * width + 7) / 8; i + 8 <= n && left >= ROOM;
         i += 8, left -= width, bytes += width) {
        const uint64_t first = _pext_u64(load(codes + i * unit), mask);
        store(bytes, first);
        if (unit == 2) {
            const uint64_t second = _pext_u64(load(codes + (i + 4) * unit), mask);
            store(bytes + width / 2, second << odd | first >> (4 * width - odd));
        }
    }
    return i;
}

BMI2_INLINE size_t read_groups(unsigned unit, unsigned width, const uint8_t *bytes, size_t n,
                               uint8_t *codes)
{
    const uint64_t mask = unit_mask(width);
    const unsigned odd = width % 2 * 4;
    size_t i = 0;
    for (size_t left = (n * width + 7) / 8; i + 8 <= n && left >= ROOM;
         i += 8, left -= width, bytes += width) {
        store(codes + i * unit, _pdep_u64(load(bytes), mask));
        if (unit == 2)
            store(codes + (i + 4) * unit, _pdep_u64(load(bytes + width / 2) >> odd, mask));
    }
    return i;
}

/* ---- the end of a vector: the low `held` < 64 bits of `bits` are pending ---- */

BMI2 static void write_end(unsigned width, const uint8_t *codes, size_t n, uint8_t *bytes)
{
    const size_t unit = unit_of(width), at_once = 8 / unit;
    const uint64_t mask = unit_mask(width);
    uint64_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < n; i += at_once) {
        const size_t k = smaller(n - i, at_once);
        const unsigned more = (unsigned)k * width;
        uint64_t word = 0;
        if (k == at_once) /* compiles to one load */
            memcpy(&word, codes + i * unit, 8);
        else
            memcpy(&word, codes + i * unit, k * unit);
        word = _pext_u64(word, mask);
        bits |= word << held;
        held += more;
        if (held >= 64) {
            memcpy(bytes, &bits, 8);
            bytes += 8;
            held -= 64;
            bits = word >> (more - held); /* > 0: at most 63 bits were pending */
        }
    }
    memcpy(bytes, &bits, (held + 7) / 8);
}

BMI2 static void read_end(unsigned width, const uint8_t *bytes, size_t n, uint8_t *codes)
{
    const size_t unit = unit_of(width), at_once = 8 / unit;
    const unsigned less = (unsigned)at_once * width;
    const uint64_t mask = unit_mask(width);
    const uint8_t *const end = bytes + (n * width + 7) / 8;
    uint64_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < n; i += at_once) {
        uint64_t word = bits;
        if (held >= less) {
            bits >>= less;
            held -= less;
        } else {
            const size_t left = smaller((size_t)(end - bytes), 8);
            uint64_t next = 0;
            memcpy(&next, bytes, left);
            bytes += left;
            word |= next << held;
            bits = next >> (less - held);
            held += 64 - less;
        }
        word = _pdep_u64(word, mask);
        memcpy(codes + i * unit, &word, 8);
    }
}

BMI2 void pack_bmi2_write(unsigned width, const void *codes, size_t n, uint8_t *bytes)
{
    const unsigned unit = unit_of(width);
    const size_t done = unit == 1   ? write_groups(1, width, codes, n, bytes)
                        : unit == 2 ? write_groups(2, width, codes, n, bytes)
                                    : 0;
    write_end(width, (const uint8_t *)codes + done * unit, n - done, bytes + done / 8 * width);
}

BMI2 void pack_bmi2_read(unsigned width, const uint8_t *bytes, size_t n, void *codes)
{
    const unsigned unit = unit_of(width);
    const size_t done = unit == 1   ? read_groups(1, width, bytes, n, codes)
                        : unit == 2 ? read_groups(2, width, bytes, n, codes)
                                    : 0;
    read_end(width, bytes + done / 8 * width, n - done, (uint8_t *)codes + done * unit);
}
#endif
