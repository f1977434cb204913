/* reducer_parcel.h : what ranks send each other in a step that fits into one message
 * (reducer_short.c). */
#ifndef REDUCER_PARCEL_H
#define REDUCER_PARCEL_H
#include "reduce/reducer_inside.h"

enum {
    PARCEL_LINE = 64,         /* bytes: what the parts of a message begin on */
    PARCEL_LONGEST = 1 << 20, /* of a message */
};

static inline size_t parcel_lines(size_t bytes)
{
    return (bytes + PARCEL_LINE - 1) / PARCEL_LINE * PARCEL_LINE;
}

struct parcels {
    bool has_words; /* codes of the narrow codec can be made from words, which are not too long */
    size_t room;    /* bytes of a message, at most */
    size_t code_bytes;   /* of a rank's codes, lines */
    uint8_t *mine, *all; /* [room], [P * room] */
    const uint8_t **of;  /* [P] where in it ranks' messages are */
    uint8_t *codes;      /* [P * code_bytes] of all ranks, as the plan places them */
    bool
        are_sent; /* in this step they are not there: messages have nothing else, in the same order */
    const uint8_t **parts; /* [P] */
    float *floats;         /* [longest layer] of one rank */
    uint8_t *misses;       /* [n_layers] a bit a step, the last one lowest: the guess was wrong */
};

/* An fp32's upper half, rounded to odd. */
static inline uint16_t parcel_word(uint32_t bits)
{
    return (uint16_t)(bits >> 16 | ((bits & 0xffff) != 0));
}

/* Can codes of this cast, with this shift, be made from words? Not where subnormal fp32s, of which a word has
 * fewer bits, become more than dust. */
bool parcel_words_do(const struct vec_cast *cast, int shift);

/* Of a reducer whose plans are made. Returns 0 or -ENOMEM. */
int parcels_open(struct reducer *r);
void parcels_close(struct parcels *p);

/* Bytes that parcels_open() takes on a rank. */
size_t parcels_bytes(const struct reducer *r);

/* Will layer i's codes be sent as the last step's shift makes them? Else words of it. Between steps. */
bool parcel_is_guessed(const struct reducer *r, int i);

/* Are codes of layer i by the last step's shift right? When exponents of all ranks are known, and until
 * bucket_encoded(). */
bool parcel_is_right(const struct reducer *r, int i);

/* This step's message, from what reducer_scan() has left, to all: of[], which begins with the rank's exponents. All
 * ranks. Returns 0 or a negative errno of comm.h. */
int parcel_send(struct reducer *r);

/* When the exponents of all ranks are known: makes the codes of all ranks from their messages and from
 * one more, of what was guessed wrong. All ranks. Returns as parcel_send(). */
int parcel_open(const struct reducing *s);

/* [P] ranks' codes of a bucket, from then on. */
const uint8_t **parcel_parts(struct reducer *r, const struct bucket *b);

#endif
