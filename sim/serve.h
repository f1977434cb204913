/* serve.h : serves a card on a network, in one loop over clock, frames and control. */
#ifndef SERVE_H
#define SERVE_H
#include "sim/kernel_port.h"
#include "sim/netfault.h"
#include "sim/shell.h"

struct serve_options {
    const char *listen; /* "HOST:PORT" */
    const char *engine; /* its name, for the counters */
    const char *wave, *pcap;
    /* TAP interface and the card's addresses on it, also without --shell; or NULL. mac NULL: made
     * from ip. */
    const char *tap, *ip, *mac;
    int control; /* UDP port of control; 0: any; -1: TCP control */
    /* fd: socket of the program that started the card and has it on its bus; -1: none. mm:
     * the kernels of that bus. */
    int fd;
    const struct kernel_ops *mm;
    struct netfault_rates rates;
    uint64_t seed;
};

/* Serves until fd's peer closes the connection or, without fd, until SIGINT or SIGTERM. Returns 0,
 * or a negative errno after reporting. */
int serve(const struct shell_ops *ops, const struct serve_options *o);

#endif
