/* bank.h : provides card memory: the banks of hls/card/kernels.def, at the card's addresses. Only
 * written pages use host memory. */
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

/* Makes memory that reads as 0. Returns 0, or -ENOMEM after reporting. */
int bank_open(struct bank *bank);
void bank_close(struct bank *bank); /* legal when zeroed */

/* Returns the host address of a range of card memory, or NULL if not within one bank. The
 * result is aligned like `address`, to 4096 at most. */
void *bank_at(const struct bank *bank, uint64_t address, uint64_t bytes);

#endif
