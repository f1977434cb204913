/* pcie.h : Provides a card on the bus of its machine: the kernels of hls/card/kernels.def and card
 * memory, by BUS_ and MEM_ messages of hls/card/simlink.h. */
#ifndef PCIE_H
#define PCIE_H
#include "control/control.h"
#include "sim/kernel_port.h"

struct pcie {
    struct control *control; /* of nic_core; the caller's */
    int peer;                /* accesses nic_core's registers */
    bool shown;              /* the kernels below exist: there was a message */
    const struct kernel_ops *mm;
    const struct kernel_ops *ops[N_KERNELS]; /* NULL: nic_core */
    void *kernel[N_KERNELS];
    struct bank bank;
    uint32_t ip, port; /* of hls/card/shell.def */
    bool listens;
};

/* mm: implementation of reduce_mm. ip, port: where the card takes frames; port 0: it takes none. */
void pcie_init(struct pcie *p, struct control *control, int peer, const struct kernel_ops *mm,
               uint32_t ip, uint16_t port);
void pcie_fini(struct pcie *p); /* legal when zeroed */

/* A control_bus (control.h) for a struct pcie. pcie_init() attaches it. */
int pcie_obey(void *pcie, struct simlink m, const uint8_t *body, struct simlink *answer,
              uint8_t *to);

/* Steps the runs for some milliseconds. True while there is more to do. */
bool pcie_step(struct pcie *p);

#endif
