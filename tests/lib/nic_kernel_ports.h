/* nic_kernel_ports.h : drives rtl/nic_kernel.sv: its register bus and its two streams of frames.
 * Both streams stall at random. The test supplies the input frames and checks the output frames. */
#ifndef NIC_KERNEL_PORTS_H
#define NIC_KERNEL_PORTS_H
#include "check.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <stdbool.h>
#include <string.h>

enum { NIC_FRAME = 64 * 40, NIC_CLOCKS = 20000 };

static struct {
    struct model *m;
    uint64_t rand;
    unsigned stall; /* chance of 256 per clock */
    uint8_t *rst_n, *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *bresp;
    uint8_t *arvalid, *arready, *rvalid, *rready, *rresp;
    uint16_t *awaddr, *araddr, *in_dest, *out_dest;
    uint32_t *wdata, *rdata, *in_data, *out_data;
    uint64_t *in_keep, *out_keep;
    uint8_t *in_last, *in_valid, *in_ready, *out_last, *out_valid, *out_ready;
    /* input */
    uint8_t in[NIC_FRAME];
    size_t in_n, in_at; /* in_at == in_n: no frame */
    uint16_t in_to;
    /* output */
    uint8_t out[NIC_FRAME];
    size_t out_n;
    uint16_t out_to;
    void (*take)(uint16_t socket, const uint8_t *bytes, size_t n);
} nic;

static void *nic_port(const char *name)
{
    return model_port(nic.m, name, NULL);
}

static void nic_bind_bus(void)
{
    nic.awaddr = nic_port("s_axi_control_awaddr");
    nic.awvalid = nic_port("s_axi_control_awvalid");
    nic.awready = nic_port("s_axi_control_awready");
    nic.wdata = nic_port("s_axi_control_wdata");
    nic.wstrb = nic_port("s_axi_control_wstrb");
    nic.wvalid = nic_port("s_axi_control_wvalid");
    nic.wready = nic_port("s_axi_control_wready");
    nic.bresp = nic_port("s_axi_control_bresp");
    nic.bvalid = nic_port("s_axi_control_bvalid");
    nic.bready = nic_port("s_axi_control_bready");
    nic.araddr = nic_port("s_axi_control_araddr");
    nic.arvalid = nic_port("s_axi_control_arvalid");
    nic.arready = nic_port("s_axi_control_arready");
    nic.rdata = nic_port("s_axi_control_rdata");
    nic.rresp = nic_port("s_axi_control_rresp");
    nic.rvalid = nic_port("s_axi_control_rvalid");
    nic.rready = nic_port("s_axi_control_rready");
}

static void nic_bind_streams(void)
{
    nic.in_data = nic_port("S_AXIS_tdata");
    nic.in_keep = nic_port("S_AXIS_tkeep");
    nic.in_last = nic_port("S_AXIS_tlast");
    nic.in_dest = nic_port("S_AXIS_tdest");
    nic.in_valid = nic_port("S_AXIS_tvalid");
    nic.in_ready = nic_port("S_AXIS_tready");
    nic.out_data = nic_port("M_AXIS_tdata");
    nic.out_keep = nic_port("M_AXIS_tkeep");
    nic.out_last = nic_port("M_AXIS_tlast");
    nic.out_dest = nic_port("M_AXIS_tdest");
    nic.out_valid = nic_port("M_AXIS_tvalid");
    nic.out_ready = nic_port("M_AXIS_tready");
}

/* Offer the next beat of the input frame; once valid, it stays until taken. */
static void nic_offer(void)
{
    if (nic.in_at == nic.in_n) {
        *nic.in_valid = 0;
        return;
    }
    if (!*nic.in_valid && rtl_chance(&nic.rand, nic.stall))
        return;
    const size_t left = nic.in_n - nic.in_at, n = left < 64 ? left : 64;
    memset(nic.in_data, 0, 64);
    memcpy(nic.in_data, nic.in + nic.in_at, n);
    *nic.in_keep = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    *nic.in_last = left <= 64;
    *nic.in_dest = nic.in_to;
    *nic.in_valid = 1;
}

static void nic_took(void)
{
    CHECK(*nic.out_keep == UINT64_MAX, "a beat that is not whole");
    CHECK(!nic.out_n || nic.out_to == *nic.out_dest, "socket %u and %u in one frame", nic.out_to,
          *nic.out_dest);
    CHECK(nic.out_n + 64 <= NIC_FRAME, "a frame without an end");
    if (nic.out_n + 64 > NIC_FRAME)
        nic.out_n = 0;
    nic.out_to = *nic.out_dest;
    memcpy(nic.out + nic.out_n, nic.out_data, 64);
    nic.out_n += 64;
    if (*nic.out_last) {
        nic.take(nic.out_to, nic.out, nic.out_n);
        nic.out_n = 0;
    }
}

/* Run one clock. Waiting beats and answers must not change. */
static void nic_step(void)
{
    nic_offer();
    *nic.out_ready = !rtl_chance(&nic.rand, nic.stall);
    model_eval(nic.m);
    const bool in = *nic.in_valid && *nic.in_ready, out = *nic.out_valid && *nic.out_ready;
    const bool waits = *nic.out_valid && !out, b = *nic.bvalid && !*nic.bready;
    const bool r = *nic.rvalid && !*nic.rready;
    const uint32_t data = nic.out_data[3], read = *nic.rdata;
    const uint16_t dest = *nic.out_dest;
    if (out)
        nic_took();
    model_tick(nic.m);
    if (in) {
        const size_t left = nic.in_n - nic.in_at;
        nic.in_at += left < 64 ? left : 64;
        *nic.in_valid = 0;
    }
    CHECK(!waits || (*nic.out_valid && nic.out_data[3] == data && *nic.out_dest == dest),
          "a beat that waits has changed");
    CHECK(!b || *nic.bvalid, "an answer to a write is withdrawn");
    CHECK(!r || (*nic.rvalid && *nic.rdata == read), "an answer to a read has changed");
}

static void nic_open(int argc, char **argv, uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    nic.m = model_open(argc, argv);
    nic.rand = seed;
    nic.rst_n = nic_port("ap_rst_n");
    nic_bind_bus();
    nic_bind_streams();
    *nic.rst_n = 0;
    for (int i = 0; i < 8; i++)
        nic_step();
    *nic.rst_n = 1;
    for (int i = 0; i < 4; i++)
        nic_step();
}

static unsigned nic_wait(void)
{
    return nic.stall ? (unsigned)(rtl_rand(&nic.rand) % 6) : 0;
}

/* Write a register; address and data arrive in any order. Returns the response. */
static unsigned nic_write(uint32_t at, uint32_t value, unsigned strobes)
{
    unsigned aw = nic_wait(), w = nic_wait(), b = nic_wait();
    bool aw_done = false, w_done = false;
    for (int clock = 0; clock < NIC_CLOCKS; clock++) {
        *nic.awvalid = !aw_done && !aw;
        *nic.awaddr = (uint16_t)at;
        *nic.wvalid = !w_done && !w;
        *nic.wdata = value;
        *nic.wstrb = (uint8_t)strobes;
        *nic.bready = !b;
        model_eval(nic.m);
        const bool takes_aw = *nic.awvalid && *nic.awready, takes_w = *nic.wvalid && *nic.wready;
        const bool done = *nic.bvalid && *nic.bready;
        const unsigned resp = *nic.bresp;
        nic_step();
        aw -= aw > 0, w -= w > 0, b -= b > 0;
        aw_done |= takes_aw, w_done |= takes_w;
        if (done) {
            *nic.awvalid = *nic.wvalid = *nic.bready = 0;
            CHECK(aw_done && w_done, "%x: answered too early", at);
            return resp;
        }
    }
    CHECK(0, "%x: a write that is not answered", at);
    return 9;
}

static unsigned nic_read(uint32_t at, uint32_t *value)
{
    unsigned ar = nic_wait(), r = nic_wait();
    bool ar_done = false;
    for (int clock = 0; clock < NIC_CLOCKS; clock++) {
        *nic.arvalid = !ar_done && !ar;
        *nic.araddr = (uint16_t)at;
        *nic.rready = !r;
        model_eval(nic.m);
        const bool takes = *nic.arvalid && *nic.arready, done = *nic.rvalid && *nic.rready;
        const unsigned resp = *nic.rresp;
        *value = *nic.rdata;
        nic_step();
        ar -= ar > 0, r -= r > 0;
        ar_done |= takes;
        if (done) {
            *nic.arvalid = *nic.rready = 0;
            return resp;
        }
    }
    CHECK(0, "%x: a read that is not answered", at);
    return 9;
}

/* Send a frame from a socket. It is taken on return; its answers come within `idle` clocks. */
static void nic_send(uint16_t socket, const uint8_t *bytes, size_t n, int idle)
{
    memcpy(nic.in, bytes, n);
    nic.in_n = n;
    nic.in_at = 0;
    nic.in_to = socket;
    for (int clock = 0; nic.in_at < nic.in_n && clock < NIC_CLOCKS; clock++)
        nic_step();
    CHECK(nic.in_at == nic.in_n, "a frame is not taken");
    for (int clock = 0; clock < idle; clock++)
        nic_step();
}

#endif
