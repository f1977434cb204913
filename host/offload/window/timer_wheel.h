/* timer_wheel.h : keeps timers of many packets in a wheel of lists, one per tick. Setting or
 * stopping a timer takes constant time.
 *
 *     timer_wheel_add()       puts a timer into list (tick when it is due) mod TIMER_WHEEL_TICKS
 *     timer_wheel_turn(now)   moves the timers that are due by now to the list `expired`
 *     timer_wheel_pop()       removes the next timer from `expired` */
#ifndef TIMER_WHEEL_H
#define TIMER_WHEEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIMER_WHEEL_TICKS = 256 };
static const double timer_wheel_tick_s = 0.5e-3;

struct timer_wheel_entry {
    struct timer_wheel_entry *next, *prev; /* NULL: not set */
    uint64_t due;                          /* tick */
};

struct timer_wheel {
    uint64_t tick; /* last turned */
    struct timer_wheel_entry lists[TIMER_WHEEL_TICKS], expired;
};

static inline void timer_wheel_list_init(struct timer_wheel_entry *list)
{
    list->next = list->prev = list;
}

static inline void timer_wheel_list_add(struct timer_wheel_entry *list, struct timer_wheel_entry *t)
{
    t->next = list;
    t->prev = list->prev;
    list->prev->next = t;
    list->prev = t;
}

static inline uint64_t timer_wheel_ticks(double s)
{
    return s <= 0 ? 0 : (uint64_t)(s / timer_wheel_tick_s);
}

static inline void timer_wheel_init(struct timer_wheel *w, double now)
{
    w->tick = timer_wheel_ticks(now);
    timer_wheel_list_init(&w->expired);
    for (int i = 0; i < TIMER_WHEEL_TICKS; i++)
        timer_wheel_list_init(&w->lists[i]);
}

/* Legal for a timer that is not set. */
static inline void timer_wheel_remove(struct timer_wheel_entry *t)
{
    if (!t->next)
        return;
    t->next->prev = t->prev;
    t->prev->next = t->next;
    t->next = t->prev = NULL;
}

/* Sets or moves a timer to time `at`, but not before the next tick. */
static inline void timer_wheel_add(struct timer_wheel *w, struct timer_wheel_entry *t, double at)
{
    timer_wheel_remove(t);
    t->due = timer_wheel_ticks(at) + 1;
    if (t->due <= w->tick)
        t->due = w->tick + 1;
    timer_wheel_list_add(&w->lists[t->due % TIMER_WHEEL_TICKS], t);
}

static inline void timer_wheel_turn(struct timer_wheel *w, double now)
{
    const uint64_t to = timer_wheel_ticks(now);
    uint64_t tick = w->tick;
    if (to > tick + TIMER_WHEEL_TICKS)
        tick = to - TIMER_WHEEL_TICKS; /* visit each list once */
    while (tick < to) {
        struct timer_wheel_entry *list = &w->lists[++tick % TIMER_WHEEL_TICKS];
        for (struct timer_wheel_entry *t = list->next, *next; t != list; t = next) {
            next = t->next;
            if (t->due > to)
                continue;
            timer_wheel_remove(t);
            timer_wheel_list_add(&w->expired, t);
        }
    }
    if (to > w->tick)
        w->tick = to;
}

/* Stops and returns an expired timer, or NULL. */
static inline struct timer_wheel_entry *timer_wheel_pop(struct timer_wheel *w)
{
    struct timer_wheel_entry *t = w->expired.next;
    if (t == &w->expired)
        return NULL;
    timer_wheel_remove(t);
    return t;
}

#endif
