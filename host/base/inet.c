/* inet.c : parses addresses and opens TCP sockets. */
#include "base/inet.h"
#include "base/clock.h"
#include "base/err.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

const char *inet_hint(const char *text)
{
    const size_t n = strspn(text, "0123456789abcdefABCDEF:.");
    const char *first = memchr(text, ':', n);
    const bool colons = first && memchr(first + 1, ':', n - (size_t)(first + 1 - text));
    return *text == '[' || (colons && (!text[n] || text[n] == '%')) ? "IPv6 is not supported, "
                                                                    : "";
}

int inet_split(const char *text, char host[INET_HOST_BYTES], uint16_t *port)
{
    const char *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : 0;
    if (!n || n >= INET_HOST_BYTES || *text == '[' || colon[1] < '0' || colon[1] > '9')
        return -EINVAL;
    for (const char *c = text; c < colon; c++)
        if (*c <= ' ' || *c == 0x7f)
            return -EINVAL;
    char *end;
    const unsigned long number = strtoul(colon + 1, &end, 10);
    if (*end || number > UINT16_MAX)
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = 0;
    *port = (uint16_t)number;
    return 0;
}

int inet_find(const char *host, uint32_t *ip, char why[INET_WHY_BYTES])
{
    const struct addrinfo four = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM},
                          six = {.ai_family = AF_INET6, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_in at;
    const int rc = getaddrinfo(host, NULL, &four, &found), code = errno;
    if (rc && rc != EAI_AGAIN && !getaddrinfo(host, NULL, &six, &found)) {
        freeaddrinfo(found);
        snprintf(why, INET_WHY_BYTES, "'%.64s' has only IPv6 addresses: need an IPv4 address",
                 host);
        return -ENXIO;
    }
    if (rc) {
        snprintf(why, INET_WHY_BYTES, "cannot find host '%.64s': %s", host,
                 rc == EAI_SYSTEM ? strerror(code) : gai_strerror(rc));
        return rc == EAI_NONAME || rc == EAI_NODATA ? -ENXIO : -EHOSTUNREACH;
    }
    memcpy(&at, found->ai_addr, sizeof at);
    freeaddrinfo(found);
    *ip = ntohl(at.sin_addr.s_addr);
    return 0;
}

int inet_parse(const char *text, uint32_t *ip, uint16_t *port)
{
    char host[INET_HOST_BYTES], why[INET_WHY_BYTES];
    if (inet_split(text, host, port))
        return ERR(-EINVAL,
                   "cannot read '%s' as an address: %sneed HOST:PORT, such as 127.0.0.1:4711", text,
                   inet_hint(text));
    return inet_find(host, ip, why) ? ERR(-EINVAL, "%s", why) : 0;
}

const char *inet_text(uint32_t ip, uint16_t port, char to[INET_TEXT])
{
    snprintf(to, INET_TEXT, "%u.%u.%u.%u:%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255,
             (unsigned)port);
    return to;
}

static struct sockaddr_in address(uint32_t ip, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
}

static int closed(int fd)
{
    const int rc = -errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

int inet_listen(uint32_t ip, uint16_t *port, int most)
{
    struct sockaddr_in at = address(ip, *port);
    socklen_t size = sizeof at;
    const int one = 1; /* to listen right after another server has ended */
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
        bind(fd, (const struct sockaddr *)&at, size) || listen(fd, most) ||
        getsockname(fd, (struct sockaddr *)&at, &size))
        return closed(fd);
    *port = ntohs(at.sin_port);
    return fd;
}

int inet_call(uint32_t ip, uint16_t port)
{
    const struct sockaddr_in at = address(ip, port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, (const struct sockaddr *)&at, sizeof at) && errno != EINPROGRESS))
        return closed(fd);
    return fd;
}

int inet_called(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    if (poll(&p, 1, wait_ms) <= 0)
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size))
        return -errno;
    return why ? -why : 1;
}

int inet_connect(uint32_t ip, uint16_t port, struct deadline *d)
{
    const int fd = inet_call(ip, port);
    int rc = fd < 0 ? fd : 0;
    while (rc == 0) {
        const double left_s = d->at - clock_s();
        rc = inet_called(fd, left_s <= 0 ? 0 : left_s < 0.1 ? 1 + (int)(left_s * 1e3) : 100);
        if (rc == 0 && deadline_passed(d, clock_s()))
            rc = -ETIMEDOUT;
    }
    if (rc < 0 && fd >= 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

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
