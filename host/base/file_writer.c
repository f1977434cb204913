/* file_writer.c : files that are written as they go, pipes among them. */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READER_WAIT_S = 5, LOOK_AGAIN_NS = 20000000 };

/* A pipe that nobody has opened to read. */
static bool lacks_reader(const char *path, int code)
{
    struct stat st;
    return code == ENXIO && !stat(path, &st) && S_ISFIFO(st.st_mode);
}

int file_open_writer(const char *path, int flags)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
    const double until_s = clock_s() + READER_WAIT_S;
    int fd;
    while ((fd = open(path, flags | O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0666)) < 0) {
        if (!lacks_reader(path, errno))
            return -errno;
        if (clock_s() > until_s)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
    if (!fcntl(fd, F_SETFL, flags & O_APPEND)) /* writes wait from now on */
        return fd;
    const int code = errno;
    close(fd);
    return -code;
}

FILE *file_writer(const char *path, bool append)
{
    const int fd = file_open_writer(path, O_CREAT | (append ? O_APPEND : O_TRUNC));
    FILE *f = fd < 0 ? NULL : fdopen(fd, append ? "a" : "w");
    const int code = fd < 0 ? -fd : errno;
    if (!f && fd >= 0)
        close(fd);
    errno = code;
    return f;
}

const char *file_why(int code)
{
    return code == ETIMEDOUT ? "no process opened this pipe to read it" : strerror(code);
}
