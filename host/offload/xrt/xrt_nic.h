/* xrt_nic.h : nic_core of a card in this machine: its registers by XRT, as host/control and the driver
 * want them; its frames go over its own Ethernet port. */
#ifndef XRT_NIC_H
#define XRT_NIC_H
#include "control/control_jobs.h"
#include "offload/xrt/xrt_card.h"

struct xrt_nic {
    struct xrt_card card; /* card.why: of the last call that failed, here too */
};

/* Is this a name of one: "xrt", "xrt:1", "xrt:65:00.1", each with "@10.0.0.9" behind it? */
bool xrt_nic_name_fits(const char *name);

/* Opens the card by that name; an address behind @ becomes the card's own. Returns as xrt_card_open()
 * does, or -EPROTO: what is there is no nic_core of this version. */
int xrt_nic_open(struct xrt_nic *n, const char *name, const char *xclbin, double timeout_s);
void xrt_nic_close(struct xrt_nic *n); /* legal when zeroed */

/* Where frames for it go. -ENOTSUP: it has no IP address yet. */
int xrt_nic_address(struct xrt_nic *n, uint32_t *ip, uint16_t *port);

/* Its registers; `card` is the struct xrt_nic. They fail with -EIO and card.why, without a line. */
extern const struct control_ops xrt_nic_control;

#endif
