/* axil_port.c : accesses registers through an AXI-Lite port.
 *
 * A transfer happens in a clock if valid and ready were set before its edge. */
#include "sim/rtl/axil_port.h"
#include "base/err.h"

enum { BUS_CLOCKS = 10000 /* far more than any register takes */ };

void axil_bind(struct axil_port *p, void *(*port)(void *model, const char *name), void *model)
{
    p->awaddr = port(model, "s_awaddr_i");
    p->awvalid = port(model, "s_awvalid_i");
    p->awready = port(model, "s_awready_o");
    p->wdata = port(model, "s_wdata_i");
    p->wstrb = port(model, "s_wstrb_i");
    p->wvalid = port(model, "s_wvalid_i");
    p->wready = port(model, "s_wready_o");
    p->bresp = port(model, "s_bresp_o");
    p->bvalid = port(model, "s_bvalid_o");
    p->bready = port(model, "s_bready_i");
    p->araddr = port(model, "s_araddr_i");
    p->arvalid = port(model, "s_arvalid_i");
    p->arready = port(model, "s_arready_o");
    p->rdata = port(model, "s_rdata_o");
    p->rresp = port(model, "s_rresp_o");
    p->rvalid = port(model, "s_rvalid_o");
    p->rready = port(model, "s_rready_i");
}

static int is_dead(uint32_t at)
{
    return ERR(-EIO, "register 0x%03x of the card does not answer", at);
}

int axil_write(const struct axil_port *p, uint32_t at, uint32_t value)
{
    *p->awaddr = (uint16_t)at;
    *p->wdata = value;
    *p->wstrb = 15;
    *p->awvalid = *p->wvalid = *p->bready = 1;
    for (int i = 0; i < BUS_CLOCKS; i++) {
        p->eval(p->arg);
        const int address = *p->awvalid && *p->awready, data = *p->wvalid && *p->wready,
                  answer = *p->bvalid, bad = *p->bresp;
        p->tick(p->arg);
        *p->awvalid = (uint8_t)(*p->awvalid && !address);
        *p->wvalid = (uint8_t)(*p->wvalid && !data);
        if (answer) {
            *p->bready = 0;
            return bad != 0;
        }
    }
    return is_dead(at);
}

int axil_read(const struct axil_port *p, uint32_t at, uint32_t *value)
{
    *p->araddr = (uint16_t)at;
    *p->arvalid = *p->rready = 1;
    for (int i = 0; i < BUS_CLOCKS; i++) {
        p->eval(p->arg);
        const int address = *p->arvalid && *p->arready, answer = *p->rvalid, bad = *p->rresp;
        const uint32_t data = *p->rdata;
        p->tick(p->arg);
        *p->arvalid = (uint8_t)(*p->arvalid && !address);
        if (answer) {
            *p->rready = 0;
            *value = data;
            return bad != 0;
        }
    }
    return is_dead(at);
}
