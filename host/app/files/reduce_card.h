/* reduce_card.h : adds files of codes on cards (simulated or of this machine) or the HLS core. */
#ifndef REDUCE_CARD_H
#define REDUCE_CARD_H
#include "app/files/codes_in.h"
#include "base/file.h"

/* Adds files on a simulated card, as a job with a rank for each. in [n_in]: open and unread. out:
 * the caller commits it. engine: "rtl" (Verilated) or "c". wave: FST file of all signals, or NULL.
 * Prints clocks, beats and the time at CARD_MHZ on stderr. Fails if a card cannot compute this sum,
 * or without a simulator. */
int reduce_card(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
                const char *engine, const char *wave);

/* Adds files on the HLS core compiled by gcc, without packets or clock. */
int reduce_hls(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out);

/* Adds files in the memory of a card of this machine (offload/xrt/card_mm.h). card: "xrt", "xrt:1"
 * or "xrt:BDF". xclbin: the container; NULL: that of NARROWCAST_XCLBIN. Prints runs, bytes and
 * speed on stderr. */
int reduce_xrt(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *card, const char *xclbin);

#endif
