/* quantile.h : a scale that makes a quantile of a layer's magnitudes the largest number of a format:
 * found by samples, the largest of all ranks', and kept for some steps. hls/arith/relative.h has the
 * numbers.
 *
 *     |d| of some elements --rank-th smallest--> q ==max over ranks==> q in force, for `every` steps
 *     d --top / q / share, cast--> codes ==sums==> codes --q / top--> mean
 *
 * Steps count that the codec has taken: those that are skipped, or forced to fp32, leave q and its
 * age alone. A q of 0 sends zeros, and is sought again in the next step. */
#ifndef QUANTILE_H
#define QUANTILE_H
#include "base/text.h"
#include "codec/codec.h"

struct quantile {
    double part;             /* of the magnitudes is not above q */
    double eps;              /* d = g / (|w| + eps); 0: d = g */
    uint32_t every, samples; /* steps, elements of a layer at most */
};

/* ---- quantile.c ---- */

/* q=0.95,every=100,samples=1024: the paper's. */
struct quantile quantile_default(void);

/* Reads one of q=, every=, samples=: [at, at + n). 1: it is one; 0: it is none; -EINVAL: it is one,
 * with a value that is none. */
int quantile_read(const char *at, size_t n, struct quantile *q);
extern const char quantile_ranges[]; /* what values are, for messages */
void quantile_print(const struct quantile *q, struct text *to);

/* x with as few digits as bring it back, behind a name. */
void quantile_print_real(const char *name, double x, struct text *to);

/* ---- quantile.c: slots of a kind's table (codec_kind.h) whose codec is a minifloat's ---- */

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
