/* netfault.h : Simulates a bad network in one direction: loses, repeats, reorders and delays
 * frames, by seed.
 *
 *     put --lost?--> twice?--> held back for 1..8 later frames?--> queue of equal delays --> next
 *
 * The fate of frame i depends only on the seed, the direction and i. Its time also depends on when
 * it and the frames after it came. */
#ifndef NETFAULT_H
#define NETFAULT_H
#include "sim/frame_queue.h"
#include <stdbool.h>

enum {
    NETFAULT_HELD = 64, /* most frames held back at once */
    /* Most frames that wait at once; more are lost, and counted. */
    NETFAULT_WAITING = 8192,
    /* Longest time a frame is held back: later frames may not come. */
    NETFAULT_HOLD_NS = 5 * 1000 * 1000
};

struct netfault_rates {
    double drop, dup, reorder; /* probabilities */
    uint64_t delay_ns;
};

struct netfault {
    bool on; /* false: do not put frames here, they would pass unchanged */
    struct netfault_rates rates;
    uint64_t key, drawn;
    struct frame_queue waiting;
    /* Due time of waiting frame i, counted from the start: due[i % NETFAULT_WAITING]. */
    uint64_t due[NETFAULT_WAITING];
    uint64_t first; /* its number */
    struct {
        struct queued_frame f;
        uint8_t *bytes;
        uint32_t behind; /* frames still to pass */
        uint64_t until_ns;
    } held[NETFAULT_HELD];
    int n_held;
    /* full: lost for want of room */
    uint64_t seen, dropped, repeated, reordered, full;
};

/* way: selects a stream of random numbers, one per direction of each port. */
void netfault_init(struct netfault *f, struct netfault_rates rates, uint64_t seed, uint32_t way);
void netfault_fini(struct netfault *f);

/* now_ns, here and below: of a clock that never goes back. */
void netfault_put(struct netfault *f, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n,
                  uint64_t now_ns);

/* Returns the next frame due by now, with *bytes, valid until the next call for *f; NULL: none. */
const struct queued_frame *netfault_next(struct netfault *f, uint64_t now_ns,
                                         const uint8_t **bytes);

/* Returns when to call netfault_next() again; UINT64_MAX: not before another put. */
uint64_t netfault_due(const struct netfault *f);

#endif
