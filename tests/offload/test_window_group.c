/* test_window_group.c : sums sent to a multicast group on a bad network have the host's bits,
 * also if ranks do not receive the group or a host attacks it. */
#include "offload/window/frame.h"
#include "offload/window/siphash.h"
#include "window_net.h"

enum { MAX_N = 60000 };
static uint8_t codes[NET_RANKS][MAX_N + 8], want[MAX_N], got[NET_RANKS][MAX_N];
static const uint64_t seed = 20261123;
static struct net net;

static void open_job(struct net_job *j, int n_ranks, int n_cards, bool grouped)
{
    *j = (struct net_job){.net = &net,
                          .codec = net_codec("e4m3", "e4m3", "saturate", n_ranks),
                          .n_ranks = n_ranks,
                          .n_cards = n_cards,
                          .grouped = grouped,
                          .card_deadline_s = 2,
                          .others_s = 10};
    net_job_open(j);
    net_pings(j);
}

static void start_sum(struct net_job *j, size_t n, uint32_t which)
{
    static uint64_t acc[MAX_N];
    for (int r = 0; r < j->n_ranks; r++) {
        for (size_t i = 0; i < n + 8; i++)
            codes[r][i] = (uint8_t)philox_u32(philox_key(seed, which, (uint32_t)r, 0, 0), i);
        vec_plain.accumulate(codec_sum(&j->codec), acc, codes[r], n, r == 0);
        const struct card_path_sum sum = {
            .codec = &j->codec, .n = n, .codes = codes[r], .result = got[r], .tag = which};
        memset(got[r], 0x5a, sizeof got[r]);
        window_start_sum(j->windows[r], &sum, j->net->now);
    }
    vec_plain.finish(codec_sum(&j->codec), acc, n, codec_sum(&j->codec)->out, 0, want);
}

static void run_sum(struct net_job *j, size_t n, uint32_t which)
{
    start_sum(j, n, which);
    CHECK(net_run(j, net_everyone(j), 100) == 0, "sum %u of %zu: not done", which, n);
    for (int r = 0; r < j->n_ranks; r++)
        CHECK(j->windows[r]->state == WINDOW_DONE && !memcmp(got[r], want, n),
              "sum %u of %zu, rank %d: another than the host's: %s", which, n, r,
              window_why(j->windows[r]));
}

static void run_max(struct net_job *j, uint32_t which)
{
    static int8_t x[NET_RANKS + 1][100];
    for (int r = 0; r < j->n_ranks; r++) {
        memset(x[r], r, sizeof x[r]);
        window_start_max(j->windows[r], which, x[r], sizeof x[r], j->net->now);
    }
    CHECK(net_run(j, net_everyone(j), 100) == 0, "max: not done");
    for (int r = 0; r < j->n_ranks; r++)
        CHECK(x[r][0] == j->n_ranks - 1 && x[r][99] == j->n_ranks - 1, "max, rank %d", r);
}

static uint64_t steps(int n_ranks, int n_cards, bool grouped, double bad)
{
    const uint32_t n_steps = 16; /* MAX_APART of window_take.c */
    struct net_job j;
    net_open(&net, seed + (uint64_t)n_ranks);
    net.drop = net.dup = bad;
    net.reorder = 2 * bad;
    open_job(&j, n_ranks, n_cards, grouped);
    memset(net.card_frames, 0, sizeof net.card_frames);
    memset(net.card_bytes, 0, sizeof net.card_bytes);
    for (uint32_t step = 0; step < n_steps; step++) {
        run_max(&j, 2 * step);
        run_sum(&j, MAX_N - 8 * step, 2 * step + 1);
    }
    const struct card_path_count count = window_counted(j.windows[0]);
    const uint64_t of_one = count.packets - n_steps,
                   frames = net.card_frames[0] + net.card_frames[1];
    printf("%d ranks, %d cards, %s, %2.0f %% lost: %llu sums; cards send %llu frames to ranks, "
           "%llu to the group, %llu "
           "bytes\n",
           n_ranks, n_cards, grouped ? "group   " : "no group", bad * 100,
           (unsigned long long)of_one, (unsigned long long)net.card_frames[0],
           (unsigned long long)net.card_frames[1],
           (unsigned long long)(net.card_bytes[0] + net.card_bytes[1]));
    CHECK(net.card_frames[1] == (grouped ? of_one : 0), "%llu sums went to the group",
          (unsigned long long)net.card_frames[1]);
    if (bad == 0)
        CHECK(frames ==
                  (grouped ? of_one : of_one * (uint64_t)n_ranks) + n_steps * (uint64_t)n_ranks,
              "%llu frames", (unsigned long long)frames);
    for (int r = 0; r < n_ranks; r++) {
        const uint64_t digest = window_digest(j.windows[r]);
        CHECK(digest == window_digest(j.windows[0]) && (digest != 0) == grouped,
              "rank %d: digest %llx", r, (unsigned long long)digest);
        CHECK(!j.windows[r]->foreign && !j.windows[r]->damaged, "rank %d refuses frames", r);
    }
    const uint64_t bytes = net.card_bytes[0] + net.card_bytes[1];
    net_job_close(&j);
    net_close(&net);
    return bytes;
}

/* Short work continues without the group; long work reports its failure. */
static void not_heard(unsigned group_failed)
{
    struct net_job j;
    net_open(&net, seed);
    net.group_failed = group_failed;
    open_job(&j, 3, 1, true);
    run_sum(&j, 15 * 2048, 1);
    run_max(&j, 2);
    start_sum(&j, MAX_N, 3);
    net_run(&j, net_everyone(&j), 5);
    for (int r = 0; r < 3; r++) {
        const struct window *w = j.windows[r];
        CHECK(w->group_failed == (group_failed >> r & 1) &&
                  (w->state == WINDOW_LOST) == w->group_failed,
              "rank %d of failed %x: state %d, %s", r, group_failed, (int)w->state, window_why(w));
        CHECK(!w->group_failed ||
                  !strcmp(window_why(w),
                          "card net sends multicast packets that this rank does not receive"),
              "%s", window_why(w));
    }
    printf("ranks %x do not hear the group: found at %.1f ms\n", group_failed, net.now * 1e3);
    net_job_close(&j);
    net_close(&net);
}

/* ---- a host that receives the group and sends with the card's address ---- */

static uint8_t heard[CARD_FRAME_BYTES];
static size_t n_heard;

static void overhear(const uint8_t *bytes, size_t n)
{
    memcpy(heard, bytes, n);
    n_heard = n;
}

static size_t forged(uint8_t *frame, int slot, int chunk, int op, uint64_t key, int rank)
{
    struct pkt_header h = pkt_get(heard);
    h.slot = (uint16_t)(h.slot + slot);
    h.chunk += (uint32_t)chunk;
    h.op = (uint8_t)op;
    h.key = key;
    h.rank = (uint16_t)rank;
    memcpy(frame, heard, n_heard);
    frame[PKT_HEADER_BYTES] ^= 1;
    return frame_put_header(h, n_heard - PKT_HEADER_BYTES, frame);
}

static int n_out(const struct window_end *end)
{
    int n = 0;
    for (uint32_t i = 0; i < end->card.job.slots; i++)
        n += end->slots[i].out;
    return n;
}

static void forgeries(void)
{
    uint8_t frame[CARD_FRAME_BYTES];
    struct net_job j;
    net_open(&net, seed);
    net.overhear = overhear;
    open_job(&j, 2, 1, true);
    run_sum(&j, 8 * 2048, 1);
    CHECK(n_heard && pkt_get(heard).key == 0 && pkt_get(heard).rank == PKT_TO_GROUP, "heard");

    const uint64_t added = card_counter(net.cards[0].model, CNT_IN_ADDED);
    for (int rank = 0; rank < 2; rank++)
        card_frame(net.cards[0].model, NET_IP + (uint32_t)rank, NET_PORT, frame,
                   forged(frame, 1, 0, PKT_OP_SUM, 0, rank));
    CHECK(card_counter(net.cards[0].model, CNT_DROP_KEY) == 2 &&
              card_counter(net.cards[0].model, CNT_IN_ADDED) == added,
          "a contribution without a key");

    /* in-flight packets: the tags differ */
    struct window *w = j.windows[0];
    struct window_end *end = &w->ends[0];
    start_sum(&j, 8 * 2048, 2);
    net_turn_ranks(&j, 1);
    CHECK(n_out(end) == 8, "%d under way", n_out(end));
    for (int slot = 1; slot <= 8; slot++) {
        window_take_group(w, end, frame, forged(frame, slot, 0, PKT_OP_RESULT, 0, PKT_TO_GROUP),
                          net.now);
        window_take_group(w, end, frame, forged(frame, slot, 0, PKT_OP_RESULT, 0, 0), net.now);
        window_take_group(w, end, frame, forged(frame, slot, 0, PKT_OP_NAK, 0, PKT_TO_GROUP),
                          net.now);
        window_take(w, end, frame, forged(frame, slot, 0, PKT_OP_RESULT, 0, PKT_TO_GROUP), net.now);
    }
    CHECK(n_out(end) == 8 && w->forged == 8 && w->foreign == 32 && w->state == WINDOW_BUSY,
          "%d under way, %d forged, %d foreign", n_out(end), w->forged, (int)w->foreign);
    CHECK(net_run(&j, 3, 5) == 0 && !memcmp(got[0], want, 8 * 2048), "beside forgeries");

    /* a changed copy before the right answer: the digests differ */
    net.group_failed = 1;
    CHECK(window_digest(w) == window_digest(j.windows[1]), "digests differ before");
    start_sum(&j, 2048, 3);
    for (n_heard = 0; !n_heard;)
        net_turn(&j, 3);
    window_take_group(w, end, frame, forged(frame, 0, 0, PKT_OP_RESULT, 0, PKT_TO_GROUP), net.now);
    CHECK(net_run(&j, 3, 5) == 0 && memcmp(got[0], want, 2048) && !memcmp(got[1], want, 2048),
          "a changed copy");
    CHECK(window_digest(w) != window_digest(j.windows[1]), "digests are the same after it");

    start_sum(&j, 2048, 4);
    net_turn_ranks(&j, 1);
    for (int i = 8; i < 64; i++) {
        CHECK(w->state == WINDOW_BUSY, "after %d guesses", i);
        window_take_group(w, end, frame, forged(frame, 1, 0, PKT_OP_RESULT, 0, PKT_TO_GROUP),
                          net.now);
    }
    CHECK(w->state == WINDOW_LOST && w->group_failed, "guesses go on: state %d", (int)w->state);
    net_job_close(&j);
    net_close(&net);
}

/* The paper's first test vectors: key 00 01 .. 0f, bytes 00 01 .. of every length. */
static void known_answers(void)
{
    static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    static const uint64_t answers[] = {0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
                                       0x85676696d7fb7e2d};
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)i;
    for (size_t n = 0; n < 4; n++)
        CHECK(siphash(key, bytes, n) == answers[n], "%zu bytes", n);
    CHECK(siphash(key, bytes, 15) == 0xa129ca6149be45e5, "the paper's own, 15 bytes");
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)seed);
    known_answers();
    for (int n_ranks = 1; n_ranks <= NET_RANKS; n_ranks++) {
        const uint64_t with = steps(n_ranks, 1, true, 0), without = steps(n_ranks, 1, false, 0);
        CHECK((double)without / (double)with > 0.99 * n_ranks, "%.2f times",
              (double)without / (double)with);
    }
    steps(2, 2, true, 0.05);
    steps(4, 1, true, 0.05);
    not_heard(1);
    not_heard(6);
    not_heard(7);
    forgeries();
    DONE();
}
