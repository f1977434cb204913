/* file.c : files read in blocks, and files that are written whole or not at all. */
#include "base/file.h"
#include "base/err.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_in_open(struct file_in *in, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return ERR(-errno, "cannot open '%s': %s", path, strerror(errno));
    *in = (struct file_in){.f = f, .path = path};
    return 0;
}

int file_in_read(struct file_in *in, void *buf, size_t bytes, size_t *got)
{
    errno = 0;
    size_t n = fread(buf, 1, bytes, in->f);
    if (n < bytes && ferror(in->f)) {
        int code = errno ? errno : EIO;
        return ERR(-code, "cannot read '%s' at byte %llu: %s", in->path,
                   (unsigned long long)(in->at + n), strerror(code));
    }
    in->at += n;
    *got = n;
    return 0;
}

int file_in_rewind(struct file_in *in)
{
    if (fseeko(in->f, 0, SEEK_SET))
        return ERR(-EINVAL, "cannot read '%s' twice: it is no plain file", in->path);
    in->at = 0;
    return 0;
}

void file_in_close(struct file_in *in)
{
    if (in->f)
        fclose(in->f);
    in->f = NULL;
}

static int out_failed(const struct file_out *out, int code)
{
    code = code ? code : EIO;
    return ERR(-code, "cannot write '%s': %s", out->path, file_why(code));
}

/* The folder of a path, opened, and the name in it. Returns 0 or -errno. */
static int open_folder(struct file_out *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash          ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    out->target = strdup(slash ? slash + 1 : path);
    out->folder = folder && out->target ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int rc = out->folder >= 0 ? 0 : -errno;
    free(folder);
    return rc;
}

/* Calls make() with temporary names until one is free: other processes, dead ones too, may have
 * left theirs. Returns what make() does, 0 or more, or -errno. */
static int with_temp_name(struct file_out *out, int (*make)(const struct file_out *))
{
    for (int i = 0;; i++) {
        snprintf(out->temp, sizeof out->temp, "narrowcast.%ld.%d.tmp", (long)getpid(), i);
        const int made = make(out);
        if (made >= 0)
            return made;
        if (errno != EEXIST) {
            out->temp[0] = 0;
            return -errno;
        }
    }
}

static int create(const struct file_out *out)
{
    return openat(out->folder, out->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
}

static int give_name(const struct file_out *out)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->f));
    return linkat(AT_FDCWD, self, out->folder, out->temp, AT_SYMLINK_FOLLOW);
}

/* A file without a name in the target's folder, or with a temporary one where that cannot be.
 * Returns fd, -errno. */
static int open_temp(struct file_out *out)
{
    const int fd = openat(out->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        return with_temp_name(out, create);
    return fd < 0 ? -errno : fd;
}

/* The file that is there, or will be. Returns fd, -errno. */
static int open_out(struct file_out *out, const char *path)
{
    struct stat st;
    const bool exists = !stat(path, &st);
    if ((!exists && errno != ENOENT) || !*path) /* a name too long is known by now */
        return -errno;
    if (exists && access(path, W_OK))
        return -errno;
    if (exists && !S_ISREG(st.st_mode))
        return file_open_writer(path, 0);
    char *real = exists ? realpath(path, NULL) : strdup(path);
    const int rc = real ? open_folder(out, real) : -errno;
    free(real);
    const int fd = rc ? rc : open_temp(out);
    if (fd >= 0 && exists)
        (void)fchmod(fd, st.st_mode & 07777);
    return fd;
}

int file_out_open(struct file_out *out, const char *path)
{
    struct file_out o = {.path = path, .folder = -1};
    const int fd = open_out(&o, path);
    o.f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!o.f) {
        const int rc = out_failed(&o, fd >= 0 ? errno : -fd);
        if (fd >= 0)
            close(fd);
        file_out_discard(&o);
        return rc;
    }
    *out = o;
    return 0;
}

/* The first failure is kept and said. */
static int note(struct file_out *out, bool fine)
{
    if (!fine && !out->failed) {
        out->failed = errno ? errno : EIO;
        (void)out_failed(out, out->failed);
    }
    return -out->failed;
}

int file_out_write(struct file_out *out, const void *buf, size_t bytes)
{
    errno = 0;
    return note(out, fwrite(buf, 1, bytes, out->f) == bytes);
}

int file_out_print(struct file_out *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    errno = 0;
    const int n = vfprintf(out->f, format, ap);
    va_end(ap);
    return note(out, n >= 0);
}

/* Gives the finished file a temporary name, if it has none yet, and moves it into place. Returns 0
 * or -errno. */
static int put_in_place(struct file_out *out)
{
    if (!out->temp[0]) {
        const int rc = with_temp_name(out, give_name);
        if (rc < 0)
            return rc;
    }
    if (renameat(out->folder, out->temp, out->folder, out->target))
        return -errno;
    out->temp[0] = 0;
    /* the new name survives a crash, too; not every file system can promise it */
    (void)fsync(out->folder);
    return 0;
}

int file_out_sync(struct file_out *out)
{
    errno = 0;
    return note(out,
                !fflush(out->f) && !ferror(out->f) && (out->folder < 0 || !fsync(fileno(out->f))));
}

int file_out_commit(struct file_out *out)
{
    int rc = file_out_sync(out);
    if (!rc && out->folder >= 0) {
        rc = put_in_place(out);
        if (rc)
            rc = out_failed(out, -rc);
    }
    file_out_discard(out);
    return rc;
}

void file_out_discard(struct file_out *out)
{
    if (!out->path) /* zeroed */
        return;
    if (out->f)
        fclose(out->f);
    if (out->temp[0])
        unlinkat(out->folder, out->temp, 0);
    if (out->folder >= 0)
        close(out->folder);
    free(out->target);
    *out = (struct file_out){0};
}

int file_out_check(const char *path)
{
    struct file_out out;
    TRY(file_out_open(&out, path));
    file_out_discard(&out);
    return 0;
}

void file_hold_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/", O_PATH);
}
