/* test_nic_kernel_rtl.c : tests the card as a Vitis kernel against the card in C.
 * Registers of both pages on one bus; sockets to addresses and back. Frames from or to unknown
 * peers are dropped and counted. */
#include "card_frames.h"
#include "hls/card/kernels.h"
#include "nic_kernel_ports.h"
#include "sim/card_model.h"

enum { SEED = 21, RANKS = 3, JOB = 2, BASE = 5, SLOTS = 3, BEATS = 3, ROUNDS = 12, QUIET = 600 };
static const uint16_t socket_of_rank[RANKS] = {11, 0, 6};

static struct card *card;
static unsigned dropped_in, dropped_out;

/* Frames that the card in C has sent and the kernel has not yet. */
enum { MOST = 64 };
static struct {
    uint16_t socket;
    size_t n;
    uint8_t bytes[NIC_FRAME];
} due[MOST];
static int n_due, n_came;
/* if not 0xffff: the socket that rank 0's results go to instead */
static uint16_t moved_to = 0xffff;
static bool rank_1_is_gone;

static void card_sends(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)ip;
    const unsigned rank = port - 1000u;
    CHECK(rank < RANKS && n <= NIC_FRAME && n_due < MOST, "a frame to port %u", port);
    if (rank >= RANKS || n > NIC_FRAME || n_due == MOST)
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
    for (int i = 0; i < 200; i++) { /* pages 0 and 1 in turn: no value ends up in the other */
        const uint32_t a = (uint32_t)rtl_rand(&nic.rand), b = (uint32_t)rtl_rand(&nic.rand);
        CHECK(!nic_write(REG_DROP_SEED, a, 15) && !nic_write(SHELL_IP, b, 15), "written");
        CHECK(!nic_write(SHELL_PORT, a, 3) && !nic_write(REG_JOB_INDEX, b, 15), "written");
        CHECK(read_one(REG_DROP_SEED) == a && read_one(SHELL_IP) == b, "read");
        CHECK((read_one(SHELL_PORT) & 0xffff) == (a & 0xffff) && read_one(REG_JOB_INDEX) == b,
              "read");
    }
    for (uint32_t s = 0; s < 16; s++)
        set_socket(s, 0x0a000000 + s, (uint16_t)(2000 + s));
    for (uint32_t s = 16; s; s = s == 16 ? 0x80000003 : 0) { /* sockets that do not exist */
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

/* Sends from a socket without a peer, or one that the shell does not have. */
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
                send_both(rank, bytes, n - 1 - rtl_rand(&nic.rand) % 63, 0); /* cut off */
            send_both(rank, bytes, n, (int)(rtl_rand(&nic.rand) % 40));
            if (n_due > MOST / 2)
                all_has_come("in between");
        }
    all_has_come("sums");
    CHECK(n_came - came == ROUNDS * RANKS * SLOTS, "%d results", n_came - came);
}

/* A peer that is gone when the result is due; a peer with two sockets. */
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
    nic_send(socket_of_rank[1], bytes, n, 0); /* the socket no longer has a peer */
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
