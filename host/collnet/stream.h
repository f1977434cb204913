/* stream.h : Sends messages over one connected stream socket. No call blocks.
 *
 *     sender    stream_send -> stream_turn ... until m.done    head {tag, bytes}, bytes; in order
 *     receiver  stream_recv -> stream_turn ... until m.done    first posted receive with that tag
 *
 * A message that arrives before its receive waits in memory (keeps_early), or in the socket with
 * all later ones. Threads must take turns. */
#ifndef STREAM_H
#define STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_head {
    uint64_t tag, bytes;
};

/* One message. It belongs to the stream from stream_send() or stream_recv() until
 * done or cancelled. */
struct stream_message {
    struct stream_message *next;
    struct stream_head head; /* received: bytes becomes the message's length */
    char *buf;
    size_t at; /* bytes moved so far, head included */
    bool done, early;
};

struct stream_list {
    struct stream_message *first, **end;
};

struct stream {
    int fd;     /* -1: none */
    int broken; /* a negative errno: nothing moves any more */
    bool keeps_early;
    struct stream_list out, posted, early;
    struct stream_message *in; /* being received: a posted or an early message */
    struct stream_head head;   /* of the message being received */
    size_t head_at;
};

/* Takes over the connected socket; stream_close() closes it. keeps_early: a receive must have the
 * message's length; otherwise it may be longer. */
void stream_open(struct stream *s, int fd, bool keeps_early);
void stream_close(struct stream *s);

/* buf: [bytes], bytes may be 0. On a broken stream they never finish. */
void stream_send(struct stream *s, struct stream_message *m, uint64_t tag, const void *buf,
                 size_t bytes);
void stream_recv(struct stream *s, struct stream_message *m, uint64_t tag, void *buf, size_t bytes);

/* Moves as many bytes as possible. */
void stream_turn(struct stream *s);

/* Cancels a message that is not done. One that is partly moved breaks the stream. */
void stream_cancel(struct stream *s, struct stream_message *m);

#endif
