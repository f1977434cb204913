/* allreduce_row.h : prints a row of bench_allreduce. */
#ifndef ALLREDUCE_ROW_H
#define ALLREDUCE_ROW_H
#include "allreduce_card.h"
#include "base/jsonl.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
    const char *algo, *type; /* "direct", "e3m0/e4m3"; for MPI "mpi:ring", "fp32" */
    uint64_t bytes;          /* user's fp32 bytes, for algbw */
    int n_ranks;
    double time_s, p99_s; /* over runs, slowest rank */
    double codec_s;       /* casting, slowest rank; 0 for MPI */
    double base_s;        /* time_s of MPI's fp32 */
    uint64_t wrong;       /* elements on all ranks, in the worst run */
    /* payload of the rank that sends most; for MPI, that of a ring */
    uint64_t wire_bytes;
    /* bytes that left the busiest host's interfaces, with headers; 0 within one host */
    uint64_t port_bytes;
    bool by_card;
    struct card_cost cost; /* offload: means per run */
};

static inline int row_by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x[n]. */
static inline void row_times(double *x, size_t n, double *median, double *p99)
{
    qsort(x, n, sizeof *x, row_by_size);
    *median = n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
    *p99 = x[(99 * n + 99) / 100 - 1];
}

static inline double row_algbw(const struct row *r)
{
    return (double)r->bytes / r->time_s * 1e-9;
}
static inline double row_busbw(const struct row *r)
{
    return row_algbw(r) * 2 * (r->n_ranks - 1) / r->n_ranks;
}

static inline void row_head(bool cards)
{
    printf("%-22s %10s %10s %10s %5s %4s %11s %11s %7s %7s %6s %11s %11s %6s %9s", "# algo", "size",
           "count", "type", "redop", "root", "time", "p99", "algbw", "busbw", "#wrong",
           "wire_bytes", "port_bytes", "ratio", "codec_us");
    printf(cards ? "%8s %7s %9s %9s\n" : "\n", "packets", "resent", "cycles", "line_us");
    printf("%-22s %10s %10s %10s %5s %4s %11s %11s %7s %7s %6s %11s %11s %6s %9s\n", "#", "(B)",
           "(elements)", "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)", "", "(B)", "(B)", "", "");
}

static inline void row_print(const struct row *r, bool cards)
{
    printf("%-22s %10llu %10llu %10s %5s %4d %11.1f %11.1f %7.3f %7.3f %6llu %11llu %11llu %6.2f "
           "%9.0f",
           r->algo, (unsigned long long)r->bytes, (unsigned long long)r->bytes / 4, r->type, "mean",
           -1, 1e6 * r->time_s, 1e6 * r->p99_s, row_algbw(r), row_busbw(r),
           (unsigned long long)r->wrong, (unsigned long long)r->wire_bytes,
           (unsigned long long)r->port_bytes, r->base_s / r->time_s, 1e6 * r->codec_s);
    if (cards && r->by_card)
        printf("%8.0f %7.1f %9.0f %9.0f", r->cost.packets, r->cost.resent, r->cost.clocks,
               1e6 * r->cost.line_s);
    printf("\n");
    fflush(stdout);
}

static inline int row_json(const struct row *r, const char *label)
{
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "allreduce");
    if (label)
        jsonl_text(&j, "label", label);
    jsonl_text(&j, "algo", r->algo);
    jsonl_text(&j, "type", r->type);
    jsonl_text(&j, "redop", "mean");
    jsonl_int(&j, "ranks", r->n_ranks);
    jsonl_uint(&j, "size", r->bytes);
    jsonl_uint(&j, "count", r->bytes / 4);
    jsonl_real(&j, "time_us", 1e6 * r->time_s);
    jsonl_real(&j, "p99_us", 1e6 * r->p99_s);
    jsonl_real(&j, "algbw", row_algbw(r));
    jsonl_real(&j, "busbw", row_busbw(r));
    jsonl_uint(&j, "wrong", r->wrong);
    jsonl_uint(&j, "wire_bytes", r->wire_bytes);
    jsonl_uint(&j, "port_bytes", r->port_bytes);
    jsonl_real(&j, "ratio", r->base_s / r->time_s);
    jsonl_real(&j, "codec_us", 1e6 * r->codec_s);
    if (r->by_card) {
        jsonl_real(&j, "packets", r->cost.packets);
        jsonl_real(&j, "resent", r->cost.resent);
        jsonl_real(&j, "cycles", r->cost.clocks);
        jsonl_real(&j, "line_us", 1e6 * r->cost.line_s);
    }
    return jsonl_end(&j);
}

#endif
