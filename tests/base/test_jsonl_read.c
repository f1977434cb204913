/* test_jsonl_read.c : tests the reader of JSON lines. */
#include "base/err.h"
#include "base/jsonl.h"
#include "base/jsonl_read.h"
#include "capture.h"
#include "check.h"
#include <math.h>

static char path[] = "/tmp/test_jsonl_read.XXXXXX";

static void put(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    fwrite(text, 1, n, f);
    fclose(f);
}

static void test_round_trip(void)
{
    struct jsonl j;
    struct jsonl_in in;
    double x = 0;
    char text[32];
    CHECK(jsonl_open(&j, path, false) == 0, "open");
    for (int i = 0; i < 2; i++) {
        jsonl_begin(&j, i ? "second" : "first");
        jsonl_real(&j, "x", -1.5e-30);
        jsonl_real(&j, "nothing", NAN);
        jsonl_text(&j, "text", "a, \"b\": {c}");
        jsonl_uint(&j, "n", 18446744073709551615u);
        jsonl_bool(&j, "yes", true);
        CHECK(jsonl_end(&j) == 0, "end");
    }
    jsonl_close(&j);
    CHECK(jsonl_in_open(&in, path) == 0, "open");
    for (int i = 0; i < 2; i++) {
        CHECK(jsonl_in_next(&in) == 1 && jsonl_in_is(&in, i ? "second" : "first"), "line %d", i);
        CHECK(!jsonl_in_is(&in, "firs") && in.n_fields == 6, "%d fields", in.n_fields);
        CHECK(jsonl_in_real(&in, "x", &x) && x == -1.5e-30, "%g", x);
        CHECK(jsonl_in_real(&in, "n", &x) && x == 0x1p64, "%g", x);
        CHECK(!jsonl_in_real(&in, "nothing", &x) && !jsonl_in_real(&in, "text", &x) &&
                  !jsonl_in_real(&in, "missing", &x) && x == 0x1p64,
              "what is no number was one");
        CHECK(jsonl_in_text(&in, "text", text, sizeof text) && !strcmp(text, "a, \\\"b\\\": {c}"),
              "'%s'", text);
        CHECK(jsonl_in_text(&in, "text", text, 3) && !strcmp(text, "a,"), "'%s'", text);
        CHECK(!jsonl_in_text(&in, "yes", text, sizeof text), "a word is no text");
        CHECK(jsonl_in_raw(&in, "yes", text, sizeof text) && !strcmp(text, "true"), "'%s'", text);
        CHECK(jsonl_in_raw(&in, "n", text, sizeof text) && !strcmp(text, "18446744073709551615"),
              "'%s'", text);
        CHECK(!jsonl_in_raw(&in, "missing", text, sizeof text), "a key that is not there");
        CHECK(jsonl_in_raw(&in, "text", text, sizeof text), "a text");
        jsonl_in_plain(text);
        CHECK(!strcmp(text, "a, \"b\": {c}"), "'%s'", text);
    }
    CHECK(jsonl_in_next(&in) == 0 && jsonl_in_next(&in) == 0, "the end");
    jsonl_in_close(&in);
}

/* Invalid UTF-8 becomes the replacement character, control characters are escaped. */
static void test_odd_bytes(void)
{
    struct jsonl j;
    char line[256] = "";
    CHECK(jsonl_open(&j, path, false) == 0, "open");
    jsonl_begin(&j, "odd");
    jsonl_text(&j, "\xff\x1b",
               "a\xc3(\xed\xa0\x80\xc3\xa9\x7f\xc2\x9b\\\"\xf0\x9f\x98\x80\xe2\x82");
    CHECK(jsonl_end(&j) == 0, "end");
    jsonl_close(&j);
    FILE *f = fopen(path, "r");
    CHECK(f && fgets(line, sizeof line, f), "read");
    if (f)
        fclose(f);
    CHECK(!strcmp(line,
                  "{\"kind\":\"odd\",\"\\ufffd\\u001b\":\"a\\ufffd(\\ufffd\\ufffd\\ufffd\xc3\xa9"
                  "\\u007f\\u009b\\\\\\\"\xf0\x9f\x98\x80\\ufffd\\ufffd\"}\n"),
          "%s", line);
}

static void test_plain(void)
{
    static const char *const pairs[][2] = {
        {"\"a\\n\\t\\/\\\\\\\"z\"", "a\n\t/\\\"z"},
        {"\"\\u0041\\u00e9\\u0000\"", "A??"},
        {"\"cut", "cut"},
        {"\"cut\\", "cut"},
        {"\"\\u00", "?00"},
        {"1.5", "1.5"},
        {"\"\"", ""},
        {"\"\\b\\f\\r\"", "\b\f\r"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s", pairs[i][0]);
        jsonl_in_plain(text);
        CHECK(!strcmp(text, pairs[i][1]), "'%s' from '%s'", text, pairs[i][0]);
    }
}

static void test_lists(void)
{
    static const char line[] =
        "\n \r\n{\"a\":[1, -2.5,null ,3e2],\"b\":[],\"c\":[1,[2]],\"d\":{\"a\":[7]}}";
    struct jsonl_in in;
    double x[3] = {0};
    size_t n = 9;
    put(line, sizeof line - 1); /* complete without its newline */
    CHECK(jsonl_in_open(&in, path) == 0 && jsonl_in_next(&in) == 1, "no line");
    CHECK(in.line_no == 3 && in.n_fields == 4, "line %d", (int)in.line_no);
    CHECK(jsonl_in_list(&in, "a", x, 3, &n) && n == 4 && x[0] == 1 && x[1] == -2.5 && isnan(x[2]),
          "%zu: %g %g %g", n, x[0], x[1], x[2]);
    CHECK(jsonl_in_list(&in, "b", x, 3, &n) && n == 0, "%zu", n);
    CHECK(!jsonl_in_list(&in, "c", x, 3, &n) && !jsonl_in_list(&in, "d", x, 3, &n), "no lists");
    CHECK(jsonl_in_next(&in) == 0, "the end");
    jsonl_in_close(&in);
}

static void refuse(const char *text, size_t n, int first, const char *want)
{
    struct jsonl_in in;
    struct capture cap;
    put(text, n);
    if (jsonl_in_open(&in, path) < 0)
        exit(1);
    for (int i = 0; i < first; i++)
        CHECK(jsonl_in_next(&in) == 1, "line %d of '%s'", i + 1, text);
    capture_begin(&cap);
    const int rc = jsonl_in_next(&in);
    capture_end(&cap);
    CHECK(rc == -EINVAL && strstr(cap.text, want) && capture_lines(cap.text) == 1,
          "'%.40s': %d, '%s'", text, rc, cap.text);
    jsonl_in_close(&in);
}

static void test_refusals(void)
{
    static const char *const bad[] = {
        "{\"a\":1}x",   "{\"a\":}",    "{\"a\" 1}",     "{a:1}",
        "[1]",          "7",           "{\"a\":1,}",    "{\"a\":0x10}",
        "{\"a\":-}",    "{\"a\":1.}",  "{\"a\":-inf}",  "{\"a\":nan}",
        "{\"a\":[1,]}", "{\"a\":{1}}", "{\"a\":\"b}",   "{\"a\":1",
        "{\"a\":[1}}",  "garbage",     "{\"a\":1e}",    "{,}",
        "{\"a\":tru}",  "{\"a\":1}{}", "{\"a\":\"\\\"}"};
    char line[96];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "{}\n%s\n", bad[i]);
        refuse(line, strlen(line), 1, "line 2: need a JSON object");
    }
    refuse("{\"a\":\"\0\"}\n", 10, 0, "line 1: it is not text");
    char *many = malloc(JSONL_LINE_MAX + 100);
    size_t n = 0;
    n += (size_t)sprintf(many, "{\"a\":");
    for (int i = 0; i < JSONL_DEPTH_MAX; i++)
        many[n++] = '[';
    for (int i = 0; i < JSONL_DEPTH_MAX; i++)
        many[n++] = ']';
    n += (size_t)sprintf(many + n, "}\n");
    refuse(many, n, 0, "line 1: need a JSON object nested at most 16 deep");
    n = (size_t)sprintf(many, "{\"a\":0");
    for (int i = 0; i < JSONL_FIELDS_MAX; i++)
        n += (size_t)sprintf(many + n, ",\"a%d\":0", i);
    n += (size_t)sprintf(many + n, "}\n");
    refuse(many, n, 0, "line 1: need a JSON object with at most 512 keys");
    refuse("\xef\xbb\xbf{}\n", 6, 0, "line 1: need a JSON object, without a byte order mark");
    memset(many, ' ', JSONL_LINE_MAX + 1);
    refuse(many, JSONL_LINE_MAX + 1, 0, "longer than 1 MiB");
    free(many);
}

static void test_inside(void)
{
    static const char text[] =
        "{\"list\": [ {\"a\":{\"a\":1},\"ab\" : \"x,]\"}, 7 ,[], [2]] ,\"b\":{} }\n";
    struct jsonl_in in;
    put(text, strlen(text));
    CHECK(jsonl_in_open(&in, path) == 0 && jsonl_in_next(&in) == 1, "open");
    const char *at = jsonl_in_value(&in, "list"), *items[5], *b = jsonl_in_value(&in, "b");
    CHECK(!jsonl_in_value(&in, "lis") && b && !jsonl_member(b, "a"), "values");
    for (int i = 0; i < 5; i++)
        items[i] = jsonl_item(&at);
    CHECK(items[3] && !items[4] && !jsonl_item(&at), "a list of 4");
    CHECK(!strncmp(jsonl_member(items[0], "ab"), "\"x,]\"", 5), "a member");
    CHECK(!strncmp(jsonl_member(jsonl_member(items[0], "a"), "a"), "1}", 2), "a member's member");
    CHECK(!jsonl_member(items[0], "b") && !jsonl_member(items[1], "a"), "no member");
    for (int i = 0; i < 3; i++) {
        at = items[i];
        CHECK(!jsonl_item(&at), "item %d is no list with elements", i);
    }
    at = items[3];
    CHECK(*jsonl_item(&at) == '2' && !jsonl_item(&at), "a list in a list");
    jsonl_in_close(&in);
}

static void test_torn(void)
{
    static const char text[] = "{\"a\":1}\n{\"a\":\"x\\\"\",\"b\":[1,2]}\n";
    for (size_t n = 0; n < sizeof text; n++) {
        struct jsonl_in in;
        int lines = 0, rc;
        put(text, n);
        if (jsonl_in_open(&in, path) < 0)
            exit(1);
        while ((rc = jsonl_in_next(&in)) > 0)
            lines++;
        CHECK(rc == 0 && lines == (n >= 7) + (n >= 29), "%zu bytes: %d, %d lines", n, rc, lines);
        jsonl_in_close(&in);
    }
}

int main(void)
{
    struct jsonl_in in;
    struct capture cap;
    close(mkstemp(path));
    test_round_trip();
    test_odd_bytes();
    test_plain();
    test_lists();
    test_refusals();
    test_inside();
    test_torn();
    capture_begin(&cap);
    const int rc = jsonl_in_open(&in, "/nowhere/at/all");
    capture_end(&cap);
    CHECK(rc == -ENOENT && strstr(cap.text, "'/nowhere/at/all'"), "%d '%s'", rc, cap.text);
    jsonl_in_close(&in);
    unlink(path);
    DONE();
}
