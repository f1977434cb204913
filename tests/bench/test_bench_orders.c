/* test_bench_orders.c : compares bench_error's tables of algorithms on virtual ranks and without.
 * Errors are equal where the order or the sums are. */
#include "dump_fixture.h"

enum { RANKS = 8, N = 5000, FIRST = 3, STEPS = 2 };

static void write_dump(void)
{
    dump_text("meta.txt", "ranks 8 steps 2 first 3\n");
    dump_text("layers.txt", "conv.weight 0 4000\nconv.bias 4000 17\nlast.weight 4017 983\n");
    for (int s = FIRST; s < FIRST + STEPS; s++)
        for (int r = 0; r < RANKS; r++) {
            char name[64];
            snprintf(name, sizeof name, "step%06d.rank%d.f32", s, r);
            FILE *f = dump_create(name);
            for (uint64_t i = 0; i < N; i++) {
                const float g = (float)(ldexp(exp(2 * dump_normal(9, i)), -6) *
                                        dump_normal((uint32_t)(10 * s + r), i));
                fwrite(&g, sizeof g, 1, f);
            }
            fclose(f);
        }
}

struct errors {
    double l2, mean, median;
};

static struct errors errors_of(const char *algo, const char *options, const char *layer)
{
    char args[300], line[200];
    snprintf(args, sizeof args, "--json --algo %s %s", algo, options);
    CHECK(dump_run(args) == 0, "%s: %s", args, dump_out);
    snprintf(line, sizeof line, "\"layer\":\"%s\"", layer);
    return (struct errors){dump_value(line, "l2"), dump_value(line, "mean"),
                           dump_value(line, "median")};
}

static void same(struct errors a, struct errors b, const char *what)
{
    CHECK(a.l2 == b.l2 && a.mean == b.mean && a.median == b.median,
          "%s: L2 %.9g and %.9g, mean %.9g and %.9g", what, a.l2, b.l2, a.mean, b.mean);
}

static struct errors plain(const char *format, const char *sum)
{
    char line[200];
    CHECK(dump_run("--json") == 0, "%s", dump_out);
    snprintf(line, sizeof line, "\"format\":\"%s\",\"scale\":\"aps\",\"sum\":\"%s\"", format, sum);
    return (struct errors){dump_value(line, "l2"), dump_value(line, "mean"),
                           dump_value(line, "median")};
}

static void check_orders(void)
{
    same(plain("e5m2", "exact"), errors_of("direct", "", "all"), "exact");
    same(plain("e4m3", "nearest"), errors_of("gather", "--format e4m3 --sum nearest", "all"),
         "in rank order");
    const struct errors ring = errors_of("ring", "--sum nearest", "all");
    same(ring, errors_of("group-master:8", "--sum nearest", "all"), "one group");
    CHECK(errors_of("group-master:2", "--sum nearest", "all").l2 != ring.l2,
          "groups change nothing");
    same(errors_of("direct", "--sum fp32", "last.weight"),
         errors_of("direct", "--sum nearest --acc-format e8m23", "last.weight"), "in fp32");
    CHECK(errors_of("direct", "--sum kahan --acc-format e6m9", "all").l2 <
              errors_of("direct", "--sum nearest", "all").l2,
          "a wider format is no better");
    CHECK(errors_of("group-scatter:2", "--format e3m2 --sum nearest --rescale", "all").l2 <
              errors_of("group-scatter:2", "--format e3m2 --sum nearest", "all").l2,
          "--rescale is no better");
}

static void check_tables(void)
{
    CHECK(dump_run("--algo ring,group-scatter:4 --sum nearest --layer conv.bias") == 0 &&
              strstr(dump_out, "ring of 8 ranks: e5m2, scale aps, nearest sums in e5m2; 2 steps") &&
              strstr(dump_out, "group-scatter:4 of 8 ranks") && strstr(dump_out, "\nconv.bias ") &&
              strstr(dump_out, "\nall ") && !strstr(dump_out, "conv.weight"),
          "%s", dump_out);
    dump_refusal("--algo ,", "these options need --algo");
    dump_refusal("--algo ring --sum nearest 2>&1 >/dev/full #",
                 "cannot write to standard output: No space left on device");
    dump_refusal("--algo ring --layer conv", "no layer \"conv\" in");
    dump_refusal("--algo native --sum nearest", "cannot run \"native\" with virtual ranks");
    dump_refusal("--algo ring --sum exact", "cannot add by --sum exact with algorithm \"ring\"");
    dump_refusal("--algo group-master:3 --sum nearest", "must be a multiple of 3");
    dump_refusal("--algo ring --rescale --sum nearest", "--rescale is impossible with algorithm");
}

int main(void)
{
    if (!dump_begin("bench_error"))
        SKIP("bench_error is not built");
    write_dump();
    check_orders();
    check_tables();
    dump_end();
    DONE();
}
