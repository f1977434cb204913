/* serve.h : a card on the network: one loop over its clock, its frames and those who control it. */
#ifndef SERVE_H
#define SERVE_H
#include "sim/kernel_port.h"
#include "sim/netfault.h"
#include "sim/shell.h"

struct serve_options {
    const char *listen; /* "HOST:PORT" */
    const char *model;  /* as counters name it */
    const char *wave, *pcap;
    const char *tap, *ip,
        *mac;    /* NULL: none; mac NULL: made of ip; ops of Ethernet frames need them */
    int control; /* the UDP port where it is controlled; 0: any; -1: by TCP */
    /* the socket of who started it, which has it on its bus, or -1; its reduce_mm */
    int fd;
    const struct kernel_ops *mm;
    struct netfault_rates rates;
    uint64_t seed;
};

/* Until that socket is closed or, without one, SIGINT or SIGTERM comes. Returns 0 or a negative
 * errno with a line. */
int serve(const struct shell_ops *ops, const struct serve_options *o);

#endif
