/* control.h : who may do what to a card that several programs control: bytes of hls/card/simlink.h in,
 * answers out. No sockets.
 *
 *     peer = control_join()    a connection's end here: HELLO waits for it
 *     control_take(peer, ...)  what it said;  control_said(peer), control_heard(peer): what it is
 *         to be told
 *     control_leave(peer)      it is gone: its jobs are stopped
 *
 * Whose job is which: control_jobs.h. A stop is waited for before it is answered, so a batch may
 * stop and start a job. */
#ifndef CONTROL_H
#define CONTROL_H
#include "base/text.h"
#include "hls/card/simlink.h"
#include "control/control_jobs.h"

/* UNREAD: bytes of answers that a peer may leave unread */
enum { CONTROL_PEERS = 64, CONTROL_UNREAD = 1 << 18 };

struct control;

/* Adds what SIMLINK_WIRE answers. */
typedef void control_report(void *arg, struct text *to);

/* For a card that is open and stays the caller's; report: NULL when there is no wire. Returns 0 or
 * a negative errno with a line. */
int control_open(const struct control_ops *ops, void *card, bool shared, control_report *report,
                 void *arg, struct control **control);
void control_close(struct control *control);

/* A new peer, by the name that lines call it; frames for the card go to ip and port, as far as it
 * can see. Returns its number, 0..CONTROL_PEERS-1, or -EAGAIN when there are too many. */
int control_join(struct control *control, const char *name, uint32_t ip, uint16_t port);

/* Answers m, a BUS_ or MEM_ message of hls/card/simlink.h, as control_obey does. */
typedef int control_bus(void *arg, struct simlink m, const uint8_t *body, struct simlink *answer,
                        uint8_t *to);

/* Makes a peer the one that has the card on its bus (control_jobs.h): its BUS_ and MEM_ messages go
 * to `bus`. Anybody else's make no sense. */
void control_attach(struct control *control, int peer, control_bus *bus, void *arg);

/* A register on behalf of a peer, as control_jobs_read and _write. */
int control_read(struct control *control, int peer, uint64_t at, uint32_t *value);
int control_write(struct control *control, int peer, uint64_t at, uint32_t value);

/* How many bytes complete a peer's next message, or its header, which says how long it is. Whoever reads no
 * more at a time leaves later messages in the socket. */
size_t control_wants(const struct control *control, int peer);

/* Bytes from a peer. 0; 1: it has quit, or was told off in a line: close it; -EIO with a line: the
 * card does not answer. */
int control_take(struct control *control, int peer, const uint8_t *bytes, size_t n);

/* What is to be sent to a peer, [*n]; then how much of it was. */
const uint8_t *control_said(const struct control *control, int peer, size_t *n);
void control_heard(struct control *control, int peer, size_t n);

/* The peer is gone. Returns 0 or -EIO with a line, as above. */
int control_leave(struct control *control, int peer);

/* Jobs that run, and peers that are here. Does a job of this peer's run? */
int control_jobs(const struct control *control);
int control_peers(const struct control *control);
bool control_owns(const struct control *control, int peer);

/* One whole message, for a caller that speaks the rest itself: the answer to m, and its body
 * [answer->bytes] into to [SIMLINK_MOST]. 0, -EPROTO with a line where m makes no sense, -EIO as
 * above. */
int control_obey(struct control *control, int peer, struct simlink m, const uint8_t *body,
                 struct simlink *answer, uint8_t *to);

#endif
