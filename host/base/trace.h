/* trace.h : spans of time by thread, kept in a ring while a program runs and written as a timeline
 * at its end.
 *
 * The file is Chrome's trace JSON, which Perfetto and chrome://tracing show: a process a rank, a
 * row a thread. Spans of one row nest. */
#ifndef TRACE_H
#define TRACE_H
#include "base/clock.h"
#include "base/file.h"
#include <stddef.h>
#include <stdint.h>

struct trace; /* NULL is legal below: nothing is kept */

/* The rows. */
enum trace_row { TRACE_MAIN, TRACE_REDUCE, TRACE_ROWS };

/* Plain data, so that it may travel between ranks of one kind of machine. */
struct trace_span {
    char name[20];
    int32_t row;
    double begin_s, end_s; /* since trace_start() */
    int64_t number;        /* of the bucket, the step, ...; -1: none */
};

/* Room for the last n_spans > 0 spans; nothing is allocated later. Returns 0 or -ENOMEM. */
int trace_open(size_t n_spans, struct trace **out);
void trace_close(struct trace *t);

/* Time 0 is now; earlier spans are forgotten. Ranks that call it together see one timeline, to the
 * skew of that. */
void trace_start(struct trace *t);

/* A span that began at begin_s by clock_s() and ends now. Any thread; short and without
 * allocation. */
void trace_add(struct trace *t, enum trace_row row, const char *name, int64_t number,
               double begin_s);

/* Copies spans from..from+n, the oldest first, less where there are no more. Returns how many. */
size_t trace_copy(struct trace *t, size_t from, size_t n, struct trace_span *to);
uint64_t trace_lost(struct trace *t); /* spans that the ring had no room for */

/* The file: begin, then names and spans of all ranks in any order, then end. Failures are the
 * commit's to return. */
void trace_json_begin(struct file_out *out);
void trace_json_rank(struct file_out *out, int rank);
void trace_json_spans(struct file_out *out, int rank, const struct trace_span *spans, size_t n);
void trace_json_end(struct file_out *out, int n_ranks, uint64_t lost);

#endif
