/* card_memory.h : provides card memory: the banks of hls/card/kernels.def, at the card's addresses.
 * Only written pages use host memory. */
#ifndef CARD_MEMORY_H
#define CARD_MEMORY_H
#include <stdint.h>

enum card_memory_bank {
#define BANK(NAME, base, kib, what) BANK_##NAME,
#include "hls/card/kernels.def"
    N_BANKS
};

struct card_memory {
    uint8_t *bytes[N_BANKS];
};

/* Makes memory that reads as 0. Returns 0, or -ENOMEM after reporting. */
int card_memory_open(struct card_memory *memory);
void card_memory_close(struct card_memory *memory); /* legal when zeroed */

/* Returns the host address of a range of card memory, or NULL if not within one bank. The
 * result is aligned like `address`, to 4096 at most. */
void *card_memory_at(const struct card_memory *memory, uint64_t address, uint64_t bytes);

#endif
