/* datafile.h : reads an untrusted plain or gzipped file once, from front to back. Offsets count
 * unpacked bytes. Several gzip members are one file; zlib ignores what follows the last, which
 * cannot change the data. Functions return 0 or -errno (reported). */
#ifndef DATAFILE_H
#define DATAFILE_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct datafile {
    gzFile gz;
    char path[PATH_MAX]; /* of the file found */
};

/* Report a problem at an offset of the file. Returns -EINVAL. */
int datafile_err(const struct datafile *f, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Open DIR/NAME, or DIR/NAME.gz if the former does not exist. */
int datafile_open(const char *dir, const char *name, struct datafile *out);
/* Open the first of several common names (NULL-terminated). where: the data set's name, site and
 * files, added to the error if none exists. */
int datafile_open_any(const char *dir, const char *const *names, const char *where,
                      struct datafile *out);
void datafile_close(struct datafile *f);

uint64_t datafile_at(const struct datafile *f);

/* Read exactly `bytes` bytes; what: their name in errors ("the header"). */
int datafile_read(struct datafile *f, void *buf, size_t bytes, const char *what);

/* Read the rest, at most max bytes. The caller frees *data, which is never NULL. Memory grows as
 * data arrives, so a wrong size in a header costs nothing. */
int datafile_slurp(struct datafile *f, size_t max, uint8_t **data, size_t *bytes);

/* Check that the file ends here, and its gzip checksum. */
int datafile_end(struct datafile *f);

#endif
