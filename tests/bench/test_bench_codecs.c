/* test_bench_codecs.c : compares bench_codecs with the formula for bytes and the theory of
 * errors, on generated dumps. */
#include "dump_fixture.h"

enum { FIRST = 3, N_ROWS = 18 };
/* Multiples of all buckets: no padding. A convolution [32][3][3][64] has 18432. */
static const size_t layer_n[2] = {16384, 18432};

static void write_step(int step, bool bad)
{
    char name[64];
    snprintf(name, sizeof name, "step%06d.rank0.f32", step);
    FILE *f = dump_create(name);
    for (uint64_t i = 0; i < layer_n[0] + layer_n[1]; i++) {
        const float g = (float)(ldexp(exp(dump_normal(9, i)), i < layer_n[0] ? 0 : -9) *
                                dump_normal((uint32_t)step, i));
        const float x = bad && i == 5 ? INFINITY : g;
        fwrite(&x, sizeof x, 1, f);
    }
    fclose(f);
}

static double value(const char *row, const char *key)
{
    char head[100];
    snprintf(head, sizeof head, "\"name\":\"%s\"", row);
    return dump_value(head, key);
}

static void check_bytes(void)
{
    static const struct {
        const char *row;
        double bytes;
    } want[] = {
        {"fp32", 4},
        {"fp16", 2},
        {"e5m2 aps", 1},
        {"e3m0 stochastic", 0.5},
        {"qsgd:8", 1.0078125},
        {"qsgd:4", 0.5078125},
        {"qsgd:2", 0.28125},
        {"qsgd:1", 0.15625},
        {"qsgd:4 norm=2", 0.5078125},
        {"onebit:64", 0.25},
        {"ternary", 0.25},
        {"nvfp4", 0.5625},
        /* columns of 3 weights and of 64: 12 and 16 bytes */
        {"onebit:column", (18432 / 3 * 12 + 16384 / 64 * 16.) / (18432 + 16384)},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        CHECK(fabs(value(want[i].row, "bytes") - want[i].bytes) < 1e-6, "%s: %g bytes counted",
              want[i].row, value(want[i].row, "bytes"));
        CHECK(fabs(value(want[i].row, "formula") - want[i].bytes) < 1e-6, "%s: %g bytes by formula",
              want[i].row, value(want[i].row, "formula"));
    }
    CHECK(value("qsgd:16", "bytes") > 2.0005, "the second layer's last bucket of 8192 is full");
    CHECK(fabs(value("qsgd:16", "formula") - 2.00048828125) < 1e-6, "qsgd:16 by formula");
}

/* Rounding errs by at most half a unit, with a known mean square. Signs lose 1 - 2 / pi of normal
 * numbers' squares, and more of log-normal ones'. */
static void check_errors(void)
{
    CHECK(value("fp32", "l2") == 0, "fp32");
    CHECK(value("fp16", "l2") > 1e-4 && value("fp16", "l2") < 4e-4, "fp16");
    CHECK(value("e5m2 aps", "l2") > 0.04 && value("e5m2 aps", "l2") < 0.065, "e5m2");
    CHECK(value("e4m3 aps", "l2") > 0.02 && value("e4m3 aps", "l2") < 0.033, "e4m3");
    CHECK(value("qsgd:8", "l2") < value("qsgd:4", "l2") / 10, "16 times as many levels");
    CHECK(value("qsgd:4", "l2") < value("qsgd:4 norm=2", "l2"), "the 2-norm is further away");
    CHECK(value("onebit:64", "l2") > 0.6 && value("onebit:64", "l2") < 1, "signs");
}

static void check_noise(void)
{
    static const char *const drawn[] = {
        "e3m0 stochastic", "e1m2 stochastic",    "qsgd:16", "qsgd:8", "qsgd:4", "qsgd:2", "qsgd:1",
        "qsgd:4 norm=2",   "qsgd:4 levels=even", "ternary"};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        CHECK(value(drawn[i], "bias_worst") > 2 && value(drawn[i], "bias_worst") < 6,
              "%s: an element's mean is off by %g deviations", drawn[i],
              value(drawn[i], "bias_worst"));
        CHECK(fabs(value(drawn[i], "bias_all")) < 4, "%s: means are off by %g deviations", drawn[i],
              value(drawn[i], "bias_all"));
        CHECK(fabs(value(drawn[i], "variance") - 1) < 0.02, "%s: variance %g", drawn[i],
              value(drawn[i], "variance"));
        CHECK(value(drawn[i], "moving") > 100, "%s: hardly any element moves", drawn[i]);
    }
}

static void check_speeds(void)
{
    int n = 0;
    for (const char *at = dump_out; (at = strstr(at, "\"kind\":\"codec\"")); at++)
        n++;
    CHECK(n == N_ROWS, "%d rows", n);
    const double copy = value("e5m2 aps", "memcpy_gbs");
    CHECK(fabs(value("e5m2 aps", "encode") * copy / value("e5m2 aps", "encode_gbs") - 1) < 1e-3 &&
              fabs(value("e5m2 aps", "decode") * copy / value("e5m2 aps", "decode_gbs") - 1) < 1e-3,
          "ratios of one run are those of its speeds");
}

static void check_weights(void)
{
    CHECK(strstr(dump_out, "bench_codecs: relgrad needs weights, of which "), "%s", dump_out);
    char name[64];
    snprintf(name, sizeof name, "step%06d.weights.f32", FIRST + 1);
    FILE *f = dump_create(name);
    for (uint64_t i = 0; i < layer_n[0] + layer_n[1]; i++) {
        const float w = (float)(0.1 * dump_normal(77, i));
        fwrite(&w, sizeof w, 1, f);
    }
    fclose(f);
    CHECK(dump_run("--json --mib 1 --reps 1 --only relgrad") == 0, "failed: %s", dump_out);
    CHECK(value("relgrad", "bytes") == 1 && value("relgrad:of=gradient", "bytes") == 1 &&
              value("relgrad", "l2") > 0.01 && value("relgrad", "l2") < 1 &&
              value("relgrad", "l2") != value("relgrad:of=gradient", "l2"),
          "relgrad: %s", dump_out);
}

static void check_chart(void)
{
    char command[1000];
    if (system("command -v gnuplot >/dev/null") != 0) {
        printf("skip  the chart: no gnuplot\n");
        return;
    }
    dump_text("json", dump_out);
    snprintf(command, sizeof command,
             "FILE='%s/json' gnuplot bench/codecs/bench_codecs.gp >'%s/svg' && "
             "grep -q 'onebit:column' '%s/svg' && [ $(grep -c ' B, .* %%' '%s/svg') -eq %d ]",
             dump_dir, dump_dir, dump_dir, dump_dir, N_ROWS);
    CHECK(system(command) == 0, "the chart");
}

int main(void)
{
    if (!dump_begin("bench_codecs"))
        SKIP("bench_codecs is not built");
    dump_text("meta.txt", "ranks 1 steps 2 first 3\n");
    dump_text("layers.txt", "fc.weight 0 16384 64 256\nconv.weight 16384 18432 3 64\n");
    write_step(FIRST, true);
    write_step(FIRST + 1, false);
    CHECK(dump_run("--json --mib 1 --reps 1 --draws 1000") == 0, "failed: %s", dump_out);
    check_bytes();
    check_errors();
    check_noise();
    check_speeds();
    check_chart();
    check_weights();
    CHECK(dump_run("--mib 1 --reps 1 --draws 2 --only onebit") == 0 &&
              strstr(dump_out, "2 layers, 34816 elements") && strstr(dump_out, "onebit:64  "),
          "table: %s", dump_out);
    dump_text("layers.txt", "fc.weight 0 16384\nconv.weight 16384 18432\n");
    CHECK(dump_run("--json --mib 1 --reps 1 --only column") == 0 &&
              fabs(value("onebit:column", "bytes") - (8 * 2 + 34816 / 8.) / 34816) < 1e-6,
          "columns that are not known: %s", dump_out);
    dump_refusal("--json --only qsgd:3", "no row has 'qsgd:3' in its name");
    dump_refusal("another", "too many");
    dump_text("meta.txt", "ranks 1 steps 1 first 3\n");
    dump_refusal("", "rank 0 has inf or nan in every step");
    dump_end();
    DONE();
}
