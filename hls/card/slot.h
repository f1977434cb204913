/* slot.h : the slot machine: whether a contribution that passed every other check may touch a slot
 * of the card.
 *
 *                      chunk c+1                       every rank is in
 *     DONE(c) ---------------------------> FILLING(c+1) ----------------> DONE(c+1)     c counts mod 2^32
 *        | chunk c, result kept: send it      | chunk c+1, new rank: add; known rank: drop
 *        | else: drop                         | chunk c, rank not in yet, result kept: send it; else: drop
 *
 * A rank sends chunk c+1 only after it has the result of c, so c+1 complete means that nobody wants
 * c any more: only then is the kept result overwritten. Registration of a job is DONE(2^32 - 1)
 * with nothing kept. Comparisons are for equality. One slot has one accumulator and one kept
 * result; both are the caller's, the verdict says what to do with them. Shared dialect: the oracle
 * of the RTL, the engine of the card's C model, the subject of the search over interleavings. */
#ifndef SLOT_H
#define SLOT_H
#include <stdint.h>

#ifdef __CUDACC__
#define SLOT_FN static __host__ __device__ inline
#else
#define SLOT_FN static inline
#endif

enum slot_state { SLOT_DONE, SLOT_FILLING };

/* What all contributions to a result must agree on: header bytes 24..31 and 32..35 with count on
 * top. */
struct slot_desc {
    uint64_t ops;       /* op, flags, beats, in_fmt, out_fmt, out_shift, zero0 */
    uint64_t tag_count; /* tag | count << 32 */
};

struct slot {
    enum slot_state state;
    /* 1: there is a kept result, of chunk (DONE) or chunk - 1 (FILLING) */
    uint32_t kept;
    uint32_t chunk; /* that is being filled, or was filled last */
    /* of ranks that are in: all of them in DONE, none after registration */
    uint64_t bitmap;
    struct slot_desc desc;      /* FILLING: of the first contribution */
    struct slot_desc kept_desc; /* of the kept result */
};

enum slot_verdict {
    SLOT_ADD_FIRST, /* overwrite the accumulator */
    SLOT_ADD,       /* add to it */
    SLOT_ADD_LAST,  /* add, round into the kept result, send that to all ranks */
    SLOT_ADD_ONLY,  /* the first and the last, as a job of one rank has it */
    SLOT_RESEND,    /* send the kept result to this rank */
    SLOT_DUPLICATE, /* drop: this rank is in */
    SLOT_STALE,     /* drop: nobody waits for that */
    SLOT_BAD_DESC   /* drop, NAK: not the description of the first contribution */
};

/* As a job's registration leaves every slot of its range. */
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

/* 1 where two descriptions are the same. */
SLOT_FN uint32_t slot_same(struct slot_desc a, struct slot_desc b)
{
    return a.ops == b.ops && a.tag_count == b.tag_count ? 1u : 0u;
}

/* The bitmap of a job of n_ranks, 1..64. */
SLOT_FN uint64_t slot_everyone(unsigned n_ranks)
{
    return ~(uint64_t)0 >> ((64u - n_ranks) & 63u);
}

/* A contribution of rank (< n_ranks, 1..64) has come for chunk. s is changed by SLOT_ADD_*
 * alone. */
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
