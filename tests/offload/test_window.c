/* test_window.c : sums and maxima through cards in memory on a bad network have the host's bits. */
#include "window_net.h"

enum { MAX_N = 500000, WIDEST = 2 };
/* made: the ranks' codes; codes: those that need() has asked for */
static uint8_t made[NET_RANKS][MAX_N * WIDEST + 8], codes[NET_RANKS][MAX_N * WIDEST + 8],
    want[MAX_N * WIDEST], got[NET_RANKS][MAX_N * WIDEST + 64];
static const uint64_t seed = 20261121;

static struct flow {
    struct mf_fmt in;
    uint8_t needed[MAX_N], had[MAX_N];
} flows[NET_RANKS];

static void on_need(void *arg, size_t at, size_t n)
{
    struct flow *f = arg;
    CHECK(at % 8 == 0 && at + n <= MAX_N, "need %zu at %zu", n, at);
    for (size_t i = at; i < at + n; i++)
        f->needed[i]++;
    const size_t from = vec_bytes(f->in, at), to = vec_bytes(f->in, at + n);
    memcpy(codes[f - flows] + from, made[f - flows] + from, to - from);
}
static void on_have(void *arg, size_t at, size_t n)
{
    struct flow *f = arg;
    for (size_t i = at; i < at + n; i++) {
        CHECK(f->needed[i] == 1, "element %zu stands before it was asked for", i);
        f->had[i]++;
    }
}

static void make_codes(const struct net_job *j, size_t n, uint32_t which)
{
    const size_t bytes = vec_bytes(codec_sum(&j->codec)->in, n);
    for (int r = 0; r < j->n_ranks; r++) {
        const uint64_t key = philox_key(seed, which, (uint32_t)n, (uint32_t)r, 0);
        for (size_t i = 0; i < bytes + 8; i++)
            made[r][i] = (uint8_t)philox_u32(key, i);
    }
}

static void sum_on_host(const struct net_job *j, size_t n)
{
    static uint64_t acc[MAX_N];
    for (int r = 0; r < j->n_ranks; r++)
        vec_plain.accumulate(codec_sum(&j->codec), acc, made[r], n, r == 0);
    vec_plain.finish(codec_sum(&j->codec), acc, n, codec_sum(&j->codec)->out,
                     codec_sum(&j->codec)->out_shift, want);
}

static void run_sum(struct net_job *j, size_t n, uint32_t which, bool with_flow)
{
    make_codes(j, n, which);
    sum_on_host(j, n);
    memset(flows, 0, sizeof flows);
    for (int r = 0; r < j->n_ranks; r++) {
        struct card_path_sum sum = {
            .codec = &j->codec, .n = n, .codes = codes[r], .result = got[r], .tag = which};
        if (with_flow) {
            flows[r].in = codec_sum(&j->codec)->in;
            sum.flow = (struct algo_flow){on_need, on_have, &flows[r]};
            memset(codes[r], 0, sizeof codes[r]);
        } else {
            memcpy(codes[r], made[r], sizeof codes[r]);
        }
        memset(got[r], 0x5a, sizeof got[r]);
        window_start_sum(j->windows[r], &sum, j->net->now);
    }
    const unsigned busy = net_run(j, net_everyone(j), 100);
    CHECK(!busy, "n %zu: ranks %x are not done", n, busy);
    const size_t bytes = vec_bytes(codec_sum(&j->codec)->out, n);
    for (int r = 0; r < j->n_ranks; r++) {
        CHECK(j->windows[r]->state == WINDOW_DONE, "rank %d: %s", r, window_why(j->windows[r]));
        CHECK(!memcmp(got[r], want, bytes), "n %zu, rank %d: another sum than the host's", n, r);
        CHECK(got[r][bytes] == 0x5a, "n %zu, rank %d: a byte too many", n, r);
        for (size_t i = 0; i < n && with_flow; i++)
            CHECK(flows[r].needed[i] == 1 && flows[r].had[i] == 1,
                  "n %zu, element %zu: asked for %d times, told of %d times", n, i,
                  flows[r].needed[i], flows[r].had[i]);
    }
}

static void run_max(struct net_job *j, size_t n, uint32_t which)
{
    static int8_t x[NET_RANKS][4000], most[4000];
    for (size_t i = 0; i < n; i++) {
        most[i] = INT8_MIN;
        for (int r = 0; r < j->n_ranks; r++) {
            x[r][i] = (int8_t)(philox_u32(seed + which, i * NET_RANKS + (unsigned)r) & 255);
            most[i] = x[r][i] > most[i] ? x[r][i] : most[i];
        }
    }
    for (int r = 0; r < j->n_ranks; r++)
        window_start_max(j->windows[r], which, x[r], n, j->net->now);
    CHECK(net_run(j, net_everyone(j), 100) == 0, "max of %zu", n);
    for (int r = 0; r < j->n_ranks; r++)
        CHECK(!memcmp(x[r], most, n), "max of %zu, rank %d", n, r);
}

/* Returns (bytes through a rank's port for n elements each way) / (bytes of codes) - 1. */
static double overhead(const struct net_job *j, size_t n)
{
    const double codes_bytes =
        (double)(vec_bytes(codec_sum(&j->codec)->in, n) + vec_bytes(codec_sum(&j->codec)->out, n));
    return (double)(j->net->bytes_out[0] + j->net->bytes_in[0]) / codes_bytes - 1;
}

static void try_job(const char *in, const char *out, int n_ranks, int n_cards, bool bad_network,
                    uint32_t n_steps, size_t n)
{
    static struct net net;
    net_open(&net, seed + (uint64_t)n_ranks);
    if (bad_network) {
        net.drop = net.dup = 0.05;
        net.reorder = 0.1;
    }
    struct net_job j = {.net = &net,
                        .codec = net_codec(in, out, n_cards % 2 ? "saturate" : "inf", n_ranks),
                        .n_ranks = n_ranks,
                        .n_cards = n_cards,
                        .card_deadline_s = 2,
                        .others_s = 10};
    net_job_open(&j);
    net_pings(&j);
    net.bytes_out[0] = net.bytes_in[0] = 0;
    run_sum(&j, n, 1, true);
    const double share = overhead(&j, n), most = j.fit.ratio == 1 ? 0.05 : 0.09;
    CHECK(bad_network || share < most, "%s to %s: %.3f more bytes than codes", in, out, share);
    for (uint32_t step = 0; step < n_steps; step++) {
        run_max(&j, 37, 100 + step);
        run_max(&j, 3000, 200 + step);
        run_sum(&j, 8 * (step + 1), 300 + step, false);
        run_sum(&j, 40000 + 1608 * (step % 40), 400 + step, true);
    }
    const struct card_path_count count = window_counted(j.windows[0]);
    printf("%-5s -> %-5s %d ranks %d cards%s: %llu packets, %llu again, %llu pings, %llu stale; "
           "%.1f ms, RTT %.0f us; "
           "%.2f %% "
           "overhead\n",
           in, out, n_ranks, n_cards, bad_network ? ", bad network" : "",
           (unsigned long long)count.packets, (unsigned long long)count.resent,
           (unsigned long long)count.pings, (unsigned long long)count.stale, net.now * 1e3,
           count.rtt_s * 1e6, share * 100);
    CHECK(bad_network || (!count.resent && !net.lost_full), "%llu packets sent again",
          (unsigned long long)count.resent);
    CHECK(!j.windows[0]->damaged && !j.windows[0]->foreign, "a card's frames were refused");
    for (int c = 0; c < n_cards; c++)
        CHECK(card_counter(net.cards[c].model, CNT_OUT_NAK) == 0, "a card refused a packet");
    net_job_close(&j);
    net_close(&net);
}

/* Cards with 64 and 8 free slots count chunks separately. */
static void try_uneven(void)
{
    static struct net net;
    net_open(&net, seed + 99);
    net.drop = net.dup = 0.02;
    for (uint32_t base = 0; base < 120; base += 60) {
        struct fpga_op ops[] = {{REG_JOB_INDEX, false, base / 60},
                                {REG_JOB_RANKS, false, 1},
                                {REG_JOB_SLOT_BASE, false, base},
                                {REG_JOB_SLOTS, false, 60},
                                {REG_JOB_COMMIT, false, 1}};
        size_t done;
        net_card_batch(&net.cards[1].fpga, ops, 5, &done, 1);
    }
    struct net_job j = {.net = &net,
                        .codec = net_codec("e4m3", "e4m3", "saturate", 3),
                        .n_ranks = 3,
                        .n_cards = 2,
                        .card_deadline_s = 2,
                        .others_s = 10};
    net_job_open(&j);
    CHECK(j.jobs[0].slots == 64 && j.jobs[1].slots == 8, "%u and %u slots", j.jobs[0].slots,
          j.jobs[1].slots);
    net_pings(&j);
    for (uint32_t step = 0; step < 3; step++) {
        run_max(&j, 3000, step);
        run_sum(&j, MAX_N / 4 + 8 * step, 10 + step, true);
    }
    net_job_close(&j);
    net_close(&net);
}

int main(void)
{
    static const char *const formats[][2] = {
        {"e5m2", "e5m2"},   {"e4m3", "e4m3"},  {"e3m0", "e3m0"}, {"e3m0", "e4m3"},
        {"e5m10", "e5m10"}, {"e2m1", "e5m10"}, {"e5m2", "e3m0"}, {"e4m3", "e5m10"}};
    printf("seed %llu\n", (unsigned long long)seed);
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int bad = 0; bad < 2; bad++)
            try_job(formats[f][0], formats[f][1], 4, 1 << f % 3, bad, 2, MAX_N / 8);
    for (int n_ranks = 1; n_ranks <= NET_RANKS; n_ranks++)
        for (int n_cards = 1; n_cards <= NET_CARDS; n_cards *= 2)
            try_job("e4m3", "e4m3", n_ranks, n_cards, n_ranks % 2, 3, MAX_N / 4);
    try_job("e4m3", "e4m3", 3, 1, true, 8,
            MAX_N); /* slots are reused while other ranks wait for them */
    try_job("e3m0", "e3m0", 4, 1, true, 8, MAX_N);
    try_job("e5m10", "e5m10", 2, 2, true, 8, MAX_N);
    try_uneven();
    DONE();
}
