/* control.h : arbitrates a card that several programs control: hls/card/simlink.h in, answers out.
 *
 *     peer = control_join()       a connection; a HELLO is queued for it
 *     control_take(peer, ...)     bytes from it
 *     control_said(peer), control_heard(peer)    bytes to send to it
 *     control_leave(peer)         it is gone: its jobs are stopped
 *
 * It has no sockets. control_jobs.h tracks the owners of jobs. A stop is complete before it is
 * answered, so a batch may stop and start a job. */
#ifndef CONTROL_H
#define CONTROL_H
#include "base/text.h"
#include "hls/card/simlink.h"
#include "control/control_jobs.h"

/* UNREAD: most bytes of answers that a peer may leave unread */
enum { CONTROL_PEERS = 64, CONTROL_UNREAD = 1 << 18 };

struct control;

/* Append the answer to SIMLINK_WIRE. */
typedef void control_report(void *arg, struct text *to);

/* Control an open card, which stays the caller's. report: NULL if there is no wire. */
int control_open(const struct control_ops *ops, void *card, bool shared, control_report *report,
                 void *arg, struct control **control);
void control_close(struct control *control);

/* Add a peer, called `name` in messages. ip and port: destination of frames for the card, as the
 * peer sees it. Returns its number, 0..CONTROL_PEERS-1, or -EAGAIN if there are too many. */
int control_join(struct control *control, const char *name, uint32_t ip, uint16_t port);

/* Answer m, a BUS_ or MEM_ message of hls/card/simlink.h, as control_obey does. */
typedef int control_bus(void *arg, struct simlink m, const uint8_t *body, struct simlink *answer,
                        uint8_t *to);

/* Make a peer the host that has the card on its bus (control_jobs.h): its BUS_ and MEM_ messages go
 * to `bus`. From other peers they are invalid. */
void control_attach(struct control *control, int peer, control_bus *bus, void *arg);

/* Access a register on behalf of a peer, as control_jobs_read and _write. */
int control_read(struct control *control, int peer, uint64_t at, uint32_t *value);
int control_write(struct control *control, int peer, uint64_t at, uint32_t value);

/* Return the number of bytes that complete a peer's next message, or its header, which has the
 * length. A caller that reads no more at a time leaves later messages in the socket. */
size_t control_wants(const struct control *control, int peer);

/* Process bytes from a peer. Returns 0; 1 if it must be disconnected: it has quit, or its error was
 * reported; -EIO, reported: the card does not answer. */
int control_take(struct control *control, int peer, const uint8_t *bytes, size_t n);

/* Get the bytes [*n] to send to a peer; then remove the first n, which were sent. */
const uint8_t *control_said(const struct control *control, int peer, size_t *n);
void control_heard(struct control *control, int peer, size_t n);

/* Remove a peer that is gone. Returns 0 or -EIO, as above. */
int control_leave(struct control *control, int peer);

/* Return the running jobs, the connected peers, and whether a job of this peer is running. */
int control_jobs(const struct control *control);
int control_peers(const struct control *control);
bool control_owns(const struct control *control, int peer);

/* Execute one whole message, for callers that implement the transport themselves. Stores the
 * answer to m, and its body [answer->bytes] in to [SIMLINK_MOST]. Returns 0; -EPROTO, reported,
 * if m is invalid; or -EIO as above. */
int control_obey(struct control *control, int peer, struct simlink m, const uint8_t *body,
                 struct simlink *answer, uint8_t *to);

#endif
