/* reduce_sim.c : adds files of codes on a simulated card, with a rank and a window for each.
 *
 * One thread advances all windows, and runs the card when these have nothing left to send. A batch
 * has at most as many packets as the card has slots. */
#include "app/files/reduce_card.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "hls/card/card.h"
#include "hls/card/regs.h"
#include "offload/card/fpga_process.h"
#include "offload/window/window.h"
#include "offload/wire/wire_process.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double tick_s = 0.01, deadline_s = 5; /* of the windows' clock */

struct sim_job {
    struct reduce_blocks b; /* of a batch */
    const char *engine;
    struct card_fit fit;
    struct fpga card;
    struct fpga_job job;
    uint32_t beats; /* of a full packet */
    struct wire_process *wires;
    struct wire_process_time time;
    struct window *windows[PKT_MAX_RANKS];
    uint8_t *sums[PKT_MAX_RANKS]; /* that each rank received; [0]: b.sums */
    /* of the windows' clock, which advances only while windows and card are idle */
    double now;
    uint32_t n_batches; /* batches before this one */
};

/* Clocks that a rank waits between frames, so that the card keeps up. */
static uint32_t gap_of(const struct sim_job *j)
{
    const uint32_t n_ranks = (uint32_t)j->b.n_in;
    uint32_t in = j->beats * j->fit.in_width / j->fit.wider,
             out = j->beats * j->fit.out_width / j->fit.wider;
    uint32_t passes =
        j->fit.in_width == 4 && j->fit.out_width == 16                                         ? 4
        : j->fit.in_width < 16 && (j->fit.out_width > j->fit.in_width || j->fit.in_width == 4) ? 2
                                                                                               : 1;
    uint32_t comes = n_ranks * (in + 1), adds = (n_ranks - 1 + passes) * in,
             leaves = n_ranks * (out + 1);
    uint32_t most = adds > leaves ? adds : leaves;
    return most > comes ? (most - comes + n_ranks - 1) / n_ranks : 0;
}

static int said(const struct sim_job *j, int rc)
{
    return rc == -ECHILD ? rc : ERR(rc, "%s", j->card.why);
}

static int start_job(struct sim_job *j, const struct fpga_caps *caps)
{
    struct fpga_rank ranks[PKT_MAX_RANKS];
    struct fpga_op enable = {.at = REG_CTRL, .value = REG_CTRL_ENABLE};
    size_t done;
    for (int r = 0; r < j->b.n_in; r++) {
        const struct wire wire = wire_process_of(j->wires, r);
        ranks[r] = (struct fpga_rank){wire.ip, wire.port};
    }
    TRY(fpga_job_start(&j->card, caps, &j->fit, ranks, j->b.n_in, caps->slots, INFINITY, &j->job));
    return j->card.ops->batch(&j->card, &enable, 1, &done, INFINITY);
}

static int open_card(struct sim_job *j, const char *wave)
{
    struct fpga_caps caps;
    int rc = fpga_sim_start(&j->card, j->engine, wave);
    if (!rc)
        rc = fpga_job_caps(&j->card, &j->fit, j->b.n_in, &caps, INFINITY);
    if (rc)
        return said(j, rc);
    j->beats = card_fit_most(&j->fit, caps.beats < PKT_USUAL_BEATS ? caps.beats : PKT_USUAL_BEATS);
    TRY(wire_process_open(fpga_sim_process(&j->card), j->b.n_in, gap_of(j), &j->wires));
    rc = start_job(j, &caps);
    return rc ? said(j, rc) : 0;
}

static int open_windows(struct sim_job *j)
{
    struct window_config config = {.n_ranks = j->b.n_in,
                                   .fit = j->fit,
                                   .saturate = j->b.sum->overflow == MF_SATURATE,
                                   .out_shift = j->b.sum->out_shift,
                                   .beats = j->beats,
                                   .card_deadline_s = deadline_s,
                                   .others_s = deadline_s};
    const size_t per_packet = card_fit_codes(&j->fit, j->beats),
                 blocks = j->job.slots * per_packet / CODES_IN_BLOCK;
    j->b.n_blocks = blocks ? blocks : 1;
    TRY(reduce_blocks_open(&j->b));
    j->now = tick_s;
    for (int r = 0; r < j->b.n_in; r++) {
        const struct window_card card = {wire_process_of(j->wires, r), {0}, j->job, j->card.name};
        config.rank = r;
        TRY(window_open(&config, &card, 1, j->now, &j->windows[r]));
        j->sums[r] = r ? reduce_blocks_sums(&j->b) : j->b.sums;
        if (!j->sums[r])
            return -ENOMEM;
    }
    return 0;
}

static void close_all(struct sim_job *j)
{
    for (int r = 0; r < j->b.n_in; r++) {
        window_close(j->windows[r]);
        if (r > 0)
            free(j->sums[r]);
    }
    wire_process_close(j->wires);
    fpga_close(&j->card);
    reduce_blocks_close(&j->b);
}

/* Returns 1 if some windows wait for the card, 0 if all are done, or a negative errno. */
static int turn_all(struct sim_job *j)
{
    int busy = 0;
    for (int r = 0; r < j->b.n_in; r++) {
        enum window_state state = WINDOW_BUSY;
        for (bool moved = true; moved && state == WINDOW_BUSY;)
            state = window_turn(j->windows[r], j->now, &moved);
        if (state == WINDOW_LOST)
            return ERR(-EIO, "%s", window_why(j->windows[r]));
        if (state == WINDOW_STRAGGLER)
            return ERR(-EIO, "card %s reports missing packets that it has received", j->card.name);
        busy = busy || state == WINDOW_BUSY;
    }
    return busy;
}

static int add_batch(struct sim_job *j, size_t n)
{
    for (int r = 0; r < j->b.n_in; r++) {
        const struct card_path_sum sum = {
            .n = n, .codes = j->b.parts[r], .result = j->sums[r], .tag = j->n_batches};
        window_start_sum(j->windows[r], &sum, j->now);
    }
    for (int rc; (rc = turn_all(j));) {
        TRY(rc);
        TRY(rc = wire_process_run(j->wires, &j->time));
        if (!rc)
            j->now += tick_s;
    }
    for (int r = 1; r < j->b.n_in; r++)
        if (memcmp(j->b.sums, j->sums[r], vec_bytes(j->b.sum->out, n)))
            return ERR(-EIO, "card %s sent different results to two ranks", j->card.name);
    j->n_batches++;
    return 0;
}

static int add_all(struct sim_job *j, struct codes_in *in, struct file_out *out)
{
    for (;;) {
        size_t n;
        TRY(codes_in_read_all(in, j->b.n_in, j->b.n_blocks, j->b.parts, &n));
        if (!n)
            return 0;
        TRY(add_batch(j, n));
        TRY(file_out_write(out, j->b.sums, vec_bytes(j->b.sum->out, n)));
    }
}

/* Completes the file of signals. */
static int end_card(struct sim_job *j)
{
    const int rc = fpga_process_end(fpga_sim_process(&j->card), j->card.why);
    return rc ? said(j, rc) : 0;
}

static void report(const struct sim_job *j)
{
    char line[320];
    struct text to = text_in(line, sizeof line);
    const struct wire_process_time t = j->time;
    double mb = (double)t.beats_in * 64e-6, seconds = t.seconds > 0 ? t.seconds : 1e-9;
    text_add(&to, "%s: ", j->engine);
    if (t.clocks)
        text_add(&to, "%llu cycles, ", (unsigned long long)t.clocks);
    text_add(&to, "%llu beats in, %llu beats out", (unsigned long long)t.beats_in,
             (unsigned long long)t.beats_out);
    if (t.clocks)
        text_add(&to,
                 ": %.3f beats a cycle; %.1f us at %d MHz, the estimate; simulated at %.0f kHz, "
                 "%.1f MB/s",
                 (double)t.beats_in / (double)t.clocks, (double)t.clocks / CARD_MHZ, CARD_MHZ,
                 (double)t.clocks * 1e-3 / seconds, mb / seconds);
    else
        text_add(&to, "; no clock; %.1f MB/s", mb / seconds);
    err_note("%s", line);
}

int reduce_sim(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *engine, const char *wave)
{
    struct sim_job j = {.b = {.sum = sum, .n_in = n_in}, .engine = engine};
    TRY(card_fits(sum, n_in, "files", &j.fit));
    int rc = open_card(&j, wave);
    if (!rc)
        rc = open_windows(&j);
    if (!rc)
        rc = add_all(&j, in, out);
    if (!rc)
        rc = end_card(&j);
    if (!rc)
        report(&j);
    close_all(&j);
    return rc;
}
