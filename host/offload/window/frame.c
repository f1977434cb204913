/* frame.c : Builds and checks frames. */
#include "offload/window/frame.h"
#include "base/crc.h"
#include "offload/window/siphash.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/core/beat.h"
#include "hls/card/packet.h"
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
        REFUSE("a card cannot %s %s: it takes 4, 8 or 16 bits, at most 5 of exponent (without inf "
               "and nan 3) and 10 of mantissa",
               what, codec_format_name(f, name));
    return 0;
}

int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size)
{
    char name[CODEC_NAME_BYTES];
    if (!sum)
        REFUSE("a card cannot add codes of this kind: each rank has scales of its own (qsgd, "
               "onebit, nvfp4), or codes have 2 bits (ternary, with --node-sum)");
    if (sum->out_group)
        REFUSE("a card gives results no exponents of groups: need --out-format %s",
               codec_format_name(sum->out, name));
    TRY(check_format(sum->in, "add", why, size));
    TRY(check_format(sum->out, "make", why, size));
    if (sum->rule != VEC_EXACT)
        REFUSE("a card cannot add by --sum %s: it adds only exactly", codec_rule_name(sum->rule));
    if (n > PKT_MAX_RANKS)
        REFUSE("a card cannot add %d %s: at most %d", n, what, PKT_MAX_RANKS);
    if (!beat_fits(beat_format(beat_format_byte(sum->in)),
                   (uint32_t)n)) /* accumulators have 16 bits */
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
