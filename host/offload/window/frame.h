/* frame.h : frames of the wire protocol as a host makes and reads them, with the CPU's CRC. */
#ifndef FRAME_H
#define FRAME_H
#include "hls/card/packet.h"
#include "vec/vec.h"
#include <stdbool.h>

/* Fills in magic, len and both CRCs of h and puts it before the payload [payload_bytes] that stands
 * at frame + 64. Returns the length of the frame. */
size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame);

/* Is it a whole and undamaged frame of this protocol? bytes [n], any. */
bool frame_whole(const uint8_t *bytes, size_t n);

/* The tag of a packet: that of the bucket, continued with the job's secret and the packet's first
 * element and number of elements. */
uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count);

/* Of a packet whose result all may see, who then know this tag, but must not know the next: secret [2], of the job. */
uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count);

/* "another description than the others'", for a NAK's reason. */
const char *frame_nak_reason(uint32_t status);

/* ---- which sums a card can add, and how their codes lie in frames ---- */

struct card_fit {
    uint32_t in_fmt, out_fmt;     /* as a frame names them (hls/core/beat.h) */
    uint32_t in_width, out_width; /* bits: 4, 8 or 16 */
    uint32_t wider, ratio;        /* the larger width; by how much it is larger than the other */
};

/* Can a card add n codes so? sum NULL: they are no minifloats. 0, or -EINVAL with a line. what: of
 * the n, in the plural, for the line. */
int card_fits(const struct vec_sum *sum, int n, const char *what, struct card_fit *out);

/* The same in silence: the line is in why [size]. */
int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size);

/* Can a card take codes of this format? 0, or -EINVAL with a line; what: it cannot do with them. */
int card_fits_format(struct mf_fmt fmt, const char *what);

/* Codes in so many beats of the wider side, which are whole beats on both sides. */
static inline uint32_t card_fit_codes(const struct card_fit *f, uint32_t beats)
{
    return beats * 512 / f->wider;
}

/* Beats of the wider side for n codes: whole beats on both sides. */
static inline uint32_t card_fit_beats(const struct card_fit *f, size_t n)
{
    uint32_t beats = (uint32_t)((n * f->wider + 511) / 512);
    return (beats + f->ratio - 1) / f->ratio * f->ratio;
}

/* The largest frame of at most this many beats, in beats of the wider side. */
static inline uint32_t card_fit_most(const struct card_fit *f, uint32_t most_beats)
{
    return most_beats / f->ratio * f->ratio;
}

#endif
