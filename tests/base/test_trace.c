/* test_trace.c : tests traces: the ring keeps the last spans of several threads in order. */
#include "base/trace.h"
#include "check.h"
#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum { ROOM = 8, MANY = 5000 };

static void test_ring(void)
{
    struct trace *t;
    struct trace_span s[ROOM + 4];
    if (trace_open(ROOM, &t) < 0)
        exit(1);
    CHECK(trace_copy(t, 0, ROOM, s) == 0 && trace_lost(t) == 0, "spans before any was added");
    for (int i = 0; i < 5; i++)
        trace_add(t, TRACE_MAIN, "early", i, clock_s());
    CHECK(trace_copy(t, 0, ROOM, s) == 5 && s[0].number == 0 && s[4].number == 4, "not full");
    trace_start(t);
    CHECK(trace_copy(t, 0, ROOM, s) == 0, "start forgets");
    for (int i = 0; i < 13; i++)
        trace_add(t, i % 2 ? TRACE_REDUCE : TRACE_MAIN,
                  "a name that is too long for the room that a span has for it", i, clock_s());
    CHECK(trace_lost(t) == 5, "%d lost", (int)trace_lost(t));
    CHECK(trace_copy(t, 0, ROOM + 4, s) == ROOM, "more than there is room for");
    for (int i = 0; i < ROOM; i++) {
        CHECK(s[i].number == 5 + i && s[i].row == (5 + i) % 2, "place %d: number %d", i,
              (int)s[i].number);
        CHECK(strcmp(s[i].name, "a name that is too long for the room that a") == 0, "'%s'",
              s[i].name);
        CHECK(0 <= s[i].begin_s && s[i].begin_s <= s[i].end_s &&
                  (i == 0 || s[i - 1].end_s <= s[i].end_s),
              "times");
    }
    CHECK(trace_copy(t, 6, 4, s) == 2 && s[0].number == 11 && s[1].number == 12, "the last two");
    CHECK(trace_copy(t, 8, 4, s) == 0 && trace_copy(t, 100, 4, s) == 0, "after the last");
    trace_close(t);
}

static void *add_many(void *arg)
{
    for (int i = 0; i < MANY; i++)
        trace_add(arg, TRACE_REDUCE, "thread", i, clock_s());
    return NULL;
}

static void test_threads(void)
{
    static struct trace_span s[2 * MANY];
    struct trace *t;
    pthread_t thread;
    if (trace_open(2 * MANY, &t) < 0 || pthread_create(&thread, NULL, add_many, t))
        exit(1);
    for (int i = 0; i < MANY; i++)
        trace_add(t, TRACE_MAIN, "main", i, clock_s());
    pthread_join(thread, NULL);
    int next[TRACE_ROWS] = {0};
    CHECK(trace_copy(t, 0, 2 * MANY, s) == 2 * MANY && trace_lost(t) == 0, "some are missing");
    for (int i = 0; i < 2 * MANY; i++) {
        CHECK(s[i].number == next[s[i].row], "place %d: number %d of row %d, not %d", i,
              (int)s[i].number, s[i].row, next[s[i].row]);
        next[s[i].row]++;
    }
    trace_close(t);
}

static void space(const char **at)
{
    while (isspace((unsigned char)**at))
        ++*at;
}

static bool take(const char **at, char c)
{
    space(at);
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool text(const char **at)
{
    if (!take(at, '"'))
        return false;
    for (; **at && **at != '"'; ++*at)
        if ((unsigned char)**at < 0x20 || (**at == '\\' && !*++*at))
            return false;
    return take(at, '"');
}

static bool number(const char **at)
{
    char *end;
    space(at);
    if (!isdigit((unsigned char)**at) && **at != '-')
        return false;
    (void)strtod(*at, &end);
    *at = end;
    return true;
}

static bool value(const char **at);
static bool list(const char **at, char open, char close)
{
    if (!take(at, open))
        return false;
    if (take(at, close))
        return true;
    do {
        if (open == '{' && !(text(at) && take(at, ':')))
            return false;
        if (!value(at))
            return false;
    } while (take(at, ','));
    return take(at, close);
}
static bool value(const char **at)
{
    space(at);
    return **at == '{'   ? list(at, '{', '}')
           : **at == '[' ? list(at, '[', ']')
           : **at == '"' ? text(at)
                         : number(at);
}

static bool is_json(const char *all)
{
    const char *at = all;
    if (!value(&at))
        return false;
    space(&at);
    return !*at;
}

static int count(const char *all, const char *what)
{
    int n = 0;
    for (const char *at = all; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void test_file(void)
{
    char *all = NULL;
    size_t size;
    const struct trace_span spans[] = {{"step", TRACE_MAIN, 0.5, 2, 7, 640},
                                       {"scan", TRACE_REDUCE, 1e-6, 1.5e-6, -1, -1}};
    struct file_out out = {.f = open_memstream(&all, &size), .path = "memory", .folder = -1};
    if (!out.f)
        exit(1);
    trace_json_begin(&out);
    for (int r = 0; r < 3; r++)
        trace_json_rank(&out, r);
    trace_json_spans(&out, 2, spans, 2);
    trace_json_spans(&out, 0, spans, 1);
    trace_json_end(&out, 3, 11);
    CHECK(!file_out_commit(&out), "written");
    CHECK(is_json(all), "%s", all);
    CHECK(count(all, "\"ph\":\"X\"") == 3 && count(all, "process_name") == 3 &&
              count(all, "thread_name") == 6,
          "%s", all);
    CHECK(count(all,
                "{\"name\":\"step\",\"ph\":\"X\",\"pid\":2,\"tid\":0,\"ts\":500000,\"dur\":1500000,"
                "\"args\":{\"number\":7,\"bytes\":640}}") == 1,
          "%s", all);
    CHECK(count(all, "{\"name\":\"scan\",\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":1,\"dur\":0.5,"
                     "\"args\":{}}") == 1,
          "%s", all);
    CHECK(count(all, "\"ph\":\"C\",\"pid\":2,\"ts\":500000,\"args\":{\"bytes\":640}}") == 1, "%s",
          all);
    CHECK(count(all, "\"lost_spans\":11") == 1, "%s", all);
    all[size - 3] = ' '; /* the checker can refuse */
    CHECK(!is_json(all), "%s", all);
    free(all);
}

int main(void)
{
    trace_add(NULL, TRACE_MAIN, "nothing", 0, 0);
    trace_start(NULL);
    trace_close(NULL);
    CHECK(trace_copy(NULL, 0, 1, NULL) == 0 && trace_lost(NULL) == 0, "no trace");
    test_ring();
    test_threads();
    test_file();
    DONE();
}
