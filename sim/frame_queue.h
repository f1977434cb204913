/* frame_queue.h : frames on their way to the card, first in first out. */
#ifndef FRAME_QUEUE_H
#define FRAME_QUEUE_H
#include <stddef.h>
#include <stdint.h>

struct queued_frame {
    uint32_t ip, gap; /* gap: idle clocks behind it at least */
    uint16_t port;
    size_t n, at; /* its bytes are frame_queue.bytes[at..at+n) */
};

/* All zero: an empty queue. Memory is kept until frame_queue_free(). */
struct frame_queue {
    struct queued_frame *frames; /* [n]; those from first on are waiting */
    uint8_t *bytes;
    size_t first, n, room, bytes_used, bytes_room;
};

/* Copies bytes [f.n] behind the others; f.at is set. Returns 0 or -ENOMEM with a line. */
int frame_queue_put(struct frame_queue *q, struct queued_frame f, const uint8_t *bytes);

/* The first frame (NULL: empty), and its removal. Frames stay where they are until the next put. */
const struct queued_frame *frame_queue_first(const struct frame_queue *q);
size_t frame_queue_waiting(const struct frame_queue *q);
void frame_queue_drop(struct frame_queue *q);
void frame_queue_free(struct frame_queue *q);

#endif
