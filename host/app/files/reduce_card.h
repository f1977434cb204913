/* reduce_card.h : adds files of codes on cards (simulated or of this machine) or the HLS core. */
#ifndef REDUCE_CARD_H
#define REDUCE_CARD_H
#include "app/files/codes_in.h"
#include "base/file.h"
#include "hls/card/packet.h"

/* Adds files on a simulated card, as a job with a rank for each. in [n_in]: open and unread. out:
 * the caller commits it. engine: "rtl" (Verilated) or "c". wave: FST file of all signals, or NULL.
 * Prints clocks, beats and the time at CARD_MHZ on stderr. Fails if a card cannot compute this sum,
 * or without a simulator. */
int reduce_sim(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *engine, const char *wave);

/* Adds files on the HLS core compiled by gcc, without packets or clock. */
int reduce_hls(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out);

/* Adds files in the memory of a card of this machine (offload/xrt/card_mm.h). card: "xrt", "xrt:1"
 * or "xrt:BDF". xclbin: the container; NULL: that of NARROWCAST_XCLBIN. Prints runs, bytes and
 * speed on stderr. */
int reduce_xrt(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *card, const char *xclbin);

/* ---- for reduce_*.c ---- */

/* packed codes of all files, and their sums */
struct reduce_blocks {
    const struct vec_sum *sum;
    int n_in;
    size_t n_blocks;               /* of CODES_IN_BLOCK codes */
    uint8_t *parts[PKT_MAX_RANKS]; /* [n_blocks] of each file */
    uint8_t *sums;                 /* [n_blocks] */
};

/* Allocates parts and sums for the other members. Close after an error, too. */
int reduce_blocks_open(struct reduce_blocks *b);
void reduce_blocks_close(struct reduce_blocks *b);

/* Allocates as many sums once more, for free(). */
uint8_t *reduce_blocks_sums(const struct reduce_blocks *b);

#endif
