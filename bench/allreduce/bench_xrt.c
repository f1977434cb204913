/* bench_xrt.c : measures the cost of controlling a card through XRT and through a socket.
 *   XILINX_XRT=build/xrt build/bench_xrt --xclbin build/narrowcast.sim.xclbin    (a simulated card)
 *   build/bench_xrt --xclbin FILE --card xrt:0000:65:00.1                          (a real card) */
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "bench/measure.h"
#include "hls/core/beat.h"
#include "hls/card/regs.h"
#include "offload/card/fpga_job.h"
#include "offload/xrt/xrt_card.h"
#include <string.h>

enum { MAX_REPS = 10001, RANKS = 4, PARTS = 2, BEATS = 32 };

struct options {
    const char *card, *xclbin, *socket;
    int64_t reps;
    bool json;
};

#define AT(field) offsetof(struct options, field)
static const struct opt opts[] = {
    {"card", "NAME", "xrt", "The card reached through XRT.", TEXT_AT(card)},
    {"xclbin", "FILE", NULL,
     "The xclbin to load into it. Default: the file named by NARROWCAST_XCLBIN.", TEXT_AT(xclbin)},
    {"socket", "NAME", "sim:c", "The card reached over a socket.", TEXT_AT(socket)},
    {"reps", "N", "1001", "Calls of each kind.", INT_AT(reps, 3, MAX_REPS)},
    {"json", NULL, NULL, "Print one JSON object per row.", FLAG_AT(json)},
};
static const struct opt_command command = {
    .name = "bench_xrt",
    .alone = true,
    .args = "",
    .about = "Times a register read, a register write, the registration of a job and a run of "
             "reduce_mm, through XRT and over a socket.",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

struct subject {
    struct fpga *card;
    struct fpga_caps caps;
    struct card_fit fit;
    struct xrt_card *mm;
    struct xrt_card_value args[KERNEL_MAX_ARGS];
};

static int read_register(struct subject *s)
{
    struct fpga_op op = {.at = REG_ID, .read = true};
    size_t done;
    return s->card->ops->batch(s->card, &op, 1, &done, 5);
}

static int write_register(struct subject *s)
{
    struct fpga_op op = {.at = REG_COUNTER_INDEX, .value = CNT_OUT_RESULT};
    size_t done;
    return s->card->ops->batch(s->card, &op, 1, &done, 5);
}

static int register_job(struct subject *s)
{
    struct fpga_rank ranks[RANKS];
    struct fpga_job job;
    for (int r = 0; r < RANKS; r++)
        ranks[r] = (struct fpga_rank){0x7f000001, (uint16_t)(40000 + r)};
    int rc = fpga_job_start(s->card, &s->caps, &s->fit, ranks, RANKS, 0, 5, &job);
    return rc ? rc : fpga_job_stop(s->card, &job, 5);
}

static int run_reduce(struct subject *s)
{
    return xrt_card_run(s->mm, KERNEL_REDUCE_MM, s->args, 9, 5);
}

static int row(const struct options *o, const char *what, const char *way,
               int (*call)(struct subject *), struct subject *s)
{
    static double us[MAX_REPS];
    for (int64_t i = 0; i < o->reps; i++) {
        const double from = clock_s();
        int rc = call(s);
        us[i] = 1e6 * (clock_s() - from);
        if (rc)
            return ERR(rc, "%s: %s", what, call == run_reduce ? s->mm->why : s->card->why);
    }
    const double median = measure_median(us, (size_t)o->reps),
                 most = us[o->reps - 1 - o->reps / 100];
    if (o->json) {
        struct jsonl j;
        jsonl_to(&j, stdout);
        jsonl_begin(&j, "bench_xrt");
        jsonl_text(&j, "what", what);
        jsonl_text(&j, "way", way);
        jsonl_real(&j, "us", median);
        jsonl_real(&j, "us_99", most);
        return jsonl_end(&j);
    }
    printf("%-34s %-14s %9.1f %9.1f\n", what, way, median, most);
    return 0;
}

static int control_rows(const struct options *o, const char *name)
{
    const struct vec_sum sum = {.in = mf_e5m2(), .out = mf_e5m2(), .rule = VEC_EXACT};
    struct fpga card;
    struct subject s = {.card = &card};
    int rc = fpga_open(&card, name, o->xclbin, 5);
    if (rc)
        return ERR(rc, "%s", card.why);
    if (!(rc = card_fits(&sum, RANKS, "ranks", &s.fit)) &&
        (rc = fpga_job_caps(&card, &s.fit, RANKS, &s.caps, 5)))
        rc = ERR(rc, "%s", card.why);
    if (!rc)
        rc = row(o, "read a register", name, read_register, &s);
    if (!rc)
        rc = row(o, "write a register", name, write_register, &s);
    if (!rc)
        rc = row(o, "register a job of 4 ranks, stop it", name, register_job, &s);
    fpga_close(&card);
    return rc;
}

/* Add two parts of 2 KiB in the card's memory. */
static int run_rows(const struct options *o)
{
    struct xrt_card card;
    struct xrt_card_buffer in = {0}, out = {0};
    struct subject s = {.mm = &card};
    int rc = xrt_card_open(&card, o->card, o->xclbin, 30);
    if (!rc)
        rc = xrt_card_buffer(&card, KERNEL_REDUCE_MM, 0, PARTS * BEATS * BEAT_SIZE, &in);
    if (!rc)
        rc = xrt_card_buffer(&card, KERNEL_REDUCE_MM, 1, BEATS * BEAT_SIZE, &out);
    if (rc)
        rc = ERR(rc, "%s", card.why);
    const uint32_t fmt = beat_format_byte(mf_e5m2());
    const struct xrt_card_value args[] = {{.buffer = &in},  {.buffer = &out}, {.value = PARTS},
                                          {.value = BEATS}, {.value = BEATS}, {.value = fmt},
                                          {.value = fmt},   {.value = 0},     {.value = 1}};
    memcpy(s.args, args, sizeof args);
    if (!rc)
        rc = row(o, "run reduce_mm, 2 parts of 2 KiB", o->card, run_reduce, &s);
    xrt_card_buffer_close(&card, &in);
    xrt_card_buffer_close(&card, &out);
    xrt_card_close(&card);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct opt_parsed p;
    const int done = measure_options(&command, argc, argv, &o, &p);
    if (done >= 0)
        return done;
    if (!o.json)
        printf("%-34s %-14s %9s %9s\n", "", "card", "median us", "99 %");
    int rc = control_rows(&o, o.card);
    if (!rc)
        rc = control_rows(&o, o.socket);
    if (!rc)
        rc = run_rows(&o);
    return rc < 0;
}
