/* test_card_mm.c : tests offload/xrt/card_mm.h on a simulated card. 2,000 runs must not make the
 * process grow, with `long` 10,000. */
#include "offload/xrt/card_mm.h"
#include "base/clock.h"
#include "base/buf.h"
#include "check.h"
#include "hls/card/kernels.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 3 };
static const size_t bank_bytes = (size_t)1 << 30, page = 4096; /* from hls/card/kernels.def */
static const double timeout_s = 30;
static const struct vec_sum
    e4m3 = {.in = {4, 3, 0}, .out = {4, 3, 0}, .rule = VEC_EXACT, .n_ranks = PARTS},
    wider = {.in = {2, 1, 0}, .out = {5, 10, 0}, .rule = VEC_EXACT, .n_ranks = PARTS};

static uint8_t *codes(size_t n, uint32_t seed)
{
    uint8_t *to = buf_alloc(n);
    for (size_t i = 0; to && i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        to[i] = (uint8_t)(seed >> 24);
    }
    return to;
}

static size_t resident_bytes(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%lu %lu", &all, &resident) == 2, "cannot read /proc/self/statm");
    if (f)
        fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void check_sum(struct card_mm *mm, const struct vec_sum *sum, const uint8_t *const *parts,
                      size_t n, uint8_t *sums, uint8_t *wanted)
{
    const size_t bytes = vec_bytes(sum->out, n);
    memset(sums, 0xa5, bytes);
    const int rc = card_mm_add(mm, parts, n, sums, timeout_s);
    vec_plain.sum(sum, parts, mm->n_parts, n, sum->out, 0, wanted);
    CHECK(!rc && !memcmp(sums, wanted, bytes), "%zu codes: %d %s", n, rc, mm->why);
}

static void test_many_runs(int many)
{
    const size_t most = 500;
    const uint8_t *const parts[] = {codes(most, 1), codes(most, 2), codes(most, 3)};
    uint8_t *sums = buf_alloc(most), *wanted = buf_alloc(most);
    struct card_mm mm;
    size_t before = 0;
    const int rc = card_mm_open(&mm, "xrt", NULL, &e4m3, PARTS, most, timeout_s);
    CHECK(!rc, "%s", mm.why);
    const double start = clock_s();
    for (int i = 0; !rc && i < many && !check_bad; i++) {
        if (i == (int)most) /* all sizes were used */
            before = resident_bytes();
        check_sum(&mm, &e4m3, parts, (size_t)i % most + 1, sums, wanted);
    }
    printf("%d runs, %.0f us each\n", many, 1e6 * (clock_s() - start) / many);
    CHECK(mm.runs == (uint64_t)many, "%llu runs", (unsigned long long)mm.runs);
    CHECK(resident_bytes() <= before + 40 * 1024, "grew from %zu to %zu bytes", before,
          resident_bytes());
    card_mm_close(&mm);
    for (int i = 0; i < PARTS; i++)
        free((void *)parts[i]);
    free(wanted);
    free(sums);
}

static void test_runs(const struct vec_sum *sum, size_t most, size_t run_codes, uint64_t runs)
{
    const size_t n = 299999;
    const uint8_t *const parts[] = {codes(n, 4), codes(n, 5), codes(n, 6)};
    uint8_t *sums = buf_alloc(2 * n), *wanted = buf_alloc(2 * n);
    struct card_mm mm;
    const int rc = card_mm_open(&mm, "xrt", NULL, sum, PARTS, most, timeout_s);
    CHECK(!rc && mm.run_codes == run_codes, "%s, %zu codes", mm.why, mm.run_codes);
    if (!rc)
        check_sum(&mm, sum, parts, n, sums, wanted);
    CHECK(mm.runs == runs, "%llu runs", (unsigned long long)mm.runs);
    card_mm_close(&mm);
    for (int i = 0; i < PARTS; i++)
        free((void *)parts[i]);
    free(wanted);
    free(sums);
}

static void test_little_room(struct xrt_card *card, size_t left, bool enough)
{
    struct xrt_card_buffer most;
    struct card_mm mm;
    int rc = xrt_card_buffer(card, KERNEL_EXPMAX, 0, bank_bytes - left, &most);
    CHECK(!rc, "all but %zu bytes: %s", left, card->why);
    rc = card_mm_open(&mm, "xrt", NULL, &e4m3, PARTS, 0, timeout_s);
    if (enough)
        CHECK(!rc && mm.run_codes >= left / 10, "%zu bytes: %zu codes, %s", left, mm.run_codes,
              mm.why);
    else
        CHECK(rc == -ENOMEM && !mm.card.work && strstr(mm.why, "bytes for reduce_mm"),
              "%zu bytes: %d %s", left, rc, mm.why);
    card_mm_close(&mm);
    xrt_card_buffer_close(card, &most);
}

static void test_memory(void)
{
    struct xrt_card card;
    struct xrt_card_buffer all = {0}, more = {0};
    CHECK(!xrt_card_open(&card, "xrt", NULL, timeout_s), "%s", card.why);
    if (!card.work)
        return;
    int rc = xrt_card_buffer(&card, KERNEL_EXPMAX, 0, bank_bytes + 1, &more);
    CHECK(rc == -ENOMEM && !more.own, "one byte more than there is: %d %s", rc, card.why);
    rc = xrt_card_buffer(&card, KERNEL_EXPMAX, 0, bank_bytes, &all);
    CHECK(!rc && all.map && !((uintptr_t)all.map % page), "all of it: %d %s", rc, card.why);
    rc = xrt_card_buffer(&card, KERNEL_EXPMAX, 0, 1, &more);
    CHECK(rc == -ENOMEM && !more.own, "and one byte: %d %s", rc, card.why);
    xrt_card_buffer_close(&card, &all);
    for (int i = 0; i < 40; i++) { /* together more than the memory */
        rc = xrt_card_buffer(&card, KERNEL_EXPMAX, 0, bank_bytes / 8, &all);
        CHECK(!rc, "buffer %d: %s", i, card.why);
        xrt_card_buffer_close(&card, &all);
    }
    test_little_room(&card, 64 * page, true);
    test_little_room(&card, 3 * page, true); /* a burst of each part and of the sums */
    test_little_room(&card, page, false);
    xrt_card_close(&card);
}

int main(int argc, char **argv)
{
    char path[512];
    const char *b = getenv("B") ? getenv("B") : "build";
    snprintf(path, sizeof path, "%s/xrt/lib/libxrt_core.so.2", b);
    if (access(path, R_OK))
        SKIP("no simulated XRT device in this build (libxrt-dev)");
    snprintf(path, sizeof path, "%s/narrowcast.sim.xclbin", b);
    setenv("NARROWCAST_XCLBIN", path, 1);
    snprintf(path, sizeof path, "%s/libnarrowcast_xrt.so", b);
    setenv("NARROWCAST_XRT", path, 1);
    snprintf(path, sizeof path, "%s/xrt", b);
    setenv("XILINX_XRT", path, 1);
    setenv("NARROWCAST_SIM_ENGINE", "c", 1);
    test_many_runs(argc > 1 && !strcmp(argv[1], "long") ? 10000 : 2000);
    test_memory();
    test_runs(&e4m3, 4 * bank_bytes, bank_bytes / (PARTS + 1), 1); /* half fits, and half of that */
    test_runs(&e4m3, 2000, 2048, 147);
    test_runs(&wider, 4096, 4096, 74);
    DONE();
}
