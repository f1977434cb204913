/* file.c : files read in blocks, and files that are written whole or not at all. */
#include "base/file.h"
#include "base/err.h"
#include <fcntl.h>
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
        return ERR(-code, "cannot read '%s' at byte %llu: %s", in->path, (unsigned long long)(in->at + n),
                   strerror(code));
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
    return ERR(-code, "cannot write '%s': %s", out->path, strerror(code));
}

/* The part of a path up to its last slash, "." where there is none. malloc'd. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

/* Opens a file without a name in the target's folder, or with the temporary name where that cannot be. Returns fd, -errno. */
static int open_temp(struct file_out *out)
{
    char *folder = folder_of(out->target);
    if (!folder || asprintf(&out->temp, "%s.%ld.tmp", out->target, (long)getpid()) < 0) {
        out->temp = NULL;
        free(folder);
        return -ENOMEM;
    }
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        fd = open(out->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        out->has_name = fd >= 0;
    }
    return fd < 0 ? -errno : fd;
}

int file_out_open(struct file_out *out, const char *path)
{
    struct file_out o = {.path = path};
    struct stat st;
    int fd, rc;
    int exists = !stat(path, &st);
    if (exists && access(path, W_OK)) {
        rc = out_failed(&o, errno);
        goto discard;
    }
    if (exists && !S_ISREG(st.st_mode)) {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        o.target = exists ? realpath(path, NULL) : strdup(path);
        fd = o.target ? open_temp(&o) : -ENOMEM;
        errno = fd < 0 ? -fd : 0;
    }
    o.f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!o.f) {
        rc = out_failed(&o, errno);
        if (fd >= 0)
            close(fd);
        goto discard;
    }
    if (o.target && exists)
        (void)fchmod(fd, st.st_mode & 07777);
    *out = o;
    return 0;
discard:
    file_out_discard(&o);
    return rc;
}

int file_out_write(struct file_out *out, const void *buf, size_t bytes)
{
    errno = 0;
    return fwrite(buf, 1, bytes, out->f) == bytes ? 0 : out_failed(out, errno);
}

/* Gives the finished file its temporary name, if it has none yet, and moves it into place. Returns 0 or -errno. */
static int put_in_place(struct file_out *out)
{
    if (!out->has_name) {
        char self[64];
        snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->f));
        if (linkat(AT_FDCWD, self, AT_FDCWD, out->temp, AT_SYMLINK_FOLLOW))
            return -errno;
        out->has_name = 1;
    }
    if (rename(out->temp, out->target))
        return -errno;
    out->has_name = 0;
    char *folder = folder_of(out->target);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) { /* the new name survives a crash, too; not every file system can promise it */
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
    return 0;
}

int file_out_commit(struct file_out *out)
{
    errno = 0;
    int rc = 0;
    if (fflush(out->f) || (out->target && fsync(fileno(out->f))))
        rc = errno ? -errno : -EIO;
    if (!rc && out->target)
        rc = put_in_place(out);
    if (rc)
        rc = out_failed(out, -rc);
    file_out_discard(out);
    return rc;
}

void file_out_discard(struct file_out *out)
{
    if (out->f)
        fclose(out->f);
    if (out->has_name)
        unlink(out->temp);
    free(out->temp);
    free(out->target);
    *out = (struct file_out){0};
}
