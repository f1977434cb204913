/* fpga_pcie.c : controls a card in this machine that this process owns: registers through XRT,
 * frames over Ethernet. Requests obey the rules of shared cards (control_jobs.h); this process is
 * the only client. */
#include "base/err.h"
#include "hls/card/regs.h"
#include "offload/card/fpga.h"
#include "offload/xrt/xrt_nic.h"
#include <stdio.h>
#include <stdlib.h>

/* Time limits of opening: open_s, as loading a bitstream takes seconds; hurry_s within a step
 * (timeout_s below 1). */
static const double open_s = 30, hurry_s = 3;
enum { ME = 0 }; /* index of the only client */

struct pcie {
    struct xrt_nic nic;
    struct control_jobs jobs;
};

static bool pcie_name_fits(const char *name)
{
    char whole[80];
    snprintf(whole, sizeof whole, "xrt%s", name);
    return xrt_nic_name_fits(whole);
}

static int failed(struct fpga *card, int rc)
{
    const struct pcie *p = card->own;
    return fpga_failed(card, rc, "%s", rc == -ETIME ? CONTROL_JOBS_STUCK : p->nic.card.why);
}

static void pcie_close(struct fpga *card)
{
    struct pcie *p = card->own;
    if (p->nic.card.work)
        (void)control_jobs_end(&p->jobs, ME);
    xrt_nic_close(&p->nic);
    free(p);
    card->own = NULL;
}

static int enable(struct pcie *p)
{
    TRY(control_jobs_init(&p->jobs, &xrt_nic_control, &p->nic, false));
    return xrt_nic_control.write(&p->nic, REG_CTRL, REG_CTRL_ENABLE);
}

static int pcie_open(struct fpga *card, const char *name, double timeout_s)
{
    struct pcie *p = calloc(1, sizeof *p);
    if (!p)
        return fpga_failed(card, -ENOMEM, "no memory for card %s", card->name);
    card->own = p;
    (void)name; /* lacks its prefix */
    int rc = xrt_nic_open(&p->nic, card->name, card->xclbin, timeout_s < 1 ? hurry_s : open_s);
    if (!rc)
        rc = enable(p);
    if (!rc)
        return 0;
    rc = failed(card, xrt_card_cannot_be(rc) ? -ENXIO : rc);
    xrt_nic_close(&p->nic);
    free(p);
    card->own = NULL;
    return rc;
}

static int pcie_batch(struct fpga *card, struct fpga_op *ops, size_t n, size_t *done,
                      double timeout_s)
{
    struct pcie *p = card->own;
    (void)timeout_s; /* each register has its own */
    for (*done = 0; *done < n; ++*done) {
        struct fpga_op *op = &ops[*done];
        const int rc = op->read ? control_jobs_read(&p->jobs, ME, op->at, &op->value)
                                : control_jobs_write(&p->jobs, ME, op->at, op->value);
        if (rc < 0)
            return failed(card, rc);
        if (rc)
            return 0;
    }
    return 0;
}

static int pcie_address(struct fpga *card, uint32_t *ip, uint16_t *port, double timeout_s)
{
    struct pcie *p = card->own;
    (void)timeout_s;
    const int rc = xrt_nic_address(&p->nic, ip, port);
    return rc ? failed(card, rc) : 0;
}

static int pcie_time(struct fpga *card, struct fpga_time *out, double timeout_s)
{
    (void)card;
    (void)timeout_s;
    *out = (struct fpga_time){0};
    return 0;
}

static bool pcie_alive(struct fpga *card)
{
    const struct pcie *p = card->own;
    if (p->nic.card.work)
        return true;
    (void)fpga_failed(card, -EPIPE, "a call to card %s did not return", card->name);
    return false;
}

const struct fpga_ops fpga_ops_xrt = {
    .prefix = "xrt",
    .name_fits = pcie_name_fits,
    .open = pcie_open,
    .batch = pcie_batch,
    .address = pcie_address,
    .time = pcie_time,
    .alive = pcie_alive,
    .close = pcie_close,
};
