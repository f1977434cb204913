/* stream.h : messages over one connected stream socket, none of whose calls waits.
 *
 *     sender    stream_send -> stream_turn ... until m.done      head {tag, bytes}, then the bytes, in order
 *     receiver  stream_recv -> stream_turn ... until m.done      the first receive posted with the message's tag
 *
 * A message that comes before its receive waits in memory (keeps_early), or in the socket, and all behind it.
 * The caller's threads take turns. */
#ifndef STREAM_H
#define STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_head {
    uint64_t tag, bytes;
};

/* One message. The caller's from stream_send() or stream_recv() until it is done or cancelled. */
struct stream_message {
    struct stream_message *next;
    struct stream_head head; /* received: bytes becomes what has come */
    char *buf;
    size_t at; /* of head and bytes, so many have travelled */
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
    struct stream_message *in; /* what is coming: a receive, or an early one */
    struct stream_head head;   /* of what is coming */
    size_t head_at;
};

/* Takes the connected socket, which stream_close() closes. keeps_early: a receive's length is the message's,
 * else it may be longer. */
void stream_open(struct stream *s, int fd, bool keeps_early);
void stream_close(struct stream *s);

/* buf [bytes], 0 is legal. Of a broken stream they are never done. */
void stream_send(struct stream *s, struct stream_message *m, uint64_t tag, const void *buf,
                 size_t bytes);
void stream_recv(struct stream *s, struct stream_message *m, uint64_t tag, void *buf, size_t bytes);

/* Moves what can be moved. */
void stream_turn(struct stream *s);

/* Of a message that is not done. One that was cut off in the middle breaks the stream. */
void stream_cancel(struct stream *s, struct stream_message *m);

#endif
