/* reduce.h : the HLS core that adds packed codes of several ranks exactly, and rounds each sum
 * once. */
#ifndef REDUCE_H
#define REDUCE_H
#include "hls/core/beat.h"
#include "hls/card/packet.h"

enum {
    REDUCE_MAX_BEATS = 1 << 30 /* of a part; the result has fewer than 2^32 */
};
enum { REDUCE_ROWS = 32 }; /* beats of each part added before rounding: one burst */
enum {
    REDUCE_REFUSED = 1 << 30 /* status: an argument is illegal; nothing else was written */
};

/* out = (parts[0] + ... + parts[n_parts - 1]) / 2^out_shift, rounded once to nearest.
 *   in         beats of all parts; part k begins at beat k * stride
 *   out        [ceil(n_beats * out bits / in bits)] beats, where bits are those of a code; unused
 *              bits are 0
 *   n_parts    1 to 64; for e5m10 at most 32
 *   n_beats    beats of a part, at most REDUCE_MAX_BEATS; the result has fewer than 2^32
 *   fmt, out_fmt   bytes of the formats of in and out (beat.h)
 *   out_shift  0 to 6
 *   saturate   1: a sum that is too large becomes the largest finite value; 0: inf
 *   status     [1] out: OR of the PKT_STATUS bits of all sums; or REDUCE_REFUSED */
void reduce_kernel(const struct beat *in, struct beat *out, uint32_t n_parts, uint32_t stride,
                   uint32_t n_beats, uint32_t fmt, uint32_t out_fmt, uint32_t out_shift,
                   uint32_t saturate, uint32_t *status);

/* Return the PKT_STATUS bits of one sum. in, shift, out: as in mf_acc_round(). */
MF_FN uint32_t reduce_status(struct mf_fmt in, uint64_t acc, uint32_t shift, struct mf_fmt out)
{
    uint32_t status = 0u;
    if ((acc & MF_ACC_PINF) != 0u)
        status |= (uint32_t)PKT_STATUS_PINF;
    if ((acc & MF_ACC_NINF) != 0u)
        status |= (uint32_t)PKT_STATUS_NINF;
    if (status == 0u &&
        (mf_acc_round(in, acc, (int)shift, out, MF_INF) & mf_nan(out)) > mf_max(out))
        status = (uint32_t)PKT_STATUS_OVERFLOW;
    return status;
}

#endif
