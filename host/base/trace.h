/* trace.h : records time spans by thread in a ring and writes them as a timeline.
 *
 * The file is Chrome's trace JSON, which Perfetto and chrome://tracing show: one process per rank,
 * one row per thread. Spans of one row nest. */
#ifndef TRACE_H
#define TRACE_H
#include "base/clock.h"
#include "base/file.h"
#include <stddef.h>
#include <stdint.h>

struct trace; /* NULL is legal below and records nothing */

enum trace_row { TRACE_MAIN, TRACE_REDUCE, TRACE_ROWS };

/* One span: plain data that ranks of one kind of machine may exchange. */
struct trace_span {
    char name[20];
    int32_t row;
    double begin_s, end_s; /* since trace_start() */
    int64_t number;        /* of the bucket, the step, ...; -1: none */
};

/* Allocate room for the last n_spans > 0 spans; nothing is allocated
 * later. Returns 0 or -ENOMEM. */
int trace_open(size_t n_spans, struct trace **out);
void trace_close(struct trace *t);

/* Set time 0 to now and drop earlier spans. Ranks that call it together share one
 * timeline, up to the skew of that call. */
void trace_start(struct trace *t);

/* Add a span that began at begin_s (clock_s()) and ends now. Any thread;
 * fast, without allocation. */
void trace_add(struct trace *t, enum trace_row row, const char *name, int64_t number,
               double begin_s);

/* Copy spans from..from+n, oldest first, fewer at the end. Returns the number copied. */
size_t trace_copy(struct trace *t, size_t from, size_t n, struct trace_span *to);
uint64_t trace_lost(struct trace *t); /* spans overwritten in the full ring */

/* Write the file: begin, then ranks and their spans in any order, then end.
 * file_out_commit() returns the errors. */
void trace_json_begin(struct file_out *out);
void trace_json_rank(struct file_out *out, int rank);
void trace_json_spans(struct file_out *out, int rank, const struct trace_span *spans, size_t n);
void trace_json_end(struct file_out *out, int n_ranks, uint64_t lost);

#endif
