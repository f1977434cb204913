/* test_offload_mpi.c : compares a step's sums through narrowcast-sim (C model, UDP on 127.0.0.1)
 * with `direct`. The card is killed or stopped in mid-step. */
/* RANKS: 1 2 4 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "check.h"
#include "comm/algo/algo.h"
#include "hls/arith/philox.h"
#include "hls/card/regs.h"
#include "offload/card/fpga_process.h"
#include "offload/offload_inside.h"
#include "offload/window/window_inside.h"
#include <signal.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 200000, BUCKETS = 3, EXPONENTS = 1500, STEPS = 4 };
static const uint64_t seed = 1121;

static struct {
    struct comm *c;
    struct codec codec;
    int rank, n_ranks;
    uint8_t *codes, *result, *want;
    void *scratch;
    size_t needed, had;
} t;

static void on_need(void *arg, size_t at, size_t n)
{
    (void)arg;
    CHECK(at == t.needed, "asked for %zu after %zu", at, t.needed);
    t.needed += n;
}
static void on_have(void *arg, size_t at, size_t n)
{
    (void)arg;
    CHECK(at == t.had && t.had + n <= t.needed, "told of %zu after %zu", at, t.had);
    t.had += n;
}

static void make_codes(uint32_t step, uint32_t bucket)
{
    const uint64_t key = philox_key(seed, step, bucket, (uint32_t)t.rank, 0);
    for (size_t i = 0; i < vec_bytes(codec_sum(&t.codec)->in, N); i++)
        t.codes[i] = (uint8_t)philox_u32(key, i);
}

static void sum_by_direct(size_t n)
{
    const struct reduce_op op = codec_reduce_op(&(struct codec_call){.codec = &t.codec});
    const struct algo *algo = t.n_ranks > 1 ? &algo_direct : &algo_self;
    const struct algo_call call = {.codec = &t.codec,
                                   .op = op,
                                   .n = n,
                                   .codes = t.codes,
                                   .result = t.want,
                                   .scratch = t.scratch};
    CHECK(algo->run(t.c, &call) == 0, "direct");
}

/* Returns the number of parts that this rank did not get through cards. */
static int step(struct offload *o, uint32_t number, int kill_at, int signal_number)
{
    static int8_t x[EXPONENTS], want[EXPONENTS];
    uint64_t failed = 0;
    int missed = 0, rc = offload_card_path.begin(o);
    CHECK(rc >= 0, "begin: %d", rc);
    if (rc != 1)
        return -1;
    for (size_t i = 0; i < EXPONENTS; i++)
        x[i] = want[i] = (int8_t)philox_u32(philox_key(seed, number, 99, (uint32_t)t.rank, 0), i);
    if (offload_card_path.max(o, number, x, EXPONENTS))
        failed |= 1;
    CHECK(comm_max_i8(t.c, want, EXPONENTS) == 0 && (failed || !memcmp(x, want, EXPONENTS)),
          "step %u: maxima", number);
    for (uint32_t b = 0; b < BUCKETS; b++) {
        const size_t n = N - 8 * (size_t)b * 501;
        if ((int)b == kill_at && t.rank == 0)
            kill(((struct fpga_process *)o->cards[0].own)->pid, signal_number);
        make_codes(number, b);
        t.needed = t.had = 0;
        const struct card_path_sum sum = {.codec = &t.codec,
                                          .n = n,
                                          .codes = t.codes,
                                          .result = t.result,
                                          .tag = number * 16 + b,
                                          .flow = {on_need, on_have, NULL}};
        rc = offload_card_path.sum(o, &sum);
        CHECK(rc == 0 || rc == CARD_PATH_ABANDONED, "step %u, bucket %u: %d", number, b, rc);
        CHECK(t.needed == n && (rc || t.had == n), "step %u: asked for %zu, told of %zu of %zu",
              number, t.needed, t.had, n);
        failed |= rc ? 2ull << b : 0;
        missed += rc != 0;
        if (rc == 0 && kill_at < 0) {
            sum_by_direct(n);
            CHECK(!memcmp(t.result, t.want, vec_bytes(codec_sum(&t.codec)->out, n)),
                  "step %u, bucket %u: another sum", number, b);
        }
    }
    CHECK(comm_vote(t.c, &failed, 1) == 0, "vote");
    CHECK(offload_card_path.end(o, failed != 0) == 0, "end");
    return missed;
}

/* near: K, if so many near ranks should add first; 0: none */
static void try_cards(const char *where, const char *format, const char *out_format, int near,
                      int signal_number)
{
    char why[160];
    struct offload *o;
    const struct codec_spec spec = {.format = format, .out_format = out_format, .sum = "exact"};
    /* waits for a silent card */
    const struct offload_options options = {.where = where,
                                            .card_deadline_s = signal_number == SIGSTOP ? 1.5 : 3,
                                            .deadline_s = 20,
                                            .near = near};
    CHECK(codec_parse(&spec, &t.codec) == 0, "%s", format);
    CHECK(codec_settle(&t.codec, t.n_ranks,
                       &(struct codec_adder){.name = "offload", .needs = REDUCE_WIDE}) == 0,
          "%s", format);
    CHECK(offload_check(codec_sum(&t.codec), t.n_ranks, why, sizeof why) == 0, "%s: %s", format,
          why);
    const double start = clock_s();
    if (offload_open(t.c, codec_sum(&t.codec), &options, &o)) {
        CHECK(0, "cannot open %s", where);
        return;
    }
    if (!offload_is_open(o)) {
        CHECK(0, "%s is closed: %s", where, offload_why(o));
        offload_close(o);
        return;
    }
    CHECK(o->near == (near > 1 && t.n_ranks % near == 0 ? near : 1), "%d near ranks", o->near);
    const double opened = clock_s();
    for (uint32_t s = 0; s < STEPS; s++)
        CHECK(step(o, s, -1, 0) == 0, "step %u", s);
    const double done = clock_s();
    const struct card_path_count count = offload_card_path.counted(o);
    if (t.rank == 0)
        printf("%s %s -> %s: %s; opened in %.0f ms, %d steps in %.0f ms, %llu packets, %llu again, "
               "%llu pings, %llu "
               "stale, "
               "%.2f bytes an element\n",
               where, format, out_format, offload_describe(o), (opened - start) * 1e3, STEPS,
               (done - opened) * 1e3, (unsigned long long)count.packets,
               (unsigned long long)count.resent, (unsigned long long)count.pings,
               (unsigned long long)count.stale,
               (double)(count.sent_bytes + count.received_bytes) / ((double)STEPS * BUCKETS * N));
    if (signal_number) {
        const int missed = step(o, STEPS, 1, signal_number);
        CHECK(missed >= 1 && missed <= 2 && !offload_is_open(o), "%d buckets missed", missed);
        CHECK(t.rank || strstr(offload_why(o), signal_number == SIGSTOP ? "has been silent"
                                                                        : "has closed its control"),
              "%s", offload_why(o));
        CHECK(step(o, STEPS + 1, -1, 0) == -1, "open again at once");
        int left = 600;
        for (bool back = false; !back && left; left--) {
            nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
            back = step(o, STEPS + 2, -1, 0) == 0;
        }
        CHECK(left && offload_is_open(o), "the card is not back: %s", offload_why(o));
    }
    offload_close(o);
}

/* Opens the cards of options for e4m3. Returns NULL after a failed check. */
static struct offload *open_e4m3(const struct offload_options *options)
{
    struct offload *o;
    const struct codec_spec spec = {.format = "e4m3", .out_format = "e4m3", .sum = "exact"};
    CHECK(codec_parse(&spec, &t.codec) == 0 &&
              codec_settle(&t.codec, t.n_ranks,
                           &(struct codec_adder){.name = "offload", .needs = REDUCE_WIDE}) == 0,
          "codec");
    if (offload_open(t.c, codec_sum(&t.codec), options, &o) == 0 && offload_is_open(o))
        return o;
    CHECK(0, "cannot open %s", options->where);
    return NULL;
}

/* One step is lost, the next uses the other card, later ones both. */
static void try_one_of_two(int signal_number)
{
    const struct offload_options options = {.where = "sim:c,sim:c",
                                            .card_deadline_s = 3,
                                            .deadline_s = signal_number == SIGSTOP ? 6 : 20};
    struct offload *o = open_e4m3(&options);
    if (!o)
        return;
    CHECK(o->card_deadline_s == (signal_number == SIGSTOP ? 1.5 : 3), "a card may be silent %g s",
          o->card_deadline_s);
    CHECK(step(o, 0, -1, 0) == 0 && o->n_members == 2, "%d cards: %s", o->n_members,
          offload_why(o));
    CHECK(step(o, 1, 1, signal_number) >= 1 && !offload_is_open(o), "nothing was lost");
    CHECK(step(o, 2, -1, 0) == 0 && o->n_members == 1 && o->members[0] == 1,
          "%d cards in the next step: %s", o->n_members, offload_why(o));
    int left = 2000;
    for (uint32_t s = 3; o->n_members < 2 && left; s++, left--) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        /* sums must be right, even if a busy machine abandons the cards */
        (void)step(o, s, -1, 0);
    }
    CHECK(left, "the card is not back: %s", offload_why(o));
    offload_close(o);
}

/* All ranks answer, but the card waits for one of them: the others abandon the card. */
static void try_late_rank(void)
{
    char want[80];
    const struct offload_options options = {.where = "sim:c", .deadline_s = 20};
    struct offload *o = open_e4m3(&options);
    if (!o)
        return;
    CHECK(o->window->config.others_s == 15, "waits %g s for ranks", o->others_s);
    o->window->config.others_s = o->others_s = 0.4;
    if (t.rank == t.n_ranks - 1)
        nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    CHECK(step(o, 0, -1, 0) >= 1 && !offload_is_open(o), "the card waits on");
    snprintf(want, sizeof want, "has waited 0.4 s for packets of rank %d", t.n_ranks - 1);
    CHECK(t.rank || strstr(offload_why(o), want), "%s", offload_why(o));
    offload_close(o);
}

/* The card accepts rank 0's packets from another address; the reason must name rank and address. */
static void try_nat(void)
{
    const struct offload_options options = {
        .where = "sim:c", .card_deadline_s = 1, .deadline_s = 20};
    struct offload *o = open_e4m3(&options);
    if (!o)
        return;
    if (t.rank == 0) {
        struct fpga_op ops[] = {{REG_JOB_INDEX, false, o->jobs[0].index},
                                {REG_RANK_INDEX, false, 0},
                                {REG_RANK_IP, false, 0x7f000009},
                                {REG_RANK_PORT, false, 9},
                                {REG_RANK_COMMIT, false, 1}};
        size_t done = 0;
        CHECK(o->cards[0].ops->batch(&o->cards[0], ops, 5, &done, 5) == 0 && done == 5,
              "%zu operations", done);
    }
    step(o, 0, 0, 0);
    CHECK(!offload_is_open(o), "taken from anywhere");
    CHECK(t.rank || (strstr(offload_why(o), "rank 0 registered 127.0.0.1:") &&
                     strstr(offload_why(o), "is there a NAT?")),
          "%s", offload_why(o));
    offload_close(o);
}

static void try_nowhere(void)
{
    struct offload *o = NULL;
    const struct offload_options options = {.where = "udp://127.0.0.1:9", .card_deadline_s = 1};
    CHECK(offload_open(t.c, codec_sum(&t.codec), &options, &o) == 0 && !offload_is_open(o),
          "a card where none is");
    CHECK(step(o, 0, -1, 0) == -1, "sums where no card is");
    CHECK(t.rank || strstr(offload_why(o), "cannot reach card udp://127.0.0.1:9"), "%s",
          offload_why(o));
    offload_close(o);
}

static bool find_card(void)
{
    char self[2000], path[5000];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = 0;
    const char *folder = dirname(dirname(self));
    snprintf(path, sizeof path, "%s/narrowcast-sim", folder);
    if (access(path, X_OK))
        return false;
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    return setenv("PATH", path, 1) == 0;
}

int main(void)
{
    if (!find_card())
        SKIP("narrowcast-sim was not built");
    if (comm_open(60, &t.c))
        return 1;
    t.rank = comm_rank(t.c);
    t.n_ranks = comm_n_ranks(t.c);
    t.codes = buf_alloc(2 * N + 8);
    t.result = buf_alloc(2 * N);
    t.want = buf_alloc(2 * N);
    t.scratch = buf_alloc(32 * N);
    try_cards("sim:c", "e4m3", "e4m3", 0, SIGKILL);
    try_cards("sim:c", "e5m2", "e5m2", 0, SIGSTOP);
    try_cards("sim:c,sim:c", "e3m0", "e4m3", 0, 0);
    try_cards("sim:c,sim:c", "e3m0", "e3m0", 0, 0);
    try_cards("sim:c", "e5m10", "e5m10", 0, 0);
    try_cards("sim:c", "e3m4", "e5m10", 2, SIGKILL);
    try_cards("sim:c", "e2m5f", "e5m10", 2, SIGSTOP);
    try_cards("sim:c,sim:c", "e2m1f", "e4m3", 2, 0);
    try_cards("sim:c", "e3m0", "e4m3", 4, 0);
    try_one_of_two(SIGKILL);
    try_one_of_two(SIGSTOP);
    /* A delayed rank may be the first to abandon the card. */
    if (t.n_ranks == 1)
        try_nat();
    else
        try_late_rank();
    try_nowhere();
    comm_close(t.c);
    DONE();
}
