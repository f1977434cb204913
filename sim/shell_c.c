/* shell_c.c : the shell over the card's C model, without a clock. */
#include "base/err.h"
#include "sim/card_model.h"
#include "sim/shell.h"
#include <stdlib.h>

enum { STEP_FRAMES = 1024 };

struct model_shell {
    struct card *card;
    shell_out *out;
    void *arg;
    struct control_time total;
};

static void leave(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct model_shell *s = arg;
    s->total.beats_out += (n + 63) / 64;
    s->out(s->arg, ip, port, bytes, n);
}

static void c_close(void *shell)
{
    struct model_shell *s = shell;
    if (s)
        card_close(s->card);
    free(s);
}

static int open_with(struct card *(*card)(card_out *, void *), const char *wave, shell_out *out,
                     void *arg, void **shell)
{
    if (wave)
        return ERR(-EINVAL,
                   "cannot write '%s': the C model has no clock and therefore no waves; use "
                   "--engine rtl",
                   wave);
    struct model_shell *s = calloc(1, sizeof *s);
    if (s) {
        s->out = out;
        s->arg = arg;
        s->card = card(leave, s);
    }
    if (!s || !s->card) {
        c_close(s);
        return ERR(-ENOMEM, "cannot make a card: no memory");
    }
    *shell = s;
    return 0;
}

static int c_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    return open_with(card_open, wave, out, arg, shell);
}

static int fast_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    return open_with(card_open_fast, wave, out, arg, shell);
}

static int narrow_open(const char *wave, shell_out *out, void *arg, void **shell)
{
    const int rc = fast_open(wave, out, arg, shell);
    if (rc == 0)
        card_make_narrow(((struct model_shell *)*shell)->card);
    return rc;
}

static int c_write(void *shell, uint32_t at, uint32_t value)
{
    return card_write(((struct model_shell *)shell)->card, at, value) ? 1 : 0;
}

static int c_read(void *shell, uint32_t at, uint32_t *value)
{
    return card_read(((struct model_shell *)shell)->card, at, value) ? 1 : 0;
}

static void deal(struct model_shell *s, struct frame_queue *in)
{
    const struct queued_frame *f = frame_queue_first(in);
    s->total.beats_in += (f->n + 63) / 64;
    card_frame(s->card, f->ip, f->port, in->bytes + f->at, f->n);
    frame_queue_drop(in);
}

static struct shell_run c_run(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    struct model_shell *s = shell;
    const struct control_time before = s->total;
    (void)max_clocks;
    while (frame_queue_first(in))
        deal(s, in);
    return (struct shell_run){0, s->total.beats_in - before.beats_in,
                              s->total.beats_out - before.beats_out, 1, 0};
}

static int c_step(void *shell, struct frame_queue *in, uint64_t max_clocks)
{
    (void)max_clocks;
    for (int i = 0; i < STEP_FRAMES && frame_queue_first(in); i++)
        deal(shell, in);
    return !frame_queue_first(in);
}

static struct control_time c_time(const void *shell)
{
    return ((const struct model_shell *)shell)->total;
}

static uint64_t c_ticks(const void *shell)
{
    (void)shell;
    return 0;
}

static void c_stall(void *shell, unsigned of_256)
{
    (void)shell, (void)of_256;
}

#define SHELL(opens)                                                                        \
    {                                                                                       \
        .control = {.write = c_write, .read = c_read, .time = c_time}, .open = opens,       \
        .close = c_close, .run = c_run, .step = c_step, .ticks = c_ticks, .stall = c_stall, \
    }
const struct shell_ops shell_c = SHELL(c_open), shell_fast = SHELL(fast_open),
                       shell_narrow = SHELL(narrow_open);
