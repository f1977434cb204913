/* test_fpga_udp.c : tests cards whose control connection answers late or never. */
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "check.h"
#include "offload/card/fpga_link.h"
#include "offload/offload_inside.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void put(int fd, struct simlink m, const uint8_t *body)
{
    uint8_t bytes[SIMLINK_BYTES];
    simlink_put(m, bytes);
    CHECK(sock_send(fd, bytes, sizeof bytes) == 0 && sock_send(fd, body, m.bytes) == 0, "put");
}

/* An answer after the time limit must not be taken for that to the next request. */
static void answers_late(void)
{
    static const uint8_t eight[4] = {8};
    int ends[2];
    size_t done = 9;
    struct fpga card = {.name = "late"};
    struct fpga_link link;
    struct fpga_op first = {.at = 8, .read = true}, second = {.at = 12, .read = true};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no connection");
    put(ends[1], (struct simlink){.kind = SIMLINK_HELLO, .a = SIMLINK_VERSION}, NULL);
    CHECK(fpga_link_open(&link, ends[0], clock_s() + 10) == 0, "no connection");
    CHECK(fpga_link_whole(&card, &link), "%s", card.why);
    CHECK(fpga_link_batch(&card, &link, &first, 1, &done, 0) == -ETIMEDOUT, "%s", card.why);
    put(ends[1], (struct simlink){.kind = SIMLINK_DONE, .a = 1, .bytes = 4}, eight);
    CHECK(!fpga_link_whole(&card, &link) && strstr(card.why, "does not answer"), "%s", card.why);
    CHECK(fpga_link_batch(&card, &link, &second, 1, &done, 10) == -ETIMEDOUT && done == 9 &&
              second.value == 0,
          "takes %u for register 12", second.value);
    fpga_link_close(&link);
    close(ends[1]);
}

static struct offload o = {.n_cards = 3, .n_masters = 1};

/* Returns a bit mask of the cards that were tried. */
static unsigned tried_in_step(bool due)
{
    unsigned tried = 0;
    for (int i = 0; i < o.n_cards; i++) {
        o.retry[i].rc = 0;
        o.retry[i].at = due ? 0 : o.retry[i].at;
    }
    CHECK(offload_reach(&o, 0.2) == 0, "reaches a silent card");
    for (int i = 0; i < o.n_cards; i++)
        tried |= o.retry[i].rc ? 1u << i : 0;
    return tried;
}

/* Cards that accept a connection and never answer: all are tried at the start. The time of steps is
 * limited, so one after the other is tried in them. */
static void never_answer(void)
{
    uint16_t port = 0;
    const int listener = inet_listen(0x7f000001, &port, 64);
    CHECK(listener >= 0, "no connection");
    for (int i = 0; i < o.n_cards; i++) {
        snprintf(o.names[i], sizeof o.names[i], "udp://127.0.0.1:%u", port);
        o.retry[i].wait_s = 1;
    }
    CHECK(offload_reach_first(&o, 0.1) == 0, "%s", o.why);
    for (int i = 0; i < o.n_cards; i++)
        CHECK(o.retry[i].rc == -ETIMEDOUT && o.retry[i].at <= clock_s() + 1,
              "card %d: %d, tried again after %g s", i, o.retry[i].rc, o.retry[i].at - clock_s());
    for (unsigned i = 0; i < 3; i++) {
        const double start = clock_s();
        o.rests_until = 0;
        CHECK(tried_in_step(i == 0) == 1u << i, "turn %u", i);
        CHECK(o.rests_until > start + 1, "turn %u: rests for %g s", i, o.rests_until - start);
    }
    o.rests_until = clock_s() + 60;
    CHECK(tried_in_step(true) == 0, "tries a card before the time");
    close(listener);
}

int main(void)
{
    answers_late();
    never_answer();
    DONE();
}
