/* card_fits.c : which sums a card can add, and how their codes lie in frames. */
#include "offload/window/card_fits.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/core/beat.h"
#include "hls/card/packet.h"
#include <stdio.h>

static uint32_t format_byte(struct mf_fmt f)
{
    return f.e <= 5 && f.m <= 10 ? beat_format_byte(f) : 256;
}

/* -EINVAL, and the reason. */
#define REFUSE(...) return snprintf(why, size, __VA_ARGS__), -EINVAL

static int check_format(struct mf_fmt f, const char *what, char *why, size_t size)
{
    char name[CODEC_NAME_BYTES];
    if (!beat_format(format_byte(f)).width)
        REFUSE("a card cannot %s %s: it takes 4, 8 or 16 bits, at most 5 of exponent and 10 of "
               "mantissa",
               what, codec_format_name(f, name));
    return 0;
}

int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size)
{
    char name[CODEC_NAME_BYTES];
    if (!sum)
        REFUSE("a card cannot add codes of this kind: it adds minifloats, with --scale none, "
               "const:K, aps "
               "or aps-tight");
    TRY(check_format(sum->in, "add", why, size));
    TRY(check_format(sum->out, "make", why, size));
    if (sum->rule != VEC_EXACT)
        REFUSE("a card cannot add by --sum %s: it adds exactly", codec_rule_name(sum->rule));
    if (n > PKT_MAX_RANKS)
        REFUSE("a card cannot add %d %s: %d at most", n, what, PKT_MAX_RANKS);
    if (!beat_fits(beat_format(format_byte(sum->in)), (uint32_t)n)) /* of 16 bits */
        REFUSE("a card cannot add %d %s of %s: %d at most fit its sums", n, what,
               codec_format_name(sum->in, name), 1 << (CARD_SUM_BITS - mf_acc_bits(sum->in, 1)));
    if (sum->out_shift < 0 || sum->out_shift > PKT_MAX_SHIFT)
        REFUSE("a card cannot divide by 2^%d: --out-shift 0 to %d", sum->out_shift, PKT_MAX_SHIFT);
    const uint32_t in = mf_width(sum->in), to = mf_width(sum->out), wider = in > to ? in : to;
    *out = (struct card_fit){format_byte(sum->in),     format_byte(sum->out), in, to, wider,
                             wider * wider / (in * to)};
    return 0;
}

int card_fits_format(struct mf_fmt fmt, const char *what)
{
    char why[160];
    const int rc = check_format(fmt, what, why, sizeof why);
    return rc < 0 ? ERR(rc, "%s", why) : 0;
}

int card_fits(const struct vec_sum *sum, int n, const char *what, struct card_fit *out)
{
    char why[160];
    const int rc = card_fit_of(sum, n, what, out, why, sizeof why);
    return rc < 0 ? ERR(rc, "%s", why) : 0;
}
