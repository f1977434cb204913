/* axil_port.h : the AXI-Lite port of a Verilated card: a register written or read, clock by clock. */
#ifndef AXIL_PORT_H
#define AXIL_PORT_H
#include <stdint.h>

struct axil_port {
    uint8_t *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *bresp;
    uint8_t *arvalid, *arready, *rvalid, *rready, *rresp;
    uint16_t *awaddr, *araddr;
    uint32_t *wdata, *rdata;
    void *arg;            /* of the two below */
    void (*eval)(void *); /* settles outputs after inputs were changed */
    void (*tick)(void *); /* one clock of the card and of all around it */
};

/* The ports s_*, found by `port`, which is model_port of some model; arg, eval and tick are the
 * caller's to set. */
void axil_bind(struct axil_port *p, void *(*port)(void *model, const char *name), void *model);

/* A register by its byte offset. 0, 1 where the bus answers with an error, -EIO with a line when it
 * does not answer. */
int axil_write(const struct axil_port *p, uint32_t at, uint32_t value);
int axil_read(const struct axil_port *p, uint32_t at, uint32_t *value);

#endif
