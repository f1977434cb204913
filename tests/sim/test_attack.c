/* test_attack.c : a card under attack must add only its jobs' contributions and count each bad
 * frame once.
 *
 *     test_attack        the card's C model, two jobs, three attacks between any two frames
 *     test_attack HOST:PORT CARD.pcap SECONDS RATE
 *         sends RATE such frames a second to a card on the network, and replays those in CARD.pcap;
 *         as root also with the source address of the original sender */
#include "card_frames.h"
#include "rtl_rand.h"
#include "base/clock.h"
#include "check.h"
#include "sim/card_model.h"
#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- hostile frames ---- */

enum { ATTACK_BYTES = 2048, ATTACK_KEPT = 512 };

/* captured frames; new ones overwrite the oldest */
struct attack {
    uint64_t random; /* generator's state, not 0 */
    size_t n_kept, next;
    size_t lengths[ATTACK_KEPT];
    uint8_t kept[ATTACK_KEPT][ATTACK_BYTES];
};

static inline void attack_overhear(struct attack *a, const uint8_t *frame, size_t n)
{
    if (n > ATTACK_BYTES)
        return;
    memcpy(a->kept[a->next], frame, n);
    a->lengths[a->next] = n;
    a->next = (a->next + 1) % ATTACK_KEPT;
    a->n_kept += a->n_kept < ATTACK_KEPT;
}

static inline size_t attack_forge(struct attack *a, uint8_t *out)
{
    uint8_t payload[22 * PKT_BEAT_BYTES];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = (uint64_t)rtl_rand(&a->random) << 32 | rtl_rand(&a->random);
    h.job = (uint16_t)(rtl_rand(&a->random) % 5);
    h.rank = (uint16_t)(rtl_rand(&a->random) % 5);
    h.slot = (uint16_t)(rtl_rand(&a->random) % 130);
    h.chunk = rtl_rand(&a->random) % 40;
    h.op = (uint8_t)(1 + rtl_rand(&a->random) % 3);
    h.beats = 22;
    h.in_fmt = h.out_fmt = 5 << 4 | 2;
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)rtl_rand(&a->random);
    return frame_put(h, payload, 22, out);
}

static inline size_t attack_frame(struct attack *a, uint8_t *out)
{
    const uint32_t what = rtl_rand(&a->random) % 4;
    size_t n = 1 + rtl_rand(&a->random) % 1600;
    if (what == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = (uint8_t)rtl_rand(&a->random);
        return n;
    }
    if (what == 1 || !a->n_kept)
        return attack_forge(a, out);
    const size_t i = rtl_rand(&a->random) % a->n_kept;
    n = a->lengths[i];
    memcpy(out, a->kept[i], n);
    if (what == 2)
        out[rtl_rand(&a->random) % (rtl_rand(&a->random) % 2 && n > 64 ? 64 : n)] ^=
            (uint8_t)(1 << rtl_rand(&a->random) % 8);
    return n;
}

enum { SEED = 20261121, ROUNDS = 400, BEATS = 2, RANKS = 3, ELEMENTS = BEATS * 64 };

static struct {
    struct card *card;
    struct attack attack;
    uint64_t attacks, results[2];
    uint8_t wanted[2][ELEMENTS];
    int answers_to_attacks;
} t;

static void on_answer(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    const struct pkt_header h = pkt_get(bytes);
    (void)arg, (void)port;
    if (h.op != PKT_OP_RESULT) {
        t.answers_to_attacks++;
        return;
    }
    CHECK(h.job >= 1 && h.job <= 2 && ip == frame_ip(h.job, h.rank) && n == 64 + sizeof t.wanted[0],
          "job %u", h.job);
    CHECK(memcmp(bytes + 64, t.wanted[h.job - 1], ELEMENTS) == 0, "job %u: a wrong sum", h.job);
    t.results[h.job - 1]++;
}

static void write_reg(void *arg, uint32_t at, uint32_t value)
{
    CHECK(card_write(arg, at, value) == 0, "register %x", at);
}

/* Codes in e5m2: 0x3c is 1, 0x40 2, 0x42 3. Each of three ranks sends 1 or 0. */
static uint8_t sum_of(int ones)
{
    static const uint8_t codes[] = {0, 0x3c, 0x40, 0x42};
    return codes[ones];
}

static void attack_from_afar(void)
{
    uint8_t bytes[ATTACK_BYTES];
    const size_t n = attack_frame(&t.attack, bytes);
    t.attacks++;
    card_frame(t.card, 0x0a0a0a0a, 666, bytes, n);
}

static void contribute(uint32_t job, uint32_t rank, uint32_t round, const uint8_t *payload)
{
    uint8_t bytes[CARD_FRAME_BYTES];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.key = job * 0x123456789abcdefu;
    h.job = (uint16_t)job;
    h.rank = (uint16_t)rank;
    h.slot = (uint16_t)(job * 16 + round % 4);
    h.chunk = round / 4;
    h.op = PKT_OP_SUM;
    h.beats = BEATS;
    h.in_fmt = h.out_fmt = 5 << 4 | 2;
    h.count = ELEMENTS;
    const size_t n = frame_put(h, payload, BEATS, bytes);
    attack_overhear(&t.attack, bytes, n);
    card_frame(t.card, frame_ip(job, rank), frame_port(rank), bytes, n);
}

static void one_round(uint32_t round)
{
    uint8_t parts[2][RANKS][ELEMENTS];
    for (int job = 0; job < 2; job++)
        for (int i = 0; i < ELEMENTS; i++) {
            int ones = 0;
            for (int r = 0; r < RANKS; r++) {
                const int one = (int)(rtl_rand(&t.attack.random) & 1);
                parts[job][r][i] = one ? 0x3c : 0;
                ones += one;
            }
            t.wanted[job][i] = sum_of(ones);
        }
    for (int i = 0; i < 2 * RANKS; i++) {
        for (int k = 0; k < 3; k++)
            attack_from_afar();
        contribute(1 + (uint32_t)(i & 1), (uint32_t)(i / 2), round, parts[i & 1][i / 2]);
    }
}

static int on_the_model(void)
{
    t.attack.random = SEED;
    printf("seed %d\n", SEED);
    t.card = card_open(on_answer, NULL);
    for (uint32_t job = 1; job <= 2; job++) {
        struct frame_job j = {job, RANKS, 16 * job, 16, 0, job * 0x123456789abcdefu};
        frame_register(j, write_reg, t.card);
    }
    for (uint32_t round = 0; round < ROUNDS; round++)
        one_round(round);
    uint64_t dropped = 0, in = card_counter(t.card, CNT_IN_ADDED);
    for (unsigned i = CNT_DROP_LENGTH; i <= CNT_DROP_DISABLED; i++)
        dropped += card_counter(t.card, i);
    CHECK(dropped == t.attacks, "%llu attacks, %llu counted", (unsigned long long)t.attacks,
          (unsigned long long)dropped);
    CHECK(in == 2 * RANKS * ROUNDS && t.results[0] == RANKS * ROUNDS &&
              t.results[1] == RANKS * ROUNDS,
          "%llu added, %llu and %llu results", (unsigned long long)in,
          (unsigned long long)t.results[0], (unsigned long long)t.results[1]);
    CHECK(t.answers_to_attacks == 0, "%d answers to a stranger", t.answers_to_attacks);
    static const unsigned seen[] = {CNT_DROP_LENGTH,      CNT_DROP_MAGIC, CNT_DROP_HEADER_CRC,
                                    CNT_DROP_PAYLOAD_CRC, CNT_DROP_JOB,   CNT_DROP_KEY,
                                    CNT_DROP_SOURCE};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        CHECK(card_counter(t.card, seen[i]) > 0, "no attack was counted as %u", seen[i]);
    card_close(t.card);
    DONE();
}

struct net {
    int udp, raw; /* raw: -1 without permission */
    struct sockaddr_in card;
    uint32_t sources[ATTACK_KEPT];
    uint16_t ports[ATTACK_KEPT];
    uint64_t sent, spoofed;
    long at;
};

static void overhear(struct net *net, const char *path)
{
    uint8_t head[24], record[16], bytes[4096];
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    if (fread(head, 1, sizeof head, f) != sizeof head) {
        fclose(f);
        return;
    }
    const size_t link = head[20] == 1 ? 14 : 0;
    fseek(f, net->at ? net->at : 24, SEEK_SET);
    while (fread(record, 1, sizeof record, f) == sizeof record) {
        const size_t n = record[8] | (size_t)record[9] << 8 | (size_t)record[10] << 16;
        if (n > sizeof bytes || fread(bytes, 1, n, f) != n)
            break;
        net->at = ftell(f);
        const uint8_t *ip = bytes + link, *udp = ip + 20;
        if (n < link + 28 + 64 || memcmp(udp + 2, &net->card.sin_port, 2))
            continue;
        memcpy(&net->sources[t.attack.next], ip + 12, 4);
        memcpy(&net->ports[t.attack.next], udp, 2);
        attack_overhear(&t.attack, udp + 8, n - link - 28);
    }
    fclose(f);
}

static void spoof(struct net *net)
{
    uint8_t packet[28 + ATTACK_BYTES] = {0};
    const size_t i = rtl_rand(&t.attack.random) % t.attack.n_kept, n = t.attack.lengths[i];
    struct iphdr *ip = (struct iphdr *)packet;
    struct udphdr *udp = (struct udphdr *)(packet + 20);
    *ip = (struct iphdr){.version = 4,
                         .ihl = 5,
                         .tot_len = htons((uint16_t)(28 + n)),
                         .ttl = 64,
                         .protocol = IPPROTO_UDP,
                         .saddr = net->sources[i],
                         .daddr = net->card.sin_addr.s_addr};
    udp->source = net->ports[i];
    udp->dest = net->card.sin_port;
    udp->len = htons((uint16_t)(8 + n));
    memcpy(packet + 28, t.attack.kept[i], n);
    if (sendto(net->raw, packet, 28 + n, 0, (struct sockaddr *)&net->card, sizeof net->card) > 0)
        net->spoofed++;
}

static int on_the_network(const char *where, const char *pcap, double seconds, double rate)
{
    struct net net = {.udp = socket(AF_INET, SOCK_DGRAM, 0),
                      .raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW)};
    char host[64] = "";
    const char *colon = strchr(where, ':');
    if (!colon)
        return 1;
    memcpy(host, where, (size_t)(colon - where) < sizeof host ? (size_t)(colon - where) : 0);
    net.card =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
    if (inet_pton(AF_INET, host, &net.card.sin_addr) != 1 || net.udp < 0)
        return 1;
    t.attack.random = SEED;
    const double start = clock_s();
    for (double now = start, heard = 0; now < start + seconds; now = clock_s(), usleep(500)) {
        if (now > heard + 0.2) {
            overhear(&net, pcap);
            heard = now;
        }
        for (int k = 0; k < 256 && (double)(net.sent + net.spoofed) < rate * (now - start); k++) {
            uint8_t bytes[ATTACK_BYTES];
            const size_t n = attack_frame(&t.attack, bytes);
            if (sendto(net.udp, bytes, n, 0, (struct sockaddr *)&net.card, sizeof net.card) ==
                (ssize_t)n)
                net.sent++;
            if (net.raw >= 0 && t.attack.n_kept && rtl_rand(&t.attack.random) % 2)
                spoof(&net);
        }
    }
    printf("sent %llu spoofed %llu overheard %zu\n", (unsigned long long)net.sent,
           (unsigned long long)net.spoofed, t.attack.n_kept);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 5 ? on_the_network(argv[1], argv[2], atof(argv[3]), atof(argv[4]))
                     : on_the_model();
}
