/* card_mm.h : adds packed codes in the memory of a card in this machine (kernel reduce_mm).
 *
 *     card_mm_open -> card_mm_add, any number of times -> card_mm_close
 *
 * All functions return 0, or a negative errno with one line in mm->why, and print nothing. */
#ifndef CARD_MM_H
#define CARD_MM_H
#include "offload/window/frame.h"
#include "offload/xrt/xrt_card.h"

struct card_mm {
    struct xrt_card card;
    struct card_fit fit;
    uint32_t out_shift, saturate;
    int n_parts;
    size_t run_codes; /* codes of a part per run, limited by card memory */
    /* in: all parts in turn, each in whole beats; out: sums */
    struct xrt_card_buffer in, out;
    char why[XRT_WHY_BYTES];
    uint64_t runs, in_bytes, out_bytes; /* so far */
};

/* card, xclbin: as for xrt_card_open(). most_codes: codes of a part that one run should add, fewer
 * if card memory is short; 0: enough to amortise a run. Also returns -EINVAL for a sum that no card
 * adds, and -ENOMEM without room for one burst of each part. After a failure nothing is open, and
 * why remains valid. */
int card_mm_open(struct card_mm *mm, const char *card, const char *xclbin,
                 const struct vec_sum *sum, int n_parts, size_t most_codes, double timeout_s);
void card_mm_close(struct card_mm *mm); /* legal when zeroed */

/* Computes sums = parts[0] + ... + parts[n_parts - 1] within timeout_s, in as many runs as
 * necessary.
 *   parts  [n_parts] pointers to n packed codes
 *   sums   [packed, n] out, undefined after a failure
 * After -EIO or -ETIMEDOUT the card is unusable. */
int card_mm_add(struct card_mm *mm, const uint8_t *const *parts, size_t n, uint8_t *sums,
                double timeout_s);

#endif
