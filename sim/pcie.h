/* pcie.h : what a card is to the machine it is in: the kernels of hls/card/kernels.def on its control bus
 * and its memory, by the BUS_ and MEM_ messages of hls/card/simlink.h. */
#ifndef PCIE_H
#define PCIE_H
#include "control/control.h"
#include "sim/kernel_port.h"

struct pcie {
    struct control *control; /* of nic_core; the caller's */
    int peer;                /* on whose behalf its registers are accessed */
    bool shown;              /* the kernels below are there: somebody has asked for them */
    const struct kernel_ops *mm;
    const struct kernel_ops *ops[N_KERNELS]; /* NULL: nic_core */
    void *kernel[N_KERNELS];
    struct bank bank;
    uint32_t ip, port; /* as hls/card/shell.def has them */
    bool listens;
};

/* mm: reduce_mm. ip, port: where frames come to; port 0: none do. */
void pcie_init(struct pcie *p, struct control *control, int peer, const struct kernel_ops *mm,
               uint32_t ip, uint16_t port);
void pcie_fini(struct pcie *p); /* legal when zeroed */

/* A control_bus (control.h) for a struct pcie. */
int pcie_obey(void *pcie, struct simlink m, const uint8_t *body, struct simlink *answer,
              uint8_t *to);

/* Goes on with what runs, for some milliseconds. True while there is more to do. */
bool pcie_step(struct pcie *p);

#endif
