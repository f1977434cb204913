/* xrt_nic.c : accesses the registers of nic_core through XRT. */
#include "offload/xrt/xrt_nic.h"
#include "base/err.h"
#include "base/inet.h"
#include "hls/card/regs.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const double register_s = 2;
enum { USUAL_PORT = 28259 }; /* "nc" in ASCII; set on a card without a port */

/* *ip is 0 without an '@'. */
static bool parse(const char *name, char device[64], uint32_t *ip)
{
    const char *at = strchr(name, '@');
    const size_t n = at ? (size_t)(at - name) : strlen(name);
    struct in_addr address = {0};
    if (n >= 64 || (at && inet_pton(AF_INET, at + 1, &address) != 1))
        return false;
    memcpy(device, name, n);
    device[n] = 0;
    *ip = ntohl(address.s_addr);
    return xrt_card_name_fits(device) && (!at || *ip);
}

bool xrt_nic_name_fits(const char *name)
{
    char device[64];
    uint32_t ip;
    return parse(name, device, &ip);
}

/* True for registers of nic_core and the shell. On other addresses XRT fails as if the card were
 * lost, but a client's invalid request must not abandon the card. */
static bool is_register(uint32_t at)
{
    switch (at) {
#define REG(NAME, at, access, what) case at:
#include "hls/card/regs.def"
#define SHELL_REG(NAME, at, access, what) case at:
#include "hls/card/shell.def"
        return true;
    default:
        return false;
    }
}

static int nic_write(void *card, uint32_t at, uint32_t value)
{
    struct xrt_nic *n = card;
    if (!is_register(at))
        return 1;
    return xrt_card_write(&n->card, KERNEL_NIC_CORE, at, value, register_s) ? -EIO : 0;
}

static int nic_read(void *card, uint32_t at, uint32_t *value)
{
    struct xrt_nic *n = card;
    if (!is_register(at))
        return 1;
    if (xrt_card_read(&n->card, KERNEL_NIC_CORE, at, value, register_s))
        return -EIO;
    /* the shell addresses ranks through socket numbers, so it cannot send to groups */
    if (at == REG_CAP_FORMATS)
        *value &= ~(uint32_t)REG_CAP_FORMATS_GROUP;
    return 0;
}

static struct control_time nic_time(const void *card)
{
    (void)card;
    return (struct control_time){0};
}

const struct control_ops xrt_nic_control = {
    .write = nic_write,
    .read = nic_read,
    .time = nic_time,
};

static int check(struct xrt_nic *n)
{
    uint32_t id, version;
    TRY(nic_read(n, REG_ID, &id));
    TRY(nic_read(n, REG_VERSION, &version));
    if (id == REG_ID_VALUE && version == REG_VERSION_VALUE)
        return 0;
    snprintf(n->card.why, sizeof n->card.why,
             "card %s has no nic_core of this version: id %08x, version %u", n->card.name, id,
             version);
    return -EPROTO;
}

static int set_address(struct xrt_nic *n, uint32_t ip)
{
    uint32_t has, port;
    TRY(nic_write(n, SHELL_IP, ip));
    TRY(nic_read(n, SHELL_IP, &has));
    if (has != ip) {
        char text[INET_TEXT];
        snprintf(n->card.why, sizeof n->card.why,
                 "card %s keeps its own address, %s: leave out the part after @", n->card.name,
                 inet_text(has, 0, text));
        return -EINVAL;
    }
    TRY(nic_read(n, SHELL_PORT, &port));
    return port ? 0 : nic_write(n, SHELL_PORT, USUAL_PORT);
}

int xrt_nic_open(struct xrt_nic *n, const char *name, const char *xclbin, double timeout_s)
{
    char device[64];
    uint32_t ip;
    *n = (struct xrt_nic){0};
    if (!parse(name, device, &ip)) {
        const char *at = strchr(name, '@');
        snprintf(n->card.why, sizeof n->card.why,
                 "'%s' is not a card: %sneed xrt, xrt:1 or xrt:65:00.1, optionally followed by "
                 "@10.0.0.9, its own address",
                 name, inet_hint(at ? at + 1 : ""));
        return -EINVAL;
    }
    int rc = xrt_card_open(&n->card, device, xclbin, timeout_s);
    if (!rc)
        rc = check(n);
    if (!rc && ip)
        rc = set_address(n, ip);
    if (rc)
        xrt_nic_close(n);
    return rc;
}

void xrt_nic_close(struct xrt_nic *n)
{
    xrt_card_close(&n->card);
}

int xrt_nic_address(struct xrt_nic *n, uint32_t *ip, uint16_t *port)
{
    uint32_t value;
    TRY(nic_read(n, SHELL_IP, ip));
    TRY(nic_read(n, SHELL_PORT, &value));
    *port = (uint16_t)value;
    if (*ip && *port)
        return 0;
    snprintf(n->card.why, sizeof n->card.why,
             "card %s has no IP address yet: append one after @, such as %.16s@10.0.0.9",
             n->card.name, n->card.name);
    return -ENOTSUP;
}
