/* datafile.h : reads an untrusted plain or gzipped file once, from front to back. Offsets count
 * unpacked bytes. Several gzip members make one file; zlib ignores bytes after the last. Functions
 * return 0 or -errno (reported). */
#ifndef DATAFILE_H
#define DATAFILE_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct datafile {
    gzFile gz;
    char path[PATH_MAX];
};

/* Report an error at an offset. Returns -EINVAL. */
int datafile_err(const struct datafile *f, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Open DIR/NAME, or else DIR/NAME.gz. */
int datafile_open(const char *dir, const char *name, struct datafile *out);
/* Open the first of `names` (NULL-terminated) that exists. where: name, site and files of the data
 * set, for the error message if none does. */
int datafile_open_any(const char *dir, const char *const *names, const char *where,
                      struct datafile *out);
void datafile_close(struct datafile *f);

uint64_t datafile_at(const struct datafile *f);

/* Read exactly `bytes` bytes. what: their name in errors ("the header"). */
int datafile_read(struct datafile *f, void *buf, size_t bytes, const char *what);

/* Read the rest, at most max bytes, into *data, which the caller frees. *data is not NULL even if
 * there are no bytes. Memory grows as data arrive, so a wrong size in a header cannot make it
 * grow. */
int datafile_slurp(struct datafile *f, size_t max, uint8_t **data, size_t *bytes);

/* Read the rest like datafile_slurp(), and check that the file ends there with the right gzip
 * checksum. */
int datafile_all(struct datafile *f, size_t max, uint8_t **data, size_t *bytes);

/* Check that the file ends here with the right gzip checksum. */
int datafile_end(struct datafile *f);

#endif
