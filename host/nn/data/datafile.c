/* datafile.c : reads plain or gzipped files through zlib, which detects either. */
#include "nn/data/datafile.h"
#include "base/err.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 20, GZ_BUFFER_BYTES = 1 << 17 };

int datafile_err(const struct datafile *f, uint64_t at, const char *format, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return ERR(-EINVAL, "'%s' offset %llu: %s", f->path, (unsigned long long)at, text);
}

/* path: the last tried. Prints nothing. */
static int open_any(const char *dir, const char *const *names, char path[PATH_MAX])
{
    for (; *names; names++)
        for (int gz = 0; gz < 2; gz++) {
            if (snprintf(path, PATH_MAX, "%s/%s%s", dir, *names, gz ? ".gz" : "") >= PATH_MAX)
                return -ENAMETOOLONG;
            /* do not wait for a pipe's writer */
            int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
            if (fd >= 0 || errno != ENOENT)
                return fd >= 0 ? fd : -errno;
        }
    return -ENOENT;
}

int datafile_open(const char *dir, const char *name, struct datafile *out)
{
    return datafile_open_any(dir, (const char *const[]){name, NULL}, NULL, out);
}

int datafile_open_any(const char *dir, const char *const *names, const char *where,
                      struct datafile *out)
{
    int fd = open_any(dir, names, out->path);
    if (fd == -ENOENT)
        return ERR(fd, "cannot open '%s/%s' or its .gz: %s%s%s", dir, *names, strerror(-fd),
                   where ? ": want " : "", where ? where : "");
    if (fd < 0)
        return ERR(fd, "cannot open '%s': %s", out->path, strerror(-fd));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return ERR(-EINVAL, "cannot read '%s': it is not a regular file", out->path);
    }
    out->gz = gzdopen(fd, "rb");
    if (!out->gz) {
        close(fd);
        return ERR(-ENOMEM, "cannot read '%s': no memory", out->path);
    }
    (void)gzbuffer(out->gz, GZ_BUFFER_BYTES);
    return 0;
}

void datafile_close(struct datafile *f)
{
    (void)gzclose_r(f->gz);
}

uint64_t datafile_at(const struct datafile *f)
{
    return (uint64_t)gztell(f->gz);
}

/* Z_BUF_ERROR means that the stream ends early. */
static int stream_error(const struct datafile *f)
{
    int code;
    const char *text = gzerror(f->gz, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    if (code == Z_ERRNO) {
        int rc = -errno;
        return ERR(rc, "'%s' offset %llu: %s", f->path, (unsigned long long)datafile_at(f),
                   strerror(-rc));
    }
    const char *colon = strstr(text, ": "); /* zlib's message begins with a file name */
    return datafile_err(f, datafile_at(f), "the gzip stream is damaged here or later: %s",
                        colon ? colon + 2 : text);
}

/* Returns less than `bytes` only at the file's end. */
static int64_t read_some(struct datafile *f, uint8_t *buf, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        size_t want = bytes - got < CHUNK_BYTES ? bytes - got : CHUNK_BYTES;
        int n = gzread(f->gz, buf + got, (unsigned)want);
        if (n > 0)
            got += (size_t)n;
        if (n < (int)want) {
            TRY(stream_error(f));
            break;
        }
    }
    return (int64_t)got;
}

int datafile_read(struct datafile *f, void *buf, size_t bytes, const char *what)
{
    uint64_t at = datafile_at(f);
    int64_t got = read_some(f, buf, bytes);
    if (got < 0)
        return (int)got;
    if ((size_t)got < bytes)
        return datafile_err(f, at + (uint64_t)got,
                            "the file ends inside %s, expected %zu bytes more", what,
                            bytes - (size_t)got);
    return 0;
}

int datafile_slurp(struct datafile *f, size_t max, uint8_t **data, size_t *bytes)
{
    uint8_t *buf = NULL;
    size_t room = 0, n = 0;
    int64_t got;
    do {
        size_t grown = room ? 2 * room : CHUNK_BYTES;
        room = grown < max ? grown : max;
        uint8_t *p = realloc(buf, room + 1); /* + 1: max may be 0 */
        if (!p) {
            free(buf);
            return ERR(-ENOMEM, "cannot allocate %zu bytes for '%s'", room, f->path);
        }
        buf = p;
        got = read_some(f, buf + n, room - n);
        if (got < 0) {
            free(buf);
            return (int)got;
        }
        n += (size_t)got;
    } while (n == room && room < max);
    *data = buf;
    *bytes = n;
    return 0;
}

int datafile_all(struct datafile *f, size_t max, uint8_t **data, size_t *bytes)
{
    uint8_t *buf;
    size_t n;
    TRY(datafile_slurp(f, max + 1, &buf, &n));
    if (n > max) {
        free(buf);
        return datafile_err(f, max, "a file of more than %zu bytes", max);
    }
    *data = buf;
    *bytes = n;
    return 0;
}

int datafile_end(struct datafile *f)
{
    uint64_t at = datafile_at(f);
    uint8_t byte;
    int64_t got = read_some(f, &byte, 1);
    if (got > 0)
        return datafile_err(f, at, "data after the expected end of the file");
    return (int)got;
}
