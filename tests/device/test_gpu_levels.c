/* test_gpu_levels.c : buckets of levels from both GPU tables equal plain C's. */
#include "gpu_lists.h"

static void check_levels(const struct levels_rule *r, bool tidy, int kind)
{
    struct place at[LIST];
    struct vec_span want[LIST], got[LIST];
    struct vec_out outs[LIST], gpu_outs[LIST];
    char what[64];
    const int n = lay_out(r->bucket, levels_bytes(r, r->bucket), tidy, at);
    snprintf(what, sizeof what, "%u bits, %s, bucket %u, norm %d", r->scheme.bits,
             r->scheme.even ? "even" : "sign", r->bucket, r->norm2);
    for (int p = 0; p < PARTS; p++) {
        fill(kind, (uint64_t)p << 20);
        clear_codes();
        for (int i = 0; i < n; i++) {
            want[i] = (struct vec_span){.x = host.x + at[i].x,
                                        .codes = host.codes + at[i].codes,
                                        .n = at[i].n,
                                        .padded = at[i].padded,
                                        .at = (size_t)i * 3 * r->bucket,
                                        .key = seed + (uint64_t)i,
                                        .absmax = 7};
            got[i] = want[i];
            got[i].x = dev.x + at[i].x;
            got[i].codes = dev.codes + at[i].codes;
        }
        level_lists_each.encode(&vec_plain, r, want, n);
        dev.ops->level_lists->encode(dev.ops, r, got, n);
        same_codes(what, kind);
        for (int i = 0; i < n; i++)
            CHECK(want[i].absmax == got[i].absmax, "%s: absmax of %zu", what, at[i].n);
        memcpy(host.parts[p], host.codes, BYTES);
        copy(dev.parts[p], host.parts[p], BYTES);
    }
    if (kind == 4)
        return; /* codes of nan mean nothing */
    for (int by = 1; by < 4; by++) {
        clear_floats(host.y, dev.y);
        for (int i = 0; i < n; i++) {
            outs[i] = (struct vec_out){
                .x = host.y + at[i].x, .codes = host.parts[0] + at[i].codes, .n = at[i].n};
            gpu_outs[i] = (struct vec_out){
                .x = dev.y + at[i].x, .codes = dev.parts[0] + at[i].codes, .n = at[i].n};
        }
        level_lists_each.decode(&vec_plain, r, outs, n, (float)by);
        dev.ops->level_lists->decode(dev.ops, r, gpu_outs, n, (float)by);
        same_floats(host.y, dev.y, what, kind);
    }
    clear_codes();
    level_lists_each.sum(&vec_plain, r, (const uint8_t *const *)host.parts, PARTS, want, n,
                         host.codes);
    dev.ops->level_lists->sum(dev.ops, r, (const uint8_t *const *)dev.parts, PARTS, got, n,
                              dev.codes);
    same_codes(what, kind);
}

/* Both values of first cover every rule with every bucket. */
static void check_all_levels(int first)
{
    static const uint32_t buckets[] = {32, 128, 512, 544, 1504, 8192, LEVEL_BUCKET_MAX};
    int k = first;
    for (uint32_t bits = 1; bits <= 16; bits *= 2)
        for (uint32_t even = bits == 1; even < 2; even++)
            for (int norm2 = 0; norm2 < 2; norm2++)
                for (int b = first; b < 7; b += 2, k++) {
                    const struct levels_rule r = {
                        .scheme = {bits, even}, .bucket = buckets[b], .norm2 = norm2};
                    check_levels(&r, k % 3 > 0, k % KINDS);
                }
}

/* Checks buckets in the registers of a block, with all inputs, aligned and not. */
static void check_blocks(void)
{
    static const uint32_t buckets[] = {544, 1024, 1504, 4096, 8160, 8192};
    for (size_t b = 0; b < sizeof buckets / sizeof *buckets; b++)
        for (int k = 0; k < 2 * KINDS; k++) {
            const struct levels_rule r = {.scheme = {16, 0}, .bucket = buckets[b]};
            check_levels(&r, k / KINDS, k % KINDS);
        }
}

/* Checks aligned vectors longer than a tile of full buckets. */
static void check_tiles(void)
{
    for (uint32_t k = 0; k < 4 * KINDS; k++) {
        const struct levels_rule r = {.scheme = {k % 2 ? 4 : 8, k / 2 % 2}, .bucket = 512};
        struct vec_span want = {.x = host.x,
                                .codes = host.codes,
                                .n = ROOM - 3,
                                .padded = ROOM,
                                .at = 512 * k,
                                .key = seed + k,
                                .absmax = 7},
                        got = want;
        got.x = dev.x, got.codes = dev.codes;
        fill((int)(k / 4), (uint64_t)k << 20);
        clear_codes();
        level_lists_each.encode(&vec_plain, &r, &want, 1);
        dev.ops->level_lists->encode(dev.ops, &r, &got, 1);
        same_codes("tiles", (int)(k / 4));
        CHECK(want.absmax == got.absmax, "absmax of tiles");
    }
}

static void check_long(void)
{
    const struct levels_rule r = {.scheme = {16, 0}, .bucket = 8192};
    const size_t n = 5 * 8192;
    fill(0, 0);
    struct vec_span s = {.x = host.x, .codes = host.parts[0], .n = n, .padded = n};
    level_lists_each.encode(&vec_plain, &r, &s, 1);
    copy(dev.parts[0], host.parts[0], BYTES);
    const uint8_t *parts[PARTS + 1] = {host.parts[0], host.parts[0], host.parts[0], host.parts[0]},
                                 *gpu_parts[PARTS + 1] = {dev.parts[0], dev.parts[0], dev.parts[0],
                                                          dev.parts[0]};
    CHECK((PARTS + 1) * levels_bytes(&r, n) >= VEC_CUDA_SUM_MIN, "short");
    clear_codes();
    s.codes = host.codes;
    level_lists_each.sum(&vec_plain, &r, parts, PARTS + 1, &s, 1, host.codes);
    s.codes = dev.codes;
    dev.ops->level_lists->sum(dev.ops, &r, gpu_parts, PARTS + 1, &s, 1, dev.codes);
    same_codes("a long sum", 0);
}

static void check(const struct vec_ops *ops)
{
    check_all_levels(ops == vec_cuda());
    if (ops == vec_cuda())
        check_blocks(), check_tiles(), check_long();
}

int main(void)
{
    if (lists_on_gpu(check))
        return 1;
    DONE();
}
