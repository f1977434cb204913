/* file_writer.c : files that are written as they go, pipes among them. */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_S = 5 }; /* for the reader of a pipe, for the lock of a file */
static const struct timespec look_again = {.tv_nsec = 20000000};

/* A pipe that nobody has opened to read. */
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
    if (!fcntl(fd, F_SETFL, flags & O_APPEND)) /* writes wait from now on */
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
            return 0; /* a file system without locks: the file is written without one */
        if (clock_s() > until_s)
            return -EWOULDBLOCK;
        nanosleep(&look_again, NULL);
    }
    return 0;
}

/* Locks a regular file, then empties it unless the caller appends. Only who appends waits for the
 * lock: who empties would remove what the other process is about to finish. Returns fd, or -errno
 * after closing it. */
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
        return "no process opened this pipe to read it";
    case EWOULDBLOCK:
        return "another process is writing to it; give this run a name of its own";
    default:
        return strerror(code);
    }
}
