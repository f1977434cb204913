/* xclbin_file.c : a container's file as a whole. */
#include "offload/xrt/xclbin.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_MIB = 1024 }; /* a bitstream of the largest FPGA has 100 */

static int say(int code, const char *path, const char *what, char *why)
{
    snprintf(why, XCLBIN_WHY_BYTES, "cannot read '%.120s': %s", path, what);
    return code;
}

int xclbin_read(const char *path, uint8_t **file, size_t *bytes, char *why)
{
    struct stat st;
    uint8_t *b = NULL;
    int rc = 0;
    /* a pipe that nobody writes to would be waited for */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st))
        rc = say(-errno, path, strerror(errno), why);
    else if (!S_ISREG(st.st_mode))
        rc = say(-EINVAL, path, "it is no plain file", why);
    else if (st.st_size > (off_t)MOST_MIB << 20)
        rc = say(-EFBIG, path, "it is longer than 1 GiB: no container for a card", why);
    else if (!(b = malloc((size_t)st.st_size + 1)))
        rc = say(-ENOMEM, path, "out of memory", why);
    for (*bytes = 0; !rc;) {
        const ssize_t n = read(fd, b + *bytes, (size_t)st.st_size + 1 - *bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = say(-errno, path, strerror(errno), why);
        else if (!n)
            break;
        else if ((*bytes += (size_t)n) > (size_t)st.st_size)
            rc = say(-EAGAIN, path, "it grows while it is read", why);
    }
    if (fd >= 0)
        close(fd);
    if (rc)
        free(b);
    else
        *file = b;
    return rc;
}

int xclbin_open(const char *path, struct xclbin **out, char *why)
{
    uint8_t *file;
    size_t bytes;
    int rc = xclbin_read(path, &file, &bytes, why);
    if (rc)
        return rc;
    char what[XCLBIN_WHY_BYTES];
    rc = xclbin_of(file, bytes, out, what);
    if (rc) {
        free(file);
        say(rc, path, what, why);
    } else {
        (*out)->own = file;
    }
    return rc;
}
