/* inet.h : parses "HOST:PORT" and IPv4 addresses, and makes TCP sockets listen and connect. */
#ifndef INET_H
#define INET_H
#include "base/deadline.h"
#include <stddef.h>
#include <stdint.h>

enum { INET_HOST_BYTES = 256, INET_WHY_BYTES = 192 };

/* Parse HOST (a name or IPv4 address) and PORT (0..65535), in host byte order: 127.0.0.1 is
 * 0x7f000001. Reports -EINVAL. */
int inet_parse(const char *text, uint32_t *ip, uint16_t *port);

/* The two steps of inet_parse(), without printing. inet_split() returns 0 or -EINVAL. inet_find()
 * returns 0, -ENXIO (unknown host) or -EHOSTUNREACH (the name service does not answer), with the
 * reason in why. */
int inet_split(const char *text, char host[INET_HOST_BYTES], uint16_t *port);
int inet_find(const char *host, uint32_t *ip, char why[INET_WHY_BYTES]);

/* Return "IPv6 is not supported, " if the text looks like an IPv6 address (brackets and port
 * optional), else "". Messages put it before "need ...". */
const char *inet_hint(const char *text);

/* Write "127.0.0.1:4711" to `to` and return it. */
enum { INET_TEXT = 24 };
const char *inet_text(uint32_t ip, uint16_t port, char to[INET_TEXT]);

/* Return a socket that listens on ip:*port with a queue of `most` unaccepted connections. *port 0:
 * the system chooses, and stores, a port. These functions return a negative errno without printing.
 * Sockets are non-blocking and close-on-exec. */
int inet_listen(uint32_t ip, uint16_t *port, int most);

/* Waits until the deadline. Returns the socket, -ETIMEDOUT or another errno. */
int inet_connect(uint32_t ip, uint16_t port, struct deadline *d);

/* The two parts of inet_connect(). inet_call() returns the socket at once. inet_called() waits at
 * most wait_ms and returns 1 if it is connected, 0 if not yet, or a negative errno; the caller then
 * closes it. */
int inet_call(uint32_t ip, uint16_t port);
int inet_called(int fd, int wait_ms);

/* ---- whole messages over a stream socket ---- */

/* Send or receive exactly `bytes`. Return 0, -EPIPE if the other end has closed, or another
 * negative errno, without printing. They never raise SIGPIPE. */
int sock_send(int fd, const void *buf, size_t bytes);
int sock_recv(int fd, void *buf, size_t bytes);

#endif
