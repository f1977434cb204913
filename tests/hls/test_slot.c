/* test_slot.c : checks the slot machine's decision table, and ranks that meet over a bad
 * network. */
#include "check.h"
#include "hls/card/slot.h"
#include <string.h>

enum { SEED = 5 };
#include "seeded.h"
static const struct slot_desc desc = {0x1234567890abcdefu, 0xfedcba0987654321u};

/* Four ranks at chunk c; if filling, ranks 1 and 3 are in. */
static struct slot in_state(enum slot_state state, uint32_t kept, uint32_t c)
{
    struct slot s = slot_registered();
    s.state = state;
    s.kept = kept;
    s.chunk = c;
    s.bitmap = state == SLOT_FILLING ? 0xa : kept ? 0xf : 0;
    s.desc = desc;
    return s;
}

static void table(void)
{
    static const struct {
        enum slot_state state;
        uint32_t kept, rank;
        int ahead;
        enum slot_verdict want;
    } rows[] = {
        {SLOT_DONE, 1, 0, 1, SLOT_ADD_FIRST},    {SLOT_DONE, 0, 3, 1, SLOT_ADD_FIRST},
        {SLOT_DONE, 1, 0, 0, SLOT_RESEND},       {SLOT_DONE, 1, 3, 0, SLOT_RESEND},
        {SLOT_DONE, 0, 0, 0, SLOT_STALE},        {SLOT_DONE, 1, 0, -1, SLOT_STALE},
        {SLOT_DONE, 1, 0, 2, SLOT_STALE},        {SLOT_DONE, 0, 0, 2, SLOT_STALE},
        {SLOT_FILLING, 1, 0, 0, SLOT_ADD},       {SLOT_FILLING, 0, 2, 0, SLOT_ADD},
        {SLOT_FILLING, 1, 1, 0, SLOT_DUPLICATE}, {SLOT_FILLING, 0, 3, 0, SLOT_DUPLICATE},
        {SLOT_FILLING, 1, 0, -1, SLOT_RESEND},   {SLOT_FILLING, 1, 2, -1, SLOT_RESEND},
        {SLOT_FILLING, 1, 1, -1, SLOT_STALE},    {SLOT_FILLING, 0, 0, -1, SLOT_STALE},
        {SLOT_FILLING, 1, 0, 1, SLOT_STALE},     {SLOT_FILLING, 1, 1, 1, SLOT_STALE},
        {SLOT_FILLING, 1, 0, -2, SLOT_STALE},    {SLOT_FILLING, 0, 0, 2, SLOT_STALE},
    };
    static const uint32_t chunks[] = {0, 1, 2, 77, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
            struct slot s = in_state(rows[i].state, rows[i].kept, chunks[k]), was = s;
            uint32_t c = chunks[k] + (uint32_t)rows[i].ahead;
            enum slot_verdict got = slot_take(&s, 4, rows[i].rank, c, desc);
            CHECK(got == rows[i].want, "row %zu chunk %u: got %d, want %d", i, chunks[k], got,
                  rows[i].want);
            if (rows[i].want == SLOT_ADD || rows[i].want == SLOT_ADD_FIRST) {
                uint64_t before = rows[i].want == SLOT_ADD ? was.bitmap : 0;
                CHECK(s.state == SLOT_FILLING && s.chunk == c &&
                          s.bitmap == (before | 1u << rows[i].rank) && s.kept == was.kept,
                      "row %zu chunk %u", i, chunks[k]);
            } else {
                CHECK(!memcmp(&s, &was, sizeof s),
                      "row %zu chunk %u: a refused contribution changed it", i, chunks[k]);
            }
        }
}

/* Every bit counts, but only if something is to be added. */
static void descriptions(void)
{
    for (unsigned bit = 0; bit < 128; bit++) {
        struct slot_desc other = desc;
        *(bit < 64 ? &other.ops : &other.tag_count) ^= (uint64_t)1 << bit % 64;
        struct slot s = in_state(SLOT_FILLING, 1, 9), was = s;
        CHECK(slot_take(&s, 4, 0, 9, other) == SLOT_BAD_DESC && !memcmp(&s, &was, sizeof s),
              "bit %u", bit);
        CHECK(slot_take(&s, 4, 1, 9, other) == SLOT_DUPLICATE, "bit %u", bit);
        CHECK(slot_take(&s, 4, 0, 8, other) == SLOT_RESEND, "bit %u", bit);
    }
}

static void chunks(void)
{
    for (unsigned p = 1; p <= 64; p++) {
        struct slot s = slot_registered();
        CHECK(slot_take(&s, p, 0, 0xffffffff, desc) == SLOT_STALE, "nothing is kept yet");
        for (uint32_t c = 0; c < 3; c++) {
            struct slot_desc d = {c, p};
            for (unsigned i = 0; i < p; i++) {
                /* steps of 5, or ascending if 5 may share a factor with p */
                unsigned rank = (i * 5 + c) % p;
                rank = p % 5 ? rank : i;
                enum slot_verdict want = i + 1 == p ? SLOT_ADD_LAST : i ? SLOT_ADD : SLOT_ADD_FIRST;
                if (p == 1)
                    want = SLOT_ADD_ONLY;
                enum slot_verdict got = slot_take(&s, p, rank, c, d);
                CHECK(got == want, "%u ranks, chunk %u, contribution %u: got %d, want %d", p, c, i,
                      got, want);
                if (i + 1 < p && c > 0)
                    CHECK(s.kept_desc.ops == c - 1,
                          "%u ranks: the kept result's description is gone too early", p);
            }
            CHECK(s.state == SLOT_DONE && s.chunk == c && s.kept && slot_same(s.kept_desc, d),
                  "%u ranks", p);
        }
    }
}

/* ---- 1..3 ranks over a bad network ---- */

struct frame {
    int is_result;
    unsigned rank;
    uint32_t chunk, content;
};
enum { IN_FLIGHT = 12, CHUNKS = 40 };

static uint32_t term(unsigned rank, uint32_t chunk)
{
    return (chunk * 4 + rank) * 2654435761u;
}
static void put(struct frame *net, int *n, struct frame f)
{
    if (*n < IN_FLIGHT)
        net[(*n)++] = f;
    else
        net[draw(IN_FLIGHT)] = f;
}

static void ranks_meet(unsigned p, uint32_t start)
{
    struct slot s = slot_registered();
    s.chunk = start - 1;
    struct frame net[IN_FLIGHT];
    uint32_t next[3] = {start, start, start}, acc = 0, kept = 0;
    int n = 0, left = (int)p, steps = 0;
    while (left && ++steps < 400000) {
        unsigned r = draw(p);
        if (next[r] != start + CHUNKS && draw(2)) {
            put(net, &n, (struct frame){0, r, next[r], term(r, next[r])});
            continue;
        }
        if (!n)
            continue;
        uint32_t at = draw((uint32_t)n);
        struct frame f = net[at];
        if (draw(4))
            net[at] = net[--n];
        if (f.is_result) {
            if (f.chunk != next[f.rank])
                continue;
            uint32_t want = 0;
            for (unsigned k = 0; k < p; k++)
                want += term(k, f.chunk);
            CHECK(f.content == want, "%u ranks: a wrong sum for chunk %u", p, f.chunk);
            left -= ++next[f.rank] == start + CHUNKS;
            continue;
        }
        enum slot_verdict v = slot_take(&s, p, f.rank, f.chunk, desc);
        if (v == SLOT_RESEND)
            put(net, &n, (struct frame){1, f.rank, f.chunk, kept});
        if (v > SLOT_ADD_ONLY)
            continue;
        acc = f.content + (v == SLOT_ADD_FIRST || v == SLOT_ADD_ONLY ? 0 : acc);
        if (v == SLOT_ADD_LAST || v == SLOT_ADD_ONLY) {
            kept = acc;
            for (unsigned k = 0; k < p; k++)
                put(net, &n, (struct frame){1, k, f.chunk, kept});
        }
    }
    CHECK(!left, "%u ranks: stuck", p);
}

int main(void)
{
    printf("seed %d\n", SEED);
    table();
    descriptions();
    chunks();
    for (int i = 0; i < 50; i++)
        for (unsigned p = 1; p <= 3; p++)
            ranks_meet(p, i % 2 ? 0xfffffff0u : 0);
    DONE();
}
