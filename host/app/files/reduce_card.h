/* reduce_card.h : files of codes added by a card: a simulated one, as packets of a job of as many
 * ranks as there are files; the HLS core; a card in this machine, in its memory. */
#ifndef REDUCE_CARD_H
#define REDUCE_CARD_H
#include "app/files/codes_in.h"
#include "base/file.h"

/* in [n_in] are open and unread; out is written to and left to the caller to commit. model: "rtl"
 * (Verilated) or "c"; wave: FST file of all signals, or NULL. Prints one line on stderr: clocks,
 * beats, the time at CARD_MHZ. Returns 0, or a negative errno with a line: what a card
 * cannot add, or no simulator. */
int reduce_card(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
                const char *model, const char *wave);

/* The same by the HLS core, as gcc built it: no packets, no clock. */
int reduce_hls(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out);

/* The same by a card that XRT reaches (offload/xrt/card_mm.h). card: "xrt", "xrt:1", "xrt:BDF"; xclbin:
 * its container, or NULL: NARROWCAST_XCLBIN. Prints one line on stderr: runs, bytes, speed. */
int reduce_xrt(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
               const char *card, const char *xclbin);

/* Can a card (and the HLS core, which is made to the same measure) add n_in files so? 0, or -EINVAL
 * with a line. */
int reduce_card_check(const struct vec_sum *sum, int n_in);

/* All files' next codes, up to n_blocks blocks of CODES_IN_BLOCK, file i's at to[i]. *n: codes of
 * each; 0 at the end. Returns 0, or a negative errno with a line, such as for files that differ in
 * length. */
int reduce_read(struct codes_in *in, int n_in, size_t n_blocks, uint8_t *const *to, size_t *n);

#endif
