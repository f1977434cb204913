/* reducer_parcel.h : Packs and unpacks the one message of a short step (reducer_short.c). */
#ifndef REDUCER_PARCEL_H
#define REDUCER_PARCEL_H
#include "reduce/reducer_inside.h"

enum {
    PARCEL_LINE = 64,         /* bytes: alignment of a message's parts */
    PARCEL_LONGEST = 1 << 20, /* bytes: longest message */
};

static inline size_t parcel_lines(size_t bytes)
{
    return (bytes + PARCEL_LINE - 1) / PARCEL_LINE * PARCEL_LINE;
}

struct parcels {
    bool has_words;      /* the codec allows words (reducer_parcel.c), and they fit */
    size_t room;         /* bytes: the longest message of this reducer */
    size_t code_bytes;   /* of one rank, a multiple of PARCEL_LINE */
    uint8_t *mine, *all; /* [room] this rank's message; [P * room] of all ranks */
    const uint8_t **of;  /* [P] each rank's message in `all` */
    uint8_t *codes;      /* [P * code_bytes] of all ranks, in the plan's order */
    /* True if this step's messages hold codes only, in the plan's order. Sums then read the
     * messages, and `codes` is unused. */
    bool are_sent;
    const uint8_t **parts; /* [P] result of parcel_parts() */
    float *floats;         /* [longest layer] scratch: one layer of one rank */
    /* misses[i]: history of layer i, one bit per step, the last step in bit 0. 1: its guessed shift
     * was wrong. [n_layers] */
    uint8_t *misses;
};

/* Returns the word of an fp32: its upper half, rounded to odd. */
static inline uint16_t parcel_word(uint32_t bits)
{
    return (uint16_t)(bits >> 16 | ((bits & 0xffff) != 0));
}

/* Returns true if the codes of this cast with this shift can be made from words. The words
 * of subnormal fp32s have fewer significant bits, so the shift must keep these values below
 * the format's resolution. */
bool parcel_words_do(const struct vec_cast *cast, int shift);

/* Allocates r->parcels. The plans must exist. Returns 0 or -ENOMEM. */
int parcels_open(struct reducer *r);
void parcels_close(struct parcels *p);

size_t parcels_bytes(const struct reducer *r);

/* Returns true if layer i will be sent as codes, made with the last step's shift. Returns false if
 * it will be sent as words. Call it between steps. */
bool parcel_is_guessed(const struct reducer *r, int i);

/* Returns true if the codes of layer i, made with the last step's shift, are right. Valid from the
 * agreement on exponents until bucket_encoded(). */
bool parcel_is_right(const struct reducer *r, int i);

/* Sends this step's message to all ranks, from the results of reducer_scan(), and fills of[].
 * Each message begins with its rank's exponents. All ranks call it. Returns 0 or a negative
 * errno of comm.h. */
int parcel_send(struct reducer *r);

/* Makes the codes of all ranks from their messages. Layers that were guessed wrong are sent in
 * a second message. All ranks call it once they know all exponents. Returns 0 or a negative
 * errno of comm.h. */
int parcel_open(const struct reducing *s);

/* Returns [P] pointers to the ranks' codes of bucket b. Call it after parcel_open(). */
const uint8_t **parcel_parts(struct reducer *r, const struct bucket *b);

#endif
