/* cast_xrt.c : casts files piece by piece in the buffers of a card (offload/xrt/card_cast.h). */
#include "app/files/cast_xrt.h"
#include "app/files/codes_in.h"
#include "app/files/reduce_card.h"
#include "base/err.h"
#include "offload/xrt/card_cast.h"
#include "offload/window/frame.h"
#include "offload/xrt/xrt_card.h"
#include <string.h>

static const double open_s = 60, run_s = 120; /* as in reduce_card.c */

int cast_xrt_check(const struct codec *codec, const char *round)
{
    if (strcmp(round, "nearest"))
        return ERR(-EINVAL, "a card cannot cast with --round %s: it only rounds to nearest", round);
    return card_fits_format(codec_sum(codec)->in, "cast to");
}

static int said(const struct card_cast *c, int rc)
{
    return rc ? ERR(rc, "%s", c->why) : 0;
}

static int find_largest(void *arg, struct file_in *in, uint32_t *largest)
{
    struct card_cast *c = arg;
    uint32_t m = 0;
    TRY(said(c, card_cast_begin(c, KERNEL_EXPMAX)));
    for (size_t n = 1; n;) {
        TRY(cast_in_read(in, c->x, c->most, &n));
        if (n)
            TRY(said(c, card_cast_absmax(c, n, &m, run_s)));
        *largest = m > *largest ? m : *largest;
    }
    return 0;
}

static int cast_all(struct card_cast *c, const struct codec *codec, struct file_in *in,
                    struct file_out *out, int *shift)
{
    const struct vec_sum *sum = codec_sum(codec);
    TRY(cast_in_shift(codec, in, find_largest, c, shift));
    TRY(said(c, card_cast_begin(c, KERNEL_QUANT)));
    for (size_t n = 1; n;) {
        TRY(cast_in_read(in, c->x, c->most, &n));
        if (n)
            TRY(said(c, card_cast_encode(c, n, *shift, sum->overflow == MF_SATURATE, run_s)));
        TRY(file_out_write(out, c->codes, vec_bytes(sum->in, n)));
    }
    return 0;
}

int cast_xrt(const struct codec *codec, struct file_in *in, struct file_out *out, const char *card,
             const char *xclbin, int *shift)
{
    struct card_cast c;
    TRY(said(&c, card_cast_open(&c, card, xclbin, codec_sum(codec)->in, open_s)));
    const int rc = cast_all(&c, codec, in, out, shift);
    card_cast_close(&c);
    return rc;
}

static int uncast_all(struct card_cast *c, struct codes_in *in, int shift, struct file_out *out)
{
    TRY(said(c, card_cast_begin(c, KERNEL_UNQUANT)));
    const size_t blocks = c->most / CODES_IN_BLOCK;
    for (size_t n = 1; n;) {
        TRY(codes_in_read_all(in, 1, blocks, &c->codes, &n));
        if (n)
            TRY(said(c, card_cast_decode(c, n, shift, run_s)));
        TRY(file_out_write(out, c->x, n * sizeof *c->x));
    }
    return 0;
}

int uncast_xrt(struct codes_in *in, int shift, struct file_out *out, const char *card,
               const char *xclbin)
{
    struct card_cast c;
    TRY(card_fits_format(in->fmt, "read"));
    TRY(said(&c, card_cast_open(&c, card, xclbin, in->fmt, open_s)));
    const int rc = uncast_all(&c, in, shift, out);
    card_cast_close(&c);
    return rc;
}

int card_words_check(const char *on, const char *card, const char *xclbin)
{
    if (!strcmp(on, "xrt"))
        return !card || xrt_card_name_fits(card)
                   ? 0
                   : ERR(-EINVAL, "unknown --card '%s': need xrt, xrt:1 or xrt:65:00.1", card);
    if (card)
        return ERR(-EINVAL, "--card '%s' needs --on xrt", card);
    if (xclbin)
        return ERR(-EINVAL, "--xclbin '%s' needs --on xrt", xclbin);
    return 0;
}
