/* cast_in.h : what every way of casting a file begins with: its values, and the shift for them. */
#ifndef CAST_IN_H
#define CAST_IN_H
#include "base/file.h"
#include "codec/codec.h"

/* The next values of a file into x [most]: n of them, 0 at the end. Returns 0 or a negative errno with
 * a line. */
int cast_in_read(struct file_in *in, float *x, size_t most, size_t *n);

/* The shift for values of at most this magnitude, as fp32 bits. Returns 0 or -EINVAL with a line: in
 * `path` there is inf or nan, and the scale depends on it. */
int cast_in_shift(const struct codec *codec, const char *path, uint32_t largest, int *shift);

#endif
