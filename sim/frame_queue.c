/* frame_queue.c : queues frames for the card. */
#include "sim/frame_queue.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

static void *grow(void *p, size_t need, size_t size, size_t *room)
{
    if (need <= *room)
        return p;
    size_t more = need + need / 2 + 64;
    void *grown = realloc(p, more * size);
    if (grown)
        *room = more;
    return grown;
}

/* Moves waiting frames only if as many have left, so that each moves once on average. */
static void close_up(struct frame_queue *q)
{
    const size_t left = q->n - q->first;
    if (q->first < left)
        return;
    const size_t from = left ? q->frames[q->first].at : q->bytes_used;
    memmove(q->frames, q->frames + q->first, left * sizeof *q->frames);
    memmove(q->bytes, q->bytes + from, q->bytes_used - from);
    for (size_t i = 0; i < left; i++)
        q->frames[i].at -= from;
    q->n = left;
    q->first = 0;
    q->bytes_used -= from;
}

int frame_queue_put(struct frame_queue *q, struct queued_frame f, const uint8_t *bytes)
{
    if (q->first)
        close_up(q);
    struct queued_frame *frames = grow(q->frames, q->n + 1, sizeof *frames, &q->room);
    if (frames)
        q->frames = frames;
    uint8_t *all = grow(q->bytes, q->bytes_used + f.n, 1, &q->bytes_room);
    if (all)
        q->bytes = all;
    if (!frames || !all)
        return ERR(-ENOMEM, "cannot hold %zu frames for the card: no memory", q->n + 1);
    f.at = q->bytes_used;
    memcpy(q->bytes + f.at, bytes, f.n);
    q->bytes_used += f.n;
    q->frames[q->n++] = f;
    return 0;
}

const struct queued_frame *frame_queue_first(const struct frame_queue *q)
{
    return q->first < q->n ? &q->frames[q->first] : NULL;
}

size_t frame_queue_waiting(const struct frame_queue *q)
{
    return q->n - q->first;
}

void frame_queue_drop(struct frame_queue *q)
{
    if (q->first < q->n)
        q->first++;
}

void frame_queue_free(struct frame_queue *q)
{
    free(q->frames);
    free(q->bytes);
    *q = (struct frame_queue){0};
}
