/* frame.h : builds and checks frames of the wire protocol on a host, with the CPU's CRC. */
#ifndef FRAME_H
#define FRAME_H
#include "hls/card/packet.h"
#include "vec/vec.h"
#include <stdbool.h>

/* Writes header h at `frame`, before the payload_bytes already at frame + 64, with magic, len and
 * both CRCs. Returns the frame's length in bytes. */
size_t frame_put_header(struct pkt_header h, size_t payload_bytes, uint8_t *frame);

/* True if bytes[n] (untrusted) are one complete and undamaged frame. */
bool frame_whole(const uint8_t *bytes, size_t n);

/* Returns a packet's tag, a CRC of `tag` (the bucket's), nonce (the job's secret), `at` (first
 * element) and count (elements). */
uint32_t frame_tag(uint32_t tag, uint64_t nonce, uint64_t at, uint32_t count);

/* Returns a packet's tag in a job with a multicast group, a SipHash under secret[2]: hosts that see
 * one tag cannot compute another. */
uint32_t frame_secret_tag(uint32_t tag, const uint64_t secret[2], uint64_t at, uint32_t count);

/* Returns a NAK's reason as text, for example "the slot is not in the job's range". */
const char *frame_nak_reason(uint32_t status);

/* ---- which sums a card can add ---- */

struct card_fit {
    uint32_t in_fmt, out_fmt;     /* format bytes (hls/core/beat.h) */
    uint32_t in_width, out_width; /* bits: 4, 8 or 16 */
    /* wider: the larger width, bits. ratio: larger divided by smaller width. Below, "beats" are
     * those of contributions or results, whichever have wider codes. */
    uint32_t wider, ratio;
};

/* Checks that a card can add n codes as `sum` describes (NULL: the codec does not add minifloats),
 * and fills *out. what: plural noun for the n in the message. Returns 0, or -EINVAL after
 * reporting. */
int card_fits(const struct vec_sum *sum, int n, const char *what, struct card_fit *out);

/* Like card_fits(), but writes the message to why[size] instead of printing it. */
int card_fit_of(const struct vec_sum *sum, int n, const char *what, struct card_fit *out, char *why,
                size_t size);

/* Finds how each k near ranks add their codes first, exactly, so that a card adds n_ranks / k of
 * their sums: in the narrowest format of cards that holds all sums of k codes. Returns true if the
 * card's port then passes fewer bits an element in its busier direction, or if n_ranks is more than
 * a card takes. Fills *near, from codes to these sums, and *all, from them to the result of `sum`.
 * Returns false if each rank should send its codes. grouped: a card sends one result for all. */
bool card_near(const struct vec_sum *sum, int n_ranks, int k, bool grouped, struct vec_sum *near,
               struct vec_sum *all);

/* Checks that a card supports codes of this format. what: verb for the message, for example "add".
 * Returns 0, or -EINVAL after reporting. */
int card_fits_format(struct mf_fmt fmt, const char *what);

/* Returns the codes in a payload of so many beats. */
static inline uint32_t card_fit_codes(const struct card_fit *f, uint32_t beats)
{
    return beats * 512 / f->wider;
}

/* Returns how many beats n codes take, rounded up so that contributions and results both fill whole
 * beats. */
static inline uint32_t card_fit_beats(const struct card_fit *f, size_t n)
{
    uint32_t beats = (uint32_t)((n * f->wider + 511) / 512);
    return (beats + f->ratio - 1) / f->ratio * f->ratio;
}

/* Returns the largest number of beats, up to most_beats, for which contributions and results both
 * fill whole beats. */
static inline uint32_t card_fit_most(const struct card_fit *f, uint32_t most_beats)
{
    return most_beats / f->ratio * f->ratio;
}

#endif
