/* test_sim_ether.c : tests a card's end of an Ethernet: examples, then 300,000 damaged frames
 * (`long`: 10^7), none of which may be read or answered beyond its end.
 *
 *     test_sim_ether A.B.C.D      pings that host, as root: exit 0 when it answers */
#include "check.h"
#include "hls/arith/philox.h"
#include "sim/ether.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SEED = 9 };
static struct ether card, host;
static struct ether_udp udp;
static uint8_t frame[ETHER_MAX], reply[ETHER_MAX], copy[ETHER_MAX];
static size_t reply_n;

static enum ether_fate take(struct ether *who, const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    memset(&udp, 0, sizeof udp);
    reply_n = 0;
    const enum ether_fate fate = ether_take(who, exact, n, &udp, reply, &reply_n);
    if (fate == ETHER_PAYLOAD) {
        CHECK(udp.payload >= exact && udp.payload + udp.n <= exact + n,
              "a payload outside of its frame");
        memcpy(copy, udp.payload, udp.n < sizeof copy ? udp.n : sizeof copy);
        udp.payload = copy;
    }
    free(exact);
    return fate;
}

/* Writes the checksum of an ICMP message or IP header at `at`. */
static void seal(uint8_t *bytes, size_t n, size_t at)
{
    bytes[at] = bytes[at + 1] = 0;
    const uint32_t sum = ~ether_sum(0, bytes, n);
    bytes[at] = (uint8_t)(sum >> 8);
    bytes[at + 1] = (uint8_t)sum;
}

static void meet(void)
{
    const struct ether empty = {.mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a4d0001, .port = 5000};
    int asked;
    host = empty;
    card = (struct ether){.mac = {2, 0, 0, 0, 0, 9}, .ip = 0x0a4d0009, .port = 4711};
    size_t n = ether_put(&host, card.ip, card.port, (const uint8_t *)"hello", 5, frame, &asked);
    CHECK(asked && n == 42, "the host knows the card already");
    CHECK(take(&card, frame, n) == ETHER_REPLY && reply_n == 42, "the card does not answer ARP");
    memcpy(frame, reply, reply_n);
    CHECK(take(&host, frame, reply_n) == ETHER_LEARNT, "the host does not learn");
    n = ether_put(&host, card.ip, card.port, (const uint8_t *)"hello", 5, frame, &asked);
    CHECK(!asked && n == ETHER_HEADERS + 5, "the host does not know the card");
    CHECK(take(&card, frame, n) == ETHER_PAYLOAD && udp.ip == host.ip && udp.port == host.port &&
              udp.n == 5 && !memcmp(udp.payload, "hello", 5),
          "the datagram does not come through");
    CHECK(take(&host, frame, n) == ETHER_OTHER, "the host takes the card's frame");
    n = ether_put(&card, host.ip, host.port, (const uint8_t *)"there", 5, frame, &asked);
    CHECK(asked && take(&host, frame, n) == ETHER_REPLY,
          "the card has learnt from what it was not answered");
    memcpy(frame, reply, reply_n);
    CHECK(take(&card, frame, reply_n) == ETHER_LEARNT, "the card does not learn");
    n = ether_put(&card, host.ip, host.port, (const uint8_t *)"there", 5, frame, &asked);
    CHECK(!asked && take(&host, frame, n) == ETHER_PAYLOAD && !memcmp(udp.payload, "there", 5),
          "nor the answer");
}

/* what: 1 request, 2 answer. The sender's MAC ends in `end`; Ethernet's source is another MAC. */
static enum ether_fate arp(struct ether *who, uint8_t what, uint32_t ip, uint8_t end)
{
    struct ether sender = {.mac = {2, 0, 0, 0, 1, end}, .ip = ip};
    int asked;
    const size_t n = ether_put(&sender, who->ip, 1, frame, 0, frame, &asked);
    frame[21] = what;
    memcpy(frame, who->mac, 6);
    frame[6 + 4] = 7;
    const enum ether_fate fate = take(who, frame, n);
    CHECK(fate != ETHER_REPLY ||
              (!memcmp(reply, sender.mac, 6) && !memcmp(reply + 6, who->mac, 6) &&
               !memcmp(reply + 22, who->mac, 6) && !memcmp(reply + 28, frame + 38, 4) &&
               !memcmp(reply + 32, sender.mac, 6) && !memcmp(reply + 38, frame + 28, 4)),
          "an answer to %x", ip);
    return fate;
}

/* Returns the last byte of the MAC for ip; -1: the card sends an ARP request. */
static int place_of(struct ether *who, uint32_t ip)
{
    int asked;
    ether_put(who, ip, 1, (const uint8_t *)"x", 1, copy, &asked);
    return asked ? -1 : copy[5];
}

/* A frame to a group needs no ARP and passes no router; a card ignores it. */
static void groups(void)
{
    static const uint8_t mac[6] = {0x01, 0x00, 0x5e, 0x7f, 0x4d, 0x02};
    static struct ether e;
    int asked;
    const size_t n = ether_put(&card, 0xefff4d02, 7, (const uint8_t *)"all", 3, frame, &asked);
    CHECK(!asked && n == ETHER_HEADERS + 3 && !memcmp(frame, mac, 6), "a group's MAC");
    CHECK(frame[22] == 1 && ether_sum(0, frame + ETHER_BYTES, 20) == 0xffff, "a TTL of %d",
          frame[22]);
    CHECK(take(&host, frame, n) == ETHER_OTHER, "a card takes what goes to a group");
    e = (struct ether){.mac = {2, 0, 0, 0, 0, 9}, .ip = 0x0a4d0009, .port = 4711};
    for (uint32_t i = 0; i < 2 * ETHER_NEIGHBOURS; i++)
        ether_put(&e, 0xe0000001 + i, 1, (const uint8_t *)"x", 1, copy, &asked);
    CHECK(!e.neighbour[0].ip && place_of(&e, 0x0a4d0001) == -1, "groups are neighbours");
}

/* The card learns an address only from the answer to its request. */
static void neighbours(void)
{
    static struct ether e;
    const uint32_t a = 0x0a4d0101;
    e = (struct ether){.mac = {2, 0, 0, 0, 0, 9}, .ip = 0x0a4d0009, .port = 4711};
    CHECK(arp(&e, 2, a, 1) == ETHER_OTHER && arp(&e, 1, a, 1) == ETHER_REPLY && place_of(&e, a) < 0,
          "nobody had asked");
    arp(&e, 1, a, 1);
    for (int at = ETHER_BYTES; at < ETHER_BYTES + 6; at++) { /* types and lengths of addresses */
        frame[at]++;
        CHECK(take(&e, frame, 42) == ETHER_OTHER, "byte %d of ARP is not checked", at);
        frame[at]--;
    }
    frame[21] = 2;
    frame[22] |= 1;
    CHECK(take(&e, frame, 42) == ETHER_OTHER && place_of(&e, a) < 0, "a group's MAC is learnt");
    CHECK(arp(&e, 2, a, 1) == ETHER_LEARNT && place_of(&e, a) == 1, "an answer is not taken");
    CHECK(arp(&e, 2, a, 2) == ETHER_OTHER && place_of(&e, a) == 1, "a second answer is taken");
    CHECK(arp(&e, 1, a, 1) == ETHER_REPLY && place_of(&e, a) == 1,
          "who asks from its own place is forgotten");
    CHECK(arp(&e, 1, a, 3) == ETHER_REPLY && place_of(&e, a) < 0, "who has moved is not asked");
    CHECK(arp(&e, 2, a, 3) == ETHER_LEARNT && place_of(&e, a) == 3, "who has moved is not found");

    /* one host never answers */
    for (uint32_t i = 0; i < ETHER_NEIGHBOURS - 1; i++)
        CHECK(place_of(&e, a + 256 + i) < 0 &&
                  (i == 7 || arp(&e, 2, a + 256 + i, (uint8_t)i) == ETHER_LEARNT),
              "%u", i);
    CHECK(place_of(&e, a) == 3, "one takes the place of another");
    CHECK(place_of(&e, 77) < 0 && arp(&e, 2, 77, 77) == ETHER_LEARNT && place_of(&e, 77) == 77,
          "one more");
    /* this host is gone */
    for (uint32_t i = 0; i < ETHER_NEIGHBOURS - 1; i++)
        CHECK(i == 7 || place_of(&e, a + 256 + i) == (uint8_t)i, "%u of them is gone", i);
    CHECK(place_of(&e, 78) < 0 && arp(&e, 2, 78, 78) == ETHER_LEARNT, "one more");
    CHECK(place_of(&e, a) < 0 && place_of(&e, a + 256) == 0,
          "not who was sent nothing for longest has made room");
}

/* Makes a datagram with n bytes of payload from host to card. Returns the length. */
static size_t datagram(size_t n)
{
    uint8_t payload[1472];
    int asked;
    for (size_t i = 0; i < n; i++)
        payload[i] = (uint8_t)(i * 7 + 1);
    return ether_put(&host, card.ip, card.port, payload, n, frame, &asked);
}

static void udp_checksum(void)
{
    const size_t n = datagram(11);
    uint8_t pseudo[12], *u = frame + ETHER_BYTES + ETHER_IP_BYTES;
    memcpy(pseudo, frame + ETHER_BYTES + 12, 8);
    pseudo[8] = pseudo[10] = 0;
    pseudo[9] = 17;
    pseudo[11] = 19;
    const uint32_t sum = ~ether_sum(ether_sum(0, pseudo, sizeof pseudo), u, 19);
    u[6] = (uint8_t)(sum >> 8);
    u[7] = (uint8_t)sum;
    CHECK(take(&card, frame, n) == ETHER_PAYLOAD && udp.n == 11, "a right checksum");
    u[10] ^= 4;
    CHECK(take(&card, frame, n) == ETHER_CHECKSUM, "a wrong checksum");
}

static void by_example(void)
{
    size_t n = datagram(100);
    uint8_t *ip = frame + ETHER_BYTES;
    CHECK(take(&card, frame, n + 18) == ETHER_PAYLOAD && udp.n == 100, "padding behind the packet");
    CHECK(take(&card, frame, n - 1) == ETHER_SHORT, "a byte is missing");
    for (size_t k = 0; k < n; k++)
        CHECK(take(&card, frame, k) == ETHER_SHORT, "%zu bytes of it", k);
    ip[6] = 0x20; /* more fragments */
    seal(ip, 20, 10);
    CHECK(take(&card, frame, n) == ETHER_FRAGMENT, "a first fragment");
    ip[6] = 0;
    ip[7] = 3;
    seal(ip, 20, 10);
    CHECK(take(&card, frame, n) == ETHER_FRAGMENT, "a later fragment");
    ip[7] = 0;
    ip[8] = 1;
    CHECK(take(&card, frame, n) == ETHER_CHECKSUM, "the header is damaged");
    seal(ip, 20, 10);
    CHECK(take(&card, frame, n) == ETHER_PAYLOAD, "its last hop");
    ip[25] = 109;
    CHECK(take(&card, frame, n) == ETHER_SHORT, "UDP's length");
    n = datagram(0);
    CHECK(take(&card, frame, n) == ETHER_PAYLOAD && udp.n == 0, "an empty datagram");
    frame[ETHER_BYTES + 23]++;
    CHECK(take(&card, frame, n) == ETHER_OTHER, "another port");
    datagram(0);
    frame[5]++;
    CHECK(take(&card, frame, n) == ETHER_OTHER, "another host's frame");
    datagram(0);
    frame[12] = 0x86;
    frame[13] = 0xdd;
    CHECK(take(&card, frame, n) == ETHER_OTHER, "IPv6");
    n = datagram(8);
    ip[19]++;
    seal(ip, 20, 10);
    CHECK(take(&card, frame, n) == ETHER_OTHER, "another host's IP");
    n = datagram(8);
    ip[0] = 0x65;
    seal(ip, 20, 10);
    CHECK(take(&card, frame, n) == ETHER_OTHER, "IP of version 6");
    n = ether_put(&host, 0x0a4d0063, 1, frame, 0, copy, &(int){0});
    CHECK(take(&card, copy, n) == ETHER_OTHER, "a request for another host is answered");

    n = datagram(60);
    uint8_t *icmp = ip + 20;
    ip[9] = 1;
    seal(ip, 20, 10);
    memset(icmp, 0, 8);
    icmp[0] = 8;
    icmp[5] = 77;
    seal(icmp, 68, 2);
    CHECK(take(&card, frame, n) == ETHER_REPLY && reply_n == n, "a ping is not answered");
    const uint8_t *r = reply + ETHER_BYTES;
    CHECK(!memcmp(reply, host.mac, 6) && !memcmp(reply + 6, card.mac, 6) &&
              ether_sum(0, r, 20) == 0xffff,
          "its header");
    CHECK(!memcmp(r + 12, ip + 16, 4) && !memcmp(r + 16, ip + 12, 4) && r[9] == 1, "its addresses");
    CHECK(r[20] == 0 && ether_sum(0, r + 20, 68) == 0xffff && !memcmp(r + 24, icmp + 4, 64),
          "its message");
    icmp[40] ^= 1;
    CHECK(take(&card, frame, n) == ETHER_CHECKSUM, "a damaged ping");
    icmp[40] ^= 1;
    icmp[1] = 1;
    seal(icmp, 68, 2);
    CHECK(take(&card, frame, n) == ETHER_OTHER, "a ping with a code is answered");
    icmp[1] = 0;
    icmp[0] = 0;
    seal(icmp, 68, 2);
    CHECK(take(&card, frame, n) == ETHER_OTHER, "an answer to a ping is answered");
}

static void by_chance(uint64_t frames)
{
    uint64_t drawn = 0, fates[ETHER_FATES] = {0};
    for (uint64_t k = 0; k < frames; k++) {
        const uint32_t what = philox_u32(SEED, drawn++), flips = 1 + what % 4;
        size_t n = datagram(what >> 8 & 63);
        if (what & 16)
            frame[13] = 6;
        for (uint32_t i = 0; i < flips; i++) {
            const uint32_t at = philox_u32(SEED, drawn++);
            frame[at % n] = (uint8_t)(frame[at % n] ^ (1u << (at >> 16 & 7)));
        }
        if (what & 32) /* so that damage gets past the checksum */
            seal(frame + ETHER_BYTES, 20, 10);
        n = what & 64 ? n : what % (n + 1);
        struct ether c = card;
        fates[take(&c, frame, n)]++;
        CHECK(reply_n <= ETHER_MAX, "a reply of %zu bytes", reply_n);
    }
    for (int i = 0; i < ETHER_FATES; i++) {
        printf("fate %d: %llu\n", i, (unsigned long long)fates[i]);
        CHECK(fates[i] > 0 || i == ETHER_LEARNT || i == ETHER_REPLY, "fate %d never happened", i);
    }
}

static int ping(const char *where)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct {
        struct icmphdr head;
        uint8_t data[56];
    } echo = {.head = {.type = ICMP_ECHO}};
    const int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (fd < 0 || inet_pton(AF_INET, where, &to.sin_addr) != 1)
        return 1;
    echo.head.un.echo.id = htons(4711);
    for (size_t i = 0; i < sizeof echo.data; i++)
        echo.data[i] = (uint8_t)i;
    seal((uint8_t *)&echo, sizeof echo, 2);
    for (int i = 0; i < 50; i++) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        (void)!sendto(fd, &echo, sizeof echo, 0, (struct sockaddr *)&to, sizeof to);
        while (poll(&p, 1, 200) > 0) {
            uint8_t got[2048];
            const ssize_t n = recv(fd, got, sizeof got, 0);
            if (n == 20 + (ssize_t)sizeof echo && got[20] == ICMP_ECHOREPLY &&
                !memcmp(got + 24, (uint8_t *)&echo + 4, sizeof echo - 4) &&
                !memcmp(got + 12, &to.sin_addr, 4)) {
                close(fd);
                return 0;
            }
        }
    }
    close(fd);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "long"))
        return ping(argv[1]);
    printf("seed %d\n", SEED);
    meet();
    groups();
    neighbours();
    udp_checksum();
    by_example();
    by_chance(argc > 1 ? 10000000 : 300000);
    DONE();
}
