/* png.c : decodes PNG files (PNG Specification, Third Edition, www.w3.org/TR/png): a list of
 * chunks. The IDAT chunks together hold one zlib stream of filtered lines.
 *
 *   signature | length 4 | type 4 | data | crc 4 | ...  IHDR, [PLTE], IDAT..., IEND; others
 *   line: filter 1 byte, then pixels minus the filter's prediction from left, above, left above */
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/data/picture.h"

enum { SIGNATURE = 8, HEADER = 13, AROUND = 12, RATIO = 1032 }; /* RATIO: deflate's limit */
enum { GREY = 0, RGB = 2, PALETTE = 3 };

struct png {
    const struct datafile *f;
    const uint8_t *bytes;
    size_t n, at; /* at: next chunk */
    int h, w, colour;
    size_t line;            /* bytes, including the filter */
    const uint8_t *palette; /* [n_palette][3] */
    unsigned n_palette;
    z_stream z;
    bool z_open, z_ended;
    uint8_t *raw; /* [h][line] */
};

struct chunk {
    const uint8_t *type, *data;
    size_t n, at;
};

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is(const struct chunk *c, const char *type)
{
    return !memcmp(c->type, type, 4);
}

static int next_chunk(struct png *p, struct chunk *c)
{
    if (p->n - p->at < AROUND)
        return datafile_err(
            p->f, p->n, "the file ends inside a chunk that begins at %zu, or before its IEND chunk",
            p->at);
    const uint8_t *from = p->bytes + p->at;
    *c = (struct chunk){from + 4, from + 8, be32(from), p->at};
    if (c->n > p->n - p->at - AROUND)
        return datafile_err(p->f, p->at,
                            "a chunk of %zu bytes, expected at most %zu, the rest of the file",
                            c->n, p->n - p->at - AROUND);
    if (be32(c->data + c->n) != (uint32_t)crc32_z(0, c->type, c->n + 4))
        return datafile_err(p->f, p->at, "a damaged chunk: its checksum does not match");
    p->at += c->n + AROUND;
    return 0;
}

static int read_header(struct png *p, const struct chunk *c)
{
    const uint8_t *d = c->data;
    if (!is(c, "IHDR") || c->n != HEADER)
        return datafile_err(p->f, c->at, "no header, expected IHDR of %d bytes", HEADER);
    const uint32_t w = be32(d), h = be32(d + 4);
    if (w < 1 || w > PICTURE_SIDE_MAX || h < 1 || h > PICTURE_SIDE_MAX)
        return datafile_err(p->f, c->at, "a picture of %u x %u, expected 1 to %d pixels a side", w,
                            h, PICTURE_SIDE_MAX);
    if (d[8] != 8)
        return datafile_err(p->f, c->at, "%u bits a channel, expected 8", d[8]);
    if (d[9] != GREY && d[9] != RGB && d[9] != PALETTE)
        return datafile_err(p->f, c->at,
                            "colour type %u, expected grey (0), RGB (2) or a palette (3), without "
                            "alpha",
                            d[9]);
    if (d[10] || d[11] || d[12])
        return datafile_err(p->f, c->at,
                            "compression, filter and interlacing %u %u %u, expected 0 0 0 (not "
                            "interlaced)",
                            d[10], d[11], d[12]);
    p->w = (int)w, p->h = (int)h, p->colour = d[9];
    p->line = 1 + (size_t)w * (p->colour == RGB ? 3 : 1);
    if (p->n < h * p->line / RATIO)
        return datafile_err(p->f, c->at, "a file of %zu bytes, too short for %u x %u pixels", p->n,
                            w, h);
    return 0;
}

static int open_lines(struct png *p)
{
    const size_t size = (size_t)p->h * p->line;
    p->raw = malloc(size);
    if (!p->raw || inflateInit(&p->z) != Z_OK)
        return ERR(-ENOMEM, "cannot allocate the picture of '%s'", p->f->path);
    p->z_open = true;
    p->z.next_out = p->raw;
    p->z.avail_out = (uInt)size;
    return 0;
}

static int read_lines(struct png *p, const struct chunk *c)
{
    if (p->z_ended)
        return c->n ? datafile_err(p->f, c->at, "pixels after the end of the picture") : 0;
    p->z.next_in = (Bytef *)(uintptr_t)c->data;
    p->z.avail_in = (uInt)c->n;
    const int rc = c->n ? inflate(&p->z, Z_SYNC_FLUSH) : Z_OK;
    p->z_ended = rc == Z_STREAM_END;
    if (rc != Z_OK && rc != Z_STREAM_END)
        return datafile_err(p->f, c->at, "the stream of pixels is damaged: %s",
                            p->z.msg ? p->z.msg : "it is longer than the picture");
    if (p->z.avail_in)
        return datafile_err(p->f, c->at, "pixels after the end of the picture");
    return 0;
}

static int check_lines(const struct png *p)
{
    if (!p->z_ended || p->z.avail_out)
        return datafile_err(p->f, p->n, "the pixels end early, expected %u bytes more%s",
                            p->z.avail_out, p->z_ended ? "" : " and the end of their stream");
    return p->at == p->n ? 0 : datafile_err(p->f, p->at, "data after the expected end of the file");
}

static int read_chunks(struct png *p)
{
    struct chunk c = {.n = 0};
    TRY(next_chunk(p, &c));
    TRY(read_header(p, &c));
    TRY(open_lines(p));
    for (;;) {
        TRY(next_chunk(p, &c));
        if (is(&c, "IEND"))
            return check_lines(p);
        if (is(&c, "IDAT")) {
            TRY(read_lines(p, &c));
        } else if (is(&c, "PLTE")) {
            if (c.n % 3 || c.n > 256 * 3)
                return datafile_err(p->f, c.at, "a palette of %zu bytes, expected 3 a colour", c.n);
            p->palette = c.data;
            p->n_palette = (unsigned)c.n / 3;
        } else if (!(c.type[0] & 0x20)) { /* a critical chunk */
            return datafile_err(p->f, c.at, "an unknown chunk that is marked as critical");
        }
    }
}

static uint8_t paeth(int left, int above, int corner)
{
    const int a = abs(above - corner), b = abs(left - corner), c = abs(left + above - 2 * corner);
    return (uint8_t)(a <= b && a <= c ? left : b <= c ? above : corner);
}

static void unfilter(int filter, size_t n, size_t c, const uint8_t *above, uint8_t *x)
{
    for (size_t i = 0; i < n; i++) {
        const int left = i >= c ? x[i - c] : 0, up = above ? above[i] : 0,
                  corner = above && i >= c ? above[i - c] : 0;
        const int guess[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
        x[i] = (uint8_t)(x[i] + guess[filter]);
    }
}

static int make_pixels(struct png *p, struct picture *out)
{
    const size_t n = p->line - 1, c = p->colour == RGB ? 3 : 1, each = p->colour == GREY ? 1 : 3;
    const size_t w = (size_t)p->w;
    uint8_t *pixels = malloc((size_t)p->h * w * each), *to = pixels;
    if (!pixels)
        return ERR(-ENOMEM, "cannot allocate the picture of '%s'", p->f->path);
    int rc = 0;
    for (int row = 0; row < p->h && rc == 0; row++) {
        uint8_t *line = p->raw + (size_t)row * p->line;
        if (line[0] > 4) {
            rc = datafile_err(p->f, p->n, "line %d has filter %u, expected 0 to 4", row, line[0]);
            break;
        }
        unfilter(line[0], n, c, row ? line + 1 - p->line : NULL, line + 1);
        if (p->colour != PALETTE) {
            memcpy(to, line + 1, n);
            to += n;
        }
        for (size_t i = 0; p->colour == PALETTE && i < n; i++, to += 3) {
            if (line[1 + i] >= p->n_palette) {
                rc = datafile_err(p->f, p->n, "pixel (%d, %zu) has colour %u of %u", row, i,
                                  line[1 + i], p->n_palette);
                break;
            }
            memcpy(to, p->palette + (size_t)3 * line[1 + i], 3);
        }
    }
    if (rc < 0) {
        free(pixels);
        return rc;
    }
    *out = (struct picture){p->h, p->w, (int)each, pixels};
    return 0;
}

int png_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out)
{
    static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    struct png p = {.f = f, .bytes = bytes, .n = n, .at = SIGNATURE};
    if (n < SIGNATURE || memcmp(bytes, signature, SIGNATURE))
        return datafile_err(f, 0, "not a PNG: its signature differs");
    int rc = read_chunks(&p);
    if (rc == 0)
        rc = make_pixels(&p, out);
    if (p.z_open)
        inflateEnd(&p.z);
    free(p.raw);
    return rc;
}
