/* stream.h : sends messages over one connected stream socket. No call blocks.
 *
 *     sender    stream_send -> stream_turn ... until m.done    head {tag, bytes}, bytes; in order
 *     receiver  stream_recv -> stream_turn ... until m.done    first posted receive with that tag
 *
 * With keeps_early a message that arrives before its receive is posted waits in memory. Otherwise
 * it waits in the socket, and blocks all later messages. Only one thread at a time may use a
 * stream. */
#ifndef STREAM_H
#define STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_head {
    uint64_t tag, bytes;
};

/* One message, the stream's from stream_send() or stream_recv() until it is done or cancelled. */
struct stream_message {
    struct stream_message *next;
    struct stream_head head; /* after receiving: with the message's length */
    char *buf;
    size_t at; /* bytes moved so far; of sent messages with the head */
    bool done, early;
};

struct stream_list {
    struct stream_message *first, **end;
};

struct stream {
    int fd;     /* or -1 */
    int broken; /* 0, or a negative errno: messages no longer move */
    bool keeps_early;
    struct stream_list out, posted, early;
    struct stream_message *in; /* posted or early message being received */
    struct stream_head head;   /* its head */
    size_t head_at;
};

/* Take over the connected socket; stream_close() closes it. With keeps_early a receive must have
 * exactly the length of its message, otherwise it may be longer. */
void stream_open(struct stream *s, int fd, bool keeps_early);
void stream_close(struct stream *s);

/* Start to send or receive a message with buf [bytes]; bytes may be 0. On a broken stream the
 * message is never done. */
void stream_send(struct stream *s, struct stream_message *m, uint64_t tag, const void *buf,
                 size_t bytes);
void stream_recv(struct stream *s, struct stream_message *m, uint64_t tag, void *buf, size_t bytes);

/* Move as many bytes as possible without blocking. */
void stream_turn(struct stream *s);

/* Cancel a message that is not done. One that is partly moved breaks the stream. */
void stream_cancel(struct stream *s, struct stream_message *m);

#endif
