/* connections.h : serves the sockets of clients that control a card, never blocking.
 *
 * There is room for CONTROL_PEERS peers; further clients are refused with a message (simlink.h). A
 * peer without a job that requests nothing for CONNECTIONS_IDLE_S is disconnected, except the
 * program that started the card. If the system has no descriptor for a new client, none is accepted
 * for CONNECTIONS_REST_S. Times are seconds of any one clock.
 *
 * Clients must not delay a card's frames. Peers therefore share a ration of the loop's time
 * (base/ration.h) fairly: peers that request little come first. The program that started the card
 * is served at once. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H
#include "base/ration.h"
#include "control/control.h"
#include <poll.h>

enum { CONNECTIONS_POLLS = CONTROL_PEERS + 1, CONNECTIONS_IDLE_S = 10, CONNECTIONS_REST_S = 1 };

struct connections {
    struct control *control;
    int listener;          /* or -1: no client may connect */
    int fd[CONTROL_PEERS]; /* [peer], or -1 */
    double heard_at[CONTROL_PEERS], rests_until;
    int owner; /* peer that started the card, or -1; the card ends with it */
    bool owner_left;
    struct ration ration;
    /* Start-time fair queueing, seconds of service. served: end of each peer's last message.
     * served_to: beginning of the message served last. */
    double served[CONTROL_PEERS], served_to;
    double (*clock)(void); /* clock_s(), or a test's */
    uint32_t ip;           /* address for frames; 0: the local address of a peer's connection */
    uint16_t port;
};

/* control and listener remain the caller's. */
void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port);
/* Add a connected socket as a peer. When it is closed, the card ends. */
int connections_adopt(struct connections *c, int fd);
void connections_fini(struct connections *c);

/* Fill polls[CONNECTIONS_POLLS]. Returns the number filled. */
int connections_polls(struct connections *c, double now, struct pollfd *polls);
/* Return the time of the next action that needs no input, or INFINITY. */
double connections_due(const struct connections *c);
/* Do the work of these polls' revents. Returns 0, or -EIO as control.h. */
int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now);

#endif
