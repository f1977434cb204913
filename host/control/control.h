/* control.h : arbitrates a card that several programs control: accepts messages of
 * hls/card/simlink.h and makes the answers.
 *
 *     peer = control_join()       a new connection; a HELLO is queued for it
 *     control_take(peer, ...)     bytes received from it
 *     control_to_send(peer), control_sent(peer)    bytes to send to it
 *     control_leave(peer)         the connection is closed: its jobs are stopped
 *
 * No sockets here. A stop is complete before its answer, so a batch may stop a job and start
 * another. Functions that access the card return 0, or -EIO: after reporting CONTROL_JOBS_STUCK,
 * or without a message if the bus has failed, which may know the reason. */
#ifndef CONTROL_H
#define CONTROL_H
#include "base/text.h"
#include "hls/card/simlink.h"
#include "control/control_jobs.h"

/* UNREAD: bytes of answers that a peer may leave unread */
enum { CONTROL_PEERS = 64, CONTROL_UNREAD = 1 << 18 };

struct control;

/* Append the answer to SIMLINK_WIRE to *to. */
typedef void control_report(void *arg, struct text *to);

/* Begin to control an open card, which remains the caller's. shared: see control_jobs.h. report:
 * NULL without a wire. */
int control_open(const struct control_ops *ops, void *card, bool shared, control_report *report,
                 void *arg, struct control **control);
void control_close(struct control *control);

/* Add a peer, called `name` in messages. ip and port: address for the card's frames, as the peer
 * sees it. Returns 0 to CONTROL_PEERS - 1, or -EAGAIN (too many peers) or -ENOMEM. */
int control_join(struct control *control, const char *name, uint32_t ip, uint16_t port);

/* Execute m, a BUS_ or MEM_ message of hls/card/simlink.h, like control_obey(). */
typedef int control_bus(void *arg, struct simlink m, const uint8_t *body, struct simlink *answer,
                        uint8_t *to);

/* Make a peer the host that has the card on its bus (control_jobs.h). Its BUS_ and MEM_ messages go
 * to `bus`; those of other peers are invalid. */
void control_attach(struct control *control, int peer, control_bus *bus, void *arg);

/* On behalf of a peer. Return 1 as control_jobs_read() and control_jobs_write(). */
int control_read(struct control *control, int peer, uint64_t at, uint32_t *value);
int control_write(struct control *control, int peer, uint64_t at, uint32_t value);

/* Return the bytes missing from a peer's next message or, while its header is incomplete, from the
 * header. A caller that never reads more leaves later messages in the socket. */
size_t control_wants(const struct control *control, int peer);

/* Process bytes from a peer. Returns 0, or 1 if it must be disconnected (it has quit, or an error
 * was reported). */
int control_take(struct control *control, int peer, const uint8_t *bytes, size_t n);

/* Return the *n bytes to send to a peer; remove the first n of them, which have been sent. */
const uint8_t *control_to_send(const struct control *control, int peer, size_t *n);
void control_sent(struct control *control, int peer, size_t n);

/* Remove a peer whose connection is closed. */
int control_leave(struct control *control, int peer);

/* Return the number of running jobs, of connected peers, and whether this peer has a job. */
int control_jobs(const struct control *control);
int control_peers(const struct control *control);
bool control_owns(const struct control *control, int peer);

/* Execute one whole message, for callers that implement the transport themselves. The answer goes
 * to *answer and its body [answer->bytes] to to[SIMLINK_MAX]. Reports -EPROTO if m is invalid. */
int control_obey(struct control *control, int peer, struct simlink m, const uint8_t *body,
                 struct simlink *answer, uint8_t *to);

#endif
