/* frame.h : Builds and checks frames of the wire protocol on a host, with the CPU's CRC. */
#ifndef FRAME_H
#define FRAME_H
#include "hls/card/packet.h"
#include "vec/vec.h"
#include <stdbool.h>

/* Writes header h at `frame`, before the payload of payload_bytes that is already at frame + 64.
 * Fills in magic, len and both CRCs. Returns the length of the frame in bytes. */
size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame);

/* True if bytes[n] (any contents) are a complete and undamaged frame of this protocol. */
bool frame_whole(const uint8_t *bytes, size_t n);

/* Returns the tag of a packet: the bucket's tag, the job's secret, first element and
 * number of elements. */
uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count);

/* Does the same for results of a group: hosts that see this tag must not be able to
 * compute the next one. */
uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count);

/* Returns the text of a NAK's reason, e.g. "another description than the others'". */
const char *frame_nak_reason(uint32_t status);

/* ---- which sums a card can add, and how their codes lie in frames ---- */

struct card_fit {
    uint32_t in_fmt, out_fmt;     /* as in frames (hls/core/beat.h) */
    uint32_t in_width, out_width; /* bits: 4, 8 or 16 */
    uint32_t wider, ratio;        /* bits; quotient of both widths */
};

/* Checks that a card can add n codes as `sum` describes (NULL: no minifloats) and fills *out. what:
 * noun for the n in the message, plural. Returns 0, or -EINVAL after reporting. */
int card_fits(const struct vec_sum *sum, int n, const char *what, struct card_fit *out);

/* Does the same, but prints nothing: the message is in why[size]. */
int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size);

/* Checks that a card can take codes of this format. what: verb for the message ("add"). Returns 0,
 * or -EINVAL after reporting. */
int card_fits_format(struct mf_fmt fmt, const char *what);

/* Returns the number of codes in `beats` beats of the wider side. */
static inline uint32_t card_fit_codes(const struct card_fit *f, uint32_t beats)
{
    return beats * 512 / f->wider;
}

/* Returns the beats of the wider side for n codes, whole beats on both sides. */
static inline uint32_t card_fit_beats(const struct card_fit *f, size_t n)
{
    uint32_t beats = (uint32_t)((n * f->wider + 511) / 512);
    return (beats + f->ratio - 1) / f->ratio * f->ratio;
}

/* Returns the longest frame of at most most_beats, in beats of the wider side. */
static inline uint32_t card_fit_most(const struct card_fit *f, uint32_t most_beats)
{
    return most_beats / f->ratio * f->ratio;
}

#endif
