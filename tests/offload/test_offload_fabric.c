/* test_offload_fabric.c : compares libfabric's and the system's wire with a plain UDP socket. */
#include "base/err.h"
#include "check.h"
#include "offload/wire/wire_local.h"
#include "offload/wire/wire.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 1472, LOOPBACK = 0x7f000001, BURST = 60, ROUNDS = 20 };
static struct wire wire;
static int fd;
static struct sockaddr_in peer;
static bool library;

static size_t next(uint8_t *bytes, size_t room)
{
    for (int i = 0; i < 5000; i++) {
        const uint8_t *at;
        size_t n;
        int rc = wire.ops->receive(wire.own, &at, &n);
        CHECK(rc >= 0, "receive: %d", rc);
        if (rc > 0) {
            memcpy(bytes, at, n < room ? n : room);
            return n;
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return 0;
}

static void both_ways(void)
{
    uint8_t out[FRAME], in[FRAME + 64];
    for (size_t n = 64; n <= FRAME; n += 64) {
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        memset(out, (int)(n / 64), n);
        CHECK(wire.ops->send(wire.own, out, n) == 0 && wire.ops->flush(wire.own) == 0, "send %zu",
              n);
        const ssize_t got = recvfrom(fd, in, sizeof in, 0, (struct sockaddr *)&from, &size);
        CHECK(got == (ssize_t)n && !memcmp(in, out, n), "%zd of %zu bytes came", got, n);
        CHECK(from.sin_addr.s_addr == peer.sin_addr.s_addr && from.sin_port == peer.sin_port,
              "from another address");
        CHECK(sendto(fd, out, n, 0, (struct sockaddr *)&peer, sizeof peer) == (ssize_t)n, "answer");
        memset(in, 0, sizeof in);
        CHECK(next(in, sizeof in) == n && !memcmp(in, out, n), "answer of %zu bytes", n);
    }
}

static void bursts(void)
{
    uint8_t bytes[FRAME + 64];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++) {
            memset(bytes, i, sizeof bytes);
            CHECK(sendto(fd, bytes, FRAME, 0, (struct sockaddr *)&peer, sizeof peer) == FRAME,
                  "send");
        }
        for (int i = 0; i < BURST; i++)
            CHECK(next(bytes, sizeof bytes) == FRAME && bytes[0] == i && bytes[FRAME - 1] == i,
                  "round %d, datagram %d", round, i);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++) {
            memset(bytes, i, sizeof bytes);
            CHECK(wire.ops->send(wire.own, bytes, (size_t)(i % 7 ? FRAME : 64 + i)) == 0, "send");
        }
        CHECK(wire.ops->flush(wire.own) == 0, "flush");
        for (int i = 0; i < BURST; i++) {
            const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
            CHECK(n == (i % 7 ? FRAME : 64 + i) && bytes[0] == i && bytes[n - 1] == i,
                  "round %d: %zd bytes", round, n);
        }
    }
    uint8_t long_one[4000] = {7};
    CHECK(sendto(fd, long_one, sizeof long_one, 0, (struct sockaddr *)&peer, sizeof peer) > 0,
          "send");
    CHECK(sendto(fd, long_one, 1, 0, (struct sockaddr *)&peer, sizeof peer) == 1, "send");
    size_t n = next(bytes, sizeof bytes);
    CHECK(n != FRAME, "%zu bytes of a datagram that is too long", n);
    if (n != 1)
        CHECK(next(bytes, sizeof bytes) == 1 && bytes[0] == 7,
              "nothing comes behind a datagram that is too long");
}

static void refusals(struct wire_options o, const char *provider)
{
    struct wire none;
    char why[WIRE_WHY_BYTES];
    uint32_t ip = 0;
    o.provider = "carrier-pigeon";
    const int rc = wire_open(&o, &none, why);
    CHECK(rc == (library ? -ENODATA : -ENOENT) && strstr(why, "carrier-pigeon"), "%d: %s", rc, why);
    o.provider = provider;
    o.local = "192.0.2.77"; /* an address for documentation, of no host */
    CHECK(wire_open(&o, &none, why) == -EINVAL && strstr(why, "192.0.2.77"), "%s", why);
    o.local = "no-such-interface";
    CHECK(wire_open(&o, &none, why) == -EINVAL && strstr(why, "no-such-interface"), "%s", why);
    o.local = "lo";
    CHECK(wire_open(&o, &none, why) == 0, "%s", why);
    none.ops->close(none.own);
    o.local = NULL;
    o.frame_bytes = 100000; /* too long: the wire reports its maximum */
    CHECK(wire_open(&o, &none, why) == 0, "%s", why);
    const size_t most = none.ops->most(none.own);
    CHECK(most == (provider ? FRAME : UINT16_MAX - 28), "%s: %zu bytes",
          provider ? provider : "socket", most);
    none.ops->close(none.own);
    o.card_ip = INADDR_BROADCAST;
    o.card_port = 9;
    CHECK(wire_open(&o, &none, why) == -EACCES && strstr(why, "cannot reach") &&
              strstr(why, " 255.255.255.255:9: "),
          "%s", why);
    CHECK(wire_local("127.0.0.1", 0, 0, &ip) == 0 && ip == LOOPBACK, "%08x", ip);
    CHECK(wire_local("0.0.0.0", 0, 0, &ip) < 0, "an address that is none");
}

static void one_kind(const char *provider)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(LOOPBACK)}};
    const struct timeval wait = {.tv_sec = 5};
    socklen_t size = sizeof own;
    char why[WIRE_WHY_BYTES];
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&own, size) &&
              !getsockname(fd, (struct sockaddr *)&own, &size),
          "socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    const struct wire_options o = {.provider = provider,
                                   .card_ip = LOOPBACK,
                                   .card_port = ntohs(own.sin_port),
                                   .frame_bytes = FRAME};
    if (provider && !library) {
        CHECK(wire_open(&o, &wire, why) == -ENOENT && strstr(why, provider), "%s", why);
        puts("skip: this build has no libfabric");
    } else if (wire_open(&o, &wire, why)) {
        CHECK(0, "%s", why);
    } else {
        CHECK(wire.ip == LOOPBACK && wire.port, "%08x:%u", wire.ip, wire.port);
        peer = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_port = htons(wire.port), .sin_addr = {htonl(wire.ip)}};
        both_ways();
        bursts();
        wire.ops->close(wire.own);
        refusals(o, provider);
    }
    close(fd);
}

int main(void)
{
    char path[512];
    const char *b = getenv("B") ? getenv("B") : "build";
    snprintf(path, sizeof path, "%s/libnarrowcast_fabric.so", b);
    library = !access(path, R_OK);
    if (library)
        setenv("NARROWCAST_FABRIC", path, 1);
    one_kind(NULL);
    one_kind("udp");
    DONE();
}
