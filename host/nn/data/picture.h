/* picture.h : reads untrusted JPEG, PNG and PNM files, and writes label maps as PNG. */
#ifndef PICTURE_H
#define PICTURE_H
#include "nn/data/datafile.h"

enum { PICTURE_SIDE_MAX = 8192 };

struct picture {
    int h, w, c;     /* c: 1 or 3 */
    uint8_t *pixels; /* [h, w, c] */
};

/* Read DIR/NAME: JPEG, PNG (8-bit grey, RGB or palette, not interlaced), or binary PGM or PPM of
 * 255 levels. The caller frees pixels. Returns 0 or -errno (reported with file and offset). */
int picture_read(const char *dir, const char *name, struct picture *out);

/* Write labels [h, w] as a PNG whose palette has the Pascal VOC data set's colour for each label:
 * the pixels' values are the labels. The file appears when it is complete. */
int png_write_labels(const char *path, int h, int w, const uint8_t *labels);

/* Decode the bytes [n] of an open file. f: for error messages. */
int png_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out);
int jpeg_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out);

#endif
