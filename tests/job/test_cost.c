/* test_cost.c : compares the performance model's all-reduce times with hand calculations. */
#include "base/err.h"
#include "check.h"
#include "job/cost.h"
#include <math.h>
#include <string.h>

static const double payload = 125e6 * 1448 / 1538; /* bytes/s at 1 Gbit/s, MTU 1500 */
static const double a = 20e-6;

struct ask {
    const char *algo, *format, *scale;
    int n_ranks;
    struct cost_rates rates;
    struct cost_cluster cluster;
    struct reducer_layer layers[4];
    int n_layers;
    size_t bucket_bytes;
    double compute_s, backward_s;
    bool by_card, near_first;
};

static struct cost answer(const struct ask *q)
{
    struct codec codecs[2];
    struct cost out = {0};
    struct cost_job job = {.layers = q->layers,
                           .n_layers = q->n_layers ? q->n_layers : 1,
                           .chooses = !strcmp(q->algo, "auto"),
                           .codecs = codecs,
                           .by_card = q->by_card,
                           .near_first = q->near_first,
                           .bucket_bytes = q->bucket_bytes ? q->bucket_bytes : 1,
                           .compute_s = q->compute_s,
                           .backward_s = q->backward_s,
                           .rates = (struct cost_rates[]){q->rates, q->rates}};
    struct cost_cluster cluster = q->cluster;
    const struct codec_spec spec = {.format = q->format ? q->format : "e5m2", .scale = q->scale};
    if (codec_parse(&spec, &codecs[0]) < 0 ||
        algo_find(q->algo, q->n_ranks, &job.algo, &job.group) < 0 ||
        algo_settle(job.algo, job.group, q->n_ranks, &codecs[0]) < 0)
        exit(1);
    const struct codec_adder by = algo_adder(job.algo, job.group);
    codecs[1] = codec_fp32(&codecs[0], &by);
    cluster.n_ranks = q->n_ranks;
    cluster.link_bps = cluster.link_bps > 0 ? cluster.link_bps : 1e9;
    cluster.latency_s = cluster.latency_s > 0 ? cluster.latency_s : a;
    cluster.mtu = 1500;
    CHECK(cost_step(&job, &cluster, &out) == 0, "%s", q->algo);
    return out;
}

static void same(const char *what, double is, double want)
{
    CHECK(fabs(is - want) <= 1e-9 * fabs(want), "%s: %.12g, by hand %.12g", what, is, want);
}

static const size_t n = 2 << 20; /* elements, bytes of e5m2 */
static const double exponents_256 = 8 * (20e-6 + 1 / (125e6 * 1448 / 1538));

static void test_links(void)
{
    same("payload", cost_payload_s(1e9, 1500), payload);
    same("payload of 9000", cost_payload_s(1e9, 9000), 125e6 * 8948 / 9038);
    same("nothing is hindered", cost_together(3, 2, 0), 3);
    same("half", cost_together(2, 3, 0.5), 4);
    same("all", cost_together(3, 2, 1), 5);
    const struct cost_cluster five = {.n_ranks = 5, .link_bps = 1e9, .latency_s = a, .mtu = 1500};
    same("3 rounds", cost_collective_s(&five, 1e-6, 100), 3 * (21e-6 + 100 / payload));
    const struct cost_cluster one = {.n_ranks = 1, .link_bps = 1e9, .latency_s = a, .mtu = 1500};
    same("alone", cost_collective_s(&one, 1e-6, 100), 0);
}

static void test_algorithms(void)
{
    const double bytes = (double)n;
    struct ask q = {.algo = "ring", .n_ranks = 256, .layers = {{.n = n}}};
    struct cost c = answer(&q);
    same("ring", c.reduce_s, 510 * (a + bytes / 256 / payload) + exponents_256);
    CHECK(c.steps == 510 && c.bytes == 510 * n / 256 && c.n_buckets == 1, "%d steps", (int)c.steps);
    same("latency of a ring", c.latency_s, 510 * a);
    same("exponents", c.exponent_s, exponents_256);

    q.algo = "group-master:16";
    c = answer(&q);
    same("group-master:16", c.reduce_s,
         60 * (a + bytes / 16 / payload) + 30 * (a + bytes * 16 / 256 / payload) + exponents_256);
    CHECK(c.steps == 90, "%d steps", (int)c.steps);

    q.algo = "direct";
    c = answer(&q);
    same("direct", c.reduce_s, 2 * a + 2 * 255 * bytes / 256 / payload + exponents_256);
    CHECK(c.steps == 2, "%d steps", (int)c.steps);

    /* exact sums of 16 e5m2 have 37 bits between nodes, and results 8 */
    q.algo = "group-scatter:16";
    c = answer(&q);
    same("group-scatter:16", c.reduce_s,
         4 * a + (2 * 15 * bytes / 16 + 15 * bytes / 256 * (37 + 8) / 8) / payload + exponents_256);
    q.cluster.node_link_bps = 10e9;
    c = answer(&q);
    same("fast within nodes", c.reduce_s,
         4 * a + 15 * bytes / 256 * (37 + 8) / 8 / payload + exponents_256);
    q.cluster.node_link_bps = 2e9; /* busier than the link between nodes */
    c = answer(&q);
    same("slower within nodes", c.reduce_s,
         4 * a + 2 * 15 * bytes / 16 / 2 / payload + exponents_256);

    q = (struct ask){.algo = "gather", .n_ranks = 256, .layers = {{.n = n}}};
    same("gather", answer(&q).reduce_s, a + 255 * bytes / payload + exponents_256);
    for (size_t length = 8192; length <= 16384; length *= 2) { /* from 8 KiB on, exponents pay */
        q = (struct ask){.n_ranks = 4, .scale = "aps", .layers = {{.n = length - 64}}};
        const double by[] = {(q.algo = "auto", answer(&q).reduce_s),
                             (q.algo = "direct", answer(&q).reduce_s),
                             (q.algo = "gather-sum", answer(&q).reduce_s)};
        CHECK(by[0] == by[length > 8192 ? 1 : 2] && by[1] != by[2], "%zu: %g", length, by[0]);
    }
    q = (struct ask){.algo = "direct", .format = "e3m0", .n_ranks = 4, .layers = {{.n = n}}};
    same("4 bits there, 8 back", answer(&q).reduce_s,
         2 * a + 3 * (bytes / 8 + bytes / 4) / payload + 2 * (a + 1 / payload));
}

static void test_hierarchy(void)
{
    struct ask ring = {.algo = "ring", .n_ranks = 256},
               master = {.algo = "group-master:16", .n_ranks = 256};
    for (int i = 0; i < 2; i++) {
        ring.cluster.link_bps = master.cluster.link_bps = i ? 10e9 : 1e9;
        ring.layers[0].n = master.layers[0].n = (64 << 20) / 4;
        CHECK(answer(&master).reduce_s > 1.5 * answer(&ring).reduce_s, "64 MiB");
        ring.layers[0].n = master.layers[0].n = (64 << 10) / 4;
        CHECK(answer(&master).reduce_s < 0.5 * answer(&ring).reduce_s, "64 KiB");
    }
}

/* Two machines of 4 ranks, each with one port; messages inside take no wire. */
static void test_near(void)
{
    const double bytes = (double)n, exponents = 3 * (a + 1 / payload);
    struct ask q = {.algo = "direct", .n_ranks = 8, .cluster = {.near = 4}, .layers = {{.n = n}}};
    same("4 ranks send 4 eighths, twice", answer(&q).reduce_s,
         2 * a + 2 * 16 * bytes / 8 / payload + exponents);
    CHECK(answer(&q).bytes == 4 * n, "%zu bytes", (size_t)answer(&q).bytes);
    q.algo = "gather";
    same("and all of it", answer(&q).reduce_s, a + 16 * bytes / payload + exponents);
    q.algo = "ring";
    same("one of 4 sends", answer(&q).reduce_s, 14 * (a + bytes / 8 / payload) + exponents);
    q.algo = "group-master:4";
    same("masters send", answer(&q).reduce_s,
         (3 + 3 + 3 + 3) * a + 2 * (a + bytes / 2 / payload) + exponents);
    q.algo = "group-scatter:4"; /* exact sums of 4 e5m2 have 35 bits */
    same("4 ranks send an eighth", answer(&q).reduce_s,
         4 * a + 4 * bytes / 8 * (35 + 8) / 8 / payload + exponents);
    q.algo = "group-scatter:2"; /* 2 groups a machine: 4 ranks send a quarter to 2 of 3 others */
    same("smaller groups", answer(&q).reduce_s,
         4 * a + 4 * 2 * bytes / 8 * (34 + 8) / 8 / payload + exponents);
    q.n_ranks = 4;
    same("one machine", answer(&q).reduce_s, 4 * a + 2 * (a + 1 / payload));
}

static void test_rates(void)
{
    const struct cost_rates rates = {.encode_s = 1e-9,
                                     .decode_s = 2e-9,
                                     .add_s = 3e-9,
                                     .port_s = cost_flat(1e-10),
                                     .message_s = 1e-6};
    struct ask q = {.algo = "ring", .n_ranks = 2, .rates = rates, .layers = {{.n = n}}};
    const double bytes = (double)n, half = bytes / 2, wire = half / payload;
    const double exponents = a + 1e-6 + 1 / payload, casts = 4 * bytes * 3e-9;
    struct cost c = answer(&q);
    /* the port is hidden */
    same("a ring's CPU", c.reduce_s, casts + exponents + 2 * (a + 1e-6 + wire) + 2 * half * 3e-9);
    same("casts", c.cast_s, casts);
    same("additions", c.add_s, 2 * half * 3e-9);
    same("port", c.port_s, 2 * 2 * half * 1e-10);
    q.rates.unhidden = cost_flat(1);
    same("and its port", answer(&q).reduce_s,
         casts + exponents + 2 * (a + 1e-6 + wire + 2 * half * 1e-10) + 2 * half * 3e-9);

    q = (struct ask){.algo = "direct", .n_ranks = 2, .layers = {{.n = n}}};
    q.rates = (struct cost_rates){.encode_s = 1e-9, .decode_s = 2e-9, .add_s = 3e-9};
    const double work = 4 * bytes * 2e-9 + bytes * 3e-9;
    same("direct, by its CPU", answer(&q).reduce_s,
         4 * bytes * 1e-9 + a + 1 / payload + 2 * a + (work > 2 * wire ? work : 2 * wire));
    CHECK(work > 2 * wire, "the other case");
    q.rates.decode_s = 0;
    same("direct, by its wire", answer(&q).reduce_s,
         4 * bytes * 1e-9 + a + 1 / payload + 2 * a + 2 * wire);
    q.n_ranks = 1, q.algo = "self";
    same("one rank", answer(&q).reduce_s, 4 * bytes * 1e-9 + bytes * 3e-9);
}

/* Midway is linear in the logarithms. */
static void test_curve(void)
{
    struct cost_curve c = {.n = 3, .bytes = {1 << 20, 1 << 22, 1 << 26}, .at = {8, 4, 2}};
    same("shorter than all", cost_at(&c, 100), 8);
    same("the first", cost_at(&c, 1 << 20), 8);
    same("between", cost_at(&c, 1 << 21), 6);
    same("far between", cost_at(&c, 1 << 25), 2.5);
    same("the last", cost_at(&c, 1 << 26), 2);
    same("longer than all", cost_at(&c, 1e12), 2);
    c.n = 0;
    same("none", cost_at(&c, 1 << 20), 0);
    const struct cost_curve flat = cost_flat(3);
    same("flat", cost_at(&flat, 1e9), 3);

    struct ask q = {
        .algo = "ring", .n_ranks = 2, .layers = {{.n = 1 << 18}, {.n = 1 << 20}}, .n_layers = 2};
    q.rates.port_s = (struct cost_curve){.n = 2, .bytes = {1 << 20, 1 << 22}, .at = {4e-9, 1e-9}};
    same("each bucket's", answer(&q).port_s, 2 * (1 << 18) * 4e-9 + 2 * (1 << 20) * 1e-9);
}

/* Two ranks exchange halves twice. Bytes within the burst take no time; waits refill it. */
static void test_burst(void)
{
    struct ask q = {.algo = "ring", .n_ranks = 2, .layers = {{.n = n}}};
    const double half = (double)n / 2, once = a * payload;
    const double casts_none = answer(&q).reduce_s - 2 * half / payload;
    q.cluster.burst_bytes = half / 2;
    same("half a step", answer(&q).reduce_s, casts_none + (2 * half - half / 2 - once) / payload);
    same("and its wire", answer(&q).wire_s, (2 * half - half / 2 - once) / payload);
    q.cluster.burst_bytes = 3 * half;
    same("all of it", answer(&q).reduce_s, casts_none);
    q.algo = "direct"; /* waits precede its traffic */
    const double without = (q.cluster.burst_bytes = 0, answer(&q).reduce_s);
    q.cluster.burst_bytes = half;
    same("direct", without - answer(&q).reduce_s, half / payload);
}

static void test_card(void)
{
    const size_t frames = 10, each = 22 * 64; /* of an MTU of 1500 */
    struct ask q = {.algo = "direct",
                    .n_ranks = 4,
                    .by_card = true,
                    .cluster = {.card_link_bps = (double)INFINITY},
                    .layers = {{.n = frames * each}}};
    const double rounds = 2 * (a + 1 / payload) + 2 * (a + 8 / payload); /* exponents, vote */
    const double frame = each + 64 + 28, wire = (double)frames * (frame + 38) * 8 / 1e9;
    same("card", answer(&q).reduce_s, wire + 2 * a + rounds);
    q.layers[0].n = frames * each - 96; /* the last frame is shorter; as many are in flight */
    same("a short end", answer(&q).reduce_s, wire - 96 * 8e-9 + 2 * a + rounds);
    q.layers[0].n = frames * each;
    q.cluster.card_s = cost_flat(1e-7); /* 4 ranks' frames without IP */
    same("slow card", answer(&q).reduce_s,
         4 * (double)frames * (frame - 28) / 1e7 + 2 * a + rounds);
    q.cluster.card_s.n = 0;
    q.cluster.card_slots = 2, q.cluster.latency_s = 1e-3; /* 5 windows, one after the other */
    same("far card", answer(&q).reduce_s,
         5 * 2e-3 + 2e-3 + 2 * (1e-3 + 1 / payload) + 2 * (1e-3 + 8 / payload));
    q.cluster = (struct cost_cluster){.card_link_bps = (double)INFINITY};
    q.format = "e3m0"; /* results in e4m3: as many elements per frame, half the bytes up */
    same("wider results", answer(&q).reduce_s, wire + 2 * a + rounds);

    q.format = "e5m2"; /* all ranks' packets pass the card's port */
    q.cluster.card_link_bps = 0;
    same("a port as a rank's", answer(&q).reduce_s, 4 * wire + 2 * a + rounds);
    q.cluster.card_link_bps = 2.5e9;
    same("a port of its own", answer(&q).reduce_s, 4 / 2.5 * wire + 2 * a + rounds);
    q.cluster.card_link_bps = 100e9;
    same("a port that is fast enough", answer(&q).reduce_s, wire + 2 * a + rounds);

    q.cluster = (struct cost_cluster){.card_link_bps = (double)INFINITY, .card_on_host = true};
    q.rates = (struct cost_rates){.port_s = cost_flat(1e-8), .add_s = 2e-8, .message_s = 1e-6};
    const double messages = 2 * (double)frames * ((frame)*1e-8 + 1e-6);
    const double adds = (double)(frames * each) * 2e-8;
    same("a process on the ranks' cores", answer(&q).reduce_s,
         2 * messages + adds + 2 * a + rounds + 4e-6);
    q.cluster.card_on_host = false;
    same("a card elsewhere", answer(&q).reduce_s,
         (messages > wire ? messages : wire) + 2 * a + rounds + 4e-6);
    q.rates = (struct cost_rates){0};
    q.cluster.card_link_bps = 2.5e9;
    q.n_ranks = 2;
    same("two ranks", answer(&q).reduce_s, wire + 2 * a + (a + 1 / payload) + (a + 8 / payload));
}

/* 8 ranks on 2 machines. fp16 holds sums of 4 e2m5f codes: 16 bits there for 4 times 8, 8 back. */
static void test_card_near(void)
{
    const size_t each = 22 * 64; /* codes of 8 bits in a frame */
    struct ask q = {.algo = "direct",
                    .n_ranks = 8,
                    .format = "e2m5f",
                    .scale = "aps-tight",
                    .by_card = true,
                    .cluster = {.near = 4, .card_link_bps = (double)INFINITY},
                    .layers = {{.n = 10 * each}}};
    const double rounds = 3 * (a + 1 / payload) + 3 * (a + 8 / payload);
    const double frame = (double)each + 64 + 28 + 38;
    struct cost c = answer(&q);
    same("own frames", c.reduce_s, 4 * 10 * frame * 8 / 1e9 + 2 * a + rounds);
    CHECK(c.steps == 2, "%d steps", (int)c.steps);
    q.near_first = true;
    c = answer(&q);
    same("sums of 4", c.reduce_s, 20 * frame * 8 / 1e9 + 4 * a + rounds);
    CHECK(c.steps == 4 && c.bytes == (size_t)(20 * (frame - 38)), "%d steps", (int)c.steps);
    q.cluster.card_link_bps = 0;
    same("2 machines at a card's port", answer(&q).reduce_s,
         2 * 20 * frame * 8 / 1e9 + 4 * a + rounds);
    const double codes = (double)(10 * each);
    q.rates.add_s = 1e-6;
    same("the master's additions", answer(&q).reduce_s, 4 * codes * 1e-6 + 4 * a + rounds);
    q.rates.add_s = 0, q.rates.port_s = cost_flat(1e-6);
    same("and messages", answer(&q).reduce_s,
         (20 * 2 * (64 + 28) + 3 * codes + 3 * 2 * codes) * 1e-6 + 4 * a + rounds);
    q.rates.port_s.n = 0, q.cluster.node_link_bps = 1e6;
    same("a slow node", answer(&q).reduce_s,
         3 * codes / cost_payload_s(1e6, 1500) + 4 * a + rounds);
    q.cluster.node_link_bps = 0, q.format = "e4m3"; /* no fewer bits */
    q.cluster.card_link_bps = (double)INFINITY;
    same("own frames again", answer(&q).reduce_s, 40 * frame * 8 / 1e9 + 2 * a + rounds);
}

static void test_steps(void)
{
    struct ask q = {.algo = "ring",
                    .n_ranks = 2,
                    .layers = {{.n = 8000}, {.n = 8000}, {.n = 16000}, {.n = 800, .fp32 = true}},
                    .n_layers = 4,
                    .bucket_bytes = 16000,
                    .compute_s = 0.030};
    struct cost c = answer(&q);
    CHECK(c.n_buckets == 3 && c.steps == 6, "%d buckets, %d steps", c.n_buckets, (int)c.steps);
    const double bucket = 2 * (a + 8000 / payload), last = 2 * (a + 1600 / payload);
    const double all = a + 4 / payload + 2 * bucket + last;
    same("buckets", c.reduce_s, all);
    same("behind the backward pass", c.exposed_s, all);
    same("a step", c.step_s, 0.030 + all);
    q.bucket_bytes = 1 << 20; /* lazy: all narrow layers in one */
    same("fused", answer(&q).reduce_s, a + 4 / payload + 2 * (a + 16000 / payload) + last);

    /* all is hidden except the rest after the last layer's gradient */
    q.bucket_bytes = 16000, q.backward_s = 0.020;
    c = answer(&q);
    same("its own exponents", c.reduce_s, all + 2 * a);
    same("hidden but for the last bucket", c.exposed_s, bucket + a + 2 / payload);
    q.backward_s = 1e-6;
    c = answer(&q);
    CHECK(c.exposed_s > all && c.exposed_s < all + 2 * a, "%g of %g", c.exposed_s, c.reduce_s);
}

int main(void)
{
    test_links();
    test_algorithms();
    test_hierarchy();
    test_near();
    test_rates();
    test_curve();
    test_burst();
    test_card();
    test_card_near();
    test_steps();
    DONE();
}
