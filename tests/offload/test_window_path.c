/* test_window_path.c : a window on a path whose frames are shorter than the card's, and in a
 * stopped process. */
#include "offload/window/frame.h"
#include "window_net.h"

enum { N = 1000000 };
static uint8_t codes[NET_RANKS][N + 8], result[NET_RANKS][N], want[N];
static const uint8_t *added[NET_RANKS]; /* codes of the last sum */
static struct net net;
static struct net_job job;

static void open_job(const char *out_format, size_t known, size_t narrow)
{
    net_open(&net, 7);
    net.known = known;
    net.narrow = narrow;
    job = (struct net_job){.net = &net,
                           .codec = net_codec("e3m0", out_format, "saturate", 2),
                           .n_ranks = 2,
                           .n_cards = 2,
                           .card_deadline_s = 5,
                           .others_s = 60};
    net_job_open(&job);
}

static void close_job(void)
{
    net_job_close(&job);
    net_close(&net);
}

/* A tag's codes are its own. Codes of 4 bits leave room for 64 bytes for each. */
static void start_sum(uint32_t tag)
{
    for (int r = 0; r < 2; r++) {
        added[r] = codes[r] + 64 * tag;
        memset(result[r], 0x5a, sizeof result[r]);
        const struct card_path_sum sum = {
            .codec = &job.codec, .n = N, .codes = added[r], .result = result[r], .tag = tag};
        window_start_sum(job.windows[r], &sum, net.now);
    }
}

static void check_sum(const char *what)
{
    static uint64_t acc[N];
    for (int r = 0; r < 2; r++)
        vec_plain.accumulate(codec_sum(&job.codec), acc, added[r], N, r == 0);
    vec_plain.finish(codec_sum(&job.codec), acc, N, codec_sum(&job.codec)->out, 0, want);
    for (int r = 0; r < 2; r++) {
        CHECK(job.windows[r]->state == WINDOW_DONE, "%s: rank %d: %d %s", what, r,
              job.windows[r]->state, window_why(job.windows[r]));
        CHECK(!memcmp(result[r], want, vec_bytes(codec_sum(&job.codec)->out, N)), "%s: another sum",
              what);
    }
}

/* Pings find the longest frame; a sum needs no longer one. */
static void finds(const char *what, const char *out_format, size_t known, size_t narrow,
                  uint32_t beats)
{
    open_job(out_format, known, narrow);
    const double start_s = net.now;
    net_pings(&job);
    for (int r = 0; r < 2; r++)
        CHECK(window_beats(job.windows[r]) == beats, "%s: %u beats, not %u", what,
              window_beats(job.windows[r]), beats);
    CHECK(net.now - start_s < 3, "%s: found after %g s", what, net.now - start_s);
    start_sum(1);
    CHECK(net_run(&job, 3, 5) == 0, "%s: no sum", what);
    check_sum(what);
    CHECK(!window_counted(job.windows[0]).resent, "%s: %llu sent again", what,
          (unsigned long long)window_counted(job.windows[0]).resent);
    close_job();
}

static void agrees(void)
{
    open_job("e3m0", 0, 0);
    net_pings(&job);
    window_limit(job.windows[0], 20);
    window_limit(job.windows[1], 20);
    window_limit(job.windows[1], 21);
    start_sum(1);
    CHECK(net_run(&job, 3, 5) == 0 && window_beats(job.windows[1]) == 20, "no sum");
    check_sum("a limit");
    close_job();
}

/* known: sending a long packet fails with an error; else long packets vanish. */
static void becomes_narrow(bool known)
{
    open_job("e3m0", 0, 0);
    net_pings(&job);
    start_sum(1);
    net_turn(&job, 3);
    if (known)
        net.known = 1372;
    else
        net.narrow = 1372;
    const double start_s = net.now;
    net_run(&job, 3, 100);
    CHECK(net.now - start_s < (known ? 0.1 : 12), "after %g s", net.now - start_s);
    for (int r = 0; r < 2; r++)
        CHECK(job.windows[r]->state == WINDOW_LOST &&
                  strstr(window_why(job.windows[r]),
                         known ? "only with packets of at most 1372 bytes"
                               : "answers pings of 64 bytes but not packets of 2112"),
              "%d %s", job.windows[r]->state, window_why(job.windows[r]));
    close_job();
}

/* A pong shorter than any ping, or longer than the card's frames, proves nothing. */
static void pong_is_short(void)
{
    static uint8_t frame[WINDOW_FRAME_BYTES];
    open_job("e4m3", 0, 0); /* at least two beats */
    struct window *w = job.windows[0];
    struct window_slot *s = &w->ends[0].slots[job.jobs[0].slots];
    net.cards[0].silent = net.cards[1].silent = true;
    window_start_pings(w, net.now);
    for (size_t bytes = 0; bytes <= 128; bytes += 64) {
        const struct pkt_header h = {.key = job.jobs[0].key,
                                     .job = (uint16_t)job.jobs[0].index,
                                     .slot = (uint16_t)job.jobs[0].slot_base,
                                     .chunk = UINT32_MAX,
                                     .op = PKT_OP_PONG,
                                     .echo = s->echo};
        CHECK(s->out && w->n_asked == 2, "taken: a pong shorter than %zu bytes", 64 + bytes);
        window_take(w, &w->ends[0], frame, frame_put_header(h, bytes, frame), net.now);
    }
    CHECK(!s->out && w->n_asked == 1 && window_beats(w) == 2, "%u beats", window_beats(w));
    close_job();
}

/* The process stops during pings, for longer than any deadline, and loses only that time: later
 * losses take no longer. A stop of the card does not count as absence either. */
static void is_stopped(double for_s, bool card_too)
{
    open_job("e3m0", 0, 0);
    net_pings(&job);
    net.drop = 0.01;
    start_sum(1);
    bool asked = false;
    while (net_turn(&job, 3) && !asked)
        for (uint32_t i = 0; i < job.jobs[0].slots; i++)
            asked = asked ||
                    (job.windows[0]->ends[0].slots[i].out && job.windows[0]->ends[0].slots[i].echo);
    CHECK(asked, "nothing was lost");
    net.cards[0].silent = net.cards[1].silent = true;
    for (int i = 0; i < 20; i++)
        net_tick(&net);
    if (card_too)
        net_run(&job, 3, for_s);
    else
        net.now += for_s;
    net.cards[0].silent = net.cards[1].silent = false;
    const double back_s = net.now;
    CHECK(net_run(&job, 3, 5) == 0, "still busy");
    check_sum("after the stop");
    for (uint32_t i = 0; i < 10; i++) {
        start_sum(2 + i);
        net_run(&job, 3, 60);
        check_sum("later");
    }
    CHECK(net.now - back_s < 4, "%g s of stop: 11 sums took %g s", for_s, net.now - back_s);
    close_job();
}

int main(void)
{
    for (int r = 0; r < NET_RANKS; r++)
        for (size_t i = 0; i < sizeof codes[r]; i++)
            codes[r][i] = (uint8_t)philox_u32(11 + (unsigned)r, i);
    finds("all that the card takes", "e3m0", 0, 0, 32);
    finds("a route of 1500", "e3m0", 1472, 0, 22);
    finds("a route of 1400, 4 bits to 8", "e4m3", 1372, 0, 20);
    finds("a route of 1380, 4 bits to 8", "e4m3", 1352, 0, 20);
    finds("a hole behind 1500", "e3m0", 0, 1472, 22);
    finds("a hole behind 1460, a route of 1500", "e3m0", 1472, 1432, 21);
    finds("a hole behind 1280, 4 bits to 8", "e4m3", 0, 1252, 18);
    agrees();
    becomes_narrow(true);
    becomes_narrow(false);
    pong_is_short();
    is_stopped(30, false);
    is_stopped(2, true);
    DONE();
}
