/* codes_in.h : reads a file of packed codes in blocks of whole codes. */
#ifndef CODES_IN_H
#define CODES_IN_H
#include "base/file.h"
#include "vec/vec.h"
#include "codec/codec.h"

/* codes; a multiple of 8, so that blocks begin on a byte */
enum { CODES_IN_BLOCK = 1 << 16 };

struct codes_in {
    struct file_in file;
    struct mf_fmt fmt;
    uint64_t count; /* codes that the file should hold; 0: all that it has */
    uint64_t done;  /* codes read */
};

int codes_in_open(struct codes_in *in, const char *path, struct mf_fmt fmt, uint64_t count);
void codes_in_close(struct codes_in *in); /* also if zeroed */

/* Reads the next block. codes: [vec_bytes(fmt, CODES_IN_BLOCK)]. *n: set to the number of codes,
 * less than CODES_IN_BLOCK only in the last block, 0 at the end. Fails if the file ends inside a
 * code or lacks `count` codes. */
int codes_in_read(struct codes_in *in, uint8_t *codes, size_t *n);

/* The same for file i of several, read in turn. *n: out; for i > 0 also in: the codes of the files
 * before, which must be as many. */
int codes_in_read_one(struct codes_in *in, int i, uint8_t *codes, size_t *n);

/* Reads up to n_blocks blocks of each of n_in files, of file i to to[i]. *n: set to the number of
 * codes of each file, 0 at the end. Fails if the files differ in length. */
int codes_in_read_all(struct codes_in *in, int n_in, size_t n_blocks, uint8_t *const *to,
                      size_t *n);

/* ---- values to cast, and their shift ---- */

/* Reads the next values into x [most]. *n: set to their number, 0 at the end. */
int cast_in_read(struct file_in *in, float *x, size_t most, size_t *n);

/* Reads an open file to its end. Sets *largest to the largest magnitude of its values, as fp32
 * bits. */
typedef int cast_in_largest(void *arg, struct file_in *in, uint32_t *largest);

/* Sets *shift. Reads the whole file first, by find(arg, ...), if the scale depends on the largest
 * value, or if nan has no code; then refuses inf and nan. The file must be open and unread, and is
 * again. */
int cast_in_shift(const struct codec *codec, struct file_in *in, cast_in_largest *find, void *arg,
                  int *shift);

#endif
