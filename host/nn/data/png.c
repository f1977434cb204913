/* png.c : decodes PNG files through libpng, whose warnings are errors here, and writes label maps.
 * Chunks that a decoder may ignore are skipped, after a check of their checksums. */
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "base/file.h"
#include "nn/data/picture.h"

enum { RATIO = 1032 }; /* deflate's limit */

struct source {
    const struct datafile *f;
    const uint8_t *bytes;
    size_t n, at;
    struct picture picture;
};

static void fail(png_structp png, const char *why)
{
    const struct source *s = png_get_error_ptr(png);
    (void)datafile_err(s->f, s->at, "%s", why);
    png_longjmp(png, 1);
}

static void take(png_structp png, png_bytep to, size_t n)
{
    struct source *s = png_get_io_ptr(png);
    if (n > s->n - s->at)
        png_error(png, "the file ends inside a chunk, or before its IEND chunk");
    memcpy(to, s->bytes + s->at, n);
    s->at += n;
}

static int read_header(png_structp png, png_infop info, struct source *s)
{
    int depth, colour, interlace;
    png_uint_32 w, h;
    png_set_user_limits(png, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_benign_errors(png, 0);
    png_read_info(png, info);
    png_get_IHDR(png, info, &w, &h, &depth, &colour, &interlace, NULL, NULL);
    if (depth != 8 || interlace || colour & PNG_COLOR_MASK_ALPHA)
        return datafile_err(s->f, s->at,
                            "%d bits a channel, colour type %d, interlacing %d, expected 8 bits of "
                            "grey (0), RGB (2) or a palette (3), not interlaced",
                            depth, colour, interlace);
    if (s->n < h * png_get_rowbytes(png, info) / RATIO)
        return datafile_err(s->f, s->at, "a file of %zu bytes, too short for %u x %u pixels", s->n,
                            w, h);
    s->picture = (struct picture){(int)h, (int)w, colour == PNG_COLOR_TYPE_GRAY ? 1 : 3, NULL};
    return 0;
}

/* w indices at the end of the row become colours. */
static int look_up(const struct source *s, const png_color *palette, int n, uint8_t *row)
{
    const int w = s->picture.w;
    for (int i = 0; i < w; i++) {
        const int index = row[2 * w + i];
        if (index >= n)
            return datafile_err(s->f, s->at, "a pixel has colour %d of %d", index, n);
        memcpy(row + 3 * i, &palette[index], 3);
    }
    return 0;
}

static int decode(png_structp png, png_infop info, struct source *s)
{
    struct picture *p = &s->picture;
    png_colorp palette;
    int n_palette;
    if (setjmp(png_jmpbuf(png)))
        return -EINVAL;
    png_set_read_fn(png, s, take);
    TRY(read_header(png, info, s));
    const size_t line = (size_t)p->w * (size_t)p->c;
    p->pixels = malloc((size_t)p->h * line);
    if (!p->pixels)
        return ERR(-ENOMEM, "cannot allocate the picture of '%s'", s->f->path);
    const bool indexed = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE &&
                         png_get_PLTE(png, info, &palette, &n_palette);
    for (int i = 0; i < p->h; i++) {
        uint8_t *row = p->pixels + (size_t)i * line;
        png_read_row(png, row + line - png_get_rowbytes(png, info), NULL);
        if (indexed)
            TRY(look_up(s, palette, n_palette, row));
    }
    png_read_end(png, NULL);
    return s->at == s->n ? 0 : datafile_err(s->f, s->at, "data after the expected end of the file");
}

int png_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out)
{
    struct source s = {.f = f, .bytes = bytes, .n = n};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, fail, fail);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const int rc =
        info ? decode(png, info, &s) : ERR(-ENOMEM, "cannot allocate a decoder of '%s'", f->path);
    png_destroy_read_struct(&png, &info, NULL);
    if (rc == 0)
        *out = s.picture;
    else
        free(s.picture.pixels);
    return rc;
}

/* ---- label maps ---- */

static void give(png_structp png, png_bytep bytes, size_t n)
{
    if (file_out_write(png_get_io_ptr(png), bytes, n) < 0)
        png_error(png, "write failed");
}

static void stop(png_structp png, const char *why)
{
    (void)why; /* file_out_write() has reported it */
    png_longjmp(png, 1);
}

/* Bits 0, 1, 2 of a label, then 3, 4, 5, and so on give red, green and blue, highest bits first. */
static png_color colour_of(unsigned label)
{
    png_color c = {0, 0, 0};
    for (int shift = 7; shift >= 0; shift--, label >>= 3) {
        c.red = (png_byte)(c.red | (label & 1) << shift);
        c.green = (png_byte)(c.green | (label >> 1 & 1) << shift);
        c.blue = (png_byte)(c.blue | (label >> 2 & 1) << shift);
    }
    return c;
}

static int encode(png_structp png, png_infop info, struct file_out *out, int h, int w,
                  const uint8_t *labels)
{
    png_color palette[PNG_MAX_PALETTE_LENGTH];
    for (unsigned i = 0; i < PNG_MAX_PALETTE_LENGTH; i++)
        palette[i] = colour_of(i);
    if (setjmp(png_jmpbuf(png)))
        return -EIO;
    png_set_write_fn(png, out, give, NULL);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, 8, PNG_COLOR_TYPE_PALETTE,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, palette, PNG_MAX_PALETTE_LENGTH);
    png_write_info(png, info);
    for (int i = 0; i < h; i++)
        png_write_row(png, labels + (size_t)i * (size_t)w);
    png_write_end(png, info);
    return 0;
}

int png_write_labels(const char *path, int h, int w, const uint8_t *labels)
{
    struct file_out out;
    TRY(file_out_open(&out, path));
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, stop, stop);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int rc = info ? encode(png, info, &out, h, w, labels)
                  : ERR(-ENOMEM, "cannot allocate an encoder of '%s'", path);
    png_destroy_write_struct(&png, &info);
    if (rc == 0)
        rc = file_out_commit(&out);
    file_out_discard(&out);
    return rc;
}
