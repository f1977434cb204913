/* reducer_packed.h : packs and unpacks a short step's one message. */
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
    bool has_words;      /* the codec allows words, and they fit */
    size_t room;         /* bytes of the longest message */
    size_t code_bytes;   /* of one rank, a multiple of PACKED_LINE */
    uint8_t *mine, *all; /* [room] this rank's message; [P * room] of all ranks */
    const uint8_t **of;  /* [P] each rank's message in `all` */
    uint8_t *codes;      /* [P * code_bytes] of all ranks, in the plan's order */
    /* This step's messages hold only codes, in the plan's order: sums read them, and `codes` is
     * unused. */
    bool are_sent;
    const uint8_t **parts; /* [P] result of packed_parts() */
    float *floats;         /* [longest layer] scratch: one layer of one rank */
    /* [n_layers] one bit per step, the last one in bit 0. 1: the guessed shift was wrong. */
    uint8_t *misses;
};

/* The upper half, rounded to odd. */
static inline uint16_t packed_word(uint32_t bits)
{
    return (uint16_t)(bits >> 16 | ((bits & 0xffff) != 0));
}

/* Return true if words suffice for codes of this cast and shift. Words of subnormal fp32s have
 * fewer significant bits, so the shift must keep these below the format's resolution. */
bool packed_words_do(const struct vec_cast *cast, int shift);

/* The plans must exist. Returns 0 or -ENOMEM. */
int packed_all_open(struct reducer *r);
void packed_all_close(struct packed *p);

size_t packed_all_bytes(const struct reducer *r);

/* True if layer i will be sent as codes with the last step's shift, not as words. Call it between
 * steps. */
bool packed_is_guessed(const struct reducer *r, int i);

/* True if layer i's codes with the last step's shift are right. Valid from the agreement on
 * exponents until bucket_encoded(). */
bool packed_is_right(const struct reducer *r, int i);

/* Send this step's message, from the results of reducer_scan(), and fill of[]. It begins with the
 * rank's exponents. All ranks call it. Returns 0 or a negative errno of comm.h. */
int packed_send(struct reducer *r);

/* Make all ranks' codes; those of layers guessed wrong come in a second message. All ranks call it
 * once all exponents are known. Returns as packed_send(). */
int packed_open(struct reducer *r);

/* [P] pointers to the ranks' codes of bucket b, after packed_open(). */
const uint8_t **packed_parts(struct reducer *r, const struct bucket *b);

#endif
