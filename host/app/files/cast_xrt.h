/* cast_xrt.h : `cast` and `uncast` by a card in this machine: its kernels expmax, quant and unquant.
 * The bytes of the CPU. */
#ifndef CAST_XRT_H
#define CAST_XRT_H
#include "app/files/codes_in.h"
#include "base/file.h"
#include "codec/codec.h"

/* Can a card cast so? codec: settled; round: the user's word. 0, or -EINVAL with a line. */
int cast_xrt_check(const struct codec *codec, const char *round);

/* in is open and unread; out is left to the caller to commit. card: "xrt", "xrt:1", "xrt:BDF";
 * xclbin: NULL: NARROWCAST_XCLBIN. Returns 0 or a negative errno with a line. */
int cast_xrt(const struct codec *codec, struct file_in *in, struct file_out *out, const char *card,
             const char *xclbin, int *shift);

/* shift: as the CPU's way back has it, x = code * 2^shift. */
int uncast_xrt(struct codes_in *in, int shift, struct file_out *out, const char *card,
               const char *xclbin);

#endif
