/* card_cast.c : runs the kernels expmax, quant and unquant. */
#include "offload/xrt/card_cast.h"
#include "base/clock.h"
#include "hls/core/beat.h"
#include "offload/xrt/kernel_list.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Values per run: with MAX_RUN (4 MiB of fp32) starting a run costs little. If card memory is
 * short, fewer, but at least MIN_RUN. */
enum { MAX_RUN = 1 << 20, MIN_RUN = 1 << 16 };

enum role { X, CODES, EXPONENT, ABSMAX, STATUS };
static const uint32_t no_status = 0xffffffffu; /* not written by the kernel */

struct slot {
    enum role role;
    int arg; /* of the kernel (hls/card/kernels.def) */
};
struct shape {
    int n_args, n_slots;
    struct slot slots[CARD_CAST_BUFFERS]; /* the last is the status */
};

static const struct shape *shape_of(enum kernel k)
{
    static const struct shape expmax = {6, 4, {{X, 0}, {EXPONENT, 3}, {ABSMAX, 4}, {STATUS, 5}}},
                              quant = {7, 3, {{X, 0}, {CODES, 1}, {STATUS, 6}}},
                              unquant = {6, 3, {{CODES, 0}, {X, 1}, {STATUS, 5}}};
    return k == KERNEL_EXPMAX ? &expmax : k == KERNEL_QUANT ? &quant : &unquant;
}

static int say(struct card_cast *c, int rc)
{
    if (rc)
        snprintf(c->why, sizeof c->why, "%s", c->card.why);
    return rc;
}

int card_cast_open(struct card_cast *c, const char *card, const char *xclbin, struct mf_fmt fmt,
                   double timeout_s)
{
    *c = (struct card_cast){.fmt = beat_format_byte(fmt)};
    c->width = beat_format(c->fmt).width;
    return say(c, xrt_card_open(&c->card, card, xclbin, timeout_s));
}

static void close_buffers(struct card_cast *c)
{
    for (int i = 0; i < CARD_CAST_BUFFERS; i++)
        xrt_card_buffer_close(&c->card, &c->buffers[i]);
    c->x = NULL;
    c->codes = NULL;
}

void card_cast_close(struct card_cast *c)
{
    close_buffers(c);
    xrt_card_close(&c->card);
}

static size_t bytes_of(const struct card_cast *c, enum role role, size_t n)
{
    const size_t bits = role == X ? 32 * n : role == CODES ? c->width * n : 32;
    return (bits + 8 * BEAT_SIZE - 1) / (8 * BEAT_SIZE) * BEAT_SIZE;
}

static int make_buffers(struct card_cast *c, size_t n)
{
    const struct shape *s = shape_of(c->kernel);
    for (int i = 0; i < s->n_slots; i++) {
        const enum role role = s->slots[i].role;
        struct xrt_card_buffer *b = &c->buffers[i];
        const int rc =
            xrt_card_buffer(&c->card, c->kernel, s->slots[i].arg, bytes_of(c, role, n), b);
        if (rc) {
            close_buffers(c);
            return rc;
        }
        if (role == X)
            c->x = b->map;
        if (role == CODES)
            c->codes = b->map;
    }
    c->most = n;
    return 0;
}

int card_cast_begin(struct card_cast *c, enum kernel k)
{
    size_t n = MAX_RUN;
    close_buffers(c);
    c->kernel = k;
    int rc = make_buffers(c, n);
    for (; rc == -ENOMEM && n > MIN_RUN; rc = make_buffers(c, n))
        n /= 2;
    return say(c, rc);
}

static struct xrt_card_buffer *buffer_of(struct card_cast *c, enum role role)
{
    const struct shape *s = shape_of(c->kernel);
    int i = 0;
    while (s->slots[i].role != role)
        i++;
    return &c->buffers[i];
}

static int check_status(struct card_cast *c, double until)
{
    struct xrt_card_buffer *b = buffer_of(c, STATUS);
    uint32_t status;
    const int rc = xrt_card_sync(&c->card, b, false, sizeof status, until - clock_s());
    memcpy(&status, b->map, sizeof status);
    if (rc || !status)
        return say(c, rc);
    snprintf(c->why, sizeof c->why, "card %s: %s has %s", c->card.name,
             kernel_about(c->kernel)->name,
             status == no_status ? "written no status"
                                 : "refused the work: does it belong to another build?");
    return -EIO;
}

/* Zeroes the last beat after element n. Kernels ignore these bytes. */
static void clear_tail(struct card_cast *c, enum role role, size_t n)
{
    const size_t held = ((role == X ? 32 : c->width) * n + 7) / 8;
    memset((uint8_t *)buffer_of(c, role)->map + held, 0, bytes_of(c, role, n) - held);
}

/* values[n_args]: arguments other than buffers. from, to: roles of the buffers copied to the card
 * before the run, and back after it. */
static int run(struct card_cast *c, size_t n, const uint32_t *values, enum role from, enum role to,
               double until)
{
    const struct shape *s = shape_of(c->kernel);
    struct xrt_card_value args[KERNEL_MAX_ARGS] = {{NULL, 0}};
    struct xrt_card_buffer *status = buffer_of(c, STATUS);
    for (int i = 0; i < s->n_args; i++)
        args[i].value = values[i];
    for (int i = 0; i < s->n_slots; i++)
        args[s->slots[i].arg].buffer = &c->buffers[i];
    clear_tail(c, from, n);
    memcpy(status->map, &no_status, sizeof no_status);
    int rc = xrt_card_sync(&c->card, status, true, sizeof no_status, until - clock_s());
    if (!rc)
        rc = xrt_card_sync(&c->card, buffer_of(c, from), true, bytes_of(c, from, n),
                           until - clock_s());
    if (!rc)
        rc = xrt_card_run(&c->card, c->kernel, args, s->n_args, until - clock_s());
    if (rc)
        return say(c, rc);
    rc = check_status(c, until);
    return rc ? rc
              : say(c, xrt_card_sync(&c->card, buffer_of(c, to), false, bytes_of(c, to, n),
                                     until - clock_s()));
}

int card_cast_absmax(struct card_cast *c, size_t n, uint32_t *largest, double timeout_s)
{
    const double until = clock_s() + timeout_s;
    const uint32_t values[] = {0, (uint32_t)n, 1, 0, 0, 0};
    const int rc = run(c, n, values, X, ABSMAX, until);
    if (!rc)
        memcpy(largest, buffer_of(c, ABSMAX)->map, sizeof *largest);
    return rc;
}

int card_cast_encode(struct card_cast *c, size_t n, int shift, bool saturate, double timeout_s)
{
    const uint32_t values[] = {0, 0, (uint32_t)n, c->fmt, (uint32_t)shift, saturate, 0};
    return run(c, n, values, X, CODES, clock_s() + timeout_s);
}

int card_cast_decode(struct card_cast *c, size_t n, int shift, double timeout_s)
{
    const uint32_t values[] = {0, 0, (uint32_t)n, c->fmt, (uint32_t)shift, 0};
    return run(c, n, values, CODES, X, clock_s() + timeout_s);
}
