/* callers.h : reads a greeting from each client of a listening socket, all clients at once.
 *
 *     callers_init(&c, listener, bytes)
 *     while (no deadline has passed)
 *         fd = callers_turn(&c, clock_s(), said)
 *         fd < 0: callers_wait(&c); else look at said [bytes] and keep fd, or close it
 *     callers_fini(&c)
 *
 * A silent client does not delay others. It is disconnected after CALLERS_HELLO_S, or after
 * CALLERS_GRACE_S if its place or its descriptor is needed. Until then new clients wait in
 * the system's queue. */
#ifndef CALLERS_H
#define CALLERS_H
#include <stdbool.h>
#include <stddef.h>

#define CALLERS_HELLO_S 2.0
#define CALLERS_GRACE_S 0.25
enum { CALLERS_MAX = 256, CALLERS_BYTES = 16 };

struct caller {
    int fd;
    double since_s; /* when it connected */
    size_t got;
    unsigned char said[CALLERS_BYTES];
};

struct callers {
    int listener; /* non-blocking, owned by the user */
    size_t bytes; /* length of the greeting */
    bool full;    /* there is no place for the next client yet */
    int n;
    struct caller at[CALLERS_MAX]; /* [n], the oldest first */
};

/* bytes: length of the greeting, at most CALLERS_BYTES. listener is not
 * closed by callers_fini(). */
void callers_init(struct callers *c, int listener, size_t bytes);
/* Disconnects all clients that still wait. */
void callers_fini(struct callers *c);

/* Wait at most 0.1 s until callers_turn() has something to do. */
void callers_wait(const struct callers *c);

/* Accept, read and disconnect without blocking. now is clock_s(). Returns the non-blocking socket
 * of the first client whose greeting is complete, and copies the greeting to said. The caller then
 * owns the socket. Returns -1 if there is no such client. */
int callers_turn(struct callers *c, double now, void *said);

#endif
