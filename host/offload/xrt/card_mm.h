/* card_mm.h : packed codes added by a card in this machine, in its own memory (the kernel
 * reduce_mm): parts there, one run, their rounded sums back. No files, no ranks.
 *
 *     card_mm_open -> card_mm_add, as often as one likes -> card_mm_close
 *
 * All return 0 or a negative errno, and then one line in why; nothing prints. */
#ifndef CARD_MM_H
#define CARD_MM_H
#include "offload/window/frame.h"
#include "offload/xrt/xrt_card.h"

struct card_mm {
    struct xrt_card card;
    struct card_fit fit;
    uint32_t out_shift, saturate;
    int n_parts;
    size_t run_codes; /* of a part, that one run takes: what the card has memory for */
    /* all parts one behind the other, each in whole beats; the sums */
    struct xrt_card_buffer in, out;
    char why[XRT_WHY_BYTES];
    uint64_t runs, in_bytes, out_bytes; /* what was moved and added so far */
};

/* card, xclbin: as xrt_card_open() has them. most_codes: of a part, that a run should take; 0: as
 * many as make it worth its while; fewer where the card's memory is short. -EINVAL: also a sum that no
 * card adds; -ENOMEM: not even one burst of each part finds room. After a failure nothing is open, and why still says it. */
int card_mm_open(struct card_mm *mm, const char *card, const char *xclbin,
                 const struct vec_sum *sum, int n_parts, size_t most_codes, double timeout_s);
void card_mm_close(struct card_mm *mm); /* legal when zeroed */

/* sums = parts[0] + ... + parts[n_parts - 1], in as many runs as it takes, all within timeout_s.
 *   parts  [n_parts] of n packed codes       sums  [packed, n] out, not to be read after a failure
 * -EIO, -ETIMEDOUT: the card is good for nothing any more. */
int card_mm_add(struct card_mm *mm, const uint8_t *const *parts, size_t n, uint8_t *sums,
                double timeout_s);

#endif
