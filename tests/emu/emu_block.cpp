/* emu_block.cpp : runs the threads of a block in turns, each until a barrier. */
#include "emu_block.h"
#include <link.h>

__thread emu_thread_state emu_now = {};

static emu_member *emu_me()
{
    emu_block *b = emu_now.runs;
    return &b->lanes[(size_t)b->running->thread];
}

int emu_lane()
{
    return emu_now.runs->running->thread % 32;
}

static void emu_begin(emu_block *b, int thread)
{
    const unsigned t = (unsigned)thread, x = emu_now.block_dim.x, y = emu_now.block_dim.y;
    b->lanes[(size_t)thread].place = emu_now.thread = {t % x, t / x % y, t / (x * y)};
}

static uint64_t emu_combine(const emu_member *w, int n, unsigned group, int i)
{
    const emu_member *me = &w[i];
    if (me->op == EMU_SHUFFLE)
        /* undefined on a GPU */
        return me->from < n && (group >> me->from & 1) ? w[me->from].value : 0xa5a5a5a5a5a5a5a5u;
    uint64_t y = me->op == EMU_MIN || me->op == EMU_AND ? ~(uint64_t)0 : 0;
    for (int l = 0; l < n; l++)
        if (group >> l & 1) {
            const uint64_t x = w[l].value;
            switch (me->op) {
            case EMU_BALLOT:
                y |= x << l;
                break;
            case EMU_ADD:
                y += x;
                break;
            case EMU_MIN:
                y = x < y ? x : y;
                break;
            case EMU_MAX:
                y = x > y ? x : y;
                break;
            case EMU_AND:
                y &= x;
                break;
            case EMU_OR:
                y |= x;
                break;
            case EMU_XOR:
                y ^= x;
                break;
            case EMU_MATCH:
                y |= (uint64_t)(x == me->value) << l;
                break;
            default:
                break;
            }
        }
    return y;
}

/* Lanes of a mask continue when all that have not returned wait with this mask. */
static void emu_warp_complete(emu_block *b, int first, unsigned mask)
{
    emu_member *w = &b->lanes[(size_t)first];
    const int n = b->n - first < 32 ? b->n - first : 32;
    unsigned group = 0;
    for (int l = 0; l < n; l++)
        if (mask >> l & 1) {
            if (w[l].state == EMU_DONE)
                continue;
            if (w[l].state != EMU_AT_WARP || w[l].mask != mask)
                return;
            group |= 1u << l;
        }
    if (!group)
        return;
    const emu_member *head = &w[__builtin_ctz(group)];
    b->n_warp[first / 32]++;
    for (int l = 0; l < n; l++)
        if ((group >> l & 1) && w[l].op != head->op)
            emu_die("%s: lanes %d and %d of a warp meet in different operations", b->name,
                    (int)(head - w), l);
    const bool alike = head->op != EMU_SHUFFLE && head->op != EMU_MATCH;
    const uint64_t same = alike ? emu_combine(w, n, group, (int)(head - w)) : 0;
    for (int l = 0; l < n; l++)
        if (group >> l & 1)
            w[l].result = alike ? same : emu_combine(w, n, group, l);
    for (int l = 0; l < n; l++)
        if (group >> l & 1)
            w[l].state = EMU_READY;
}

static void emu_stop_here(emu_block *b)
{
    emu_fiber *me = b->running;
    emu_fiber_switch(me, &b->scheduler);
    b->running = me;
    emu_now.thread = b->lanes[(size_t)me->thread].place;
}

uint64_t emu_warp(enum emu_warp_op op, unsigned mask, uint64_t value, int from)
{
    emu_block *b = emu_now.runs;
    emu_member *me = emu_me();
    const int thread = b->running->thread;
    if (!(mask >> (thread % 32) & 1))
        emu_die("%s: lane %d of a warp is not in its own mask %08x", b->name, thread % 32, mask);
    me->op = op;
    me->mask = mask;
    me->value = value;
    me->from = from;
    me->state = EMU_AT_WARP;
    emu_warp_complete(b, thread & ~31, mask);
    if (me->state != EMU_READY)
        emu_stop_here(b);
    me->state = EMU_READY;
    return me->result;
}

static unsigned emu_barrier(emu_state kind, const char *file, int line, unsigned value)
{
    emu_block *b = emu_now.runs;
    emu_member *me = emu_me();
    if (b->n_at == 0) {
        b->file = file;
        b->line = line;
        b->kind = kind;
        b->sum = 0;
    } else if (b->kind != kind || b->line != line ||
               (b->file != file && strcmp(b->file, file) != 0))
        emu_die("%s: divergent barrier: threads of a block wait at %s:%d and at %s:%d", b->name,
                b->file, b->line, file, line);
    if (b->n_done)
        emu_die("%s: divergent barrier: %d threads of a block have returned, others wait at %s:%d",
                b->name, b->n_done, file, line);
    b->sum += value;
    me->state = kind;
    if (++b->n_at == b->n) {
        b->n_barriers++;
        b->n_at = 0;
        b->result = b->sum;
        for (emu_member &l : b->lanes)
            l.state = EMU_READY;
    } else
        emu_stop_here(b);
    return b->result;
}

unsigned emu_block_barrier(const char *file, int line, unsigned value)
{
    return emu_barrier(EMU_AT_BLOCK, file, line, value);
}

static bool emu_reversed()
{
    static const bool reversed = emu_env("EMU_REVERSE", 0) != 0;
    return reversed;
}

static int emu_next_new(emu_block *b)
{
    const int i = b->n_started;
    if (i == b->n)
        return -1;
    b->n_started++;
    return emu_reversed() ? b->n - 1 - i : i;
}

static void emu_fiber_main(emu_fiber *f)
{
    emu_block *b = emu_now.runs;
    for (;;) {
        emu_begin(b, f->thread);
        (*b->body)();
        b = emu_now.runs;
        b->lanes[(size_t)f->thread].state = EMU_DONE;
        b->n_done++;
        if (b->n_at)
            emu_die("%s: divergent barrier: a thread of a block returned, others wait at %s:%d",
                    b->name, b->file, b->line);
        const int first = f->thread & ~31;
        for (int l = first; l < b->n && l < first + 32; l++)
            if (b->lanes[(size_t)l].state == EMU_AT_WARP)
                emu_warp_complete(b, first, b->lanes[(size_t)l].mask);
        f->thread = emu_next_new(b);
        if (f->thread >= 0) {
            b->lanes[(size_t)f->thread].fiber = f;
            continue;
        }
        b->idle.push_back(f);
        emu_fiber_switch(f, &b->scheduler);
        b = emu_now.runs;
    }
}

static void emu_turn(emu_block *b, emu_fiber *f)
{
    b->running = f;
    emu_fiber_switch(&b->scheduler, f);
}

[[noreturn]] static void emu_stuck(emu_block *b)
{
    for (int t = 0; t < b->n; t++)
        if (b->lanes[(size_t)t].state == EMU_AT_WARP)
            emu_die("%s: thread %d of a block waits in its warp for lanes %08x, and some of them "
                    "never come%s",
                    b->name, t, b->lanes[(size_t)t].mask,
                    b->n_at ? ": they wait at a barrier of the block" : "");
    emu_die("%s: divergent barrier: %d of %d threads of a block wait at %s:%d", b->name, b->n_at,
            b->n, b->file, b->line);
}

/* The module's thread-local memory, except emu_now, is shared memory: it starts as garbage. */
static int emu_find_statics(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    char *at = (char *)info->dlpi_tls_data;
    if (!at)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS && (char *)&emu_now >= at &&
            (char *)&emu_now < at + info->dlpi_phdr[i].p_memsz) {
            emu_now.statics = at;
            emu_now.statics_bytes = info->dlpi_phdr[i].p_memsz;
            return 1;
        }
    return 0;
}

static void emu_poison(char *from, char *to)
{
    char *const me = (char *)&emu_now, *const after = me + sizeof emu_now;
    if (from < me)
        memset(from, 0xa5, (size_t)((to < me ? to : me) - from));
    if (to > after)
        memset(from > after ? from : after, 0xa5, (size_t)(to - (from > after ? from : after)));
}

/* Extends w by the pieces of bytes from..to that are no longer as emu_poison() left them. */
static void emu_look(emu_written *w, size_t from, size_t to)
{
    enum { PIECE = 4096 };
    static const std::vector<char> garbage(PIECE, (char)0xa5);
    const char *const statics = emu_now.statics;
    for (size_t i = from, end; i < to; i = end) {
        end = i + PIECE < to ? i + PIECE : to;
        if (memcmp(statics + i, garbage.data(), end - i) == 0)
            continue;
        w->from = w->to == 0 || i < w->from ? i : w->from;
        w->to = end > w->to ? end : w->to;
    }
}

/* All kernels' static shared memory is megabytes, so a block only renews what its kernel writes,
 * as seen after the kernel's first block and one in 64. */
static void emu_renew(emu_block *b)
{
    const size_t me = (size_t)((char *)&emu_now - emu_now.statics);
    if (b->written.n_blocks++ % 64 == 0) {
        emu_look(&b->written, 0, me);
        emu_look(&b->written, me + sizeof emu_now, emu_now.statics_bytes);
    }
    emu_poison(emu_now.statics + b->written.from, emu_now.statics + b->written.to);
}

void emu_block_run(emu_block *b)
{
    emu_now.runs = b;
    emu_now.shared = (void *)(((uintptr_t)b->shared.data() + 127) & ~(uintptr_t)127);
    if (!emu_now.statics) {
        dl_iterate_phdr(emu_find_statics, nullptr);
        emu_poison(emu_now.statics, emu_now.statics + emu_now.statics_bytes);
    }
    memset(b->shared.data(), 0xa5, b->shared.size());
    emu_fiber_self(&b->scheduler);
    b->n_done = b->n_at = b->n_started = 0;
    b->lanes.assign((size_t)b->n, emu_member());
    for (int t; (t = emu_next_new(b)) >= 0;) {
        if (b->idle.empty()) {
            emu_fiber *f = new emu_fiber();
            emu_fiber_make(f, emu_fiber_main);
            b->idle.push_back(f);
        }
        emu_fiber *f = b->idle.back();
        b->idle.pop_back();
        f->thread = t;
        b->lanes[(size_t)t].fiber = f;
        emu_turn(b, f);
    }
    while (b->n_done < b->n) {
        bool any = false;
        for (int i = 0; i < b->n; i++) {
            const emu_member *l = &b->lanes[(size_t)(emu_reversed() ? b->n - 1 - i : i)];
            if (l->state == EMU_READY) {
                any = true;
                emu_turn(b, l->fiber);
            }
        }
        if (!any)
            emu_stuck(b);
    }
    emu_renew(b);
    emu_now.runs = nullptr;
}
