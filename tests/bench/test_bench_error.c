/* test_bench_error.c : bench_error finds the known errors of generated dumps and refuses damaged
 * ones. */
#include "dump_fixture.h"

enum { RANKS = 4, STEPS = 3, FIRST = 7 };
static const size_t layer_n[3] = {40000, 17, 3000};

/* spread: of the log-normal sizes. bad: step with a nan, or 0. */
static void write_step(int step, double spread, int bad)
{
    for (int r = 0; r < RANKS; r++) {
        char name[64];
        snprintf(name, sizeof name, "step%06d.rank%d.f32", step, r);
        FILE *f = dump_create(name);
        uint64_t i = 0;
        for (int l = 0; l < 3; l++)
            for (size_t k = 0; k < layer_n[l]; k++, i++) {
                double x = ldexp(exp(spread * dump_normal(9, i)), -12 * l) *
                           dump_normal((uint32_t)(10 * step + r), i);
                float g = step == bad && r == 2 && i == 5 ? NAN : (float)x;
                fwrite(&g, sizeof g, 1, f);
            }
        fclose(f);
    }
}

static void write_dump(double spread, int bad)
{
    dump_text("meta.txt", "ranks 4 steps 3 first 7\n");
    dump_text("layers.txt", "conv.weight 0 40000\nconv.bias 40000 17\nlast.weight 40017 3000\n");
    for (int s = FIRST; s < FIRST + STEPS; s++)
        write_step(s, spread, bad);
}

static double value(const char *format, const char *scale, const char *sum, const char *result,
                    const char *key)
{
    char head[200];
    snprintf(head, sizeof head,
             "\"format\":\"%s\",\"scale\":\"%s\",\"sum\":\"%s\",\"out_format\":\"%s\"", format,
             scale, sum, result);
    return dump_value(head, key);
}

/* Well scaled e5m2 and e4m3 only round addends and sum (test_codec_error.c). */
static void check_errors(double spread)
{
    write_dump(spread, 0);
    CHECK(dump_run("--json") == 0, "the bench failed: %s", dump_out);
    double e5m2 = value("e5m2", "aps", "exact", "e5m2", "l2"),
           e4m3 = value("e4m3", "aps", "exact", "e4m3", "l2");
    CHECK(e5m2 > 0.065 && e5m2 < 0.09, "e5m2 aps %g", e5m2);
    CHECK(e4m3 > 0.033 && e4m3 < 0.047, "e4m3 aps %g", e4m3);
    CHECK(value("e5m2", "aps", "nearest", "e5m2", "l2") > 1.2 * e5m2,
          "rounding every add costs nothing");
    CHECK(value("e4m3", "aps-tight", "exact", "e4m3", "l2") <= 1.05 * e4m3, "aps-tight is worse");
    CHECK(value("e3m0", "aps-tight", "exact", "e4m3", "l2") <
              value("e3m0", "aps", "exact", "e4m3", "l2"),
          "e3m0");
    CHECK(value("fp32", "none", "fp32", "fp32", "l2") < 1e-7, "fp32");
    CHECK(value("e4m3", "none", "exact", "e4m3", "median") < 0.1,
          "half of the elements are in e4m3's range");
    double mean = value("e5m2", "aps", "exact", "e5m2", "mean"),
           median = value("e5m2", "aps", "exact", "e5m2", "median");
    CHECK(median > 0.03 && median < 0.1 && mean > median, "mean %g, median %g", mean, median);
    CHECK(value("e5m2", "aps", "exact", "e5m2", "steps") == 3, "steps");
    CHECK(dump_run("") == 0 &&
              strstr(dump_out, "4 ranks, 3 layers, 43017 elements, 3 steps from 7"),
          "table: %s", dump_out);
}

static void check_refusals(void)
{
    char path[300];
    dump_refusal("--jsn", "usage: bench_error DIR [--json]");
    dump_refusal("another", "usage: bench_error DIR [--json]");
    dump_refusal("2>&1 >/dev/full #", "cannot write to standard output: No space left on device");
    dump_text("meta.txt", "ranks 0 steps 3 first 7\n");
    dump_refusal("", "meta.txt\": want \"ranks P steps S first F\"");
    dump_text("meta.txt", "ranks 4 steps 18446744073709551615 first 7\n");
    dump_refusal("", "meta.txt\": want \"ranks P steps S first F\"");
    dump_text("meta.txt", "ranks 4 steps 0 first 7\n");
    dump_refusal("", "meta.txt\": no step is in it");
    dump_text("meta.txt", "ranks 4 steps 4 first 7\n");
    dump_refusal("", "step000010.rank0.f32'");
    write_dump(0, 0);
    dump_text("layers.txt", "");
    dump_refusal("", "layers.txt\": no layer is in it");
    dump_text("layers.txt", "a 0 40000\nb 40001 3016\n");
    dump_refusal("", "line 2: offset is 40001, and the layers before end at 40000");
    dump_text("layers.txt", "a 0 40000\nb 40000\n");
    dump_refusal("", "line 2: want \"name offset length\"");
    dump_text("layers.txt", "a 0 -1\n");
    dump_refusal("", "line 1: want \"name offset length\"");
    dump_text("layers.txt", "a 0 43016\n");
    dump_refusal("", "step000007.rank0.f32\": it has more than the 172064 bytes");
    write_dump(0, 0);
    snprintf(path, sizeof path, "%s/step000008.rank3.f32", dump_dir);
    CHECK(truncate(path, 43017 * 4 - 1) == 0, "truncate");
    dump_refusal("", "step000008.rank3.f32\": it has fewer than the 172068 bytes");
    unlink(path);
    dump_refusal("", "step000008.rank3.f32'");
    snprintf(path, sizeof path, "%s/meta.txt", dump_dir);
    unlink(path);
    dump_refusal("", "meta.txt\": No such file or directory");
}

int main(void)
{
    if (!dump_begin("bench_error"))
        SKIP("bench_error is not built");
    check_errors(0);
    check_errors(1.25);
    write_dump(0, FIRST + 1);
    CHECK(dump_run("--json") == 0 && value("e4m3", "aps", "exact", "e4m3", "skipped") == 1,
          "a step with nan is skipped: %s", dump_out);
    check_refusals();
    dump_end();
    DONE();
}
