/* netfault.h : loses, repeats, reorders and delays frames of one direction, depending on a seed.
 *
 *     put --lost?--> twice?--> held back for 1..8 later frames?--> queue of equal delays --> drain
 *
 * The fate of frame i depends only on the seed, the direction and i. The time at which the
 * frame leaves also depends on when this and later frames arrive. */
#ifndef NETFAULT_H
#define NETFAULT_H
#include "sim/frame_queue.h"
#include "sim/net.h"
#include <stdbool.h>

enum {
    NETFAULT_HELD = 64, /* frames held back at once */
    /* frames that wait at once; others are lost and counted */
    NETFAULT_WAITING = 8192,
    /* longest hold, since later frames may never come */
    NETFAULT_HOLD_NS = 5 * 1000 * 1000
};

struct netfault_rates {
    double drop, dup, reorder; /* probabilities */
    uint64_t delay_ns;
};

struct netfault {
    bool on; /* false: callers may bypass it */
    struct netfault_rates rates;
    uint64_t key, drawn;
    struct frame_queue waiting;
    /* due[i % NETFAULT_WAITING]: time at which frame i, counted from the start, may leave */
    uint64_t due[NETFAULT_WAITING];
    uint64_t first; /* number of the first waiting frame */
    struct {
        struct queued_frame f;
        uint8_t *bytes;
        uint32_t behind; /* later frames that must still pass */
        uint64_t until_ns;
    } held[NETFAULT_HELD];
    int n_held;
    /* full: lost without room */
    uint64_t seen, dropped, repeated, reordered, full;
};

/* way: stream of random numbers, one for each direction of each port. */
void netfault_init(struct netfault *f, struct netfault_rates rates, uint64_t seed, uint32_t way);
void netfault_fini(struct netfault *f);

/* now_ns, here and below: a clock that never goes back. */
void netfault_put(struct netfault *f, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n,
                  uint64_t now_ns);

/* Gives the frames that may leave to `take`, which must not put into f. */
void netfault_drain(struct netfault *f, uint64_t now_ns, net_take *take, void *arg);

/* Returns when to drain again; UINT64_MAX: after another put. */
uint64_t netfault_due(const struct netfault *f);

#endif
