/* file.c : reads, writes, locks and compares files. */
#include "base/file.h"
#include "base/err.h"
#include "base/clock.h"
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
        return ERR(-EINVAL, "cannot read '%s' twice: it is not a regular file", in->path);
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

/* place: as place_of() returns it */
static int open_folder(struct file_out *out, const char *place)
{
    const size_t n = (size_t)(strrchr(place, '/') + 1 - place);
    char *folder = strndup(place, n);
    out->target = strdup(place);
    out->name = out->target ? out->target + n : NULL;
    out->folder = folder && out->target ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int rc = out->folder >= 0 ? 0 : -errno;
    free(folder);
    return rc;
}

/* Tries several names: other processes may have left such files. */
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
    return openat(out->folder, out->temp, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
}

static int give_name(const struct file_out *out)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(out->f));
    return linkat(AT_FDCWD, self, out->folder, out->temp, AT_SYMLINK_FOLLOW);
}

enum { LINKS_MAX = 40 };

static bool join(const char *folder, size_t n, const char *name, char *to)
{
    const int length = snprintf(to, PATH_MAX, "%.*s/%s", (int)n, folder, name);
    errno = ENAMETOOLONG;
    return length > 0 && length < PATH_MAX;
}

/* Resolves all links, also of a file that does not exist: `to` has a slash. Returns false with
 * errno. */
static bool place_of(const char *path, char *to)
{
    char name[PATH_MAX], folder[PATH_MAX], link[PATH_MAX];
    errno = ENAMETOOLONG;
    if (strlen(path) >= sizeof name)
        return false;
    strcpy(name, path);
    for (int i = 0; i < LINKS_MAX; i++) {
        if (realpath(name, to))
            return true;
        const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
        if (!join(slash ? name : ".", slash > name ? (size_t)(slash - name) : 1, "", folder) ||
            !realpath(folder, to) || !join(to, strlen(to), last, folder))
            return false;
        strcpy(name, folder);
        const ssize_t n = readlink(name, link, sizeof link - 1);
        if (n < 0) {
            strcpy(to, name);
            return true;
        }
        link[n] = '\0'; /* a dangling link: writing would create its target */
        if (*link != '/' && !join(to, strlen(to), link, folder))
            return false;
        strcpy(name, *link == '/' ? link : folder);
    }
    errno = ELOOP;
    return false;
}

/* Some file systems lack unnamed files, and give_name() needs /proc. */
static int open_temp(struct file_out *out)
{
    if (access("/proc/self/fd", X_OK))
        return with_temp_name(out, create);
    const int fd = openat(out->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
        return with_temp_name(out, create);
    return fd < 0 ? -errno : fd;
}

/* A device or pipe is opened itself; any other file gets a replacement. */
static int open_out(struct file_out *out, const char *path)
{
    struct stat st;
    const bool exists = !stat(path, &st);
    if ((!exists && errno != ENOENT) || !*path)
        return -errno;
    if (exists && access(path, W_OK))
        return -errno;
    if (exists && !S_ISREG(st.st_mode))
        return file_open_writer(path, 0);
    char real[PATH_MAX];
    const int rc = place_of(path, real) ? open_folder(out, real) : -errno;
    const int fd = rc ? rc : open_temp(out);
    if (fd >= 0 && exists) {
        const int given = fchown(fd, st.st_uid, st.st_gid);
        (void)given; /* only root may give a file away */
        (void)fchmod(fd, st.st_mode & 0777);
    }
    return fd;
}

int file_out_open(struct file_out *out, const char *path)
{
    struct file_out o = {.path = path, .folder = -1};
    const int fd = open_out(&o, path);
    o.f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!o.f) {
        const int code = fd >= 0 ? errno : -fd;
        const int rc = o.folder < 0
                           ? out_failed(&o, code)
                           : ERR(-code, "cannot write '%s': cannot create a file in its folder: %s",
                                 path, file_why(code));
        if (fd >= 0)
            close(fd);
        file_out_discard(&o);
        return rc;
    }
    *out = o;
    return 0;
}

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

static bool copy_all(int from, int to)
{
    char bytes[1 << 16];
    ssize_t n = lseek(from, 0, SEEK_SET) ? -1 : 0;
    while (n == 0 && (n = read(from, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0, wrote; n > 0; n -= wrote, at += wrote)
            if ((wrote = write(to, bytes + at, (size_t)n)) < 0)
                return false;
    return n == 0 && !fsync(to);
}

/* Overwrites a target that cannot be replaced: a mounted file, or another user's in a sticky
 * folder. If that fails, the temporary file stays. */
static int copy_in_place(struct file_out *out)
{
    const int to = openat(out->folder, out->name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    const int code = to >= 0 && copy_all(fileno(out->f), to) ? 0 : errno;
    if (to >= 0)
        close(to);
    if (!code)
        return 0;
    const int rc = ERR(-code, "cannot write '%s': %s: its new contents are in '%.*s%s'", out->path,
                       file_why(code), (int)(out->name - out->target), out->target, out->temp);
    out->temp[0] = 0;
    return rc;
}

static int put_in_place(struct file_out *out)
{
    if (!out->temp[0]) {
        const int rc = with_temp_name(out, give_name);
        if (rc < 0)
            return out_failed(out, -rc);
    }
    if (renameat(out->folder, out->temp, out->folder, out->name))
        return copy_in_place(out);
    out->temp[0] = 0;
    /* make the new name survive a crash, if the file system can */
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
    if (!rc && out->folder >= 0)
        rc = put_in_place(out);
    file_out_discard(out);
    return rc;
}

void file_out_discard(struct file_out *out)
{
    if (!out->path)
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
    struct stat st;
    /* opening a pipe and closing it would end its reader */
    if (!stat(path, &st) && S_ISFIFO(st.st_mode))
        return access(path, W_OK) ? ERR(-errno, "cannot write '%s': %s", path, file_why(errno)) : 0;
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

int file_end_standard(void)
{
    if (fflush(stdout))
        return ERR(-EIO, "cannot write to standard output: %s", strerror(errno));
    return ferror(stdout) ? ERR(-EIO, "cannot write to standard output: an earlier write failed")
                          : 0;
}

bool file_same(const char *a, const char *b)
{
    char at[2][PATH_MAX];
    struct stat one, two;
    const bool there = !stat(a, &one);
    if (there != !stat(b, &two))
        return false;
    if (!there)
        return !strcmp(a, b) || (place_of(a, at[0]) && place_of(b, at[1]) && !strcmp(at[0], at[1]));
    const bool given = !strncmp(a, "/dev/", 5) && !strncmp(b, "/dev/", 5) && !S_ISREG(one.st_mode);
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino && !S_ISCHR(one.st_mode) && !given;
}

int file_check_output(const char *in, const char *out)
{
    if (file_same(in, out))
        return ERR(-EINVAL, "cannot write '%s': it is the input '%s': need another file", out, in);
    return 0;
}

enum { WAIT_S = 5 }; /* seconds, for the reader of a pipe or the lock of a file */
static const struct timespec look_again = {.tv_nsec = 20000000};

static bool lacks_reader(const char *path, int code)
{
    struct stat st;
    return code == ENXIO && !stat(path, &st) && S_ISFIFO(st.st_mode);
}

int file_open_writer(const char *path, int flags)
{
    const double until_s = clock_s() + WAIT_S;
    int fd;
    while ((fd = open(path, flags | O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0666)) < 0) {
        if (!lacks_reader(path, errno))
            return -errno;
        if (clock_s() > until_s)
            return -ETIMEDOUT;
        nanosleep(&look_again, NULL);
    }
    if (!fcntl(fd, F_SETFL, flags & O_APPEND)) /* writes may block now */
        return fd;
    const int code = errno;
    close(fd);
    return -code;
}

int file_lock(int fd, bool waits)
{
    const double until_s = clock_s() + (waits ? WAIT_S : 0);
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            /* no locks in this file system: write without one */
            return 0;
        if (clock_s() > until_s)
            return -EWOULDBLOCK;
        nanosleep(&look_again, NULL);
    }
    return 0;
}

/* Only an appending process waits for the lock: a truncating one would destroy the other's file.
 * Closes fd after a failure. */
static int claim(int fd, bool append)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return fd;
    int rc = file_lock(fd, append);
    if (!rc && !append && ftruncate(fd, 0))
        rc = -errno;
    if (rc)
        close(fd);
    return rc ? rc : fd;
}

FILE *file_writer(const char *path, bool append)
{
    const int fd = claim(file_open_writer(path, O_CREAT | (append ? O_APPEND : 0)), append);
    FILE *f = fd < 0 ? NULL : fdopen(fd, append ? "a" : "w");
    const int code = fd < 0 ? -fd : errno;
    if (!f && fd >= 0)
        close(fd);
    errno = code;
    return f;
}

const char *file_why(int code)
{
    switch (code) {
    case ETIMEDOUT:
        return "no process has opened this pipe for reading";
    case EWOULDBLOCK:
        return "another process is writing to it; give this run a name of its own";
    default:
        return strerror(code);
    }
}
