/* test_base.c : one line for a failure, held or not; memory that is aligned, zero and refused with
 * its size. */
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"
#include "check.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[4096];

/* Runs f with stderr going to a file; what it said is in text. */
static void listen(void (*f)(void))
{
    FILE *file = tmpfile();
    int saved = dup(2);
    fflush(stderr);
    dup2(fileno(file), 2);
    f();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
}

static void say_two(void)
{
    CHECK(ERR(-EINVAL, "cannot open ring of %d ranks: need at least 2", 1) == -EINVAL, "code");
    err_warn("slot %s", "late");
}

static void hold_three_print(void)
{
    err_hold();
    err_warn("before the error"); /* an error takes a warning's place */
    say_two();
    err_release(true);
}

static void add_three(void)
{
    err_hold();
    err_warn("slow");
    err_add(", not to a warning");
    say_two();
    err_add(", for a ring%s", ": take more");
    err_release(true);
    say_two();
    err_add(", too late");
}

static void add_long(void)
{
    err_hold();
    (void)ERR(-EIO, "too much");
    for (int i = 0; i < 100; i++)
        err_add(" of %d", i);
    err_release(true);
}

static void hold_drop(void)
{
    err_hold();
    say_two();
    err_release(false);
    err_release(true); /* nothing is left over */
}

static void long_line(void)
{
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = 0;
    (void)ERR(-EIO, "%s", big);
}

static int pass_up(int rc)
{
    TRY(rc);
    return 7;
}

static void too_much(void)
{
    CHECK(!buf_alloc(SIZE_MAX - 100) && !buf_alloc(SIZE_MAX / 2), "memory that cannot be");
}

static void test_memory(void)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1536, "1.5 KiB"},
                 {200 << 10, "200 KiB"},
                 {(uint64_t)1 << 40, "1.0 TiB"},
                 {UINT64_MAX, "16384 PiB"}};
    char words[MEMORY_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(!strcmp(memory_text(cases[i].bytes, words), cases[i].want), "'%s', not '%s'", words,
              cases[i].want);
    const size_t n = (size_t)64 << 20;
    const uint64_t before = memory_peak();
    char *p = malloc(n);
    if (p)
        memset(p, 1, n);
    CHECK(p && before > 0 && memory_peak() >= before + n / 2, "a peak of %llu bytes, %llu before",
          (unsigned long long)memory_peak(), (unsigned long long)before);
    CHECK(memory_available() > 0, "no memory is free");
    free(p);
}

int main(void)
{
    listen(say_two);
    CHECK(!strcmp(text, "narrowcast: cannot open ring of 1 ranks: need at least 2\nnarrowcast: "
                        "warning: slot late\n"),
          "%s", text);
    listen(hold_three_print);
    CHECK(!strcmp(text, "narrowcast: cannot open ring of 1 ranks: need at least 2\n"), "held: '%s'",
          text);
    listen(add_three);
    CHECK(!strcmp(text,
                  "narrowcast: cannot open ring of 1 ranks: need at least 2, for a ring: take "
                  "more\nnarrowcast: cannot open ring of 1 ranks: need at least 2\n"
                  "narrowcast: warning: slot late\n"),
          "added: '%s'", text);
    listen(add_long);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1 && strstr(text, "too much of 0 of 1 "),
          "one line, cut: '%s'", text);
    listen(hold_drop);
    CHECK(!text[0], "dropped: '%s'", text);
    listen(long_line);
    CHECK(strchr(text, '\n') == text + strlen(text) - 1 && strlen(text) < 520,
          "one line, cut: '%s'", text);
    CHECK(pass_up(-EIO) == -EIO && pass_up(3) == 7, "TRY");

    for (size_t n = 0; n < 300; n += 13) {
        unsigned char *p = buf_alloc(n);
        int sum = 0;
        for (size_t i = 0; i < n; i++)
            sum |= p[i];
        CHECK(p && (uintptr_t)p % 64 == 0 && sum == 0, "%zu bytes", n);
        free(p);
    }
    listen(too_much);
    CHECK(strstr(text, "cannot allocate") && strstr(text, " bytes\n"), "'%s'", text);
    test_memory();
    DONE();
}
