/* wheel.h : keeps timers of many packets in a wheel of lists, one per tick. Setting or stopping a
 * timer takes constant time.
 *
 *     wheel_add()       puts a timer into list (tick at which it is due) mod WHEEL_TICKS
 *     wheel_turn(now)   moves the timers that are due by now to the list `expired`
 *     wheel_pop()       removes the next timer from `expired` */
#ifndef WHEEL_H
#define WHEEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WHEEL_TICKS = 256 };
static const double wheel_tick_s = 0.5e-3;

struct wheel_timer {
    struct wheel_timer *next, *prev; /* NULL: not set */
    uint64_t due;                    /* tick */
};

struct wheel {
    uint64_t tick; /* last turned */
    struct wheel_timer lists[WHEEL_TICKS], expired;
};

static inline void wheel_list_init(struct wheel_timer *list)
{
    list->next = list->prev = list;
}

static inline void wheel_list_add(struct wheel_timer *list, struct wheel_timer *t)
{
    t->next = list;
    t->prev = list->prev;
    list->prev->next = t;
    list->prev = t;
}

static inline uint64_t wheel_ticks(double s)
{
    return s <= 0 ? 0 : (uint64_t)(s / wheel_tick_s);
}

static inline void wheel_init(struct wheel *w, double now)
{
    w->tick = wheel_ticks(now);
    wheel_list_init(&w->expired);
    for (int i = 0; i < WHEEL_TICKS; i++)
        wheel_list_init(&w->lists[i]);
}

/* Legal for a timer that is not set. */
static inline void wheel_remove(struct wheel_timer *t)
{
    if (!t->next)
        return;
    t->next->prev = t->prev;
    t->prev->next = t->next;
    t->next = t->prev = NULL;
}

/* Sets or moves a timer to time `at`, but not before the next tick. */
static inline void wheel_add(struct wheel *w, struct wheel_timer *t, double at)
{
    wheel_remove(t);
    t->due = wheel_ticks(at) + 1;
    if (t->due <= w->tick)
        t->due = w->tick + 1;
    wheel_list_add(&w->lists[t->due % WHEEL_TICKS], t);
}

static inline void wheel_turn(struct wheel *w, double now)
{
    const uint64_t to = wheel_ticks(now);
    uint64_t tick = w->tick;
    if (to > tick + WHEEL_TICKS)
        tick = to - WHEEL_TICKS; /* visit each list once */
    while (tick < to) {
        struct wheel_timer *list = &w->lists[++tick % WHEEL_TICKS];
        for (struct wheel_timer *t = list->next, *next; t != list; t = next) {
            next = t->next;
            if (t->due > to)
                continue;
            wheel_remove(t);
            wheel_list_add(&w->expired, t);
        }
    }
    if (to > w->tick)
        w->tick = to;
}

/* Stops and returns an expired timer, or NULL. */
static inline struct wheel_timer *wheel_pop(struct wheel *w)
{
    struct wheel_timer *t = w->expired.next;
    if (t == &w->expired)
        return NULL;
    wheel_remove(t);
    return t;
}

#endif
