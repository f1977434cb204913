/* pcie.h : provides a card on its machine's bus: the kernels of hls/card/kernels.def and card
 * memory, accessed with BUS_ and MEM_ messages of hls/card/simlink.h. */
#ifndef PCIE_H
#define PCIE_H
#include "control/control.h"
#include "sim/kernel_port.h"

struct pcie {
    struct control *control; /* of nic_core; the caller's */
    int peer;                /* peer that accesses nic_core's registers */
    bool shown;              /* `ops`, `kernel` and `memory` are open */
    const struct kernel_ops *mm;
    const struct kernel_ops *ops[N_KERNELS]; /* NULL for nic_core */
    void *kernel[N_KERNELS];
    struct card_memory memory;
    uint32_t ip, port; /* of hls/card/shell.def */
    bool listens;
};

/* Lets the control execute BUS_ and MEM_ messages of this peer. mm: implements the other kernels.
 * ip, port: where the card accepts frames; port 0: nowhere. */
void pcie_init(struct pcie *p, struct control *control, int peer, const struct kernel_ops *mm,
               uint32_t ip, uint16_t port);
void pcie_fini(struct pcie *p); /* legal when zeroed */

/* Runs the kernels for some milliseconds. Returns true if there is more to do. */
bool pcie_step(struct pcie *p);

#endif
