/* test_forge.c : a host off the path reaches the card's control port and forges contributions of
 * rank 1. Without the key none is added; even with it, tags lack the job's secret. */
#include "control/control.h"
#include "offload/window/frame.h"
#include "window_net.h"

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
    net_open(&net, 5);
    job = (struct net_job){.net = &net,
                           .codec = net_codec("e4m3", "e4m3", "saturate", RANKS),
                           .n_ranks = RANKS,
                           .n_cards = 1,
                           .card_deadline_s = 0.5,
                           .deadline_s = 1};
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
    open_job();
    struct card *card = net.cards[0].model;
    CHECK(control_open(&registers, card, true, NULL, NULL, &control) == 0, "no control");
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
    open_job();
    CHECK(!step(0, job.jobs[0].key), "the forger's contribution did not come first");
    CHECK(strstr(window_why(job.windows[0]), "differ") ||
              strstr(window_why(job.windows[1]), "differ"),
          "'%s', '%s'", window_why(job.windows[0]), window_why(job.windows[1]));
    CHECK(card_counter(net.cards[0].model, CNT_OUT_RESULT) == 0,
          "the card has a result of forged parts");
    close_job();
}

int main(void)
{
    from_the_control_port();
    with_the_key();
    DONE();
}
