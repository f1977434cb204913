/* test_eth_guard_rtl.c : sends datagrams and pings to rtl/shell/eth_guard.sv, each also with one
 * wrong bit. Only correct ones pass, without the bytes after their IP packet. */
#include "eth_hosts.h"
#include "sim/rtl/verilated_model.h"

enum { SEED = 79, FRAMES = 6000 };
#include "seeded.h"
static struct model *m;
static uint8_t *in_last, *in_last_be, *in_valid, *in_ready, *out_last, *out_last_be, *out_valid,
    *out_ready, *count;
static uint32_t *in_data, *out_data;
static uint8_t got[ETHER_MAX];
static size_t n_got;
static int n_passed, n_ended;

static void step(unsigned stall)
{
    *out_ready = draw(4) >= stall;
    model_eval(m);
    if (*out_valid && *out_ready && n_got + 4 <= sizeof got) {
        const size_t bytes = !*out_last         ? 4
                             : *out_last_be & 1 ? 1
                             : *out_last_be & 2 ? 2
                             : *out_last_be & 4 ? 3
                                                : 4;
        memcpy(got + n_got, out_data, 4);
        n_got += bytes;
    }
    n_passed += *count & 1;
    n_ended += *count != 0;
    model_tick(m);
}

/* Returns whether the frame passed. Its bytes are in got[n_got] then. */
static int send(const uint8_t *frame, size_t n)
{
    const unsigned in_stall = draw(3), out_stall = draw(3);
    n_got = 0;
    n_passed = n_ended = 0;
    for (size_t at = 0; at < n;) {
        *in_valid = draw(4) >= in_stall;
        memcpy(in_data, frame + at, 4);
        *in_last = at + 4 >= n;
        *in_last_be = (uint8_t)(*in_last ? 1u << (n - at - 1) : 0);
        model_eval(m);
        at += *in_valid && *in_ready ? 4 : 0;
        step(out_stall);
    }
    *in_valid = 0;
    for (size_t i = 0; i < n / 4 + 8; i++)
        step(0);
    CHECK(n_ended == 1, "%d verdicts on a frame", n_ended);
    return n_passed;
}

static void open_ports(int argc, char **argv)
{
    m = model_open(argc, argv);
    in_data = model_port(m, "in_data_i", NULL);
    in_last = model_port(m, "in_last_i", NULL);
    in_last_be = model_port(m, "in_last_be_i", NULL);
    in_valid = model_port(m, "in_valid_i", NULL);
    in_ready = model_port(m, "in_ready_o", NULL);
    out_data = model_port(m, "out_data_o", NULL);
    out_last = model_port(m, "out_last_o", NULL);
    out_last_be = model_port(m, "out_last_be_o", NULL);
    out_valid = model_port(m, "out_valid_o", NULL);
    out_ready = model_port(m, "out_ready_i", NULL);
    count = model_port(m, "count_o", NULL);
    *(uint32_t *)model_port(m, "ip_i", NULL) = card_ip;
    uint64_t *mac = model_port(m, "mac_i", NULL);
    for (int i = 0; i < 6; i++)
        *mac = *mac << 8 | card_mac[i];
    uint8_t *rst = model_port(m, "rst_i", NULL);
    *rst = 1;
    step(0);
    step(0);
    *rst = 0;
}

enum { UDP, UDP_NO_SUM, PING, KINDS };

/* Returns the bytes of Ethernet's header and the IP packet in frame [ETHER_MAX]. */
static size_t make(unsigned kind, uint8_t *frame)
{
    const uint32_t ip = 0x0a000000 | draw(0x1000000);
    uint8_t payload[ETHER_MAX];
    if (kind == PING)
        return put_ping(ip, 1 + draw(128), frame);
    const size_t n = 1 + draw(draw(4) ? 100 : 1472);
    for (size_t i = 0; i < n; i++)
        payload[i] = (uint8_t)draw(256);
    const size_t all = put_udp(ip, (uint16_t)draw(65536), payload, n, frame);
    if (kind == UDP)
        sum_udp(frame);
    return all;
}

int main(int argc, char **argv)
{
    static uint8_t frame[ETHER_MAX];
    open_ports(argc, argv);
    printf("seed %d\n", SEED);
    for (int i = 0; i < FRAMES && check_bad < 10; i++) {
        const unsigned kind = draw(KINDS);
        const size_t packet = make(kind, frame), whole = packet < 60 ? 60 : packet;
        const size_t n = whole + draw(2) * draw(40);
        for (size_t at = packet; at < n; at++)
            frame[at] = (uint8_t)draw(256);
        CHECK(send(frame, n) && n_got == whole && !memcmp(got, frame, whole),
              "a frame of kind %u: %zu bytes of %zu pass", kind, n_got, whole);

        const size_t checked = kind == UDP_NO_SUM ? 20 : packet - 14;
        if (kind == UDP && draw(8) == 0) {
            frame[29] ^= (uint8_t)(1u << draw(8)); /* the sender, which UDP's sum includes */
            sum_ip(frame);
        } else
            frame[14 + draw((uint32_t)checked)] ^= (uint8_t)(1u << draw(8));
        const int no_sum = kind == UDP && !of_be16(frame + 40);
        CHECK(no_sum || !send(frame, n), "a wrong frame of kind %u passes", kind);
    }
    model_close(m);
    DONE();
}
