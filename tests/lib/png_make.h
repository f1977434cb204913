/* png_make.h : makes PNG files with any filters. */
#ifndef PNG_MAKE_H
#define PNG_MAKE_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PNG_BYTES_MAX = 60000 };

struct png_file {
    size_t n;
    uint8_t bytes[PNG_BYTES_MAX];
};

static inline void png_put_be32(struct png_file *f, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        f->bytes[f->n++] = (uint8_t)(v >> shift);
}

static inline void png_chunk(struct png_file *f, const char *type, const uint8_t *data, size_t n)
{
    png_put_be32(f, (uint32_t)n);
    const size_t from = f->n;
    memcpy(f->bytes + f->n, type, 4);
    f->n += 4;
    memcpy(f->bytes + f->n, data, n);
    f->n += n;
    png_put_be32(f, (uint32_t)crc32_z(0, f->bytes + from, n + 4));
}

static inline void png_begin(struct png_file *f, int h, int w, int colour)
{
    const uint8_t head[13] = {0,          0, (uint8_t)(w >> 8), (uint8_t)w, 0, 0, (uint8_t)(h >> 8),
                              (uint8_t)h, 8, (uint8_t)colour,   0,          0, 0};
    memcpy(f->bytes, "\x89PNG\r\n\x1a\n", 8);
    f->n = 8;
    png_chunk(f, "IHDR", head, sizeof head);
}

/* The specification's formula, independent of host/nn/data/png.c. */
static inline int png_guess(int filter, int a, int b, int c)
{
    const int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    switch (filter) {
    case 1:
        return a;
    case 2:
        return b;
    case 3:
        return (a + b) >> 1;
    case 4:
        return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
    default:
        return 0;
    }
}

/* Writes IDAT chunks of at most `part` bytes; line i has filter (i + first) % 5. */
static inline void png_pixels(struct png_file *f, int h, int w, int c, const uint8_t *x, int first,
                              size_t part)
{
    const size_t line = (size_t)(w * c), size = (size_t)h * (line + 1);
    uint8_t *raw = malloc(size), *packed = malloc(compressBound(size));
    uLongf n = compressBound(size);
    for (size_t row = 0; row < (size_t)h; row++) {
        const int filter = ((int)row + first) % 5;
        uint8_t *to = raw + row * (line + 1);
        *to++ = (uint8_t)filter;
        for (size_t i = 0; i < line; i++) {
            const uint8_t *at = x + row * line + i;
            const int a = i >= (size_t)c ? at[-c] : 0, b = row ? at[-(ptrdiff_t)line] : 0,
                      d = row && i >= (size_t)c ? at[-(ptrdiff_t)line - c] : 0;
            to[i] = (uint8_t)(*at - png_guess(filter, a, b, d));
        }
    }
    if (compress(packed, &n, raw, size) != Z_OK)
        exit(1);
    for (size_t at = 0; at < n; at += part)
        png_chunk(f, "IDAT", packed + at, n - at < part ? n - at : part);
    free(raw), free(packed);
}

static inline void png_end(struct png_file *f)
{
    png_chunk(f, "IEND", (const uint8_t *)"", 0);
}

#endif
