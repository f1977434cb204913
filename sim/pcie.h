/* pcie.h : Provides a card on the bus of its machine. The bus has the kernels
 * of hls/card/kernels.def and card memory, accessed with BUS_ and MEM_
 * messages of hls/card/simlink.h. */
#ifndef PCIE_H
#define PCIE_H
#include "control/control.h"
#include "sim/kernel_port.h"

struct pcie {
    struct control *control; /* control of nic_core; owned by the caller */
    int peer;                /* peer that accesses nic_core's registers */
    bool shown;              /* a message has come, so the kernels below exist */
    const struct kernel_ops *mm;
    const struct kernel_ops *ops[N_KERNELS]; /* NULL for nic_core */
    void *kernel[N_KERNELS];
    struct bank bank;
    uint32_t ip, port; /* registers of hls/card/shell.def */
    bool listens;
};

/* mm: implementation of reduce_mm. ip, port: address for frames of the card.
 * port is 0 if it accepts no frames. */
void pcie_init(struct pcie *p, struct control *control, int peer, const struct kernel_ops *mm,
               uint32_t ip, uint16_t port);
void pcie_fini(struct pcie *p); /* legal when zeroed */

/* The function for control_attach() (control.h). pcie is a struct pcie. pcie_init() attaches it. */
int pcie_obey(void *pcie, struct simlink m, const uint8_t *body, struct simlink *answer,
              uint8_t *to);

/* Continues the kernels' runs for some milliseconds. Returns true while there is more to do. */
bool pcie_step(struct pcie *p);

#endif
