/* callers.h : hears those who connect to a listening socket, all at once, until each has said who it is.
 *
 *     callers_init(&c, listener, bytes)
 *     while (no deadline has passed)
 *         fd = callers_turn(&c, clock_s(), said)
 *         fd < 0: callers_wait(&c); else look at said [bytes] and keep fd, or close it
 *     callers_fini(&c)
 *
 * A caller that stays silent delays nobody. It is hung up on after CALLERS_HELLO_S, or after
 * CALLERS_GRACE_S if its place or its descriptor is needed; meanwhile others wait in the system's queue. */
#ifndef CALLERS_H
#define CALLERS_H
#include <stdbool.h>
#include <stddef.h>

#define CALLERS_HELLO_S 2.0
#define CALLERS_GRACE_S 0.25
enum { CALLERS_MOST = 256, CALLERS_BYTES = 16 };

struct caller {
    int fd;
    double since_s; /* when it connected */
    size_t got;
    unsigned char said[CALLERS_BYTES];
};

struct callers {
    int listener; /* not blocking; the user's */
    size_t bytes; /* that each caller says first */
    bool full;    /* there is no place for the next one yet */
    int n;
    struct caller at[CALLERS_MOST]; /* [n], the oldest first */
};

/* bytes: at most CALLERS_BYTES. */
void callers_init(struct callers *c, int listener, size_t bytes);
void callers_fini(struct callers *c); /* hangs up on all who still wait */

/* Wait until there is something to do, 0.1 s at most. */
void callers_wait(const struct callers *c);

/* Accept, read and hang up without blocking; now: clock_s(). Return the socket of the first caller
 * that has said all its bytes, and copy them to said; the socket, which does not block, is then the
 * user's. Return -1 if there is none. */
int callers_turn(struct callers *c, double now, void *said);

#endif
