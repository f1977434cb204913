/* conform_ends.h : opens a UDP socket of this host for each address of a vector. */
#ifndef CONFORM_ENDS_H
#define CONFORM_ENDS_H
#include <stddef.h>
#include <stdint.h>

enum { CONFORM_ENDS = 80 };

struct conform_end {
    /* in the vector and on the network */
    uint32_t ip, real_ip;
    uint16_t port, real_port;
    int fd; /* connected to the card */
};

struct conform_ends {
    uint32_t card_ip;
    uint16_t card_port;
    int n;
    struct conform_end of[CONFORM_ENDS];
};

/* Opens a socket for the vector's address ip:port, once. A multicast group is joined. On loopback,
 * equal addresses of the vector are equal here, and equal ports too if they are free. Elsewhere
 * this host has one address, and only ports differ. */
int conform_ends_open(struct conform_ends *e, uint32_t ip, uint16_t port);
void conform_ends_close(struct conform_ends *e);

/* Return the end of the vector's address, or NULL. port 0: any of this IP address. */
const struct conform_end *conform_ends_find(const struct conform_ends *e, uint32_t ip,
                                            uint16_t port);

int conform_ends_send(const struct conform_end *from, const uint8_t *bytes, size_t n);

/* Waits until clock_s() is `until` for a datagram from the card to any end. Returns 1 and *n, its
 * length, of which at most size are in bytes; or 0. */
int conform_ends_receive(const struct conform_ends *e, double until, const struct conform_end **to,
                         uint8_t *bytes, size_t size, size_t *n);

#endif
