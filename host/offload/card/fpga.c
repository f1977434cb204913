/* fpga.c : finds the backend for a card's name. */
#include "offload/card/fpga.h"
#include "base/err.h"
#include "base/inet.h"
#include <stdio.h>
#include <string.h>

static const struct fpga_ops *const backends[] = {&fpga_ops_sim, &fpga_ops_udp, &fpga_ops_eth,
                                                  &fpga_ops_xrt};

static const struct fpga_ops *backend_of(const char *where)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (!strncmp(where, backends[i]->prefix, strlen(backends[i]->prefix)))
            return backends[i];
    return NULL;
}

static const char *address_in(const char *where)
{
    const char *scheme = strstr(where, "://"), *at = strchr(where, '@');
    return scheme ? scheme + 3 : at ? at + 1 : where;
}

int fpga_check_name(const char *where)
{
    const struct fpga_ops *ops = backend_of(where);
    const bool fits = ops && ops->name_fits(where + strlen(ops->prefix));
    return fits ? 0
                : ERR(-EINVAL,
                      "'%s' is not a card: %sneed sim, sim:rtl, sim:c, udp://host:port or "
                      "eth://host:port with a port from 1 to 65535, xrt, xrt:65:00.1 or "
                      "xrt:65:00.1@10.0.0.9",
                      where, inet_hint(address_in(where)));
}

int fpga_open(struct fpga *card, const char *where, const char *xclbin, double timeout_s)
{
    const struct fpga_ops *ops = backend_of(where);
    *card = (struct fpga){.xclbin = xclbin};
    snprintf(card->name, sizeof card->name, "%s", where);
    if (!ops || !ops->name_fits(where + strlen(ops->prefix)))
        return fpga_failed(card, -EINVAL, "no kind of card has the name '%s'", where);
    TRY(ops->open(card, where + strlen(ops->prefix), timeout_s));
    card->ops = ops;
    return 0;
}

void fpga_close(struct fpga *card)
{
    if (card->ops)
        card->ops->close(card);
    card->ops = NULL;
}
