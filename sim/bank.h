/* bank.h : card memory: the banks of hls/card/kernels.def, by the addresses that the card has for them.
 * It takes none of the host's until something is written there. */
#ifndef BANK_H
#define BANK_H
#include <stdint.h>

enum bank_name {
#define BANK(NAME, base, kib, what) BANK_##NAME,
#include "hls/card/kernels.def"
    N_BANKS
};

struct bank {
    uint8_t *bytes[N_BANKS];
};

/* All of it reads 0. Returns 0, or -ENOMEM with a line. */
int bank_open(struct bank *bank);
void bank_close(struct bank *bank); /* legal when zeroed */

/* Where these bytes of card memory lie, aligned as their address is (to 4096 at most); NULL: not all
 * of them are in one bank. */
void *bank_at(const struct bank *bank, uint64_t address, uint64_t bytes);

#endif
