/* frame.c : builds and checks frames. */
#include "offload/window/frame.h"
#include "base/crc.h"
#include "offload/window/siphash.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/core/beat.h"
#include "hls/card/packet.h"
#include <limits.h>
#include <stdio.h>

size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame)
{
    h.magic = PKT_MAGIC_VALUE;
    h.len = (uint16_t)(PKT_HEADER_BYTES + payload_bytes);
    h.payload_crc = crc_of(frame + PKT_HEADER_BYTES, payload_bytes);
#define PKT_FIELD(NAME, name, at, n_bytes, what) pkt_put_uint(frame + at, h.name, n_bytes);
#include "hls/card/packet.def"
    pkt_put_uint(frame + PKT_HEADER_CRC_AT, crc_of(frame, PKT_HEADER_CRC_AT), PKT_HEADER_CRC_BYTES);
    return PKT_HEADER_BYTES + payload_bytes;
}

bool frame_whole(const uint8_t *bytes, size_t n)
{
    return n >= PKT_HEADER_BYTES &&
           pkt_get_uint(bytes + PKT_MAGIC_AT, PKT_MAGIC_BYTES) == PKT_MAGIC_VALUE &&
           pkt_get_uint(bytes + PKT_LEN_AT, PKT_LEN_BYTES) == n &&
           crc_of(bytes, PKT_HEADER_BYTES) == CRC32C_RESIDUE &&
           crc_of(bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES) ==
               pkt_get_uint(bytes + PKT_PAYLOAD_CRC_AT, PKT_PAYLOAD_CRC_BYTES);
}

uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count)
{
    uint8_t bytes[20];
    pkt_put_uint(bytes, nonce, 8);
    pkt_put_uint(bytes + 8, at, 8);
    pkt_put_uint(bytes + 16, count, 4);
    return crc_more(tag, bytes, sizeof bytes);
}

uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count)
{
    uint8_t bytes[16];
    pkt_put_uint(bytes, tag, 4);
    pkt_put_uint(bytes + 4, count, 4);
    pkt_put_uint(bytes + 8, at, 8);
    return (uint32_t)siphash(secret, bytes, sizeof bytes);
}

const char *frame_nak_reason(uint32_t status)
{
    switch (status) {
#define PKT_NAK(NAME, value, what) \
    case value:                    \
        return what;
#include "hls/card/packet.def"
    default:
        return "no known reason";
    }
}

#define REFUSE(...) return snprintf(why, size, __VA_ARGS__), -EINVAL

static int check_format(struct mf_fmt f, const char *what, char *why, size_t size)
{
    char name[CODEC_NAME_BYTES];
    if (!beat_format(beat_format_byte(f)).width)
        REFUSE("a card cannot %s %s: it takes 4, 8 or 16 bits, at most 5 of exponent (eXmYf: 3) "
               "and 10 of mantissa; of eXmYfn only e4m3fn",
               what, codec_format_name(f, name));
    return 0;
}

int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size)
{
    char name[CODEC_NAME_BYTES];
    if (!sum)
        REFUSE(
            "a card cannot add codes of this kind: each rank has scales of its own (qsgd, "
            "onebit, nvfp4), or codes have 2 bits (ternary, with --node-sum); leave the card out");
    if (sum->out_group)
        REFUSE("a card gives results no exponents of groups: need --out-format %s",
               codec_format_name(sum->out, name));
    TRY(check_format(sum->in, "add", why, size));
    TRY(check_format(sum->out, "make", why, size));
    if (sum->rule != VEC_EXACT)
        REFUSE("a card cannot add by --sum %s: use --sum exact, or leave the card out",
               codec_rule_name(sum->rule));
    if (n < 1 || n > PKT_MAX_RANKS)
        REFUSE("a card cannot add %d %s: from 1 to %d", n, what, PKT_MAX_RANKS);
    if (!beat_fits(beat_format(beat_format_byte(sum->in)), (uint32_t)n)) /* only fp16 */
        REFUSE("a card cannot add %d %s of %s: its sums have room for at most %d", n, what,
               codec_format_name(sum->in, name), 1 << (CARD_SUM_BITS - mf_acc_bits(sum->in, 1)));
    if (sum->out_shift < 0 || sum->out_shift > PKT_MAX_SHIFT)
        REFUSE("a card cannot divide by 2^%d: --out-shift must be from 0 to %d", sum->out_shift,
               PKT_MAX_SHIFT);
    const uint32_t in = mf_width(sum->in), to = mf_width(sum->out), wider = in > to ? in : to;
    *out = (struct card_fit){beat_format_byte(sum->in), beat_format_byte(sum->out), in, to, wider,
                             wider * wider / (in * to)};
    return 0;
}

/* Exponent of the unit of f, its smallest number, and code / unit. */
static int unit_of(struct mf_fmt f)
{
    return 1 - mf_bias(f) - f.m;
}
static uint64_t in_units(struct mf_fmt f, uint32_t code)
{
    const struct mf_num v = mf_unpack(f, code);
    return v.sig << (v.exp - unit_of(f));
}

/* True if all sums of k codes of f, divided by 2^shift, are numbers of `in`. Their infinities need
 * one that has infinities and nan. */
static bool holds_sums(struct mf_fmt in, struct mf_fmt f, uint64_t k, int shift)
{
    const uint64_t most = k * in_units(f, mf_max(f));
    const int finer = unit_of(f) - unit_of(in) - shift;
    return finer >= 0 && most <= 2u << in.m && most << finer <= in_units(in, mf_max(in)) &&
           (f.flavour == MF_NUMBERS || (in.flavour == MF_IEEE && in.m > 0));
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

bool card_near(const struct vec_sum *sum, int n_ranks, int k, bool grouped, struct vec_sum *near,
               struct vec_sum *all)
{
    char why[160];
    struct card_fit fit;
    if (!sum || sum->rule != VEC_EXACT || k < 2 || n_ranks % k || sum->out_shift < 0 ||
        sum->in.e > 5)
        return false;
    const unsigned out = grouped ? 0 : mf_width(sum->out),
                   own = (unsigned)k * larger(mf_width(sum->in), out);
    const bool needed = n_ranks > PKT_MAX_RANKS;
    unsigned least = UINT_MAX;
    bool found = false;
    for (uint32_t byte = 0; byte < 256; byte++) {
        const struct beat_fmt in = beat_format(byte);
        const int finer = unit_of(sum->in) - unit_of(in.fmt),
                  shift = finer < sum->out_shift ? finer : sum->out_shift;
        struct vec_sum to_out = *sum;
        to_out.in = in.fmt;
        to_out.out_shift -= shift;
        to_out.n_ranks = n_ranks / k;
        if (in.width == 0 || in.width >= least || (!needed && larger(in.width, out) >= own) ||
            !holds_sums(in.fmt, sum->in, (uint64_t)k, shift) ||
            card_fit_of(&to_out, to_out.n_ranks, "ranks", &fit, why, sizeof why))
            continue;
        found = true;
        least = in.width;
        *near = *all = to_out;
        near->in = sum->in;
        near->out = in.fmt;
        near->out_shift = shift;
        near->overflow = MF_INF;
        near->n_ranks = k;
    }
    return found;
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
