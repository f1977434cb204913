/* copies.c : copies and reads memory in several ways, to find this machine's fastest.
 *
 * Besides memcpy(): the CPU's string copy, and streaming stores that bypass the caches: in
 * sequence, in four pages at a time (more rows of memory open at once), or in sequence with
 * prefetches 4 KiB ahead, the reference "streaming copy". Reading only has no software prefetch. */
#include "cast_rows.h"
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { COPY_PAGE = 4096 };

void copy_memcpy(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
}

#if defined(__x86_64__)
static void copy_movsb(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void copy_prefetch(const char *from)
{
    _mm_prefetch((const char *)((uintptr_t)from + COPY_PAGE), _MM_HINT_NTA);
}
static void copy_no_prefetch(const char *from)
{
    (void)from;
}

/* Copies n_pages side by side, a cache line of each in turn. */
#define COPY_STREAM(name, isa, vector, load, store, n_pages, prefetch)                             \
    __attribute__((target(isa))) static void name(char *to, const char *from, size_t n)            \
    {                                                                                              \
        for (size_t block = 0; block < n; block += (size_t)(n_pages)*COPY_PAGE)                    \
            for (size_t line = block; line < block + COPY_PAGE; line += 64)                        \
                for (size_t at = line; at < line + (size_t)(n_pages)*COPY_PAGE; at += COPY_PAGE) { \
                    prefetch(from + at);                                                           \
                    for (size_t i = at; i < at + 64; i += sizeof(vector))                          \
                        store((vector *)(void *)(to + i),                                          \
                              load((const vector *)(const void *)(from + i)));                     \
                }                                                                                  \
        _mm_sfence();                                                                              \
    }
COPY_STREAM(copy_avx, "avx", __m256i, _mm256_load_si256, _mm256_stream_si256, 1, copy_no_prefetch)
COPY_STREAM(copy_avx_4, "avx", __m256i, _mm256_load_si256, _mm256_stream_si256, 4, copy_no_prefetch)
COPY_STREAM(copy_avx_prefetch, "avx", __m256i, _mm256_load_si256, _mm256_stream_si256, 1,
            copy_prefetch)
COPY_STREAM(copy_avx512, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 1,
            copy_no_prefetch)
COPY_STREAM(copy_avx512_4, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 4,
            copy_no_prefetch)
COPY_STREAM(copy_avx512_prefetch, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 1,
            copy_prefetch)
#endif

int copies_here(struct copy copies[COPIES_MAX])
{
    int n = 0;
    copies[n++] = (struct copy){"memcpy", copy_memcpy};
#if defined(__x86_64__)
    copies[n++] = (struct copy){"rep movsb", copy_movsb};
    if (__builtin_cpu_supports("avx")) {
        copies[n++] = (struct copy){"stream avx", copy_avx};
        copies[n++] = (struct copy){"stream avx, 4 pages", copy_avx_4};
        copies[n++] = (struct copy){"stream avx, prefetched", copy_avx_prefetch};
    }
    if (__builtin_cpu_supports("avx512f")) {
        copies[n++] = (struct copy){"stream avx512", copy_avx512};
        copies[n++] = (struct copy){"stream avx512, 4 pages", copy_avx512_4};
        copies[n++] = (struct copy){"stream avx512, prefetched", copy_avx512_prefetch};
    }
#endif
    return n;
}

struct copy copies_stream(void)
{
    struct copy copies[COPIES_MAX];
    return copies[copies_here(copies) - 1];
}

/* Returns bits that depend on all n bytes; n: a multiple of 256. */
#define READ_LOOP(vector, zero, either)                                                     \
    vector all[4] = {zero, zero, zero, zero};                                               \
    const size_t lanes = sizeof(vector);                                                    \
    for (size_t i = 0; i < n; i += 4 * lanes)                                               \
        for (size_t j = 0; j < 4; j++)                                                      \
            all[j] = either(all[j], *(const vector *)(const void *)(from + i + j * lanes)); \
    uint64_t words[sizeof all / 8], some = 0;                                               \
    memcpy(words, all, sizeof all);                                                         \
    for (size_t j = 0; j < sizeof all / 8; j++)                                             \
        some |= words[j];                                                                   \
    return some;
static uint64_t read_word_or(uint64_t a, uint64_t b)
{
    return a | b;
}
static uint64_t read_words(const char *from, size_t n)
{
    READ_LOOP(uint64_t, 0, read_word_or)
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const char *from, size_t n)
{
    READ_LOOP(__m256i, _mm256_setzero_si256(), _mm256_or_si256)
}
__attribute__((target("avx512f"))) static uint64_t read_avx512(const char *from, size_t n){
    READ_LOOP(__m512i, _mm512_setzero_si512(), _mm512_or_si512)}
#endif

uint64_t copies_read(const char *from, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return read_avx512(from, n);
    if (__builtin_cpu_supports("avx2"))
        return read_avx2(from, n);
#endif
    return read_words(from, n);
}
