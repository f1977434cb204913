/* trace.c : records time spans by thread in a ring and writes Chrome's trace JSON. */
#include "base/trace.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct trace {
    pthread_mutex_t lock;
    double start_s;
    size_t room;
    uint64_t n; /* spans since start; the last `room` are kept */
    struct trace_span spans[];
};

static const char *const row_names[TRACE_ROWS] = {"main", "all-reduce"};

int trace_open(size_t n_spans, struct trace **out)
{
    struct trace *t = buf_alloc(sizeof *t + n_spans * sizeof *t->spans);
    if (!t)
        return -ENOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->room = n_spans;
    t->start_s = clock_s();
    *out = t;
    return 0;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void trace_start(struct trace *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->n = 0;
    t->start_s = clock_s();
    pthread_mutex_unlock(&t->lock);
}

void trace_add(struct trace *t, enum trace_row row, const char *name, int64_t number,
               double begin_s)
{
    trace_add_bytes(t, row, name, number, -1, begin_s);
}

void trace_add_bytes(struct trace *t, enum trace_row row, const char *name, int64_t number,
                     int64_t bytes, double begin_s)
{
    if (!t)
        return;
    const double end_s = clock_s();
    pthread_mutex_lock(&t->lock);
    struct trace_span *s = &t->spans[t->n++ % t->room];
    *s = (struct trace_span){.row = (int32_t)row,
                             .begin_s = begin_s - t->start_s,
                             .end_s = end_s - t->start_s,
                             .number = number,
                             .bytes = bytes};
    snprintf(s->name, sizeof s->name, "%s", name);
    pthread_mutex_unlock(&t->lock);
}

/* The caller holds the lock. */
static size_t kept(const struct trace *t)
{
    return t->n < t->room ? (size_t)t->n : t->room;
}

size_t trace_copy(struct trace *t, size_t from, size_t n, struct trace_span *to)
{
    size_t done = 0;
    if (!t)
        return 0;
    pthread_mutex_lock(&t->lock);
    const uint64_t oldest = t->n - kept(t);
    for (; done < n && from + done < kept(t); done++)
        to[done] = t->spans[(oldest + from + done) % t->room];
    pthread_mutex_unlock(&t->lock);
    return done;
}

uint64_t trace_lost(struct trace *t)
{
    if (!t)
        return 0;
    pthread_mutex_lock(&t->lock);
    const uint64_t lost = t->n - kept(t);
    pthread_mutex_unlock(&t->lock);
    return lost;
}

void trace_json_begin(struct file_out *out)
{
    file_out_print(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
}

void trace_json_rank(struct file_out *out, int rank)
{
    file_out_print(
        out,
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}},\n",
        rank, rank);
    for (int row = 0; row < TRACE_ROWS; row++)
        file_out_print(out,
                       "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{"
                       "\"name\":\"%s\"}},\n",
                       rank, row, row_names[row]);
}

static void put_us(struct file_out *out, const char *key, double s)
{
    char us[32];
    number_print(us, sizeof us, 12, 1e6 * s);
    file_out_print(out, ",\"%s\":%s", key, us);
}

/* Perfetto draws the bytes of each step as a curve. */
static void put_counter(struct file_out *out, int rank, const struct trace_span *s)
{
    file_out_print(out, "{\"name\":\"bytes sent in a step\",\"ph\":\"C\",\"pid\":%d", rank);
    put_us(out, "ts", s->begin_s);
    file_out_print(out, ",\"args\":{\"bytes\":%" PRId64 "}},\n", s->bytes);
}

void trace_json_spans(struct file_out *out, int rank, const struct trace_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct trace_span *s = &spans[i];
        file_out_print(out, "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRId32, s->name,
                       rank, s->row);
        put_us(out, "ts", s->begin_s);
        put_us(out, "dur", s->end_s - s->begin_s);
        file_out_print(out, ",\"args\":{");
        if (s->number >= 0)
            file_out_print(out, "\"number\":%" PRId64, s->number);
        if (s->bytes >= 0)
            file_out_print(out, "%s\"bytes\":%" PRId64, s->number >= 0 ? "," : "", s->bytes);
        file_out_print(out, "}},\n");
        if (s->bytes >= 0 && !strcmp(s->name, TRACE_STEP))
            put_counter(out, rank, s);
    }
}

/* Every event ends with a comma, so a final event is needed. */
void trace_json_end(struct file_out *out, int n_ranks, uint64_t lost)
{
    file_out_print(
        out,
        "{\"name\":\"trace\",\"ph\":\"M\",\"pid\":0,\"args\":{\"ranks\":%d,\"lost_spans\":%" PRIu64
        "}}\n]}\n",
        n_ranks, lost);
}
