/* control.h : Arbitrates a card that several programs control. Takes messages of
 * hls/card/simlink.h and makes the answers.
 *
 *     peer = control_join()       a new connection; a HELLO is queued for it
 *     control_take(peer, ...)     bytes received from it
 *     control_said(peer), control_heard(peer)    bytes to send to it
 *     control_leave(peer)         the connection is closed: its jobs are stopped
 *
 * This module has no sockets. control_jobs.h tracks the owners of jobs. A stop is complete
 * before it is answered, so a batch may stop a job and start another one. */
#ifndef CONTROL_H
#define CONTROL_H
#include "base/text.h"
#include "hls/card/simlink.h"
#include "control/control_jobs.h"

/* UNREAD: limit of bytes of answers that a peer has not read */
enum { CONTROL_PEERS = 64, CONTROL_UNREAD = 1 << 18 };

struct control;

/* Appends the answer to SIMLINK_WIRE to *to. */
typedef void control_report(void *arg, struct text *to);

/* Begins to control an open card, which remains the caller's. shared: see
 * control_jobs.h. report: NULL if there is no wire. */
int control_open(const struct control_ops *ops, void *card, bool shared, control_report *report,
                 void *arg, struct control **control);
void control_close(struct control *control);

/* Adds a peer, called `name` in messages. ip and port: address for frames of the
 * card, as the peer sees it. Returns the peer's number, 0 to CONTROL_PEERS - 1, or
 * -EAGAIN if there are too many peers. */
int control_join(struct control *control, const char *name, uint32_t ip, uint16_t port);

/* Executes m, a BUS_ or MEM_ message of hls/card/simlink.h, like control_obey(). */
typedef int control_bus(void *arg, struct simlink m, const uint8_t *body, struct simlink *answer,
                        uint8_t *to);

/* Makes a peer the host that has the card on its bus (control_jobs.h). Its BUS_ and MEM_
 * messages go to `bus`. Such messages of other peers are invalid. */
void control_attach(struct control *control, int peer, control_bus *bus, void *arg);

/* Access a register on behalf of a peer. Return the same values as
 * control_jobs_read() and control_jobs_write(). */
int control_read(struct control *control, int peer, uint64_t at, uint32_t *value);
int control_write(struct control *control, int peer, uint64_t at, uint32_t value);

/* Returns the number of bytes that are missing from a peer's next message or, until its header is
 * complete, from the header (which has the message's length). A caller that never reads more leaves
 * later messages in the socket. */
size_t control_wants(const struct control *control, int peer);

/* Processes bytes received from a peer. Returns 0, 1 if the peer must be disconnected (it has
 * quit, or an error was reported), or -EIO after reporting if the card does not answer. */
int control_take(struct control *control, int peer, const uint8_t *bytes, size_t n);

/* control_said() returns the *n bytes to send to a peer. control_heard() removes the
 * first n of them, which have been sent. */
const uint8_t *control_said(const struct control *control, int peer, size_t *n);
void control_heard(struct control *control, int peer, size_t n);

/* Removes a peer whose connection is closed. Returns 0, or -EIO after reporting. */
int control_leave(struct control *control, int peer);

/* Return the number of running jobs, the number of connected peers, and
 * whether this peer has a running job. */
int control_jobs(const struct control *control);
int control_peers(const struct control *control);
bool control_owns(const struct control *control, int peer);

/* Executes one whole message, for callers that implement the transport themselves. Stores the
 * answer to m in *answer and its body [answer->bytes] in to[SIMLINK_MAX]. Returns 0, -EPROTO
 * after reporting if m is invalid, or -EIO after reporting if the card does not answer. */
int control_obey(struct control *control, int peer, struct simlink m, const uint8_t *body,
                 struct simlink *answer, uint8_t *to);

#endif
