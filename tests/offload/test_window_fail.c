/* test_window_fail.c : failures of cards, ranks and the path end in time, with their reasons. */
#include "window_net.h"
#include <time.h>

enum { N = 600000 };
static uint8_t codes[NET_RANKS][N + 8], result[NET_RANKS][N];
static struct net net;
static struct net_job job;

static void open_job(int n_ranks, int n_cards)
{
    net_open(&net, 7);
    job = (struct net_job){.net = &net,
                           .codec = net_codec("e4m3", "e4m3", "saturate", n_ranks),
                           .n_ranks = n_ranks,
                           .n_cards = n_cards,
                           .card_deadline_s = 0.5,
                           .others_s = 3};
    net_job_open(&job);
    net_pings(&job);
}

static void close_job(void)
{
    net_job_close(&job);
    net_close(&net);
}

static void start(unsigned ranks, size_t n)
{
    for (int r = 0; r < job.n_ranks; r++) {
        const struct card_path_sum sum = {
            .codec = &job.codec, .n = n, .codes = codes[r], .result = result[r], .tag = 5};
        if (ranks >> r & 1)
            window_start_sum(job.windows[r], &sum, net.now);
    }
}

static void expect_lost(unsigned ranks, const char *words, double most_s)
{
    const double start_s = net.now;
    const unsigned busy = net_run(&job, ranks, 60);
    CHECK(!busy && net.now - start_s < most_s, "'%s' after %g s, ranks %x still wait", words,
          net.now - start_s, busy);
    for (int r = 0; r < job.n_ranks; r++)
        if (ranks >> r & 1)
            CHECK(job.windows[r]->state == WINDOW_LOST && strstr(window_why(job.windows[r]), words),
                  "rank %d: %d '%s'", r, job.windows[r]->state, window_why(job.windows[r]));
}

static void falls_silent(void)
{
    open_job(3, 2);
    start(7, N);
    for (int i = 0; i < 8; i++)
        net_turn(&job, 7);
    net.cards[1].silent = true;
    expect_lost(7, "has been silent for", 1.2);
    CHECK(strstr(window_why(job.windows[0]), "card net"), "%s", window_why(job.windows[0]));
    close_job();
}

static void restarts(bool same_key)
{
    open_job(2, 1);
    start(3, N);
    net_run(&job, 3, 0.0004);
    CHECK(job.windows[0]->work.done > 0 &&
              job.windows[0]->work.done < job.windows[0]->work.n_packets,
          "not in the middle: %llu", (unsigned long long)job.windows[0]->work.done);
    net_card_restart(&net.cards[0]);
    if (same_key) { /* must never happen: a new slot under an old key */
        struct fpga_op ops[] = {{REG_JOB_INDEX, false, job.jobs[0].index},
                                {REG_JOB_RANKS, false, 2},
                                {REG_JOB_KEY_LO, false, (uint32_t)job.jobs[0].key},
                                {REG_JOB_KEY_HI, false, (uint32_t)(job.jobs[0].key >> 32)},
                                {REG_JOB_SLOT_BASE, false, job.jobs[0].slot_base},
                                {REG_JOB_SLOTS, false, job.jobs[0].slots},
                                {REG_RANK_INDEX, false, 0},
                                {REG_RANK_IP, false, NET_IP},
                                {REG_RANK_PORT, false, NET_PORT},
                                {REG_RANK_COMMIT, false, 1},
                                {REG_RANK_INDEX, false, 1},
                                {REG_RANK_IP, false, NET_IP + 1},
                                {REG_RANK_PORT, false, NET_PORT},
                                {REG_RANK_COMMIT, false, 1},
                                {REG_JOB_COMMIT, false, 1}};
        size_t done;
        net_card_batch(&net.cards[0].fpga, ops, sizeof ops / sizeof *ops, &done, 1);
    }
    expect_lost(3, same_key ? "has lost its state" : "has been silent for", same_key ? 0.3 : 1.2);
    close_job();
}

static void rank_is_late(void)
{
    open_job(4, 2);
    start(13, N);
    const double start_s = net.now;
    CHECK(net_run(&job, 13, 60) == 0, "still waits");
    for (int r = 0; r < 4; r++)
        if (r != 1)
            CHECK(job.windows[r]->state == WINDOW_STRAGGLER && window_missing(job.windows[r]) == 2,
                  "rank %d: %d, missing %llx: %s", r, job.windows[r]->state,
                  (unsigned long long)window_missing(job.windows[r]), window_why(job.windows[r]));
    CHECK(net.now - start_s > 3 && net.now - start_s < 4, "after %g s", net.now - start_s);
    const struct card_path_count count = window_counted(job.windows[0]);
    CHECK(!count.resent && (double)count.pings < 64 * 2 * 3 / 0.03, "%llu again, %llu pings",
          (unsigned long long)count.resent, (unsigned long long)count.pings);
    close_job();
}

static void check_sum(void)
{
    static uint8_t want[N];
    static uint64_t acc[N];
    const struct vec_sum *s = codec_sum(&job.codec);
    for (int r = 0; r < job.n_ranks; r++)
        vec_plain.accumulate(s, acc, codes[r], N, r == 0);
    vec_plain.finish(s, acc, N, s->out, 0, want);
    for (int r = 0; r < job.n_ranks; r++)
        CHECK(!memcmp(result[r], want, vec_bytes(s->out, N)), "rank %d has another sum", r);
}

/* A rank late within the deadline causes no retransmit. */
static void rank_comes_late(void)
{
    open_job(3, 1);
    memset(result, 0x5a, sizeof result);
    start(5, N);
    CHECK(net_run(&job, 5, 1) == 5, "done without rank 1");
    start(2, N);
    CHECK(net_run(&job, 7, 1) == 0, "not done with rank 1");
    for (int r = 0; r < 3; r++)
        CHECK(job.windows[r]->state == WINDOW_DONE && !window_counted(job.windows[r]).resent,
              "rank %d", r);
    check_sum();
    close_job();
}

/* A rank that was late is not blamed for a later failure of the path. */
static void path_fails_after_late_rank(void)
{
    open_job(2, 1);
    start(1, N);
    CHECK(net_run(&job, 1, 0.5) == 1 && window_missing(job.windows[0]) == 2, "rank 1 is not late");
    start(2, N);
    net_turn(&job, 3);
    net.narrow = 1372; /* the sums of the packets on their way vanish */
    expect_lost(3, "answers pings of 64 bytes but not packets of 2112", 2);
    close_job();
}

static void ranks_contradict(void)
{
    open_job(2, 1);
    start(1, N);
    net_run(&job, 1, 0.001);
    const struct card_path_sum sum = {
        .codec = &job.codec, .n = N, .codes = codes[1], .result = result[1], .tag = 6};
    window_start_sum(job.windows[1], &sum, net.now);
    expect_lost(2, "differ from the first contribution", 0.1);
    close_job();
}

/* Tags of a rank without the job's secret do not match. */
static void secrets_differ(void)
{
    for (int max = 0; max < 2; max++) {
        int8_t x[2] = {1, 2};
        open_job(2, 1);
        job.windows[1]->config.nonce ^= 1;
        for (int r = 0; r < 2 && max; r++)
            window_start_max(job.windows[r], 5, &x[r], 1, net.now);
        if (!max)
            start(3, N);
        net_run(&job, 3, 0.01);
        const enum window_state a = job.windows[0]->state, b = job.windows[1]->state;
        CHECK(card_counter(net.cards[0].model, CNT_DROP_DESC) > 0 &&
                  card_counter(net.cards[0].model, CNT_OUT_RESULT) == 0,
              "max %d: the card adds under two secrets", max);
        CHECK(a == WINDOW_LOST || b == WINDOW_LOST, "max %d: nobody is told", max);
        close_job();
    }
}

static void silent_from_the_start(void)
{
    open_job(2, 1);
    net_job_close(&job);
    net_job_open(&job);
    CHECK(job.jobs[0].slot_base == 64 && job.jobs[0].index == 1, "job %u, slot %u",
          job.jobs[0].index, job.jobs[0].slot_base);
    net.cards[0].silent = true;
    for (int r = 0; r < 2; r++)
        window_start_pings(job.windows[r], net.now);
    expect_lost(3, "answers neither pings of 2112 bytes", 1.2);
    close_job();
}

/* A stopped job answers neither packets nor pings. */
static void job_is_stopped(void)
{
    open_job(2, 1);
    struct fpga_op ops[] = {{REG_JOB_INDEX, false, job.jobs[0].index}, {REG_JOB_COMMIT, false, 0}};
    size_t done;
    start(3, N);
    net_card_batch(&net.cards[0].fpga, ops, 2, &done, 1);
    expect_lost(3, "has been silent for", 1.2);
    close_job();
}

static void seen_elsewhere(void)
{
    uint32_t rank;
    struct fpga_rank from;
    open_job(3, 1);
    struct fpga *card = &net.cards[0].fpga;
    CHECK(fpga_job_seen(card, &job.jobs[0], 1, &rank, &from) == 0, "seen before anything was sent");
    struct fpga_op ops[] = {{REG_JOB_INDEX, false, job.jobs[0].index},
                            {REG_RANK_INDEX, false, 2},
                            {REG_RANK_IP, false, NET_IP + 9},
                            {REG_RANK_PORT, false, NET_PORT},
                            {REG_RANK_COMMIT, false, 1}};
    size_t done;
    net_card_batch(card, ops, sizeof ops / sizeof *ops, &done, 1);
    window_start_pings(job.windows[2], net.now);
    expect_lost(4, "answers neither pings", 1.2);
    CHECK(fpga_job_seen(card, &job.jobs[0], 1, &rank, &from) == 1 && rank == 2 &&
              from.ip == NET_IP + 2 && from.port == NET_PORT,
          "rank %u at %08x:%u", rank, from.ip, from.port);
    const struct fpga_job other = {.index = job.jobs[0].index + 1};
    CHECK(fpga_job_seen(card, &other, 1, &rank, &from) == 0, "seen by another job");
    close_job();
}

/* A card with Narrow=1 says which formats it adds. */
static void card_is_narrow(void)
{
    struct fpga_caps caps;
    struct card_fit fit;
    const struct codec wide = net_codec("e4m3", "e4m3", "saturate", 1),
                       narrow = net_codec("e2m5f", "e2m5f", "saturate", 1);
    net_open(&net, 9);
    struct fpga *fpga = &net.cards[0].fpga;
    card_make_narrow(net.cards[0].model);
    CHECK(card_fits(codec_sum(&wide), 1, "ranks", &fit) == 0 &&
              fpga_job_caps(fpga, &fit, 1, &caps, 1) == -ENOTSUP &&
              !strcmp(fpga->why, "card net adds only e1m6f and e2m5f (it was built with Narrow=1)"),
          "%s", fpga->why);
    CHECK(card_fits(codec_sum(&narrow), 1, "ranks", &fit) == 0 &&
              fpga_job_caps(fpga, &fit, 1, &caps, 1) == 0 && caps.slots == CARD_NARROW_SLOTS,
          "%s", fpga->why);
    net_close(&net);
}

static int slow_batch(struct fpga *fpga, struct fpga_op *ops, size_t n, size_t *done,
                      double timeout_s)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return net_card_batch(fpga, ops, n, done, timeout_s);
}

/* 4 jobs fit, with at most 64 slots each. */
static void card_fills_up(void)
{
    struct fpga_job jobs[6];
    struct fpga_caps caps;
    struct card_fit fit;
    const struct codec codec = net_codec("e4m3", "e4m3", "saturate", 1);
    const struct fpga_rank rank = {NET_IP, NET_PORT};
    net_open(&net, 9);
    struct fpga *fpga = &net.cards[0].fpga;
    CHECK(card_fits(codec_sum(&codec), 1, "ranks", &fit) == 0 &&
              fpga_job_caps(fpga, &fit, 1, &caps, 1) == 0,
          "%s", fpga->why);
    CHECK(caps.slots == CARD_SLOTS && caps.jobs == CARD_JOBS && caps.ranks == PKT_MAX_RANKS &&
              caps.beats == CARD_BEATS,
          "caps");
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[0]) == 0 && jobs[0].slots == 64,
          "first job");
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[1]) == 0 &&
              jobs[1].slot_base == 64,
          "second job");
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[2]) == -EBUSY, "a third");
    CHECK(jobs[0].key != jobs[1].key && jobs[0].index != jobs[1].index, "jobs are the same");
    const struct fpga_job first = jobs[0];
    fpga_job_stop(fpga, &first, 1);
    struct fpga_op ops[] = {{REG_JOB_INDEX, false, 3},      {REG_JOB_RANKS, false, 1},
                            {REG_JOB_SLOT_BASE, false, 20}, {REG_JOB_SLOTS, false, 1},
                            {REG_JOB_COMMIT, false, 1},     {REG_STATUS, true, 0}};
    size_t done;
    net_card_batch(fpga, ops, 6, &done, 1);
    CHECK(ops[5].value == 0, "status %u", ops[5].value);
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[3]) == 0 &&
              jobs[3].slots == 32 && jobs[3].slot_base == 32,
          "%u slots from %u", jobs[3].slots, jobs[3].slot_base);
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[4]) == 0 &&
              jobs[4].slots == 16 && jobs[4].slot_base == 0,
          "%u slots from %u", jobs[4].slots, jobs[4].slot_base);
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 1, &jobs[5]) == -EBUSY &&
              strstr(fpga->why, "is in use: it has no free job"),
          "%s", fpga->why);
    struct fpga_ops slow = *fpga->ops;
    slow.batch = slow_batch;
    fpga->ops = &slow;
    CHECK(fpga_job_start(fpga, &caps, &fit, &rank, 1, 64, 0.1, &jobs[5]) == -EBUSY &&
              strstr(fpga->why, "tried in 0.1 s: it is in use, or answers slowly"),
          "%s", fpga->why);
    net_close(&net);
}

/* Timers fire once, at their tick or at the wheel's next turn. */
static void wheel_turns(void)
{
    enum { TIMERS = 2000 };
    static struct timer_wheel_entry timers[TIMERS];
    static struct timer_wheel wheel;
    double due[TIMERS];
    int left = 0;
    timer_wheel_init(&wheel, 100);
    for (int i = 0; i < TIMERS; i++) {
        due[i] = 100 + philox_u32(3, (unsigned)i) * 0x1p-32 * 0.7;
        timer_wheel_add(&wheel, &timers[i], due[i]);
        if (i % 3 == 0)
            timer_wheel_remove(&timers[i]);
        left += i % 3 != 0;
    }
    double now = 100, before = 100;
    for (uint32_t k = 0; left && now < 102; before = now) {
        now += philox_u32(4, k++) % 16 ? 0.0011 : 0.2;
        timer_wheel_turn(&wheel, now);
        for (struct timer_wheel_entry *t; (t = timer_wheel_pop(&wheel)); left--) {
            const int i = (int)(t - timers);
            CHECK(i % 3 && !t->next && due[i] <= now && due[i] > before - 2 * timer_wheel_tick_s,
                  "timer %d of %g at %g", i, due[i], now);
        }
    }
    CHECK(!left, "%d timers never came", left);
}

int main(void)
{
    for (int r = 0; r < NET_RANKS; r++)
        for (size_t i = 0; i < sizeof codes[r]; i++)
            codes[r][i] = (uint8_t)philox_u32(11 + (unsigned)r, i);
    wheel_turns();
    card_fills_up();
    card_is_narrow();
    falls_silent();
    restarts(false);
    restarts(true);
    rank_is_late();
    rank_comes_late();
    path_fails_after_late_rank();
    ranks_contradict();
    secrets_differ();
    silent_from_the_start();
    seen_elsewhere();
    job_is_stopped();
    DONE();
}
