/* test_gpu_signs.c : signs and means of columns, samples and counts from both GPU tables equal
 * plain C's. */
#include "gpu_lists.h"

static const struct signs_rule rules[] = {{64, 1},  {32, 1},   {512, 1}, {1, 1},   {3, 16},
                                          {10, 64}, {1, 5},    {700, 1}, {257, 3}, {33, 2},
                                          {7, 100}, {1024, 1}, {16, 9},  {17, 1}};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static void check_signs(int k, bool tidy, int kind, bool keeps)
{
    struct place at[LIST];
    struct signs_span want[LIST], got[LIST];
    struct signs_out outs[LIST], gpu_outs[LIST];
    char what[64];
    int n = 0;
    size_t x = 0, codes = 0;
    snprintf(what, sizeof what, "signs from columns of %zu, %zu apart", rules[k].column,
             rules[k].stride);
    for (; n < LIST; n++) {
        const struct signs_rule r = rules[n % 2 ? (k + n) % N_RULES : k];
        const size_t run = r.column * r.stride, length = n == 4 ? 2 * run : list_lengths[n % 8];
        at[n] = (struct place){x + (tidy ? 0 : 1), codes + (tidy ? 0 : 3), length,
                               ((length + run - 1) / run + (n % 3 == 0)) * run};
        x = at[n].x + length;
        codes = at[n].codes + signs_bytes(&r, at[n].padded);
        want[n].rule = r;
    }
    CHECK(x <= ROOM && codes <= BYTES, "no room");
    for (int p = 0; p < PARTS + 1; p++) {
        fill(kind, (uint64_t)p << 20);
        clear_codes();
        clear_floats(host.next, dev.next);
        for (int i = 0; i < n; i++) {
            want[i] = (struct signs_span){.x = p < PARTS ? host.x + at[i].x : NULL,
                                          .codes = host.codes + at[i].codes,
                                          .n = at[i].n,
                                          .padded = at[i].padded,
                                          .rule = want[i].rule,
                                          .absmax = 9};
            got[i] = want[i];
            got[i].x = p < PARTS ? dev.x + at[i].x : NULL;
            got[i].codes = dev.codes + at[i].codes;
            if (keeps) {
                want[i].left = (struct signs_left){host.was + at[i].x, host.next + at[i].x};
                got[i].left = (struct signs_left){dev.was + at[i].x, dev.next + at[i].x};
            }
        }
        if (p < PARTS) {
            sign_lists_each.encode(&vec_plain, want, n, true);
            dev.ops->sign_lists->encode(dev.ops, got, n, true);
        } else {
            sign_lists_each.sum(&vec_plain, (const uint8_t *const *)host.parts, PARTS, want, n,
                                host.codes);
            dev.ops->sign_lists->sum(dev.ops, (const uint8_t *const *)dev.parts, PARTS, got, n,
                                     dev.codes);
        }
        for (int i = 0; i < n && p < PARTS; i++)
            CHECK(want[i].absmax == got[i].absmax, "%s: absmax of %zu", what, at[i].n);
        if (kind == 4)
            return; /* codes of nan mean nothing */
        same_codes(what, kind);
        same_floats(host.next, dev.next, what, kind);
        memcpy(host.parts[p % PARTS], host.codes, BYTES);
        copy(dev.parts[p % PARTS], host.parts[p % PARTS], BYTES);
    }
    clear_floats(host.y, dev.y);
    for (int i = 0; i < n; i++) {
        outs[i] = (struct signs_out){.x = host.y + at[i].x,
                                     .codes = host.parts[0] + at[i].codes,
                                     .n = at[i].n,
                                     .rule = want[i].rule};
        gpu_outs[i] = outs[i];
        gpu_outs[i].x = dev.y + at[i].x;
        gpu_outs[i].codes = dev.parts[0] + at[i].codes;
    }
    sign_lists_each.decode(&vec_plain, outs, n, 3);
    dev.ops->sign_lists->decode(dev.ops, gpu_outs, n, 3);
    same_floats(host.y, dev.y, what, kind);
}

static void check_all_signs(void)
{
    for (int k = 0; k < N_RULES; k++)
        for (int kind = k % 2; kind < KINDS; kind += 2)
            check_signs(k, (k + kind) / 2 % 2, kind, (k + kind) % 3);
}

static void check_draws(bool tidy, int kind)
{
    struct place at[LIST];
    struct vec_span want[LIST], got[LIST];
    struct draw_span draws[LIST], gpu_draws[LIST];
    const int n = lay_out(COUNTS_UNIT, 2, tidy, at);
    at[n - 1].n = 9001, at[n - 1].padded = 9008; /* more than a block reads at a time */
    fill(kind, 0);
    clear_codes();
    for (int i = 0; i < n; i++) {
        want[i] = (struct vec_span){.x = host.x + at[i].x, .n = at[i].n, .absmax = 3};
        got[i] = want[i];
        got[i].x = dev.x + at[i].x;
    }
    level_lists_each.clipped(&vec_plain, 1.25f, want, n);
    dev.ops->level_lists->clipped(dev.ops, 1.25f, got, n);
    for (int i = 0; i < n; i++) {
        CHECK(want[i].absmax == got[i].absmax, "inputs %d: clip of %zu: %a, want %a", kind, at[i].n,
              (double)float_of(got[i].absmax), (double)float_of(want[i].absmax));
        const float clip = kind == 4 ? 3 : float_of(want[i].absmax);
        draws[i] = (struct draw_span){.x = want[i].x,
                                      .codes = host.codes + at[i].codes,
                                      .n = at[i].n,
                                      .padded = at[i].padded,
                                      .at = (size_t)i * 64,
                                      .key = seed + (uint64_t)i,
                                      .scale = clip * 1.5f,
                                      .clip = clip};
        gpu_draws[i] = draws[i];
        gpu_draws[i].x = got[i].x;
        gpu_draws[i].codes = dev.codes + at[i].codes;
    }
    level_lists_each.draw(&vec_plain, draws, n);
    dev.ops->level_lists->draw(dev.ops, gpu_draws, n);
    same_codes("draws", kind);
}

static void check_counts(int n_ranks, size_t n, size_t skip)
{
    struct counts_rule r = {.n_ranks = n_ranks, .bits = 2};
    struct counts_out outs[2], gpu_outs[2];
    const uint8_t *parts[PARTS], *gpu_parts[PARTS];
    while ((1u << r.bits) < 2 * (uint32_t)n_ranks + 1)
        r.bits++;
    for (int p = 0; p < PARTS; p++) {
        for (size_t i = 0; i < n; i++) {
            host.parts[p][skip + i] = 0;
            for (uint64_t j = 0; j < 4; j++)
                host.parts[p][skip + i] |=
                    (uint8_t)("\0\1\3"[philox_u32(seed + (uint64_t)p, 4 * i + j) % 3] << 2 * j);
        }
        copy(dev.parts[p], host.parts[p], BYTES);
        parts[p] = host.parts[p] + skip, gpu_parts[p] = dev.parts[p] + skip;
    }
    const int n_parts = n_ranks < PARTS ? n_ranks : PARTS;
    clear_codes();
    counts_c.sum(&r, parts, n_parts, n, host.codes + skip);
    dev.ops->counts->sum(&r, gpu_parts, n_parts, n, dev.codes + skip);
    same_codes("sums of draws", n_ranks);
    clear_floats(host.y, dev.y);
    for (int i = 0; i < 2; i++) {
        outs[i] = (struct counts_out){
            .x = host.y + (i ? n + 1 : 0), .codes = host.codes + skip, .n = n, .max = 0.3f};
        gpu_outs[i] = (struct counts_out){
            .x = dev.y + (i ? n + 1 : 0), .codes = dev.codes + skip, .n = n, .max = 0.3f};
    }
    counts_c.decode(&r, outs, 2);
    dev.ops->counts->decode(&r, gpu_outs, 2);
    same_floats(host.y, dev.y, "counts", n_ranks);

    int32_t *const acc = dev.ops->alloc((n + 1) * sizeof *acc);
    for (int p = 0; p < n_parts; p++)
        dev.ops->counts->add(&r, false, acc, gpu_parts[p], n, p == 0);
    clear_codes();
    dev.ops->counts->spill(&r, acc, n, dev.codes + skip);
    counts_c.sum(&r, parts, n_parts, n, host.codes + skip);
    same_codes("accumulators", n_ranks);
    memcpy(host.parts[0], host.codes, BYTES);
    copy(dev.parts[0], host.codes, BYTES);
    dev.ops->counts->add(&r, true, acc, dev.parts[0] + skip, n, true);
    clear_codes();
    dev.ops->counts->spill(&r, acc, n, dev.codes + skip);
    memcpy(host.codes, host.parts[0], BYTES);
    same_codes("sums that travelled", n_ranks);
    dev.ops->free(acc);
}

static void check(const struct vec_ops *ops)
{
    static const int ranks[] = {1, 2, 3, 4, 20, 600, 70000};
    (void)ops;
    check_all_signs();
    for (int kind = 0; kind < KINDS; kind++)
        for (int tidy = 0; tidy < 2; tidy++)
            check_draws(tidy, kind);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        check_counts(ranks[i], 1000 + 7 * i, i);
}

int main(void)
{
    if (lists_on_gpu(check))
        return 1;
    DONE();
}
