/* reducer_packed.h : Packs and unpacks the one message of a short step (reducer_short.c). */
#ifndef REDUCER_PACKED_H
#define REDUCER_PACKED_H
#include "reduce/reducer_inside.h"

enum {
    PACKED_LINE = 64,         /* bytes: alignment of a message's parts */
    PACKED_LONGEST = 1 << 20, /* bytes: longest message */
};

static inline size_t packed_lines(size_t bytes)
{
    return (bytes + PACKED_LINE - 1) / PACKED_LINE * PACKED_LINE;
}

struct packed {
    bool has_words;      /* the codec allows words (reducer_packed.c), and they fit */
    size_t room;         /* bytes: the longest message of this reducer */
    size_t code_bytes;   /* of one rank, a multiple of PACKED_LINE */
    uint8_t *mine, *all; /* [room] this rank's message; [P * room] of all ranks */
    const uint8_t **of;  /* [P] each rank's message in `all` */
    uint8_t *codes;      /* [P * code_bytes] of all ranks, in the plan's order */
    /* True if this step's messages hold codes only, in the plan's order. Sums then read the
     * messages, and `codes` is unused. */
    bool are_sent;
    const uint8_t **parts; /* [P] result of packed_parts() */
    float *floats;         /* [longest layer] scratch: one layer of one rank */
    /* misses[i]: history of layer i, one bit per step, the last step in bit 0. 1: its guessed shift
     * was wrong. [n_layers] */
    uint8_t *misses;
};

/* Returns the word of an fp32: its upper half, rounded to odd. */
static inline uint16_t packed_word(uint32_t bits)
{
    return (uint16_t)(bits >> 16 | ((bits & 0xffff) != 0));
}

/* Returns true if the codes of this cast with this shift can be made from words. The words
 * of subnormal fp32s have fewer significant bits, so the shift must keep these values below
 * the format's resolution. */
bool packed_words_do(const struct vec_cast *cast, int shift);

/* Allocates r->packed. The plans must exist. Returns 0 or -ENOMEM. */
int packed_all_open(struct reducer *r);
void packed_all_close(struct packed *p);

size_t packed_all_bytes(const struct reducer *r);

/* Returns true if layer i will be sent as codes, made with the last step's shift. Returns false if
 * it will be sent as words. Call it between steps. */
bool packed_is_guessed(const struct reducer *r, int i);

/* Returns true if the codes of layer i, made with the last step's shift, are right. Valid from the
 * agreement on exponents until bucket_encoded(). */
bool packed_is_right(const struct reducer *r, int i);

/* Sends this step's message to all ranks, from the results of reducer_scan(), and fills of[].
 * Each message begins with its rank's exponents. All ranks call it. Returns 0 or a negative
 * errno of comm.h. */
int packed_send(struct reducer *r);

/* Makes the codes of all ranks from their messages. Layers that were guessed wrong are sent in
 * a second message. All ranks call it once they know all exponents. Returns 0 or a negative
 * errno of comm.h. */
int packed_open(const struct reducing *s);

/* Returns [P] pointers to the ranks' codes of bucket b. Call it after packed_open(). */
const uint8_t **packed_parts(struct reducer *r, const struct bucket *b);

#endif
