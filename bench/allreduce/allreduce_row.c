/* allreduce_row.c : generates the data of bench_allreduce, counts errors and the cost on cards, and
 * prints a row. */
#include "allreduce.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "bench/measure.h"
#include "hls/card/card.h"

float data_of(uint64_t i, int rank, int n_ranks)
{
    const uint32_t bits = (uint32_t)((i * 0x9e3779b97f4a7c15u) >> 32);
    const int first = (int)((bits >> 8) % (uint32_t)n_ranks), second = (first + 1) % n_ranks;
    const float sign = bits & 1 ? -1 : 1;
    switch (bits >> 1 & 3) {
    case 0: /* no rank */
        return 0;
    case 1:
        return rank == first ? sign : 0;
    case 2: /* two ranks, same sign */
        return rank == first || (rank == second && n_ranks > 1) ? sign : 0;
    default: /* two ranks, cancelling */
        return rank == first ? sign : rank == second ? -sign : 0;
    }
}

void data_fill(float *own, float *want, size_t n, int rank, int n_ranks)
{
    for (size_t i = 0; i < n; i++) {
        own[i] = data_of(i, rank, n_ranks);
        want[i] = 0;
        for (int r = 0; r < n_ranks; r++)
            want[i] += data_of(i, r, n_ranks);
    }
}

uint64_t data_wrong(const float *x, const float *want, size_t n, float divisor)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += x[i] != want[i] / divisor; /* nan, too */
    return wrong;
}

/* Returns the work of all cards so far, and the clocks of the busiest; 0 unless `asks` (rank 0). */
static struct fpga_time card_times(struct offload *o, bool asks)
{
    struct fpga_time sum = {0}, one;
    for (int i = 0; asks && i < offload_n_cards(o); i++)
        if (offload_card_time(o, i, &one)) {
            sum.clocks = one.clocks > sum.clocks ? one.clocks : sum.clocks;
            sum.beats_in += one.beats_in;
            sum.beats_out += one.beats_out;
        }
    return sum;
}

int card_check(struct through_card *c, const struct job *job)
{
    c->offload = job->offload;
    if (!c->offload || offload_is_open(c->offload))
        return 0;
    return comm_rank(job->comm) > 0
               ? -EIO
               : ERR(-EIO, "cannot measure offload: %s", offload_why(c->offload));
}

int card_check_step(const struct job *job, const struct reducer_step *step)
{
    return job->offload && !step->by_card_path
               ? ERR(-EIO, "the card was abandoned: this would measure MPI")
               : 0;
}

void card_begin(struct through_card *c, bool asks)
{
    if (!c->offload)
        return;
    c->start = offload_card_path.counted(c->offload);
    c->start_time = card_times(c->offload, asks);
}

struct card_cost card_cost_of(const struct through_card *c, bool asks, double runs)
{
    const struct card_path_count now = offload_card_path.counted(c->offload);
    const double clocks =
        (double)(card_times(c->offload, asks).clocks - c->start_time.clocks) / runs;
    return (struct card_cost){(double)(now.packets - c->start.packets) / runs,
                              (double)(now.resent - c->start.resent) / runs, clocks,
                              clocks / (1e6 * CARD_MHZ)};
}

void row_times(double *x, size_t n, double *median, double *p99)
{
    *median = measure_median(x, n);
    *p99 = x[(99 * n + 99) / 100 - 1];
}

static double row_algbw(const struct row *r)
{
    return (double)r->bytes / r->time_s * 1e-9;
}
static double row_busbw(const struct row *r)
{
    return row_algbw(r) * 2 * (r->n_ranks - 1) / r->n_ranks;
}

void row_head(bool cards)
{
    printf("%-22s %10s %10s %10s %5s %4s %11s %11s %7s %7s %6s %11s %11s %6s %9s", "# algo", "size",
           "count", "type", "redop", "root", "time", "p99", "algbw", "busbw", "#wrong",
           "wire_bytes", "port_bytes", "ratio", "codec_us");
    printf(cards ? "%8s %7s %9s %9s\n" : "\n", "packets", "resent", "cycles", "line_us");
    printf("%-22s %10s %10s %10s %5s %4s %11s %11s %7s %7s %6s %11s %11s %6s %9s\n", "#", "(B)",
           "(elements)", "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)", "", "(B)", "(B)", "", "");
}

void row_print(const struct row *r, bool cards)
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

int row_json(const struct row *r, const char *label)
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
