/* card_mm.c : runs the kernel reduce_mm. */
#include "offload/xrt/card_mm.h"
#include "base/clock.h"
#include "hls/card/packet.h"
#include "hls/core/reduce.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BURST = REDUCE_ROWS /* beats */ };
/* With so many bytes a run's overhead, tens of microseconds, is negligible. */
enum { RUN_BYTES = 16 << 20, PART_BYTES = 1 << 20 };
static const uint32_t memory_said_error = 1u << 31;

static size_t codes_of(const struct card_mm *mm, size_t beats)
{
    return beats * BEAT_SIZE * 8 / mm->fit.in_width;
}

static size_t beats_of(const struct card_mm *mm, size_t n)
{
    return (n * mm->fit.in_width + 8 * BEAT_SIZE - 1) / (8 * BEAT_SIZE);
}

static size_t out_beats_of(const struct card_mm *mm, size_t beats)
{
    return (beats * mm->fit.out_width + mm->fit.in_width - 1) / mm->fit.in_width;
}

static int make_buffers(struct card_mm *mm, size_t beats)
{
    const size_t in = (size_t)mm->n_parts * beats * BEAT_SIZE,
                 out = out_beats_of(mm, beats) * BEAT_SIZE;
    int rc = xrt_card_buffer(&mm->card, KERNEL_REDUCE_MM, 0, in, &mm->in);
    if (rc)
        return rc;
    rc = xrt_card_buffer(&mm->card, KERNEL_REDUCE_MM, 1, out, &mm->out);
    if (rc)
        xrt_card_buffer_close(&mm->card, &mm->in);
    else
        mm->run_codes = codes_of(mm, beats);
    return rc;
}

static size_t usual_beats(int n_parts)
{
    const size_t bytes = RUN_BYTES / (size_t)n_parts;
    return (bytes < PART_BYTES ? bytes : PART_BYTES) / BEAT_SIZE;
}

static int find_room(struct card_mm *mm, size_t most_codes)
{
    size_t beats = most_codes ? beats_of(mm, most_codes) : usual_beats(mm->n_parts);
    beats = (beats + BURST - 1) / BURST * BURST;
    int rc = make_buffers(mm, beats);
    while (rc == -ENOMEM && beats > BURST) {
        beats = (beats / 2 + BURST - 1) / BURST * BURST;
        rc = make_buffers(mm, beats);
    }
    return rc;
}

static int say(struct card_mm *mm, int rc)
{
    snprintf(mm->why, sizeof mm->why, "%s", mm->card.why);
    return rc;
}

int card_mm_open(struct card_mm *mm, const char *card, const char *xclbin,
                 const struct vec_sum *sum, int n_parts, size_t most_codes, double timeout_s)
{
    *mm = (struct card_mm){.n_parts = n_parts};
    int rc = card_fit_of(sum, n_parts, "parts", &mm->fit, mm->why, sizeof mm->why);
    if (rc)
        return rc;
    mm->out_shift = (uint32_t)sum->out_shift;
    mm->saturate = sum->overflow == MF_SATURATE;
    rc = say(mm, xrt_card_open(&mm->card, card, xclbin, timeout_s));
    if (rc)
        return rc;
    rc = say(mm, find_room(mm, most_codes));
    if (rc)
        xrt_card_close(&mm->card);
    return rc;
}

void card_mm_close(struct card_mm *mm)
{
    if (mm->card.work) {
        xrt_card_buffer_close(&mm->card, &mm->in);
        xrt_card_buffer_close(&mm->card, &mm->out);
    }
    xrt_card_close(&mm->card);
}

/* Pads parts to whole beats with zero codes. Returns the bytes of all. */
static size_t lay_parts(const struct card_mm *mm, const uint8_t *const *parts, size_t skip,
                        size_t n)
{
    const size_t held = (n * mm->fit.in_width + 7) / 8, whole = beats_of(mm, n) * BEAT_SIZE;
    uint8_t *to = mm->in.map;
    for (int k = 0; k < mm->n_parts; k++, to += whole) {
        memcpy(to, parts[k] + skip, held);
        memset(to + held, 0, whole - held);
        if (n * mm->fit.in_width % 8)
            to[held - 1] &= 15;
    }
    return (size_t)mm->n_parts * whole;
}

static int check_status(struct card_mm *mm, double timeout_s)
{
    uint32_t status;
    const int rc = xrt_card_read(&mm->card, KERNEL_REDUCE_MM, KERNEL_STATUS, &status, timeout_s);
    if (rc)
        return say(mm, rc);
    if (!(status & (REDUCE_REFUSED | memory_said_error)))
        return 0;
    snprintf(mm->why, sizeof mm->why, "card %s %s (status %08x)", mm->card.name,
             status & REDUCE_REFUSED ? "has refused a sum: does it belong to another build?"
                                     : "could not read or write its memory",
             (unsigned)status);
    return -EIO;
}

/* n: at most run_codes. skip: bytes of each part. */
static int run_once(struct card_mm *mm, const uint8_t *const *parts, size_t skip, size_t n,
                    double until)
{
    const uint32_t beats = (uint32_t)beats_of(mm, n);
    const struct xrt_card_value args[] = {{&mm->in, 0},
                                          {&mm->out, 0},
                                          {NULL, (uint32_t)mm->n_parts},
                                          {NULL, beats},
                                          {NULL, beats},
                                          {NULL, mm->fit.in_fmt},
                                          {NULL, mm->fit.out_fmt},
                                          {NULL, mm->out_shift},
                                          {NULL, mm->saturate}};
    const size_t in = lay_parts(mm, parts, skip, n), out = out_beats_of(mm, beats) * BEAT_SIZE;
    int rc = xrt_card_sync(&mm->card, &mm->in, true, in, until - clock_s());
    if (!rc)
        rc = xrt_card_run(&mm->card, KERNEL_REDUCE_MM, args, sizeof args / sizeof *args,
                          until - clock_s());
    if (rc)
        return say(mm, rc);
    rc = check_status(mm, until - clock_s());
    if (rc)
        return rc;
    rc = say(mm, xrt_card_sync(&mm->card, &mm->out, false, out, until - clock_s()));
    if (rc)
        return rc;
    mm->runs++;
    mm->in_bytes += in;
    mm->out_bytes += out;
    return 0;
}

int card_mm_add(struct card_mm *mm, const uint8_t *const *parts, size_t n, uint8_t *sums,
                double timeout_s)
{
    const double until = clock_s() + timeout_s;
    for (size_t at = 0, now; at < n; at += now) {
        now = n - at < mm->run_codes ? n - at : mm->run_codes;
        const int rc = run_once(mm, parts, at * mm->fit.in_width / 8, now, until);
        if (rc)
            return rc;
        memcpy(sums + at * mm->fit.out_width / 8, mm->out.map, (now * mm->fit.out_width + 7) / 8);
    }
    return 0;
}
