/* test_locale.c : checks that numbers keep their decimal point in a locale with a comma. */
#include "base/file.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/trace.h"
#include "check.h"
#include "codec/codec_minifloat.h"
#include "nn/optim/optim.h"
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt lr = {"lr", "X", "0.1", "A number.", OPT_REAL, 0, 0, 10, 0};

static void test_options(void)
{
    double x = 0;
    char number[OPT_NUMBER];
    CHECK(opt_set(&lr, "0.25", &x) == 0 && x == 0.25, "%g", x);
    const char *text = opt_get(&lr, &x, number);
    CHECK(!strcmp(text, "0.25"), "'%s'", text);
}

static void test_words(void)
{
    struct codec codec;
    struct schedule schedule;
    const struct codec_spec spec = {.scale = "const:0.5"};
    CHECK(codec_parse(&spec, &codec) == 0 && minifloat_of(&codec)->const_shift == -1,
          "const:0.5 is 2^%d", minifloat_of(&codec)->const_shift);
    char text[CODEC_TEXT_BYTES];
    CHECK(strstr(codec_describe(&codec, text), "scale const:0.5,"), "%s", text);
    CHECK(schedule_parse("step:0.5,0.75", &schedule) == 0 && schedule.at[1] == 0.75,
          "step:0.5,0.75");
}

static void read_file(const char *path, char *to, size_t size)
{
    FILE *f = fopen(path, "r");
    to[f ? fread(to, 1, size - 1, f) : 0] = 0;
    if (f)
        fclose(f);
}

static void test_files(const char *folder)
{
    char path[64], text[256];
    struct jsonl j;
    snprintf(path, sizeof path, "%s/log", folder);
    CHECK(jsonl_open(&j, path, false) == 0, "open");
    jsonl_begin(&j, "step");
    jsonl_real(&j, "loss", 0.25);
    CHECK(jsonl_end(&j) == 0 && jsonl_close(&j) == 0, "write");
    read_file(path, text, sizeof text);
    CHECK(strstr(text, "\"loss\":0.25}"), "%s", text);

    const struct trace_span span = {
        .name = "scan", .begin_s = 0.0015005, .end_s = 0.0017505, .number = -1, .bytes = -1};
    struct file_out out;
    CHECK(file_out_open(&out, path) == 0, "open");
    trace_json_spans(&out, 0, &span, 1);
    CHECK(file_out_commit(&out) == 0, "write");
    read_file(path, text, sizeof text);
    CHECK(strstr(text, "\"ts\":1500.5,\"dur\":250,\"args\""), "%s", text);
}

int main(void)
{
    char folder[] = "/tmp/narrowcast-locale-XXXXXX", command[160];
    if (!mkdtemp(folder))
        SKIP("no folder for a locale");
    snprintf(command, sizeof command,
             "localedef --no-archive -c -i de_DE -f UTF-8 %s/comma >%s/said 2>&1", folder, folder);
    const bool made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    const bool set =
        made && setlocale(LC_ALL, "comma") && !strcmp(localeconv()->decimal_point, ",");
    if (set) {
        test_options();
        test_words();
        test_files(folder);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0)
        perror(command);
    if (!set)
        SKIP("localedef cannot make a locale with a comma");
    DONE();
}
