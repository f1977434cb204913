/* test_shell_rtl.c : tests the card with LiteEth by Ethernet frames. Prints clocks per frame,
 * waits of core and shell, and the savings of multicast. */
#include "eth_hosts.h"
#include "sim/card_model.h"

enum { SEED = 77, BEATS = 22, MAX_N = 64 * 33, SILENT = 3 };
#include "seeded.h"
static struct {
    struct card *card;
    int n;
    struct reached of[HOSTS_MAX];
} model;

static void model_out(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)arg;
    if (model.n < HOSTS_MAX)
        model.of[model.n++] = (struct reached){ip, port, bytes_hash(bytes, n), 0, pkt_get(bytes)};
}

static void write_both(void *arg, uint32_t at, uint32_t value)
{
    net_write(arg, at, value);
    card_write(model.card, at, value);
}

static void contribute(const struct frame_job *job, uint32_t rank, uint32_t slot, uint32_t chunk,
                       int summed)
{
    static uint8_t payload[MAX_N], frame[ETHER_MAX];
    struct pkt_header h = {.job = (uint16_t)job->index,
                           .key = job->key,
                           .rank = (uint16_t)rank,
                           .slot = (uint16_t)(job->base + slot),
                           .chunk = chunk,
                           .op = PKT_OP_SUM,
                           .beats = BEATS,
                           .in_fmt = 0x43,
                           .out_fmt = 0x52,
                           .tag = chunk,
                           .count = 64 * BEATS};
    for (size_t i = 64; i < 64 * (BEATS + 1); i++)
        payload[i] = (uint8_t)draw(0x70);
    const size_t n = frame_put(h, payload + 64, BEATS, payload);
    card_frame(model.card, frame_ip(job->index, rank), frame_port(rank), payload, n);
    const size_t all = put_udp(frame_ip(job->index, rank), frame_port(rank), payload, n, frame);
    if (summed)
        sum_udp(frame);
    net_put(frame, all, 0);
}

static void same_frames(const char *what)
{
    qsort(net.of, (size_t)net.n, sizeof *net.of, reached_order);
    qsort(model.of, (size_t)model.n, sizeof *model.of, reached_order);
    CHECK(net.n == model.n, "%s: %d datagrams, %d of the C model", what, net.n, model.n);
    int bad = 0;
    for (int i = 0; i < net.n && i < model.n; i++)
        bad += net.of[i].ip != model.of[i].ip || net.of[i].port != model.of[i].port ||
               net.of[i].hash != model.of[i].hash;
    CHECK(!bad, "%s: %d datagrams of %d differ", what, bad, net.n);
}

static void meet(const struct frame_job *job)
{
    uint8_t frame[64];
    for (uint32_t r = 0; r < job->ranks; r++)
        net_put(frame, put_arp(1, frame_ip(job->index, r), frame), 0);
    const int before = net.n_arp;
    net_run();
    CHECK(net.n_arp - before == (int)job->ranks, "%d answers to ARP", net.n_arp - before);
}

/* A host that checks for duplicates asks from 0.0.0.0 (RFC 5227). */
static void test_probe(void)
{
    uint8_t frame[64];
    net_put(frame, put_arp(1, 0, frame), 0);
    net_run();
    CHECK(net.n_arp == 1, "%d answers to an ARP probe", net.n_arp);
}

static void test_ping(uint32_t ip)
{
    uint8_t frame[ETHER_MAX];
    for (size_t n = 1; n <= 128; n += n < 24 ? 1 : 13) {
        net_put(frame, put_arp(1, ip, frame), 0);
        net_run();
        const int before = net.n_echo;
        net_put(frame, put_ping(ip, n, frame), 0);
        net_run();
        CHECK(net.n_echo == before + 1, "a ping of %zu bytes has no answer", n);
        CHECK(net.echo_n == 42 + n && !memcmp(net.echo + 42, frame + 42, n) && net.echo[34] == 0 &&
                  ether_sum(0, net.echo + 34, 8 + n) == 0xffff,
              "the answer to a ping of %zu bytes", n);
    }
    CHECK(net.n_arp > 0 && !net.n_astray, "%d frames went astray", net.n_astray);
}

static void test_sums(void)
{
    const struct frame_job job = {0, 4, 0, 8, 0, 0x1122334455667788u};
    frame_register(job, write_both, NULL);
    meet(&job);
    model.n = 0;
    for (uint32_t chunk = 0; chunk < 3; chunk++)
        for (uint32_t slot = 0; slot < job.slots; slot++)
            for (uint32_t r = 0; r < job.ranks; r++)
                contribute(&job, r, slot, chunk, draw(2) != 0);
    net_run();
    same_frames("sums of 4 ranks");
}

static void test_moved(void)
{
    const struct frame_job job = {0, 2, 0, 8, 0, 0x1122334455667789u};
    uint8_t frame[64];
    write_both(NULL, REG_JOB_INDEX, 0);
    write_both(NULL, REG_JOB_COMMIT, 0);
    frame_register(job, write_both, NULL);
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        const size_t n = put_arp(1, frame_ip(0, 1), frame);
        if (chunk == 0) {
            frame[27] ^= 1; /* its MAC, in the packet */
            net_put(frame, n, 0);
            net_run();
        }
        for (uint32_t r = 0; r < 2; r++)
            contribute(&job, r, 0, chunk, 0);
        net_run();
        CHECK(net.n == (chunk == 0 ? 1 : 2), "%d results in chunk %u behind a lie", net.n, chunk);
        CHECK(!net.n_astray, "a result went to the liar");
    }
}

/* Returns the clocks from the last byte of the last contribution to the last of *n results to
 * hosts other than `but`. */
static uint64_t round_of(const struct frame_job *job, uint32_t chunk, uint32_t but, int *n)
{
    for (uint32_t r = 0; r < job->ranks; r++)
        contribute(job, r, 0, chunk, 0);
    uint64_t last = 0, out = 0;
    net.n = 0;
    while (!shell_eth.step(net.shell, &net.in, 1))
        if (!out && !frame_queue_first(&net.in))
            out = shell_eth.ticks(net.shell);
    *n = 0;
    for (int i = 0; i < net.n; i++)
        if (net.of[i].ip != but) {
            (*n)++;
            last = net.of[i].at > last ? net.of[i].at : last;
        }
    return last - out;
}

static void test_silent(void)
{
    const struct frame_job job = {1, 8, 8, 8, 0, 0x99aabbccddeeff00u};
    uint64_t clocks[2];
    int n;
    frame_register(job, write_both, NULL);
    net.silent = frame_ip(1, SILENT);
    for (uint32_t r = 0; r < job.ranks; r++) {
        uint8_t frame[64];
        if (r != SILENT)
            net_put(frame, put_arp(1, frame_ip(1, r), frame), 0);
    }
    net_run();
    for (uint32_t chunk = 0; chunk < 6; chunk++) {
        clocks[0] = round_of(&job, chunk, frame_ip(1, SILENT), &n);
        CHECK(n == 7, "%d results reached 7 ranks beside a silent one", n);
    }
    CHECK(net.asked == 6, "the silent one was asked for %llu times", (unsigned long long)net.asked);
    net.silent = 0;
    round_of(&job, 6, frame_ip(1, SILENT), &n); /* the shell looks it up; it answers */
    clocks[1] = round_of(&job, 7, frame_ip(1, SILENT), &n);
    CHECK(net.n == 8, "%d results reached 8 ranks", net.n);
    printf("8 ranks, clocks from the last contribution to the seventh result: %llu with one that "
           "answers no ARP, %llu without\n",
           (unsigned long long)clocks[0], (unsigned long long)clocks[1]);
    CHECK(clocks[0] <= clocks[1], "the silent rank costs the others %llu clocks",
          (unsigned long long)(clocks[0] - clocks[1]));
}

/* 4 ranks on a wire of `line` bytes per ten clocks. */
static void test_pace(int line, uint32_t chunks)
{
    const struct frame_job job = {0, 4, 0, 8, 0, 0x1122334455667799u + (uint64_t)line};
    write_both(NULL, REG_JOB_INDEX, 0);
    write_both(NULL, REG_JOB_COMMIT, 0);
    frame_register(job, write_both, NULL);
    meet(&job);
    shell_eth_line(net.shell, line);
    const struct shell_eth_counts a = *shell_eth_counts(net.shell);
    model.n = 0;
    for (uint32_t chunk = 0; chunk < chunks; chunk++)
        for (uint32_t slot = 0; slot < job.slots; slot++)
            for (uint32_t r = 0; r < job.ranks; r++)
                contribute(&job, r, slot, chunk, 1);
    const uint64_t clocks = net_run();
    const struct shell_eth_counts b = *shell_eth_counts(net.shell);
    same_frames("the pace");
    const double frames = (double)(b.taken - a.taken), c = (double)clocks;
    printf("wire of %d bytes in 10 clocks: %.0f frames in and out, %.0f clocks a frame, at 50 MHz "
           "%.0f frames/s, "
           "%.2f Gbit/s on the wire each way; clocks waited: for the core %llu, by the core %llu, "
           "by the wire %llu; longest gap in a frame out: %llu\n",
           line, frames, c / frames, 50e6 * frames / c,
           (double)(b.bytes_in - a.bytes_in) * 8 * 50e6 / c * 1e-9,
           (unsigned long long)(b.core_waits - a.core_waits),
           (unsigned long long)(b.shell_waits - a.shell_waits),
           (unsigned long long)(b.wire_waits - a.wire_waits), (unsigned long long)b.hole);
    CHECK(b.core_waits == a.core_waits, "something waited for the core");
    CHECK(b.full == a.full && b.bad == 0, "frames were lost, or left the MAC broken");
    shell_eth_line(net.shell, SHELL_ETH_GIGABIT);
}

static void test_group(uint32_t n_ranks)
{
    enum { CHUNKS = 2 };
    const uint32_t group = 0xefff4dff; /* its last byte means no broadcast */
    struct frame_job job = {1, n_ranks, 8, 8, 0, 0};
    uint64_t bytes[2], clocks[2];
    int frames[2], n;
    for (int grouped = 0; grouped < 2; grouped++) {
        job.key = 0x5566778899aabb00u + n_ranks + (unsigned)grouped;
        write_both(NULL, REG_JOB_INDEX, 1);
        write_both(NULL, REG_JOB_COMMIT, 0);
        frame_register_group(job, grouped ? group : 0, 5005, write_both, NULL);
        meet(&job);
        round_of(&job, 0, 0, &n); /* looks up new hosts */
        round_of(&job, 1, 0, &n);
        const struct shell_eth_counts a = *shell_eth_counts(net.shell);
        model.n = 0;
        for (uint32_t chunk = 2; chunk < 2 + CHUNKS; chunk++)
            for (uint32_t slot = 0; slot < job.slots; slot++)
                for (uint32_t r = 0; r < n_ranks && (slot || chunk > 2); r++)
                    contribute(&job, r, slot, slot ? chunk - 2 : chunk - 1, 0);
        net_run();
        same_frames("a group");
        const struct shell_eth_counts b = *shell_eth_counts(net.shell);
        frames[grouped] = net.n;
        bytes[grouped] = b.bytes_out - a.bytes_out;
        for (int i = 0; i < net.n && grouped; i++)
            CHECK(net.of[i].ip == group && net.of[i].port == 5005 && net.of[i].h.key == 0 &&
                      net.of[i].h.rank == PKT_TO_GROUP,
                  "a sum went to %08x:%u, rank %u", net.of[i].ip, net.of[i].port, net.of[i].h.rank);
        clocks[grouped] = round_of(&job, 3, 0, &n);
        CHECK(n == (grouped ? 1 : (int)n_ranks), "%d frames of one sum", n);
    }
    printf("%u ranks, %d sums of 22 beats: %d frames, %llu bytes on the wire out of the card to "
           "each rank, %d frames, %llu "
           "bytes to a group; clocks from the last contribution until all have a sum: %llu, %llu\n",
           n_ranks, frames[1], frames[0], (unsigned long long)bytes[0], frames[1],
           (unsigned long long)bytes[1], (unsigned long long)clocks[0],
           (unsigned long long)clocks[1]);
    CHECK(frames[0] == frames[1] * (int)n_ranks && bytes[0] == bytes[1] * n_ranks,
          "more than %u times less", n_ranks);
}

int main(void)
{
    model.card = card_open(model_out, NULL);
    if (!model.card || !net_open())
        return 1;
    printf("seed %d\n", SEED);
    test_probe();
    test_ping(0x0a0000c8);
    test_ping(0x0a0000ff); /* a host in 10.0.0.0/23: no broadcast */
    test_sums();
    test_moved();
    test_silent();
    test_pace(SHELL_ETH_GIGABIT, 4);
    test_pace(39, 8); /* the fastest for LiteEth */
    test_group(2);
    test_group(4);
    test_group(8);
    net_close();
    card_close(model.card);
    DONE();
}
