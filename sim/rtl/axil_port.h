/* axil_port.h : accesses registers through the AXI-Lite port of a Verilated card. */
#ifndef AXIL_PORT_H
#define AXIL_PORT_H
#include <stdint.h>

struct axil_port {
    uint8_t *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *bresp;
    uint8_t *arvalid, *arready, *rvalid, *rready, *rresp;
    uint16_t *awaddr, *araddr;
    uint32_t *wdata, *rdata;
    void *arg;
    void (*eval)(void *); /* updates outputs after inputs changed */
    void (*tick)(void *); /* runs a clock of the card and its surroundings */
};

/* Binds the ports s_* of a model by its model_port(). The caller sets arg, eval and tick. */
void axil_bind(struct axil_port *p, void *(*port)(void *model, const char *name), void *model);

/* Access a register by byte offset. Return 0, 1 for an error on the bus, or -EIO after reporting a
 * bus that does not answer. */
int axil_write(const struct axil_port *p, uint32_t at, uint32_t value);
int axil_read(const struct axil_port *p, uint32_t at, uint32_t *value);

#endif
