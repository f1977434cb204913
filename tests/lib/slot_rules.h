/* slot_rules.h : wrong slot rules that look right, for test_slot_search.c. */
#ifndef SLOT_RULES_H
#define SLOT_RULES_H
#include "hls/card/slot.h"

/* Hosts run two chunks ahead. A new chunk overwrites the kept result, which cannot be sent
 * again. */
static inline enum slot_verdict rule_one_row(struct slot *cells, unsigned cell, unsigned *row,
                                             unsigned n_ranks, unsigned rank, uint32_t chunk,
                                             struct slot_desc desc)
{
    enum slot_verdict v = slot_take(&cells[cell], n_ranks, rank, chunk, desc);
    *row = cell;
    return v == SLOT_RESEND && cells[cell].state == SLOT_FILLING ? SLOT_STALE : v;
}

static inline enum slot_verdict rule_sent_once(struct slot *cells, unsigned cell, unsigned *row,
                                               unsigned n_ranks, unsigned rank, uint32_t chunk,
                                               struct slot_desc desc)
{
    enum slot_verdict v = slot_take(&cells[cell], n_ranks, rank, chunk, desc);
    *row = cell;
    return v == SLOT_RESEND ? SLOT_STALE : v;
}

static inline enum slot_verdict rule_by_size(struct slot *cells, unsigned cell, unsigned *row,
                                             unsigned n_ranks, unsigned rank, uint32_t chunk,
                                             struct slot_desc desc)
{
    *row = cell;
    if (cells[cell].state == SLOT_DONE && cells[cell].kept && chunk < cells[cell].chunk)
        return SLOT_STALE;
    return slot_take(&cells[cell], n_ranks, rank, chunk, desc);
}

/* Descriptions are not compared. */
static inline enum slot_verdict rule_any_desc(struct slot *cells, unsigned cell, unsigned *row,
                                              unsigned n_ranks, unsigned rank, uint32_t chunk,
                                              struct slot_desc desc)
{
    *row = cell;
    desc.ops = 0;
    return slot_take(&cells[cell], n_ranks, rank, chunk, desc);
}

static inline enum slot_verdict rule_no_bitmap(struct slot *cells, unsigned cell, unsigned *row,
                                               unsigned n_ranks, unsigned rank, uint32_t chunk,
                                               struct slot_desc desc)
{
    enum slot_verdict v = slot_take(&cells[cell], n_ranks, rank, chunk, desc);
    *row = cell;
    return v == SLOT_DUPLICATE ? SLOT_ADD : v;
}

/* SwitchML (NSDI 2021, algorithms 3 and 4): two pools, selected by the chunk's lowest bit. Setting
 * a rank's `seen` in one clears it in the other. bitmap: seen, chunk: count. */
static inline enum slot_verdict rule_version_bit(struct slot *cells, unsigned cell, unsigned *row,
                                                 unsigned n_ranks, unsigned rank, uint32_t chunk,
                                                 struct slot_desc desc)
{
    struct slot *pool = &cells[chunk & 1], *other = &cells[~chunk & 1];
    const uint64_t me = (uint64_t)1 << rank;
    const uint32_t count = pool->state == SLOT_DONE ? 0 : pool->chunk;
    (void)cell;
    (void)desc;
    *row = chunk & 1;
    if (pool->bitmap & me)
        return count ? SLOT_DUPLICATE : SLOT_RESEND;
    pool->bitmap |= me;
    other->bitmap &= ~me;
    pool->chunk = (count + 1) % n_ranks;
    pool->state = pool->chunk ? SLOT_FILLING : SLOT_DONE;
    if (pool->chunk)
        return count ? SLOT_ADD : SLOT_ADD_FIRST;
    return count ? SLOT_ADD_LAST : SLOT_ADD_ONLY;
}

#endif
