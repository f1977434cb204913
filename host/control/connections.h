/* connections.h : Serves the sockets of clients that control a card, never blocking.
 *
 * There is room for CONTROL_PEERS peers. A new client that finds no room is told so (simlink.h). A
 * peer that owns no job and has requested nothing for CONNECTIONS_IDLE_S is disconnected, except
 * the program that started the card. If the system has no descriptor for a new client, none is
 * accepted for CONNECTIONS_REST_S. Times are seconds of any one clock.
 *
 * Clients must not delay a card's frames. Therefore peers get a ration of the loop's time
 * (base/ration.h), which is shared fairly: a peer that requests little is served before peers
 * that send requests without end. The program that started the card is served at once. */
#ifndef CONNECTIONS_H
#define CONNECTIONS_H
#include "base/ration.h"
#include "control/control.h"
#include <poll.h>

enum { CONNECTIONS_POLLS = CONTROL_PEERS + 1, CONNECTIONS_IDLE_S = 10, CONNECTIONS_REST_S = 1 };

struct connections {
    struct control *control;
    int listener;          /* -1 if no client may connect */
    int fd[CONTROL_PEERS]; /* [peer], -1 if there is none */
    double heard_at[CONTROL_PEERS], rests_until;
    int owner; /* peer that started the card, or -1; the card ends with it */
    bool owner_left;
    struct ration ration;
    /* Start-time fair queueing, in seconds of service. served: when each peer's last message
     * ended. served_to: when the message that was served last began. */
    double served[CONTROL_PEERS], served_to;
    double (*clock)(void); /* clock_s(), or a test's own clock */
    uint32_t ip;           /* address for frames; 0: the local address of a peer's connection */
    uint16_t port;
};

/* Initialises *c. control and listener remain the caller's. */
void connections_init(struct connections *c, struct control *control, int listener, uint32_t ip,
                      uint16_t port);
/* Adds a connected socket as a peer. When it is closed, the card ends. */
int connections_adopt(struct connections *c, int fd);
void connections_fini(struct connections *c);

/* Fills polls[CONNECTIONS_POLLS] and returns the number filled. */
int connections_polls(struct connections *c, double now, struct pollfd *polls);
/* Returns the time of the next action that needs no input, or INFINITY if there is none. */
double connections_due(const struct connections *c);
/* Does the work that the revents of these polls ask for. Returns 0, or -EIO after
 * reporting if the card does not answer. */
int connections_serve(struct connections *c, const struct pollfd *polls, int n, double now);

#endif
