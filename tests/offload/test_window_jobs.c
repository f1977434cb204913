/* test_window_jobs.c : two jobs on two cards get the host's bits while a third host sends as
 * many frames as all ranks. */
#include "offload/window/frame.h"
#include "window_net.h"

enum { N = 150000, JOBS = 2, STEPS = 4 };
static const uint64_t seed = 404;
static struct net net;
static struct net_job jobs[JOBS];
static uint8_t codes[NET_RANKS][2 * N + 8], want[JOBS][2 * N], got[NET_RANKS][2 * N];
static uint64_t n_attacks, draws;

static uint32_t draw(void)
{
    return philox_u32(seed, draws++);
}

static void start_step(struct net_job *j, int which, uint32_t step)
{
    static uint64_t acc[N];
    for (int r = 0; r < j->n_ranks; r++) {
        uint8_t *mine = codes[j->first + r];
        for (size_t i = 0; i < vec_bytes(codec_sum(&j->codec)->in, N); i++)
            mine[i] = (uint8_t)(philox_u32(seed + 1 + (uint64_t)(j->first + r), step * N + i) >> 8);
        vec_plain.accumulate(codec_sum(&j->codec), acc, mine, N, r == 0);
    }
    vec_plain.finish(codec_sum(&j->codec), acc, N, codec_sum(&j->codec)->out, 0, want[which]);
    for (int r = 0; r < j->n_ranks; r++) {
        const struct card_path_sum sum = {.codec = &j->codec,
                                          .n = N,
                                          .codes = codes[j->first + r],
                                          .result = got[j->first + r],
                                          .tag = step};
        window_start_sum(j->windows[r], &sum, net.now);
    }
}

static void attack(void)
{
    uint8_t bytes[CARD_FRAME_BYTES];
    size_t n = 1 + draw() % sizeof bytes;
    const unsigned kind = draw() % 4;
    uint32_t ip = NET_IP + 200;
    const uint32_t key = draw() | 1;
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i * key >> 24);
    if (kind && net.n_heap) {
        const struct net_datagram *d = net.heap[draw() % net.n_heap];
        n = d->n;
        memcpy(bytes, d->bytes, n);
        struct pkt_header h = pkt_get(bytes);
        if (kind == 2) {
            h.key ^= 1ull << draw() % 64;
            ip = NET_IP + draw() % NET_RANKS;
        } else if (kind == 3) {
            bytes[draw() % n] ^= (uint8_t)(1u << draw() % 8);
            ip = NET_IP + draw() % NET_RANKS;
        }
        if (kind == 2)
            frame_put_header(h, n - PKT_HEADER_BYTES, bytes);
    }
    n_attacks++;
    const int card = (int)(draw() % 2), rank = (int)(draw() % NET_RANKS);
    if (draw() % 2) {
        card_frame(net.cards[card].model, ip, (uint16_t)(NET_PORT + card), bytes, n);
    } else {
        struct net_job *j = &jobs[rank / 2];
        window_take(j->windows[rank % 2], &j->windows[rank % 2]->ends[card], bytes, n, net.now);
    }
}

static void check_books(void)
{
    for (int c = 0; c < 2; c++) {
        const struct card *card = net.cards[c].model;
        uint64_t dropped = 0;
        for (unsigned i = CNT_DROP_LENGTH; i <= CNT_DROP_DISABLED; i++)
            dropped += card_counter(card, i);
        printf("card %d: %llu added, %llu dropped: %llu length, %llu magic, %llu header, %llu "
               "payload, %llu key, %llu "
               "source\n",
               c, (unsigned long long)card_counter(card, CNT_IN_ADDED), (unsigned long long)dropped,
               (unsigned long long)card_counter(card, CNT_DROP_LENGTH),
               (unsigned long long)card_counter(card, CNT_DROP_MAGIC),
               (unsigned long long)card_counter(card, CNT_DROP_HEADER_CRC),
               (unsigned long long)card_counter(card, CNT_DROP_PAYLOAD_CRC),
               (unsigned long long)card_counter(card, CNT_DROP_KEY),
               (unsigned long long)card_counter(card, CNT_DROP_SOURCE));
        CHECK(card_counter(card, CNT_DROP_KEY) && card_counter(card, CNT_DROP_SOURCE) &&
                  dropped > n_attacks / 8,
              "card %d: attacks were not counted", c);
        CHECK(!card_counter(card, CNT_OUT_NAK), "card %d refused an own packet", c);
    }
}

int main(void)
{
    net_open(&net, seed);
    net.drop = 0.005;
    net.dup = net.reorder = 0.02;
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct net_job){
            .net = &net,
            .codec = net_codec(i ? "e5m10" : "e4m3", i ? "e5m10" : "e4m3", "inf", 2),
            .n_ranks = 2,
            .n_cards = 2,
            .first = 2 * i,
            .card_deadline_s = 2,
            .deadline_s = 10};
        net_job_open(&jobs[i]);
    }
    for (int i = 0; i < JOBS; i++)
        net_pings(&jobs[i]);
    for (uint32_t step = 0; step < STEPS && !check_bad; step++) {
        for (int i = 0; i < JOBS; i++)
            start_step(&jobs[i], i, step);
        unsigned busy = 1;
        for (const double until = net.now + 20; busy && net.now < until;) {
            net_tick(&net);
            busy = net_turn_ranks(&jobs[0], 3) | net_turn_ranks(&jobs[1], 3);
            for (int k = 0; k < 16; k++)
                attack();
        }
        for (int r = 0; r < NET_RANKS; r++) {
            const struct net_job *j = &jobs[r / 2];
            CHECK(j->windows[r % 2]->state == WINDOW_DONE, "step %u, rank %d: %s", step, r,
                  window_why(j->windows[r % 2]));
            CHECK(!memcmp(got[r], want[r / 2], vec_bytes(codec_sum(&j->codec)->out, N)),
                  "step %u, rank %d: another sum", step, r);
        }
    }
    printf("seed %llu: %llu attacks\n", (unsigned long long)seed, (unsigned long long)n_attacks);
    check_books();
    for (int i = 0; i < JOBS; i++)
        net_job_close(&jobs[i]);
    net_close(&net);
    DONE();
}
