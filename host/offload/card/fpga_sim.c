/* fpga_sim.c : a simulated card that this process starts, as a card of fpga.h: one that listens on
 * this machine alone, or does not. */
#include "offload/card/fpga_sim.h"
#include "base/err.h"
#include "offload/card/fpga_link_ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { START_S = 10 }; /* until the Verilated core is there, on a busy machine */

static bool sim_name_fits(const char *name)
{
    return !name[0] || !strcmp(name, ":rtl") || !strcmp(name, ":c");
}

static int start(struct fpga *card, const char *const *words, bool silent, double timeout_s)
{
    struct fpga_process *sim = calloc(1, sizeof *sim);
    if (!sim)
        return fpga_failed(card, -ENOMEM, "no memory for card %s", card->name);
    int rc = fpga_process_start(sim, words, silent, timeout_s, card->why);
    if (rc) {
        free(sim);
        return rc == -ENOENT ? -ENXIO : rc;
    }
    card->own = sim;
    return 0;
}

static int sim_open(struct fpga *card, const char *name, double timeout_s)
{
    const char *model = name[0] == ':' ? name + 1 : "rtl";
    const char *const words[] = {"--model", model, "--listen", "127.0.0.1:0", NULL};
    return start(card, words, true, timeout_s > START_S ? timeout_s : START_S);
}

static void sim_close(struct fpga *card)
{
    struct fpga_process *sim = card->own;
    fpga_process_close(sim);
    free(sim);
}

/* A card that has closed its end has ended: that is the better reason. */
static int reason(struct fpga *card, int rc)
{
    return rc == -EPIPE ? fpga_process_died(card->own, card->why) : rc;
}

static int sim_batch(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done,
                     double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_batch(card, &sim->link, ops, n, done, timeout_s));
}

static int sim_address(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_address(card, &sim->link, ip, port, timeout_s));
}

static int sim_time(struct fpga *card, struct fpga_time *out, double timeout_s)
{
    struct fpga_process *sim = card->own;
    return reason(card, fpga_link_time(card, &sim->link, out, timeout_s));
}

static bool sim_alive(struct fpga *card)
{
    const struct fpga_process *sim = card->own;
    return fpga_link_whole(card, &sim->link);
}

const struct fpga_ops fpga_ops_sim = {
    .prefix = "sim",
    .name_fits = sim_name_fits,
    .open = sim_open,
    .batch = sim_batch,
    .address = sim_address,
    .time = sim_time,
    .alive = sim_alive,
    .close = sim_close,
};

int fpga_sim_start(struct fpga *card, const char *model, const char *wave)
{
    const char *const words[] = {"--model", model, wave ? "--wave" : NULL, wave, NULL};
    *card = (struct fpga){0};
    snprintf(card->name, sizeof card->name, "sim:%s", model);
    TRY(start(card, words, false, INFINITY));
    card->ops = &fpga_ops_sim;
    return 0;
}

struct fpga_process *fpga_sim_process(const struct fpga *card)
{
    return card->own;
}
