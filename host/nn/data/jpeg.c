/* jpeg.c : decodes JPEG files through libjpeg-turbo, with its exact integer transform, so all CPUs
 * give the same pixels. Lost pixels, of which the library only warns, are errors here. */
#include <stdio.h> /* before jpeglib.h, which needs it */
#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/data/picture.h"

/* A block of 8 x 8 pixels takes a bit at least. A scan of few bytes goes through all blocks, so
 * thousands of scans take minutes. Encoders write about ten. */
enum { PIXELS_PER_BYTE = 512, SCANS_MAX = 500, INKS = 4 };

struct source {
    struct jpeg_error_mgr errors; /* first: libjpeg's pointer to it is one to this */
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const struct datafile *f;
    size_t n;
    struct picture picture;
    uint8_t *inks; /* a row of cyan, magenta, yellow, black; NULL: none */
};

static size_t at_of(j_common_ptr common)
{
    const struct source *s = (const struct source *)common->err;
    const struct jpeg_decompress_struct *jpeg = (const struct jpeg_decompress_struct *)common;
    return common->is_decompressor && jpeg->src ? s->n - jpeg->src->bytes_in_buffer : 0;
}

static void fail(j_common_ptr common)
{
    struct source *s = (struct source *)common->err;
    char why[JMSG_LENGTH_MAX];
    s->errors.format_message(common, why);
    (void)datafile_err(s->f, at_of(common), "%s", why);
    longjmp(s->back, 1);
}

/* level -1: a warning. Bytes between segments do no harm; of other damage pixels are missing. */
static void warn(j_common_ptr common, int level)
{
    const int code = common->err->msg_code;
    if (level < 0 &&
        (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF ||
         code == JWRN_ARITH_BAD_CODE || code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION))
        fail(common);
}

static void check_scans(j_common_ptr common)
{
    struct source *s = (struct source *)common->err;
    if (((struct jpeg_decompress_struct *)common)->input_scan_number <= SCANS_MAX)
        return;
    (void)datafile_err(s->f, at_of(common), "more than %d scans", SCANS_MAX);
    longjmp(s->back, 1);
}

static int read_header(struct jpeg_decompress_struct *jpeg, struct source *s)
{
    (void)jpeg_read_header(jpeg, TRUE);
    const size_t w = jpeg->image_width, h = jpeg->image_height;
    if (w < 1 || w > PICTURE_SIDE_MAX || h < 1 || h > PICTURE_SIDE_MAX)
        return datafile_err(s->f, 0, "a picture of %zu x %zu, expected 1 to %d pixels a side", w, h,
                            PICTURE_SIDE_MAX);
    if (s->n < w * h / PIXELS_PER_BYTE)
        return datafile_err(s->f, 0, "a file of %zu bytes, too short for %zu x %zu pixels", s->n, w,
                            h);
    const bool grey = jpeg->jpeg_color_space == JCS_GRAYSCALE,
               inks = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = grey ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    s->picture = (struct picture){(int)h, (int)w, grey ? 1 : 3, NULL};
    s->picture.pixels = malloc(h * w * (size_t)s->picture.c);
    s->inks = inks ? malloc(w * INKS) : NULL;
    return s->picture.pixels && (s->inks || !inks)
               ? 0
               : ERR(-ENOMEM, "cannot allocate the picture of '%s'", s->f->path);
}

/* Adobe's programs store 255 minus the ink. */
static void mix(const struct source *s, bool by_adobe, uint8_t *row)
{
    for (int i = 0; i < s->picture.w; i++) {
        const uint8_t *ink = s->inks + INKS * i;
        const unsigned flip = by_adobe ? 0 : 255, light = ink[3] ^ flip;
        for (int c = 0; c < 3; c++)
            row[3 * i + c] = (uint8_t)(((ink[c] ^ flip) * light + 127) / 255);
    }
}

static int decode(struct jpeg_decompress_struct *jpeg, const uint8_t *bytes, struct source *s)
{
    if (setjmp(s->back))
        return -EINVAL;
    jpeg_create_decompress(jpeg);
    s->progress.progress_monitor = check_scans;
    jpeg->progress = &s->progress;
    jpeg_mem_src(jpeg, bytes, s->n);
    TRY(read_header(jpeg, s));
    (void)jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *row = s->picture.pixels +
                       (size_t)jpeg->output_scanline * (size_t)s->picture.w * (size_t)s->picture.c;
        JSAMPROW to = s->inks ? s->inks : row;
        (void)jpeg_read_scanlines(jpeg, &to, 1);
        if (s->inks)
            mix(s, jpeg->saw_Adobe_marker, row);
    }
    (void)jpeg_finish_decompress(jpeg);
    return 0;
}

int jpeg_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out)
{
    struct source s = {.f = f, .n = n};
    struct jpeg_decompress_struct jpeg = {.err = jpeg_std_error(&s.errors)};
    s.errors.error_exit = fail;
    s.errors.emit_message = warn;
    const int rc = decode(&jpeg, bytes, &s);
    jpeg_destroy_decompress(&jpeg);
    free(s.inks);
    if (rc == 0)
        *out = s.picture;
    else
        free(s.picture.pixels);
    return rc;
}
