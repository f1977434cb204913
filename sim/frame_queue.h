/* frame_queue.h : queues frames for the card, first in, first out. */
#ifndef FRAME_QUEUE_H
#define FRAME_QUEUE_H
#include <stddef.h>
#include <stdint.h>

struct queued_frame {
    uint32_t ip, gap; /* gap: least idle clocks after the frame */
    uint16_t port;
    size_t n, at; /* n bytes of frame_queue.bytes from `at` on */
};

/* Zeroed: empty. Keeps its memory until frame_queue_free(). */
struct frame_queue {
    struct queued_frame *frames; /* [n]; frames from `first` on are waiting */
    uint8_t *bytes;
    size_t first, n, room, bytes_used, bytes_room;
};

/* Appends a copy of bytes[f.n] and sets f.at. Returns 0, or -ENOMEM after reporting. */
int frame_queue_put(struct frame_queue *q, struct queued_frame f, const uint8_t *bytes);

/* frame_queue_first() returns the first frame or NULL, frame_queue_drop() removes it. Frames stay
 * in place until the next put. */
const struct queued_frame *frame_queue_first(const struct frame_queue *q);
size_t frame_queue_waiting(const struct frame_queue *q);
void frame_queue_drop(struct frame_queue *q);
void frame_queue_free(struct frame_queue *q);

#endif
