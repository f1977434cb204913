/* quantile.h : scales a quantile of a layer's magnitudes to the largest number of a format.
 *
 * The quantile q is sampled, maximized over ranks and kept for some steps. Arithmetic:
 * hls/arith/relative.h.
 *
 *    |d| of R elements --ceil(q R)-th smallest--> q ==max over ranks, fp32==> for `every` steps
 *    d --top / q / share, cast--> codes ==sums==> codes --q / top--> mean
 *
 *    sums     cast                     a node's sum (group-scatter:K)       mean
 *    exact    d * (top / q)            wide, unchanged                      r * 2^c / P * (q / top)
 *    others   d * (top / q) / share    / (P / K), in fp32, rounded again    r * (q / top)
 *
 * share (K with group-scatter:K, else P) leaves head-room for the sum of values at the quantile.
 * Exact sums do not need it; c = ceil(log2 P), as for aps-tight. The factor may be any float, which
 * wastes no part of a binade. The product is rounded to fp32, then to the format; this differs from
 * one rounding only if the first ends on a tie. Values above the quantile saturate (--overflow inf
 * is refused), except in formats of 7 and 8 exponent bits, whose top is 2^32.
 *
 * R is the layer's size, or in larger layers `samples` elements, chosen by philox. Skipped steps
 * and steps forced to fp32 leave q and its age unchanged. If q is 0, zeros are sent and q is
 * computed again in the next step. */
#ifndef QUANTILE_H
#define QUANTILE_H
#include "base/text.h"
#include "codec/codec.h"

struct quantile {
    double part;             /* fraction of the magnitudes not above q */
    double eps;              /* d = g / (|w| + eps), or d = g if eps is 0 */
    uint32_t every, samples; /* steps between searches; largest sample of a layer */
};

/* Return the paper's values: q=0.95,every=100,samples=1024. */
struct quantile quantile_default(void);

/* Parse q=, every= or samples= in [at, at + n). Returns 1, 0 if it is none of them, or -EINVAL if
 * its value is invalid. Does not print. */
int quantile_read(const char *at, size_t n, struct quantile *q);
extern const char quantile_ranges[]; /* valid values, for messages */
void quantile_print(const struct quantile *q, struct text *to);

/* Append name and x, with the fewest digits that read back as x. */
void quantile_print_real(const char *name, double x, struct text *to);

/* ---- functions of a kind's table (codec_kind.h) whose codec is a struct minifloat ---- */

bool quantile_asks_max(const struct codec *c, const struct codec_layer *layer);
size_t quantile_state_bytes(const struct codec *c, const struct codec_layer *layer);
void quantile_absmax(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans);
void quantile_encode(const struct codec *c, struct vec_span *spans, const struct codec_part *parts,
                     int n_spans);
void quantile_scan_encode(const struct codec *c, struct vec_span *spans,
                          const struct codec_part *parts, int n_spans);
void quantile_decode(const struct codec *c, const struct vec_out *outs,
                     const struct codec_part *parts, int n_outs);

#endif
