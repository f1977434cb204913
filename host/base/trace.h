/* trace.h : records time spans by thread in a ring and writes them as a timeline.
 *
 * The file is Chrome's trace JSON, which Perfetto and chrome://tracing show with one process per
 * rank and one row per thread. Spans of one row are nested. Spans named TRACE_STEP that have bytes
 * also become a counter. */
#ifndef TRACE_H
#define TRACE_H
#include "base/clock.h"
#include "base/file.h"
#include <stddef.h>
#include <stdint.h>

struct trace; /* NULL is legal: it records nothing */

#define TRACE_STEP "step"

enum trace_row { TRACE_MAIN, TRACE_REDUCE, TRACE_ROWS };

/* Plain data, which ranks on machines of one kind may exchange. */
struct trace_span {
    char name[44];
    int32_t row;
    double begin_s, end_s; /* since trace_start() */
    int64_t number;        /* of the bucket or step; -1: none */
    int64_t bytes;         /* sent; -1: unknown */
};

/* Allocate room for the last n_spans > 0 spans, and nothing later. Returns 0 or -ENOMEM. */
int trace_open(size_t n_spans, struct trace **out);
void trace_close(struct trace *t);

/* Set time 0 to now and drop earlier spans. Ranks that call it at the same time share a timeline,
 * except for the skew of that call. */
void trace_start(struct trace *t);

/* Add a span that began at begin_s (clock_s()) and ends now. Any thread may call it; it is fast and
 * does not allocate. */
void trace_add(struct trace *t, enum trace_row row, const char *name, int64_t number,
               double begin_s);
void trace_add_bytes(struct trace *t, enum trace_row row, const char *name, int64_t number,
                     int64_t bytes, double begin_s);

/* Copy up to n spans from number `from` on, oldest first. Returns their number, less than n at the
 * end. */
size_t trace_copy(struct trace *t, size_t from, size_t n, struct trace_span *to);
/* Returns the number of overwritten spans. */
uint64_t trace_lost(struct trace *t);

/* Write the file: begin, then ranks and their spans in any order, then end. file_out_commit()
 * returns the errors. */
void trace_json_begin(struct file_out *out);
void trace_json_rank(struct file_out *out, int rank);
void trace_json_spans(struct file_out *out, int rank, const struct trace_span *spans, size_t n);
void trace_json_end(struct file_out *out, int n_ranks, uint64_t lost);

#endif
