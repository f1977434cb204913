/* codes_in.h : reads a file of packed codes in blocks of whole codes.
 *
 * Int results are 0 or a negative errno that has been reported. */
#ifndef CODES_IN_H
#define CODES_IN_H
#include "base/file.h"
#include "vec/vec.h"
#include "codec/codec.h"

/* in codes; a multiple of 8, so that every block begins on a byte */
enum { CODES_IN_BLOCK = 1 << 16 };

struct codes_in {
    struct file_in file;
    struct mf_fmt fmt;
    uint64_t count; /* codes that the file should hold; 0: as many as fit */
    uint64_t done;  /* codes read */
};

int codes_in_open(struct codes_in *in, const char *path, struct mf_fmt fmt, uint64_t count);
void codes_in_close(struct codes_in *in); /* also if zeroed */

/* Reads the next n codes: CODES_IN_BLOCK except in the last block; 0 at the end. codes:
 * [vec_bytes(fmt, CODES_IN_BLOCK)]. Fails if the file ends inside a code, or is too
 * short or too long for count. */
int codes_in_read(struct codes_in *in, uint8_t *codes, size_t *n);

/* ---- values of a file to cast, and the shift for them ---- */

/* Reads the next values into x [most]: n of them, 0 at the end. */
int cast_in_read(struct file_in *in, float *x, size_t most, size_t *n);

/* Computes the shift. largest: largest magnitude, as fp32 bits. -EINVAL: `path` contains inf or nan
 * and the scale depends on it. */
int cast_in_shift(const struct codec *codec, const char *path, uint32_t largest, int *shift);

#endif
