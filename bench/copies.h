/* copies.h : ways to copy memory, so that a bench can hold itself against the fastest that this
 * machine has.
 *
 * memcpy() is not always it: a C library may keep reading what it is about to overwrite, or stop
 * streaming too late or too early for the machine at hand. So beside it: the CPU's own string copy,
 * and streaming stores that leave the caches alone, straight on and in four pages at a time (more
 * rows of memory open at once). All of one thread. */
#ifndef COPIES_H
#define COPIES_H
#include <stddef.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { COPIES_MAX = 6, COPY_PAGE = 4096, COPY_UNIT = 4 * COPY_PAGE };

/* to, from: apart, aligned to 64 bytes; n: a multiple of COPY_UNIT */
struct copy {
    const char *name;
    void (*run)(char *to, const char *from, size_t n);
};

static inline void copy_memcpy(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
}

#if defined(__x86_64__)
static inline void copy_movsb(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

/* n_pages are copied side by side, a line of each in turn. */
#define COPY_STREAM(name, isa, vector, load, store, n_pages)                                     \
    __attribute__((target(isa))) static inline void name(char *to, const char *from, size_t n)   \
    {                                                                                            \
        for (size_t block = 0; block < n; block += (size_t)(n_pages)*COPY_PAGE)                  \
            for (size_t line = block; line < block + COPY_PAGE; line += 64)                      \
                for (size_t at = line; at < line + (size_t)(n_pages)*COPY_PAGE; at += COPY_PAGE) \
                    for (size_t i = at; i < at + 64; i += sizeof(vector))                        \
                        store((vector *)(void *)(to + i),                                        \
                              load((const vector *)(const void *)(from + i)));                   \
        _mm_sfence();                                                                            \
    }
COPY_STREAM(copy_avx, "avx", __m256i, _mm256_load_si256, _mm256_stream_si256, 1)
COPY_STREAM(copy_avx_4, "avx", __m256i, _mm256_load_si256, _mm256_stream_si256, 4)
COPY_STREAM(copy_avx512, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 1)
COPY_STREAM(copy_avx512_4, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, 4)
#endif

/* Those that this CPU has, memcpy first; returns how many. */
static inline int copies_here(struct copy copies[COPIES_MAX])
{
    int n = 0;
    copies[n++] = (struct copy){"memcpy", copy_memcpy};
#if defined(__x86_64__)
    copies[n++] = (struct copy){"rep movsb", copy_movsb};
    if (__builtin_cpu_supports("avx")) {
        copies[n++] = (struct copy){"stream avx", copy_avx};
        copies[n++] = (struct copy){"stream avx, 4 pages", copy_avx_4};
    }
    if (__builtin_cpu_supports("avx512f")) {
        copies[n++] = (struct copy){"stream avx512", copy_avx512};
        copies[n++] = (struct copy){"stream avx512, 4 pages", copy_avx512_4};
    }
#endif
    return n;
}

#endif
