/* sock.c : whole messages over a stream socket. */
#include "base/sock.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

int sock_send(int fd, const void *buf, size_t bytes)
{
    for (const char *at = buf; bytes;) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return errno == ECONNRESET ? -EPIPE : -errno;
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

int sock_recv(int fd, void *buf, size_t bytes)
{
    for (char *at = buf; bytes;) {
        ssize_t n = recv(fd, at, bytes, 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return -EPIPE;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}
