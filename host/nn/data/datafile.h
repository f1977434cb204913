/* datafile.h : a plain or gzipped file that is read once, front to back, and distrusted all the
 * way.
 *
 * Offsets count the bytes of the data: in a .gz file those of the unpacked data. A file of several
 * gzip members is read as one; what follows the last member is not looked at (zlib skips it), nor
 * could it change the data. */
#ifndef DATAFILE_H
#define DATAFILE_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct datafile {
    gzFile gz;
    char path[PATH_MAX]; /* of the file that was found */
};

/* Says one line about what was found at an offset of the file. Returns -EINVAL. */
int datafile_err(const struct datafile *f, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens DIR/NAME, or DIR/NAME.gz when the former does not exist. Returns 0 or a negative errno with a
 * line. */
int datafile_open(const char *dir, const char *name, struct datafile *out);
/* The same for a file that people have under several names (NULL ends them), the usual one first.
 *   where   the data set's name, its site and its files: ends the line if there is no such file */
int datafile_open_any(const char *dir, const char *const *names, const char *where,
                      struct datafile *out);
void datafile_close(struct datafile *f);

/* Where the next byte comes from. */
uint64_t datafile_at(const struct datafile *f);

/* Reads exactly so many bytes. what: names them when the file ends before ("the header"). Returns
 * 0, -EINVAL, -EIO. */
int datafile_read(struct datafile *f, void *buf, size_t bytes, const char *what);

/* Reads all that is left, or max bytes of it. Memory grows as data arrives: a header's lie about a
 * size costs nothing.
 *   data   out: [*bytes] from malloc, the caller's; never NULL
 *   Returns 0, -EINVAL, -EIO, -ENOMEM. */
int datafile_slurp(struct datafile *f, size_t max, uint8_t **data, size_t *bytes);

/* Checks that the file ends here, and its gzip checksum. Returns 0, -EINVAL, -EIO. */
int datafile_end(struct datafile *f);

#endif
