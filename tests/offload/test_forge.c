/* test_forge.c : a host off the path reaches the card's control port and forges contributions of
 * rank 1. Without the key none is added; even with it, tags lack the job's secret. */
#include "control/control.h"
#include "offload/window/frame.h"
#include "offload/wire/wire.h"
#include "window_net.h"
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEPS = 60, N = 300, RANKS = 2 };
static struct net net;
static struct net_job job;
static struct control *control;
static int forger;
static uint8_t answer_body[SIMLINK_MAX];
static int8_t exponents[RANKS][N];
static uint8_t codes[RANKS][N + 8], sums[RANKS][N];

static int card_reads(void *card, uint32_t at, uint32_t *value)
{
    return card_read(card, at, value) ? 1 : 0;
}

static int card_writes(void *card, uint32_t at, uint32_t value)
{
    return card_write(card, at, value) ? 1 : 0;
}

static const struct control_ops registers = {.read = card_reads, .write = card_writes};

static uint32_t ask(uint32_t at)
{
    struct simlink answer = {0};
    const struct simlink m = {.kind = SIMLINK_READ, .a = at};
    CHECK(control_obey(control, forger, m, NULL, &answer, answer_body) == 0, "register %x", at);
    return (uint32_t)answer.b;
}

static void forge(bool is_max, uint64_t key, uint32_t tag, uint64_t n)
{
    uint8_t bytes[PKT_HEADER_BYTES + 5 * PKT_BEAT_BYTES];
    const uint32_t slots = job.jobs[0].slots;
    struct pkt_header h = {.rank = 1,
                           .key = key,
                           .job = (uint16_t)job.jobs[0].index,
                           .slot = (uint16_t)(job.jobs[0].slot_base + n % slots),
                           .chunk = (uint32_t)(n / slots),
                           .op = is_max ? PKT_OP_MAX : PKT_OP_SUM,
                           .beats = 5,
                           .in_fmt = is_max ? 0 : 0x43,
                           .out_fmt = is_max ? 0 : 0x43,
                           .flags = is_max ? 0 : PKT_FLAG_SATURATE,
                           .tag = frame_tag(tag, 0, 0, N),
                           .count = N};
    memset(bytes + PKT_HEADER_BYTES, 0x77, sizeof bytes - PKT_HEADER_BYTES);
    const size_t length = frame_put_header(h, sizeof bytes - PKT_HEADER_BYTES, bytes);
    card_frame(net.cards[0].model, NET_IP + 1, NET_PORT, bytes, length);
}

static bool step(uint32_t k, uint64_t key)
{
    for (uint32_t tag = 2 * k; tag < 2 * k + 2; tag++) {
        const bool is_max = tag % 2 == 0;
        int wrong = 0;
        forge(is_max, key, tag, tag);
        for (int r = 0; r < RANKS; r++) {
            const struct card_path_sum sum = {
                .codec = &job.codec, .n = N, .codes = codes[r], .result = sums[r], .tag = tag};
            memset(exponents[r], r, N);
            memset(codes[r], 0x38, N); /* 1 */
            if (is_max)
                window_start_max(job.windows[r], tag, exponents[r], N, net.now);
            else
                window_start_sum(job.windows[r], &sum, net.now);
        }
        net_run(&job, 3, 5);
        for (int r = 0; r < RANKS; r++) {
            if (job.windows[r]->state != WINDOW_DONE)
                return false;
            for (int i = 0; i < N; i++)
                wrong += is_max ? exponents[r][i] != 1 : sums[r][i] != 0x40;
        }
        CHECK(!wrong, "step %u: %d elements of forged results are taken", k, wrong);
    }
    return true;
}

static void open_job(void)
{
    job = (struct net_job){.net = &net,
                           .codec = net_codec("e4m3", "e4m3", "saturate", RANKS),
                           .n_ranks = RANKS,
                           .n_cards = 1,
                           .card_deadline_s = 0.5,
                           .others_s = 1};
    net_job_open(&job);
    net_pings(&job);
}

static void close_job(void)
{
    net_job_close(&job);
    net_close(&net);
}

static void from_the_control_port(void)
{
    net_open(&net, 5);
    struct card *card = net.cards[0].model;
    CHECK(control_open(&registers, card, true, NULL, NULL, &control) == 0, "no control");
    open_job();
    forger = control_join(control, "the forger", NET_IP + 9, NET_PORT);
    const uint64_t key = (uint64_t)ask(REG_JOB_KEY_HI) << 32 | ask(REG_JOB_KEY_LO);
    uint32_t k = 0;
    while (k < STEPS && step(k, key))
        k++;
    CHECK(k == STEPS, "the job gave up in step %u: %s", k, window_why(job.windows[0]));
    CHECK(card_counter(card, CNT_DROP_KEY) == 2 * STEPS &&
              card_counter(card, CNT_IN_ADDED) == 2 * RANKS * STEPS,
          "of %d forged frames %llu were refused, %llu added beside the job's own", 2 * STEPS,
          (unsigned long long)card_counter(card, CNT_DROP_KEY),
          (unsigned long long)card_counter(card, CNT_IN_ADDED) - 2 * RANKS * STEPS);
    control_close(control);
    close_job();
}

static void with_the_key(void)
{
    net_open(&net, 5);
    open_job();
    CHECK(!step(0, job.jobs[0].key), "the forger's contribution did not come first");
    CHECK(strstr(window_why(job.windows[0]), "differ") ||
              strstr(window_why(job.windows[1]), "differ"),
          "'%s', '%s'", window_why(job.windows[0]), window_why(job.windows[1]));
    CHECK(card_counter(net.cards[0].model, CNT_OUT_RESULT) == 0,
          "the card has a result of forged parts");
    close_job();
}

static uint16_t checksum(const void *bytes, size_t n)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < n; i += 2) {
        uint16_t word;
        memcpy(&word, (const uint8_t *)bytes + i, 2);
        sum += word;
    }
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* ICMP says of a datagram to the card that it was not delivered, for each reason but its length. */
static void by_icmp(void)
{
    const int card = socket(AF_INET, SOCK_DGRAM, 0), raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    const struct in_addr host = {htonl(INADDR_LOOPBACK)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = host};
    socklen_t n = sizeof at;
    struct wire wire;
    char why[WIRE_WHY_BYTES] = "";
    if (raw < 0) {
        printf("forged ICMP is not tried: raw sockets need root\n");
        close(card);
        return;
    }
    CHECK(!bind(card, (struct sockaddr *)&at, n) && !getsockname(card, (struct sockaddr *)&at, &n),
          "no socket");
    const struct wire_options o = {
        .card_ip = INADDR_LOOPBACK, .card_port = ntohs(at.sin_port), .frame_bytes = 2112};
    CHECK(wire_open(&o, &wire, why) == 0, "%s", why);
    for (uint8_t code = 0; code <= NR_ICMP_UNREACH; code++) {
        struct {
            struct icmphdr icmp;
            struct iphdr ip;
            struct udphdr udp;
        } m = {{.type = ICMP_DEST_UNREACH, .code = code},
               {.version = 4,
                .ihl = 5,
                .tot_len = htons(1000),
                .ttl = 60,
                .protocol = IPPROTO_UDP,
                .saddr = host.s_addr,
                .daddr = host.s_addr},
               {.source = htons(wire.port), .dest = at.sin_port, .len = htons(980)}};
        const uint8_t *bytes;
        uint8_t seen[256];
        if (code == ICMP_FRAG_NEEDED)
            continue;
        m.ip.check = checksum(&m.ip, sizeof m.ip);
        m.icmp.checksum = checksum(&m, sizeof m);
        CHECK(sendto(raw, &m, sizeof m, 0, (struct sockaddr *)&at, sizeof at) == sizeof m,
              "cannot send");
        CHECK(recv(raw, seen, sizeof seen, 0) > 0, "the message is not delivered");
        usleep(1000); /* until the wire's socket has it, too */
        size_t length;
        const int rc = wire.ops->receive(wire.own, &bytes, &length);
        CHECK(rc == 0, "code %d: %d", code, rc);
    }
    wire.ops->close(wire.own);
    close(card);
    close(raw);
}

int main(void)
{
    by_icmp();
    from_the_control_port();
    with_the_key();
    DONE();
}
