/* test_mf_floats.c : runs floats in bulk through mf_enc.
 *
 *     test_mf_floats [quick]
 *         every 997th (quick: 9973rd) float for these formats, all roundings of some
 *     test_mf_floats long [WHAT] [-j N]      without WHAT: all of these
 *         e5m2 e4m3 e4m3fn e3m0 e5m10 e8m7 e2m1f e2m3f e3m4f: all 2^32 floats against the slow
 *         reference
 *         sweep: every 4999th float for every (e, m)
 *         f16c: all 2^32 floats for e5m10 against the CPU's instruction
 *     -j N shares the floats of a format among N processes. */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "mf_slow.h"

#define ALL   (1ull << 32)
#define CHUNK (1ull << 24)

static const struct {
    const char *name;
    struct mf_fmt f;
} formats[] = {{"e5m2", {5, 2, 0}},  {"e4m3", {4, 3, 0}},   {"e4m3fn", {4, 3, 1}},
               {"e3m0", {3, 0, 0}},  {"e5m10", {5, 10, 0}}, {"e8m7", {8, 7, 0}},
               {"e2m1f", {2, 1, 2}}, {"e2m3f", {2, 3, 2}},  {"e3m4f", {3, 4, 2}}};
#define N_FORMATS (sizeof formats / sizeof *formats)

static void check_one(struct slow *s, uint32_t x, enum mf_round round, enum mf_overflow overflow)
{
    uint32_t random = x * 0x9e3779b9u;
    uint32_t got = mf_enc(s->f, x, 0, round, overflow, random),
             want = slow_enc(s, float_of(x), round, overflow, random);
    CHECK(got == want, "e%um%u fn %u: %08x, round %d, overflow %d: %x, must be %x", s->f.e, s->f.m,
          s->f.flavour, x, round, overflow, got, want);
}

/* Nearest, saturating; every 61st also in all other modes. */
static void check_range(struct slow *s, uint64_t from, uint64_t to, uint64_t step)
{
    unsigned n = 0;
    for (uint64_t i = from; i < to; i += step) {
        uint32_t x = (uint32_t)i;
        check_one(s, x, MF_NEAREST, MF_SATURATE);
        if (n++ % 61 != 0)
            continue;
        check_one(s, x, MF_NEAREST, MF_INF);
        check_one(s, x, MF_ZERO, MF_INF);
        check_one(s, x, MF_STOCHASTIC, MF_INF);
        check_one(s, x, MF_STOCHASTIC, MF_SATURATE);
    }
}

static void check_format(struct mf_fmt f, uint64_t step)
{
    struct slow s = slow_open(f);
    check_range(&s, 0, ALL, step);
    slow_close(&s);
}

static void check_chunk_slow(struct mf_fmt f, uint64_t from)
{
    struct slow s = slow_open(f);
    check_range(&s, from, from + CHUNK, 1);
    slow_close(&s);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
static bool cpu_has_f16c(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

__attribute__((target("f16c"))) static void check_chunk_f16c(struct mf_fmt f, uint64_t from)
{
    for (uint64_t i = from; i < from + CHUNK; i++) {
        uint32_t x = (uint32_t)i, got = mf_enc(f, x, 0, MF_NEAREST, MF_INF, 0);
        uint32_t want = (uint16_t)_cvtss_sh(float_of(x), 0);
        if ((want & 0x7fff) > 0x7c00)
            want |= 0x7fff; /* narrowcast has one nan; the CPU keeps a payload */
        CHECK(got == want, "%08x: %x, the CPU says %x", x, got, want);
    }
}
#else
static bool cpu_has_f16c(void)
{
    return false;
}
static void check_chunk_f16c(struct mf_fmt f, uint64_t from)
{
    (void)f, (void)from;
}
#endif

static void check_all(const char *name, struct mf_fmt f, void (*chunk)(struct mf_fmt, uint64_t),
                      int n_jobs)
{
    fflush(stdout);
    for (int job = 0; job < n_jobs; job++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror("fork");
            exit(1);
        }
        if (pid > 0)
            continue;
        check_bad = 0;
        for (uint64_t c = (uint64_t)job; c < ALL / CHUNK; c += (uint64_t)n_jobs) {
            chunk(f, c * CHUNK);
            if (job == 0 && (c / (uint64_t)n_jobs) % 16 == 15) {
                printf("%s: %d %%, %d wrong\n", name, (int)((c + 1) * 100 * CHUNK / ALL),
                       check_bad);
                fflush(stdout);
            }
        }
        exit(check_bad != 0);
    }
    int n_wrong = 0;
    for (int job = 0; job < n_jobs; job++) {
        int status;
        n_wrong += wait(&status) < 0 || status != 0;
    }
    check_bad += n_wrong;
    printf("%s: all 2^32 floats, %s\n", name, n_wrong ? "some wrong" : "all right");
}

static void sweep(void)
{
    for (uint8_t e = 1; e <= 8; e++) {
        for (uint8_t m = 0; m <= 23; m++)
            check_format((struct mf_fmt){e, m, 0}, 4999);
        printf("sweep: e%u done, %d wrong\n", e, check_bad);
        fflush(stdout);
    }
    for (uint8_t m = 1; m <= 6; m++)
        for (uint8_t flavour = MF_NO_INF; flavour <= MF_NUMBERS; flavour++)
            check_format((struct mf_fmt){(uint8_t)(7 - m), m, flavour}, 4999);
}

static bool wanted(const char *what, const char *name)
{
    return !what || !strcmp(what, name);
}

static int run_long(const char *what, int n_jobs)
{
    bool known = false;
    for (size_t i = 0; i < N_FORMATS; i++)
        if (wanted(what, formats[i].name)) {
            check_all(formats[i].name, formats[i].f, check_chunk_slow, n_jobs);
            known = true;
        }
    if (wanted(what, "f16c")) {
        if (cpu_has_f16c())
            check_all("f16c", (struct mf_fmt){5, 10, 0}, check_chunk_f16c, n_jobs);
        else
            puts("f16c: skipped, this CPU has none");
        known = true;
    }
    if (wanted(what, "sweep")) {
        sweep();
        known = true;
    }
    CHECK(known, "no test is called %s", what);
    DONE();
}

int main(int argc, char **argv)
{
    const char *what = NULL;
    int n_jobs = 1;
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "-j") && i + 1 < argc)
            n_jobs = atoi(argv[++i]);
        else
            what = argv[i];
    if (argc > 1 && !strcmp(argv[1], "long"))
        return run_long(what, n_jobs > 0 ? n_jobs : 1);
    for (size_t i = 0; i < N_FORMATS; i++)
        check_format(formats[i].f, argc > 1 ? 9973 : 997);
    DONE();
}
