/* test_shell_bad_rtl.c : sends 2,000 faulty Ethernet frames (`long`: a million) to the card with
 * LiteEth, in the middle of a chunk. Only ARP and ping are answered. Results equal a C model's
 * without faults. */
#include "eth_hosts.h"
#include "sim/card_model.h"

enum { SEED = 78, SLOTS = 4, RANKS = 3, BATCH = 250, MAX_N = 64 * 33 };
#include "seeded.h"
static const uint8_t slot_beats[SLOTS] = {1, 2, 4, 22};
static const struct frame_job job = {1, RANKS, 4, SLOTS, 0, 0xfeedface01234567u};
static struct card *model;
static int n_model;
static struct reached of_model[SLOTS * RANKS];

static void model_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    if (n_model < SLOTS * RANKS)
        of_model[n_model++] = (struct reached){ip, port, bytes_hash(bytes, n), 0, pkt_get(bytes)};
}

static void write_both(void *arg, uint32_t at, uint32_t value)
{
    net_write(arg, at, value);
    card_write(model, at, value);
}

/* Returns the frame's length; its datagram is at frame + 42. */
static size_t contribution(uint32_t rank, uint32_t slot, uint32_t chunk, uint8_t *frame)
{
    static uint8_t payload[MAX_N];
    const size_t beats = slot_beats[slot];
    const struct pkt_header h = {.job = (uint16_t)job.index,
                                 .key = job.key,
                                 .rank = (uint16_t)rank,
                                 .slot = (uint16_t)(job.base + slot),
                                 .chunk = chunk,
                                 .op = PKT_OP_SUM,
                                 .beats = (uint8_t)beats,
                                 .in_fmt = 0x43,
                                 .out_fmt = 0x43,
                                 .tag = chunk,
                                 .count = (uint32_t)(64 * beats)};
    for (size_t i = 0; i < 64 * beats; i++)
        payload[64 + i] = (uint8_t)draw(0x70);
    const size_t n = frame_put(h, payload + 64, beats, payload);
    return put_udp(frame_ip(job.index, rank), frame_port(rank), payload, n, frame);
}

static void contribute(uint32_t rank, uint32_t slot, uint32_t chunk)
{
    static uint8_t frame[ETHER_MAX];
    const size_t n = contribution(rank, slot, chunk, frame);
    card_frame(model, frame_ip(job.index, rank), frame_port(rank), frame + 42, n - 42);
    if (draw(2))
        sum_udp(frame);
    net_put(frame, n, 0);
}

enum {
    WRONG_MAC,
    WRONG_TYPE,
    VLAN,
    OPTIONS,
    VERSION,
    TOTAL_SHORT,
    TOTAL_LONG,
    FRAGMENT,
    IP_SUM,
    PROTOCOL,
    TO_IP,
    FROM_IP,
    FROM_PORT,
    TO_PORT,
    UDP_LENGTH,
    UDP_SUM,
    CUT,
    RUNT,
    BAD_CRC,
    FLIPPED,
    PING_TAIL,
    PING_LONG,
    PING_SUM,
    PING_CUT,
    ARP_SPOOF,
    ARP_NOISE,
    NOISE,
    GIANT,
    WRONGS
};

static void noise(uint8_t *frame, size_t at, size_t n)
{
    for (; at < n; at++)
        frame[at] = (uint8_t)draw(256);
}

/* Returns the length of a frame [ETHER_MAX] that the card must ignore; *how: its line condition. */
static size_t wrong(unsigned kind, uint32_t chunk, uint8_t *frame, unsigned *how)
{
    const uint32_t rank = 1 + draw(RANKS - 1), ip = frame_ip(job.index, rank);
    const uint32_t a = draw(SLOTS), b = draw(SLOTS);
    size_t n = contribution(rank, a < b ? a : b, chunk, frame);
    uint32_t total = of_be16(frame + 16);
    *how = 0;
    switch (kind) {
    case WRONG_MAC:
        draw(3) ? (frame[draw(6)] ^= (uint8_t)(1u << draw(8)))
                : (uint8_t)(memset(frame, 255, 6), 0);
        break;
    case WRONG_TYPE:
        be16(frame + 12, draw(2) ? 0x86dd : 0x0800 ^ 1u << draw(16));
        break;
    case VLAN:
        memmove(frame + 16, frame + 12, n - 12);
        be32(frame + 12, 0x81000000 | draw(4096));
        n += 4;
        break;
    case OPTIONS: { /* well formed: right lengths and checksum */
        const size_t words = 1 + draw(10);
        memmove(frame + 34 + 4 * words, frame + 34, n - 34);
        memset(frame + 34, 1, 4 * words);
        frame[14] = (uint8_t)(0x45 + words);
        be16(frame + 16, total + 4 * (uint32_t)words);
        n += 4 * words;
        break;
    }
    case VERSION:
        frame[14] ^= (uint8_t)(1u << draw(8));
        break;
    case TOTAL_SHORT:
        be16(frame + 16, draw(total));
        break;
    case TOTAL_LONG:
        be16(frame + 16, total + 1 + draw(65535 - total));
        break;
    case FRAGMENT:
        be16(frame + 20, draw(2) ? 0x2000 : 0x2000 | (1 + draw(0x1fff)));
        break;
    case IP_SUM:
        frame[14 + draw(20)] ^= (uint8_t)(1u << draw(8));
        break;
    case PROTOCOL:
        frame[23] = (uint8_t)(18 + draw(200));
        break;
    case TO_IP:
        be32(frame + 30, draw(2) ? 0xffffffff : card_ip ^ 1u << draw(32));
        break;
    case FROM_IP:
        be32(frame + 26, draw(2) ? 0xe0000001 : ip ^ 1u << draw(32));
        break;
    case FROM_PORT:
        be16(frame + 34, of_be16(frame + 34) ^ 1u << draw(16));
        break;
    case TO_PORT:
        be16(frame + 36, CARD_PORT ^ 1u << draw(16));
        break;
    case UDP_LENGTH:
        be16(frame + 38, draw(2) ? draw(total - 20) : total - 19 + draw(60000));
        break;
    case UDP_SUM:
        sum_udp(frame);
        be16(frame + 40, of_be16(frame + 40) ^ 1u << draw(16));
        if (!of_be16(frame + 40))
            frame[40] = 0x55;
        break;
    case CUT:
        n = 14 + draw((uint32_t)n - 14);
        break;
    case RUNT:
        n = 1 + draw(59);
        *how = SHELL_ETH_SHORT;
        break;
    case BAD_CRC:
        *how = SHELL_ETH_BAD_CRC;
        break;
    case FLIPPED: /* flipped on the wire: the CRC is the original's */
        frame[draw((uint32_t)n)] ^= (uint8_t)(1u << draw(8));
        *how = SHELL_ETH_BAD_CRC;
        break;
    case PING_TAIL:
        put_ping(ip, 1 + draw(100), frame);
        n = draw(8) ? 200 : 1514;
        break;
    case PING_LONG:
        n = put_ping(ip, 129 + draw(draw(8) ? 200 : 1300), frame);
        break;
    case PING_SUM:
        n = put_ping(ip, 1 + draw(100), frame);
        frame[34 + draw((uint32_t)n - 34)] ^= (uint8_t)(1u << draw(8));
        break;
    case PING_CUT:
        n = put_ping(ip, 60 + draw(60), frame) - 1 - draw(60);
        break;
    case ARP_SPOOF: /* unsolicited: another MAC for a rank */
        n = put_arp(2, ip, frame);
        noise(frame, 22, 28);
        break;
    case ARP_NOISE:
        n = put_arp(1 + draw(2), 0x0a0a0000 | draw(65536), frame);
        frame[12 + draw(30)] ^= (uint8_t)(1u << draw(8));
        break;
    case GIANT:
        n = draw(8) ? 300 : 1600 + draw(ETHER_MAX - 1600);
        noise(frame, 42, n);
        break;
    default:
        n = 14 + draw(draw(8) ? 200 : 1500);
        noise(frame, draw(2) ? 0 : 14, n);
        break;
    }
    if (kind == OPTIONS || kind == TOTAL_SHORT || kind == TOTAL_LONG || kind == FRAGMENT ||
        kind == PROTOCOL || kind == TO_IP || kind == FROM_IP)
        sum_ip(frame);
    return n;
}

static void batch(uint32_t chunk, uint64_t *sent)
{
    static uint8_t frame[ETHER_MAX];
    n_model = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        contribute(0, slot, chunk);
    net_run();
    const uint64_t added = net_counter(CNT_IN_ADDED);
    shell_eth_line(net.shell, 40); /* the guard may drop frames faster than a gigabit */
    for (int i = 0; i < BATCH; i++) {
        const unsigned kind = draw(WRONGS);
        unsigned how;
        const size_t n = wrong(kind, chunk, frame, &how);
        net_put(frame, n, how);
        sent[kind]++;
    }
    net_run();
    shell_eth_line(net.shell, SHELL_ETH_GIGABIT);
    CHECK(!net.n && net_counter(CNT_IN_ADDED) == added, "chunk %u: %d datagrams, %llu added", chunk,
          net.n, (unsigned long long)(net_counter(CNT_IN_ADDED) - added));

    const int echoes = net.n_echo;
    net_put(frame, put_ping(frame_ip(job.index, 0), 56, frame), 0);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t r = 1; r < RANKS; r++)
            contribute(r, slot, chunk);
    net_run();
    CHECK(net.n_echo == echoes + 1, "chunk %u: no answer to a ping", chunk);
    qsort(net.of, (size_t)net.n, sizeof *net.of, reached_order);
    qsort(of_model, (size_t)n_model, sizeof *of_model, reached_order);
    int bad = net.n != n_model;
    for (int i = 0; i < net.n && i < n_model; i++)
        bad += net.of[i].ip != of_model[i].ip || net.of[i].port != of_model[i].port ||
               net.of[i].hash != of_model[i].hash;
    CHECK(!bad, "chunk %u: %d results, %d of the C model", chunk, net.n, n_model);
}

int main(int argc, char **argv)
{
    const int is_long = argc > 1 && !strcmp(argv[1], "long");
    const uint32_t batches = is_long ? 4000 : 8;
    uint64_t sent[WRONGS] = {0};
    uint8_t frame[64];
    model = card_open(model_out, NULL);
    if (!model || !net_open())
        return 1;
    printf("seed %d\n", SEED);
    frame_register(job, write_both, NULL);
    for (uint32_t r = 0; r < RANKS; r++)
        net_put(frame, put_arp(1, frame_ip(job.index, r), frame), 0);
    net_run();
    const uint64_t start = shell_eth.ticks(net.shell);
    for (uint32_t chunk = 0; chunk < batches && check_bad < 10; chunk++)
        batch(chunk, sent);
    const struct shell_eth_counts *c = shell_eth_counts(net.shell);
    uint64_t all = 0;
    for (int i = 0; i < WRONGS; i++) {
        all += sent[i];
        CHECK(sent[i], "nothing of kind %d", i);
    }
    printf("%llu wrong frames in %u batches, %llu clocks; at the guard: %llu taken, %llu with a "
           "bad CRC, "
           "%llu another's, %llu malformed, %llu without room; %d echoes\n",
           (unsigned long long)all, batches,
           (unsigned long long)(shell_eth.ticks(net.shell) - start), (unsigned long long)c->taken,
           (unsigned long long)c->error, (unsigned long long)c->other,
           (unsigned long long)c->malformed, (unsigned long long)c->full, net.n_echo);
    CHECK(!c->core_waits && !c->bad, "the core made others wait, or a frame left broken");
    net_close();
    card_close(model);
    DONE();
}
