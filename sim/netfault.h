/* netfault.h : what a bad network does to frames that go one way: loses, repeats, reorders and
 * delays them, by seed.
 *
 *     put --lost?--> twice?--> held back behind 1..8 later ones? --> a queue in which all wait equally long --> next
 *
 * What becomes of frame i depends on the seed, the way and i alone; when it comes out also on when
 * it and those behind it came. */
#ifndef NETFAULT_H
#define NETFAULT_H
#include "sim/frame_queue.h"
#include <stdbool.h>

enum {
    NETFAULT_HELD = 64, /* frames held back at once, at most */
    /* frames that wait at once, at most; more are lost, and counted */
    NETFAULT_WAITING = 8192,
    NETFAULT_HOLD_NS = 5 * 1000 * 1000 /* nobody is held back longer: there may be no later ones */
};

struct netfault_rates {
    double drop, dup, reorder; /* probabilities */
    uint64_t delay_ns;
};

struct netfault {
    bool on; /* false: put no frames here, there is nothing to be done to them */
    struct netfault_rates rates;
    uint64_t key, drawn;
    struct frame_queue waiting;
    /* of waiting frame i counted since the start: due[i % NETFAULT_WAITING] */
    uint64_t due[NETFAULT_WAITING];
    uint64_t first; /* of them, counted so */
    struct {
        struct queued_frame f;
        uint8_t *bytes;
        uint32_t behind; /* frames that are still to pass */
        uint64_t until_ns;
    } held[NETFAULT_HELD];
    int n_held;
    uint64_t seen, dropped, repeated, reordered, full; /* full: lost for want of room */
};

/* way: 0 or 1, another stream of random numbers each. */
void netfault_init(struct netfault *f, struct netfault_rates rates, uint64_t seed, uint32_t way);
void netfault_fini(struct netfault *f);

/* A frame comes, at that time of a clock that never goes back. */
void netfault_put(struct netfault *f, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n,
                  uint64_t now_ns);

/* The next frame that is through by now, gone with the next call for *f; NULL: none. Its bytes:
 * *bytes. */
const struct queued_frame *netfault_next(struct netfault *f, uint64_t now_ns,
                                         const uint8_t **bytes);

/* When netfault_next() is worth another call; UINT64_MAX: not before another frame is put. */
uint64_t netfault_due(const struct netfault *f);

#endif
