/* vectors_job.h : vectors of a job's begin: the first answers of a card, and the sums of near
 * ranks. */
#ifndef VECTORS_JOB_H
#define VECTORS_JOB_H
#include "vectors_ranks.h"

/* A card's answer of so many beats to the first PING, of a job whose SUMs have widths 4 and 16. */
static void first_pong_line(const char *name, uint32_t status, uint32_t chunk, uint32_t beats)
{
    const struct vec_sum sum = {
        .rule = VEC_EXACT, .in = {3, 0, 0}, .out = {5, 10, 0}, .n_ranks = 4};
    const struct fpga_job job = {0x1122334455667788u, 1, 16, 2};
    struct window *w = quiet_window(3, &sum, 22, job, false);
    uint8_t frame[CARD_FRAME_BYTES];
    char id[64];
    static const uint8_t zeros[CARD_FRAME_BYTES];
    window_start_pings(w, 1);
    struct pkt_header h = pkt_get(quiet_sent.bytes);
    h.op = PKT_OP_PONG;
    h.status = status;
    h.chunk = chunk;
    const size_t n = frame_put(h, zeros, beats, frame);
    snprintf(id, sizeof id, "rank/first-pong-%s", name);
    line_open(id, "first_pong", "R93 R97 R141");
    line_text("in", "e3m0");
    line_text("out", "fp16");
    line_int("most_beats", 22);
    line_int("rank", 3);
    line_int("job", 1);
    line_int("slot_base", 16);
    line_u64("key", job.key);
    line_bytes("ping", quiet_sent.bytes, quiet_sent.n);
    line_bytes("pong", frame, n);
    window_take(w, w->ends, frame, n, 2);
    line_text("verdict", w->state == WINDOW_LOST ? "abandon" : w->n_asked ? "foreign" : "accepted");
    line_int("beats", w->n_asked ? 0 : (long)window_beats(w));
    line_close();
    window_close(w);
}

static void first_pong_lines(void)
{
    first_pong_line("good", PKT_PONG_EMPTY, UINT32_MAX, 20);
    first_pong_line("shorter", PKT_PONG_EMPTY, UINT32_MAX, 12);
    first_pong_line("length", PKT_PONG_EMPTY, UINT32_MAX, 14);
    first_pong_line("filling", PKT_PONG_FILLING, 0, 20);
    first_pong_line("kept", PKT_PONG_KEPT, UINT32_MAX, 20);
    first_pong_line("chunk", PKT_PONG_EMPTY, 0, 20);
}

/* The format in which machines of K ranks send their sums, if they add first. */
static void near_lines(void)
{
    static const struct {
        const char *in, *out;
        int shift, ranks, near, grouped;
    } done[] = {{"e2m5f", "e2m5f", 0, 8, 4, 0},   {"e3m0", "e4m3", 0, 8, 4, 0},
                {"e3m0", "e3m0", 0, 16, 8, 0},    {"e2m1f", "e4m3", 0, 4, 2, 0},
                {"e4m3", "e4m3", 2, 16, 4, 0},    {"e2m5f", "e2m5f", 3, 8, 4, 0},
                {"e2m5f", "e2m5f", 6, 128, 2, 1}, {"e3m0", "fp16", 0, 4, 2, 0},
                {"e3m0", "fp16", 0, 4, 2, 1},     {"e3m4", "fp16", 0, 4, 2, 0},
                {"e4m3fn", "fp16", 0, 4, 2, 0},   {"e2m5f", "e2m5f", 0, 6, 4, 0},
                {"e2m1f", "e2m1f", 2, 4, 2, 0},   {"e2m5", "e2m5", 1, 12, 3, 0},
                {"e3m0", "e4m3", 6, 72, 36, 0},   {"e2m1", "e2m5", 4, 80, 20, 0},
                {"e3m0", "fp16", 0, 128, 4, 1},   {"e3m0", "fp16", 0, 64, 4, 1},
                {"e2m1f", "e4m3", 12, 128, 4, 0}};
    char id[64], to[CODEC_NAME_BYTES];
    for (size_t k = 0; k < sizeof done / sizeof *done; k++) {
        const struct vec_sum sum = {.rule = VEC_EXACT,
                                    .overflow = MF_SATURATE,
                                    .in = format_of(done[k].in),
                                    .out = format_of(done[k].out),
                                    .out_shift = done[k].shift,
                                    .n_ranks = done[k].ranks};
        struct vec_sum near, all;
        const bool good =
            card_near(&sum, done[k].ranks, done[k].near, done[k].grouped, &near, &all);
        snprintf(id, sizeof id, "rank/near-%zu", k);
        line_open(id, "near", "R142");
        line_text("format", done[k].in);
        line_text("out", done[k].out);
        line_int("out_shift", done[k].shift);
        line_int("ranks", done[k].ranks);
        line_int("near", done[k].near);
        line_int("group", done[k].grouped);
        line_int("adds", good);
        if (good) {
            line_text("in", codec_format_name(all.in, to));
            line_int("near_shift", near.out_shift);
            line_int("card_shift", all.out_shift);
            line_text("near_overflow", near.overflow == MF_INF ? "inf" : "saturate");
        }
        line_close();
    }
}

static void job_lines(void)
{
    first_pong_lines();
    near_lines();
}

#endif
