/* datafile.h : reads an untrusted plain or gzipped file once, from front to back. Offsets count
 * unpacked bytes. Several gzip members make one file. zlib ignores bytes after the last member, and
 * these cannot change the data. Functions return 0 or -errno (reported). */
#ifndef DATAFILE_H
#define DATAFILE_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct datafile {
    gzFile gz;
    char path[PATH_MAX]; /* path of the file that was opened */
};

/* Report an error at an offset of the file. Returns -EINVAL. */
int datafile_err(const struct datafile *f, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Open DIR/NAME, or DIR/NAME.gz if there is no DIR/NAME. */
int datafile_open(const char *dir, const char *name, struct datafile *out);
/* Open the first file that exists of several common names. names: ends with NULL. where: name, site
 * and files of the data set, added to the error message if no file exists. */
int datafile_open_any(const char *dir, const char *const *names, const char *where,
                      struct datafile *out);
void datafile_close(struct datafile *f);

uint64_t datafile_at(const struct datafile *f);

/* Read exactly `bytes` bytes. what: name of these bytes in error messages ("the header"). */
int datafile_read(struct datafile *f, void *buf, size_t bytes, const char *what);

/* Read the rest of the file, at most max bytes. On success *data is not NULL, even if *bytes is 0,
 * and the caller frees it. Memory grows as data arrive, so a header that announces a wrong size
 * cannot make it grow. */
int datafile_slurp(struct datafile *f, size_t max, uint8_t **data, size_t *bytes);

/* Check that the file ends here and that its gzip checksum is right. */
int datafile_end(struct datafile *f);

#endif
