/* test_eth_guard_rtl.c : sends datagrams and pings to rtl/shell/eth_guard.sv, each also with one
 * wrong bit, and some with the MAC's error. Only correct ones pass, without the bytes after their
 * IP packet; the others are counted by their fault. */
#include "eth_hosts.h"
#include "sim/rtl/verilated_model.h"

enum { SEED = 79, FRAMES = 6000 };
/* bits of count_o */
enum { PASSED = 1, MAC_ERROR = 2, NOT_OURS = 4, MALFORMED = 8, NO_ROOM = 16 };
#include "seeded.h"
static struct model *m;
static uint8_t *in_last, *in_last_be, *in_error, *in_valid, *in_ready, *out_last, *out_last_be,
    *out_valid, *out_ready, *count;
static uint32_t *in_data, *out_data;
static uint8_t got[ETHER_MAX];
static size_t n_got;
static int verdict, n_ended, n_last;
static int blocked; /* nothing is taken from the guard */

static void step(unsigned stall)
{
    *out_ready = !blocked && draw(4) >= stall;
    model_eval(m);
    if (*out_valid && *out_ready && n_got + 4 <= sizeof got) {
        const size_t bytes = !*out_last         ? 4
                             : *out_last_be & 1 ? 1
                             : *out_last_be & 2 ? 2
                             : *out_last_be & 4 ? 3
                                                : 4;
        memcpy(got + n_got, out_data, 4);
        n_got += bytes;
        n_last += *out_last;
    }
    verdict |= *count;
    n_ended += *count != 0;
    model_tick(m);
}

/* Returns count_o of the frame. The bytes of one that passed are in got[n_got]. */
static int send(const uint8_t *frame, size_t n, int error)
{
    const unsigned in_stall = draw(3), out_stall = draw(3);
    n_got = 0;
    verdict = n_ended = n_last = 0;
    for (size_t at = 0; at < n;) {
        *in_valid = draw(4) >= in_stall;
        memcpy(in_data, frame + at, 4);
        *in_last = at + 4 >= n;
        *in_last_be = (uint8_t)(*in_last ? 1u << (n - at - 1) : 0);
        *in_error = *in_last && error;
        model_eval(m);
        at += *in_valid && *in_ready ? 4 : 0;
        step(out_stall);
    }
    *in_valid = 0;
    for (size_t i = 0; i < n / 4 + 8; i++)
        step(0);
    CHECK(n_ended == 1 && n_last == (verdict == PASSED && !blocked),
          "%d verdicts on a frame, %d frames out", n_ended, n_last);
    return verdict;
}

static void open_ports(int argc, char **argv)
{
    m = model_open(argc, argv);
    in_data = model_port(m, "in_data_i", NULL);
    in_last = model_port(m, "in_last_i", NULL);
    in_last_be = model_port(m, "in_last_be_i", NULL);
    in_error = model_port(m, "in_error_i", NULL);
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

/* Returns the right count_o of a frame whose byte `at` is wrong. */
static int fault(const uint8_t *frame, size_t at)
{
    const int other_protocol = at == 23 && frame[at] != 1 && frame[at] != 17;
    return other_protocol || at < 6 || (at >= 30 && at < 34) ? NOT_OURS : MALFORMED;
}

/* Frames find no room after the buffer's 1024 words; those in it are not harmed. */
static void no_room(void)
{
    static uint8_t frame[ETHER_MAX];
    const size_t n = make(UDP, frame), whole = n < 60 ? 60 : n, words = (whole + 3) / 4;
    int passed = 0, is;
    blocked = 1;
    while ((is = send(frame, whole, 0)) == PASSED && passed < 1024)
        passed++;
    CHECK(is == NO_ROOM && passed == (int)(1024 / words), "frame %d of %zu words: count %x", passed,
          words, is);
    CHECK(send(frame, whole, 1) == MAC_ERROR, "an error without room");
    blocked = 0;
    for (int i = 0; i < passed; i++) {
        n_got = 0;
        n_last = 0;
        for (int k = 0; k < 2000 && !n_last; k++)
            step(0);
        CHECK(n_got == whole && !memcmp(got, frame, whole), "frame %d of a full buffer", i);
    }
    CHECK(send(frame, whole, 0) == PASSED && n_got == whole, "no room again");
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
        CHECK(draw(8) || (send(frame, n, 1) == MAC_ERROR && n_got == 0), "the MAC's error");
        CHECK(send(frame, n, 0) == PASSED && n_got == whole && !memcmp(got, frame, whole),
              "a frame of kind %u: %zu bytes of %zu pass", kind, n_got, whole);

        const size_t checked = kind == UDP_NO_SUM ? 20 : packet - 14;
        size_t at = 14 + draw((uint32_t)checked);
        if (draw(16) == 0)
            at = draw(6); /* our MAC */
        if (kind == UDP && draw(8) == 0) {
            at = 29;
            frame[29] ^= (uint8_t)(1u << draw(8)); /* the sender, which UDP's sum includes */
            sum_ip(frame);
        } else
            frame[at] ^= (uint8_t)(1u << draw(8));
        const int no_sum = kind == UDP && !of_be16(frame + 40), error = draw(8) == 0;
        const int is = no_sum ? 0 : send(frame, n, error);
        CHECK(no_sum || is == (error ? MAC_ERROR : fault(frame, at)),
              "a frame of kind %u, wrong in byte %zu: count %x", kind, at, is);
    }
    for (int i = 0; i < 10; i++)
        no_room();
    model_close(m);
    DONE();
}
