/* crc.c : computes CRC32C with the CPU's own instruction, three streams at a time.
 *
 *     bytes  | a: 128 | b: 128 | c: 128 | ...
 *     state' = state(a) over 256 bytes of 0  ^  state(b) over 128 bytes of 0  ^  state(c)
 *
 * crc32 takes 3 clocks, but one can start in each. n more bytes of 0 multiply the state by x^(8n)
 * mod P: a carry-less product with x^(8n-33), then a crc32 of its 8 bytes. (crc32 multiplies by
 * x^32, and the reflected product lacks one x.) */
#include "base/crc.h"
#include "hls/card/crc32c.h"
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { STREAM = 128, OVER_128 = 0x0d3b6092 }; /* x^(8*128-33) mod P, reflected */
#define OVER_256 0xb9e02b86                   /* x^(8*256-33) mod P, reflected */

static uint64_t word(const uint8_t *at)
{
    uint64_t w;
    memcpy(&w, at, sizeof w);
    return w;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t over(uint64_t state, uint32_t by)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state),
                                           _mm_cvtsi64_si128((long long)(uint64_t)by), 0);
    return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t more_x86(uint32_t crc, const uint8_t *at,
                                                                  size_t n)
{
    uint64_t state = ~crc;
    for (; n >= 3 * STREAM; at += 3 * STREAM, n -= 3 * STREAM) {
        uint64_t b = 0, c = 0;
        for (int i = 0; i < STREAM; i += 8) {
            state = _mm_crc32_u64(state, word(at + i));
            b = _mm_crc32_u64(b, word(at + STREAM + i));
            c = _mm_crc32_u64(c, word(at + 2 * STREAM + i));
        }
        state = over(state, OVER_256) ^ over(b, OVER_128) ^ c;
    }
    for (; n >= 8; at += 8, n -= 8)
        state = _mm_crc32_u64(state, word(at));
    uint32_t small = (uint32_t)state;
    for (; n > 0; at++, n--)
        small = _mm_crc32_u8(small, *at);
    return ~small;
}

uint32_t crc_more(uint32_t crc, const void *bytes, size_t n)
{
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return more_x86(crc, bytes, n);
    return crc32c_more(crc, bytes, n);
}
#else
uint32_t crc_more(uint32_t crc, const void *bytes, size_t n)
{
    return crc32c_more(crc, bytes, n);
}
#endif
