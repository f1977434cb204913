/* predict_rates.c : how fast this machine casts and adds, and all-reduces it has done, from what the
 * benches print. */
#include "app/predict.h"
#include "base/err.h"
#include "base/jsonl_read.h"
#include <string.h>

/* A format's name, in silence. */
static bool format_of(const char *word, size_t length, struct mf_fmt *out)
{
    char name[CODEC_NAME_BYTES];
    if (length == 0 || length >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    err_hold();
    const int rc = codec_format_parse("format", name, out);
    err_release(false);
    return rc == 0;
}

/* What a row of bench_cast is, by its name:
 *     "fp32 -> FMT", "FMT -> fp32"     a byte of fp32
 *     "FMT += FMT nearest"             of 3 bytes moved 2 are addends
 *     "8 ranks FMT, exact -> FMT"      a byte of addends
 * False: something else. */
static bool row_of(const char *name, enum predict_kind *kind, struct mf_fmt *fmt, double *counts)
{
    const char *arrow = strstr(name, " -> "), *plus = strstr(name, " += ");
    *counts = 1;
    if (!strncmp(name, "8 ranks ", 8)) {
        *kind = PREDICT_SUM;
        return format_of(name + 8, strcspn(name + 8, ","), fmt);
    }
    if (plus) {
        *kind = PREDICT_ADD;
        *counts = 1.5;
        return strstr(plus, " nearest") && format_of(name, (size_t)(plus - name), fmt);
    }
    if (!arrow)
        return false;
    if (!strncmp(name, "fp32 -> ", 8)) {
        *kind = PREDICT_ENCODE;
        return format_of(arrow + 4, strlen(arrow + 4), fmt);
    }
    *kind = PREDICT_DECODE;
    return !strcmp(arrow, " -> fp32") && format_of(name, (size_t)(arrow - name), fmt);
}

static void take_cast(const struct jsonl_in *in, struct predict_rates *r)
{
    char name[64];
    struct predict_rate_row row = {.n = 1};
    double gbs, counts;
    if (!jsonl_in_text(in, "name", name, sizeof name) || !jsonl_in_real(in, "gbs", &gbs) ||
        gbs <= 0 || !row_of(name, &row.kind, &row.fmt, &counts))
        return;
    row.seconds = counts / (1e9 * gbs);
    for (int i = 0; i < r->n_rows; i++)
        if (r->rows[i].kind == row.kind && mf_same(r->rows[i].fmt, row.fmt)) {
            r->rows[i].seconds += row.seconds;
            r->rows[i].n++;
            return;
        }
    if (r->n_rows < PREDICT_RATES)
        r->rows[r->n_rows++] = row;
}

static int take_time(const struct jsonl_in *in, struct predict_rates *r)
{
    struct predict_time_row row = {.bps = 0};
    char label[PREDICT_WORD] = "";
    double ranks, us;
    if (!jsonl_in_text(in, "algo", row.algo, sizeof row.algo) ||
        !jsonl_in_text(in, "type", row.type, sizeof row.type) ||
        !jsonl_in_real(in, "ranks", &ranks) || !jsonl_in_real(in, "size", &row.bytes) ||
        !jsonl_in_real(in, "time_us", &us) || !strncmp(row.algo, "mpi:", 4) || us <= 0 ||
        ranks < 1 || ranks > PREDICT_RANKS_MAX || row.bytes < 4 || row.bytes > 0x1p42)
        return 0;
    if (r->n_times == PREDICT_TIMES)
        return ERR(-EINVAL, "cannot use '%s': more than %d all-reduces", in->path, PREDICT_TIMES);
    jsonl_in_text(in, "label", label, sizeof label);
    row.n_ranks = (int)ranks;
    row.seconds = 1e-6 * us;
    row.bps = predict_label_bps(label);
    r->times[r->n_times++] = row;
    return 0;
}

int predict_rates_read(const char *path, struct predict_rates *out)
{
    struct jsonl_in in;
    int rc;
    *out = (struct predict_rates){.latency_s = -1, .card_rtt_s = -1};
    TRY(jsonl_in_open(&in, path));
    while ((rc = jsonl_in_next(&in)) > 0) {
        if (jsonl_in_is(&in, "cast"))
            take_cast(&in, out);
        else if (jsonl_in_is(&in, "allreduce") && (rc = take_time(&in, out)) < 0)
            break;
    }
    jsonl_in_close(&in);
    if (rc == 0 && out->n_rows == 0 && out->n_times == 0)
        rc = ERR(-EINVAL,
                 "cannot use '%s': want rows of bench_cast --json or bench_allreduce --json", path);
    return rc;
}

/* The row of this format, or the slowest of the kind: seconds a byte. */
static double seconds_of(const struct predict_rates *r, enum predict_kind kind, struct mf_fmt fmt)
{
    double slowest = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const struct predict_rate_row *row = &r->rows[i];
        if (row->kind != kind)
            continue;
        const double s = row->seconds / row->n;
        if (mf_same(row->fmt, fmt))
            return s;
        slowest = s > slowest ? s : slowest;
    }
    return slowest;
}

struct cost_rates predict_rates_of(const struct predict_rates *r, const struct codec *codec)
{
    const struct vec_sum *sum = codec_sum(codec);
    const bool one_by_one = sum->rule == VEC_NEAREST || sum->rule == VEC_TRUNC;
    return (struct cost_rates){
        .encode_s = seconds_of(r, PREDICT_ENCODE, sum->in),
        .decode_s = seconds_of(r, PREDICT_DECODE, sum->out),
        .add_s = seconds_of(r, one_by_one ? PREDICT_ADD : PREDICT_SUM, sum->in),
    };
}

void predict_share_core(struct cost_rates *rates, double ranks)
{
    rates->encode_s *= ranks, rates->decode_s *= ranks, rates->add_s *= ranks;
    rates->message_s *= ranks;
    for (int i = 0; i < rates->port_s.n; i++)
        rates->port_s.at[i] *= ranks;
}
