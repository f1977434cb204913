/* picture.h : a picture file of bytes, PNG or PNM, which is distrusted all the way. */
#ifndef PICTURE_H
#define PICTURE_H
#include "nn/data/datafile.h"

enum { PICTURE_SIDE_MAX = 8192 };

struct picture {
    int h, w, c;     /* c: 1 or 3 */
    uint8_t *pixels; /* [h, w, c] */
};

/* Reads DIR/NAME: PNG (8 bits of grey, RGB or a palette, not interlaced), or binary PGM or PPM of 255
 * levels. Returns 0 (pixels are the caller's, to be freed), -ENOENT, -EINVAL, -EIO, -ENOMEM, each
 * with a line that names file and offset. */
int picture_read(const char *dir, const char *name, struct picture *out);

/* The two kinds, from the bytes of an open file; f: for messages. As picture_read. */
int png_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out);
int pnm_decode(const struct datafile *f, const uint8_t *bytes, size_t n, struct picture *out);

#endif
