/* slot.h : the state machine of a slot. It handles contributions that have passed all other
 * checks.
 *
 *                  chunk c+1                   chunk c+1 of the last rank
 *     DONE(c) ---------------> FILLING(c+1) ------------------> DONE(c+1)      c counts mod 2^32
 *        |                        | chunk c+1, new rank: add; rank already in: drop
 *        | chunk c, result        | chunk c, rank not in c+1 yet, result kept: send it
 *        |   kept: send it        | else: drop
 *        | else: drop
 *
 * A rank is "in" when its contribution to the chunk being filled has been added. It sends chunk c+1
 * only after it has the result of chunk c. So once all ranks are in c+1, none needs the result of c
 * any more, and only then is it overwritten. Registration of a job puts its slots into DONE(2^32 -
 * 1) without a kept result. Chunk numbers are compared only for equality. The caller has the slot's
 * accumulator and kept result; the verdict says what to do with them.
 *
 * The RTL is checked against this file; the card's C model uses it. tests/hls/test_slot_search.c
 * searches all interleavings. */
#ifndef SLOT_H
#define SLOT_H
#include <stdint.h>

#ifdef __CUDACC__
#define SLOT_FN static __host__ __device__ inline
#else
#define SLOT_FN static inline
#endif

enum slot_state { SLOT_DONE, SLOT_FILLING };

/* header fields that all contributions to a result must share */
struct slot_desc {
    uint64_t ops;       /* bytes 24 to 31: op, flags, beats, in_fmt, out_fmt, out_shift, zero0 */
    uint64_t tag_count; /* tag | count << 32 */
};

struct slot {
    enum slot_state state;
    /* 1 if a result is kept: of `chunk` in DONE, of `chunk` - 1 in FILLING */
    uint32_t kept;
    uint32_t chunk; /* being filled, or filled last */
    /* bit r: rank r is in `chunk`. In DONE all ranks are, but after registration none */
    uint64_t bitmap;
    struct slot_desc desc;      /* of the first contribution to `chunk`, in FILLING */
    struct slot_desc kept_desc; /* of the kept result */
};

enum slot_verdict {
    SLOT_ADD_FIRST, /* overwrite the accumulator */
    SLOT_ADD,       /* add to the accumulator */
    SLOT_ADD_LAST,  /* add, round the sum into the kept result, send it to all ranks */
    SLOT_ADD_ONLY,  /* first and last at once: a job of one rank */
    SLOT_RESEND,    /* send the kept result to this rank */
    SLOT_DUPLICATE, /* drop: this rank is already in */
    SLOT_STALE,     /* drop: no rank waits for this chunk */
    SLOT_BAD_DESC   /* drop, send NAK: not the first contribution's description */
};

/* Return the state of a slot after registration of its job. */
SLOT_FN struct slot slot_registered(void)
{
    struct slot s;
    s.state = SLOT_DONE;
    s.kept = 0u;
    s.chunk = 0xffffffffu;
    s.bitmap = 0u;
    s.desc.ops = s.desc.tag_count = 0u;
    s.kept_desc = s.desc;
    return s;
}

SLOT_FN uint32_t slot_same(struct slot_desc a, struct slot_desc b)
{
    return a.ops == b.ops && a.tag_count == b.tag_count ? 1u : 0u;
}

/* Return the bitmap of all ranks of a job. */
SLOT_FN uint64_t slot_everyone(unsigned n_ranks)
{
    return ~(uint64_t)0 >> ((64u - n_ranks) & 63u);
}

/* Return what to do with a contribution. rank < n_ranks, n_ranks: 1 to 64. s changes only if the
 * verdict is one of SLOT_ADD_*. */
SLOT_FN enum slot_verdict slot_take(struct slot *s, unsigned n_ranks, unsigned rank, uint32_t chunk,
                                    struct slot_desc desc)
{
    uint64_t me = (uint64_t)1 << (rank & 63u);
    uint32_t first = s->state == SLOT_DONE && chunk == s->chunk + 1u ? 1u : 0u;
    if (first == 0u) {
        uint32_t kept_chunk = s->state == SLOT_DONE ? s->chunk : s->chunk - 1u;
        uint32_t waits = s->state == SLOT_DONE || (s->bitmap & me) == 0u ? 1u : 0u;
        if (chunk == kept_chunk)
            return s->kept != 0u && waits != 0u ? SLOT_RESEND : SLOT_STALE;
        if (s->state == SLOT_DONE || chunk != s->chunk)
            return SLOT_STALE;
        if ((s->bitmap & me) != 0u)
            return SLOT_DUPLICATE;
        if (slot_same(s->desc, desc) == 0u)
            return SLOT_BAD_DESC;
    }

    if (first != 0u) {
        s->state = SLOT_FILLING;
        s->chunk = chunk;
        s->bitmap = 0u;
        s->desc = desc;
    }
    s->bitmap |= me;
    if (s->bitmap != slot_everyone(n_ranks))
        return first != 0u ? SLOT_ADD_FIRST : SLOT_ADD;
    s->state = SLOT_DONE;
    s->kept = 1u;
    s->kept_desc = s->desc;
    return first != 0u ? SLOT_ADD_ONLY : SLOT_ADD_LAST;
}

#endif
