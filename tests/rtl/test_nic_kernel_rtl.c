/* test_nic_kernel_rtl.c : compares the card as a Vitis kernel with the card in C: both register
 * pages on one bus; conversion between sockets and addresses. */
#include "card_frames.h"
#include "hls/card/kernels.h"
#include "check.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include "sim/card_model.h"
#include <stdbool.h>
#include <string.h>

enum { NIC_FRAME = 64 * 40, NIC_CLOCKS = 20000 };

static struct {
    struct model *m;
    uint64_t rand;
    unsigned stall;
    uint8_t *rst_n, *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *bresp;
    uint8_t *arvalid, *arready, *rvalid, *rready, *rresp;
    uint16_t *awaddr, *araddr, *in_dest, *out_dest;
    uint32_t *wdata, *rdata, *in_data, *out_data;
    uint64_t *in_keep, *out_keep;
    uint8_t *in_last, *in_valid, *in_ready, *out_last, *out_valid, *out_ready;
    uint8_t in[NIC_FRAME];
    size_t in_n, in_at; /* in_at == in_n: no frame */
    uint16_t in_to;
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

/* A valid beat stays until accepted. */
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

/* Address and data arrive in any order. Returns the response. */
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

/* Returns after the frame is accepted; answers come within `idle` clocks. */
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

enum { SEED = 21, RANKS = 3, JOB = 2, BASE = 5, SLOTS = 3, BEATS = 3, ROUNDS = 12, QUIET = 600 };
static const uint16_t socket_of_rank[RANKS] = {11, 0, 6};

static struct card *card;
static unsigned dropped_in, dropped_out;

enum { MAX_N = 64 };
static struct {
    uint16_t socket;
    size_t n;
    uint8_t bytes[NIC_FRAME];
} due[MAX_N];
static int n_due, n_came;
/* socket for rank 0's results; 0xffff: unchanged */
static uint16_t moved_to = 0xffff;
static bool rank_1_is_gone;

static void card_sends(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip;
    const unsigned rank = port - 1000u;
    CHECK(rank < RANKS && n <= NIC_FRAME && n_due < MAX_N, "a frame to port %u", port);
    if (rank >= RANKS || n > NIC_FRAME || n_due == MAX_N)
        return;
    if (rank == 1 && rank_1_is_gone) {
        dropped_out++;
        return;
    }
    due[n_due].socket = rank == 0 && moved_to != 0xffff ? moved_to : socket_of_rank[rank];
    due[n_due].n = n;
    memcpy(due[n_due++].bytes, bytes, n);
}

static void kernel_sends(uint16_t socket, const uint8_t *bytes, size_t n)
{
    for (int i = 0; i < n_due; i++)
        if (due[i].socket == socket && due[i].n == n && !memcmp(due[i].bytes, bytes, n)) {
            due[i] = due[--n_due];
            n_came++;
            return;
        }
    CHECK(0, "a frame of %zu bytes to socket %u that the card in C has not sent", n, socket);
}

static void write_both(void *arg, uint32_t at, uint32_t value)
{
    (void)arg;
    CHECK(nic_write(at, value, 15) == 0, "%x", at);
    card_write(card, at, value);
}

static uint32_t read_one(uint32_t at)
{
    uint32_t value = 0;
    CHECK(nic_read(at, &value) == 0, "%x", at);
    return value;
}

static void set_socket(uint32_t socket, uint32_t ip, uint16_t port)
{
    CHECK(!nic_write(SHELL_SOCKET, socket, 15) && !nic_write(SHELL_SOCKET_IP, ip, 15) &&
              !nic_write(SHELL_SOCKET_PORT, port, 15),
          "socket %u", socket);
}

static void test_registers(void)
{
    static const uint16_t none[] = {0x0ffc, 0x1020, 0x1ffc, 0x2000, 0x2004, 0x3010, 0xf000};
    uint32_t value;
    CHECK(read_one(REG_ID) == REG_ID_VALUE && read_one(SHELL_SOCKETS) == 16, "ID, SOCKETS");
    for (int i = 0; i < 7; i++)
        CHECK(nic_read(none[i], &value) == 2 && nic_write(none[i], 1, 15) == 2, "%x", none[i]);
    for (int i = 0; i < 200; i++) {
        const uint32_t a = (uint32_t)rtl_rand(&nic.rand), b = (uint32_t)rtl_rand(&nic.rand);
        CHECK(!nic_write(REG_DROP_SEED, a, 15) && !nic_write(SHELL_IP, b, 15), "written");
        CHECK(!nic_write(SHELL_PORT, a, 3) && !nic_write(REG_JOB_INDEX, b, 15), "written");
        CHECK(read_one(REG_DROP_SEED) == a && read_one(SHELL_IP) == b, "read");
        CHECK((read_one(SHELL_PORT) & 0xffff) == (a & 0xffff) && read_one(REG_JOB_INDEX) == b,
              "read");
    }
    for (uint32_t s = 0; s < 16; s++)
        set_socket(s, 0x0a000000 + s, (uint16_t)(2000 + s));
    for (uint32_t s = 16; s; s = s == 16 ? 0x80000003 : 0) {
        set_socket(s, 0x0b000000, 1);
        CHECK(!read_one(SHELL_SOCKET_IP) && !read_one(SHELL_SOCKET_PORT), "socket %x", s);
    }
    CHECK(!nic_write(SHELL_SOCKET, 3, 15) && !nic_write(SHELL_SOCKET_PORT, 7, 1), "half a port");
    for (uint32_t s = 0; s < 16; s++) {
        CHECK(!nic_write(SHELL_SOCKET, s, 15), "socket %u", s);
        CHECK(read_one(SHELL_SOCKET_IP) == 0x0a000000 + s, "socket %u", s);
        CHECK(read_one(SHELL_SOCKET_PORT) == 2000 + s, "socket %u", s);
        set_socket(s, 0, 0);
    }
}

static size_t contribution(unsigned rank, uint16_t slot, uint32_t chunk, uint8_t *bytes)
{
    uint8_t payload[64 * BEATS];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)rtl_rand(&nic.rand);
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = 0xfeedface01234567u;
    h.job = JOB;
    h.rank = (uint16_t)rank;
    h.slot = (uint16_t)(BASE + slot);
    h.chunk = chunk;
    h.op = PKT_OP_SUM;
    h.tag = chunk * 7 + slot;
    h.beats = (uint8_t)(1 + chunk % BEATS);
    h.in_fmt = h.out_fmt = 0x43;
    return frame_put(h, payload, h.beats, bytes);
}

static void send_both(unsigned rank, const uint8_t *bytes, size_t n, int idle)
{
    card_frame(card, frame_ip(JOB, rank), frame_port(rank), bytes, n);
    nic_send(socket_of_rank[rank], bytes, n, idle);
}

static void send_nobodys(const uint8_t *bytes, size_t n)
{
    static const uint16_t nobodys[] = {3, 15, 16, 0x10b, 0x8000, 0xffff};
    nic_send(nobodys[rtl_rand(&nic.rand) % 6], bytes, n, 0);
    dropped_in++;
}

static void all_has_come(const char *what)
{
    for (int clock = 0; clock < QUIET; clock++)
        nic_step();
    CHECK(!n_due, "%s: %d frames have not come", what, n_due);
    n_due = 0;
    CHECK(read_one(SHELL_DROPS_IN) == dropped_in, "%s: %u frames of nobody", what, dropped_in);
    CHECK(read_one(SHELL_DROPS_OUT) == dropped_out, "%s: %u frames to nobody", what, dropped_out);
}

static void test_sums(uint32_t first_chunk)
{
    uint8_t bytes[NIC_FRAME];
    const int came = n_came;
    for (uint32_t chunk = first_chunk; chunk < first_chunk + ROUNDS; chunk++)
        for (unsigned i = 0; i < RANKS * SLOTS; i++) {
            const unsigned rank = (i + chunk) % RANKS;
            size_t n = contribution(rank, (uint16_t)(i / RANKS), chunk, bytes);
            if (rtl_rand(&nic.rand) % 3 == 0)
                send_nobodys(bytes, n);
            if (rtl_rand(&nic.rand) % 8 == 0)
                send_both(rank, bytes, n - 1 - rtl_rand(&nic.rand) % 63, 0);
            send_both(rank, bytes, n, (int)(rtl_rand(&nic.rand) % 40));
            if (n_due > MAX_N / 2)
                all_has_come("in between");
        }
    all_has_come("sums");
    CHECK(n_came - came == ROUNDS * RANKS * SLOTS, "%d results", n_came - came);
}

/* A peer that is gone when the result is due, and one with two sockets. */
static void test_sockets(uint32_t chunk)
{
    uint8_t bytes[NIC_FRAME];
    for (unsigned rank = 0; rank < RANKS; rank++) {
        const size_t n = contribution(rank, 0, chunk, bytes);
        if (rank == RANKS - 1) {
            for (int clock = 0; clock < QUIET; clock++)
                nic_step();
            set_socket(socket_of_rank[1], 0, 0);
            set_socket(2, frame_ip(JOB, 0), frame_port(0));
            rank_1_is_gone = true;
            moved_to = 2;
        }
        send_both(rank, bytes, n, 0);
    }
    all_has_come("sockets");
    CHECK(dropped_out == 1, "%u", dropped_out);
    const size_t n = contribution(1, 1, chunk, bytes);
    nic_send(socket_of_rank[1], bytes, n, 0);
    dropped_in++;
    all_has_come("a peer that is gone");
}

static void test_counters(void)
{
    CHECK(!nic_write(REG_CTRL, REG_CTRL_ENABLE | REG_CTRL_LATCH, 15), "latch");
    for (unsigned i = 0; i < REG_COUNTERS; i++) {
        CHECK(!nic_write(REG_COUNTER_INDEX, i, 15), "counter %u", i);
        const uint32_t low = read_one(REG_COUNTER_LO);
        CHECK(low == card_counter(card, i), "counter %u: %u, not %llu", i, low,
              (unsigned long long)card_counter(card, i));
    }
}

int main(int argc, char **argv)
{
    card = card_open(card_sends, NULL);
    if (!card)
        return 1;
    nic.take = kernel_sends;
    nic_open(argc, argv, SEED);
    test_registers();
    nic.stall = 64;
    test_registers();
    const struct frame_job job = {JOB, RANKS, BASE, SLOTS, 0, 0xfeedface01234567u};
    frame_register(job, write_both, NULL);
    for (unsigned rank = 0; rank < RANKS; rank++)
        set_socket(socket_of_rank[rank], frame_ip(JOB, rank), frame_port(rank));
    test_sums(0);
    nic.stall = 0;
    test_sums(ROUNDS);
    nic.stall = 160;
    test_sums(2 * ROUNDS);
    test_sockets(3 * ROUNDS);
    test_counters();
    model_close(nic.m);
    card_close(card);
    DONE();
}
