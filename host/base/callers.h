/* callers.h : reads a greeting from each client of a listening socket, all at once.
 *
 *     callers_init(&c, listener, bytes)
 *     while (no deadline has passed)
 *         fd = callers_turn(&c, clock_s(), said)
 *         fd < 0: callers_wait(&c); else look at said [bytes] and keep fd, or close it
 *     callers_fini(&c)
 *
 * A silent client does not delay others. It is disconnected after CALLERS_HELLO_S, or
 * CALLERS_GRACE_S if its place or descriptor is needed. Until then new clients wait in the system's
 * queue. */
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
    int listener; /* non-blocking; the user's */
    size_t bytes; /* of the greeting */
    bool full;    /* no place yet for the next client */
    int n;
    struct caller at[CALLERS_MAX]; /* [n], the oldest first */
};

/* bytes: of the greeting, at most CALLERS_BYTES */
void callers_init(struct callers *c, int listener, size_t bytes);
/* Disconnects all clients that still wait. Leaves the listener open. */
void callers_fini(struct callers *c);

/* Wait at most 0.1 s until callers_turn() has something to do. */
void callers_wait(const struct callers *c);

/* Accept, read and disconnect without blocking. now: clock_s(). Returns the non-blocking socket of
 * the first client with a complete greeting, copied to said; the caller owns the socket. -1 if
 * there is none. */
int callers_turn(struct callers *c, double now, void *said);

#endif
