/* reducer_parcel.h : Packs and unpacks the one message of a short step (reducer_short.c). */
#ifndef REDUCER_PARCEL_H
#define REDUCER_PARCEL_H
#include "reduce/reducer_inside.h"

enum {
    PARCEL_LINE = 64,         /* bytes: alignment of a message's parts */
    PARCEL_LONGEST = 1 << 20, /* bytes */
};

static inline size_t parcel_lines(size_t bytes)
{
    return (bytes + PARCEL_LINE - 1) / PARCEL_LINE * PARCEL_LINE;
}

struct parcels {
    bool has_words;      /* codes of the narrow codec can be made from words, and words fit */
    size_t room;         /* bytes of a message, at most */
    size_t code_bytes;   /* of a rank's codes, a multiple of PARCEL_LINE */
    uint8_t *mine, *all; /* [room], [P * room] */
    const uint8_t **of;  /* [P] each rank's message in `all` */
    uint8_t *codes;      /* [P * code_bytes] of all ranks, as the plan places them */
    /* This step's messages consist of codes in the order of `codes`, which is unused. */
    bool are_sent;
    const uint8_t **parts; /* [P] for parcel_parts() */
    float *floats;         /* [longest layer] of one rank */
    uint8_t *misses; /* [n_layers] one bit per step, the last step lowest: the guess was wrong */
};

/* Upper half of an fp32, rounded to odd. */
static inline uint16_t parcel_word(uint32_t bits)
{
    return (uint16_t)(bits >> 16 | ((bits & 0xffff) != 0));
}

/* True if codes of this cast, with this shift, can be made from words. They cannot where
 * subnormal fp32s, whose words have fewer bits, become large enough to matter. */
bool parcel_words_do(const struct vec_cast *cast, int shift);

/* Allocates r->parcels for plans that exist. Returns 0 or -ENOMEM. */
int parcels_open(struct reducer *r);
void parcels_close(struct parcels *p);

size_t parcels_bytes(const struct reducer *r);

/* True if layer i will go as codes with the last step's shift, false if as words. Between steps. */
bool parcel_is_guessed(const struct reducer *r, int i);

/* True if the codes of layer i with the last step's shift are right. Valid once the exponents of
 * all ranks are known, until bucket_encoded(). */
bool parcel_is_right(const struct reducer *r, int i);

/* Sends this step's message to all ranks, from the results of
 * reducer_scan(), and fills of[]. Each message begins with its rank's
 * exponents. All ranks call it. Returns 0 or a negative errno of comm.h. */
int parcel_send(struct reducer *r);

/* Makes the codes of all ranks from their messages, and from a second message for wrong guesses.
 * All ranks call it once they know all exponents. Returns as parcel_send(). */
int parcel_open(const struct reducing *s);

/* [P] ranks' codes of a bucket, after parcel_open(). */
const uint8_t **parcel_parts(struct reducer *r, const struct bucket *b);

#endif
