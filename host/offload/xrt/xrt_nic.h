/* xrt_nic.h : accesses the registers of nic_core on a card in this machine through XRT. Frames use
 * the card's own Ethernet port. */
#ifndef XRT_NIC_H
#define XRT_NIC_H
#include "control/control_jobs.h"
#include "offload/xrt/xrt_card.h"

struct xrt_nic {
    struct xrt_card card;
};

/* True for "xrt", "xrt:1", "xrt:65:00.1", each perhaps followed by "@10.0.0.9". */
bool xrt_nic_name_fits(const char *name);

/* Opens a card; an address after @ becomes its own. Returns as xrt_card_open(), and -EPROTO without
 * a nic_core of this version. */
int xrt_nic_open(struct xrt_nic *n, const char *name, const char *xclbin, double timeout_s);
void xrt_nic_close(struct xrt_nic *n); /* legal when zeroed */

/* Returns the address for frames, or -ENOTSUP if the card has no IP address yet. */
int xrt_nic_address(struct xrt_nic *n, uint32_t *ip, uint16_t *port);

/* Register access for host/control; `card` is the struct xrt_nic. Failures are -EIO with the reason
 * in card.why, and print nothing. */
extern const struct control_ops xrt_nic_control;

#endif
