/* vec_inputs.h : makes guarded memory and fp32 inputs that are hard to cast. */
#ifndef VEC_INPUTS_H
#define VEC_INPUTS_H
#include "base/bits.h"
#include "hls/arith/philox.h"
#include "vec/vec_isa.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VEC_TABLES = VEC_ISAS + 1 };

/* Lists all vector tables of this CPU, scalar first, and one without prefetch. Returns their
 * number. */
static inline int vec_tables(struct vec_ops found[VEC_TABLES])
{
    int n = 0;
    for (int isa = 0; isa < VEC_ISAS; isa++)
        n += vec_isa_table((enum vec_isa)isa, &found[n]);
#ifdef VEC_X86
    if (vec_isa_table(VEC_AVX512, &found[n])) {
        cast_avx512_prefetch(&found[n], 0);
        found[n++].name = "avx512, no prefetch";
    }
#endif
    return n;
}

enum { PAGE_BUFFERS = 8, PAGE_BUFFER_BYTES = 1 << 16 };

/* Ends at an inaccessible page; each call returns the same memory. Unlike valgrind and
 * sanitizers, the CPU catches every access beyond it, masked or not. */
static inline uint8_t *page_end(int which, size_t bytes)
{
    static uint8_t *ends[PAGE_BUFFERS];
    if (!ends[which]) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        uint8_t *p = mmap(NULL, PAGE_BUFFER_BYTES + page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p + PAGE_BUFFER_BYTES, page, PROT_NONE) != 0)
            abort();
        ends[which] = p + PAGE_BUFFER_BYTES;
    }
    return ends[which] - bytes;
}

/* Returns x with x * 2^shift = rest / 2^32 of the format's smallest value. rest has 24
 * significant bits, so x is exact. */
static inline float vec_rest(struct mf_fmt f, uint32_t rest, int shift)
{
    return (float)ldexp(rest, 1 - mf_bias(f) - f.m - 32 - shift);
}

/* Returns a remainder at the threshold of stochastic rounding. word: random bits of element i.
 * Its upper 24 bits are word's, which rounds down; in odd elements one more, which rounds up. */
static inline uint32_t vec_rest_near(uint32_t word, size_t i)
{
    const uint32_t below = word & 0xffffff00u;
    return i % 2 && below < 0xffffff00u ? below + 256 : below;
}

/* A value or tie of the format, or a neighbour, divided by 2^shift. Every fourth has random bits
 * or is a corner case of fp32. */
static inline float vec_input(struct mf_fmt f, int shift, uint64_t i)
{
    static const uint32_t corners[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                       0x7fc00001, 0xffffffff, 0x00000001, 0x807fffff,
                                       0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800001};
    const uint32_t r = philox_u32(0x1234, i), s = philox_u32(0x5678, i);
    if (i % 16 == 3)
        return float_of(corners[r % (sizeof corners / sizeof *corners)]);
    if (i % 4 == 3)
        return float_of(r);
    /* odd codes: f's ties */
    const struct mf_fmt finer = {f.e, (uint8_t)(f.m < 23 ? f.m + 1 : 23), 0};
    const uint32_t value = mf_dec(finer, r & mf_nan(finer), -shift);
    return float_of((value + s % 5 - 2) ^ (s & 0x80000000));
}

#endif
