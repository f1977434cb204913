/* predict_rates.c : reads the speeds that benches print. */
#include "app/predict/predict.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/jsonl_read.h"
#include <string.h>

/* Reports no error. */
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

/* Classifies a row of bench_cast by its name. *counts: bytes moved per byte that cost.h counts:
 *
 *     "fp32 -> FMT", "FMT -> fp32"     bytes of fp32
 *     "FMT += FMT nearest"             addends, 2 of 3 bytes moved
 *     "8 ranks FMT, ..."               bytes of addends; blocks ("... -> FMT:32") have no row */
static bool row_of(const char *name, enum predict_kind *kind, struct mf_fmt *fmt, double *counts)
{
    const char *arrow = strstr(name, " -> "), *plus = strstr(name, " += ");
    *counts = 1;
    if (!strncmp(name, "8 ranks ", 8)) {
        *kind = PREDICT_SUM;
        return !strchr(name, ':') && format_of(name + 8, strcspn(name + 8, ","), fmt);
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

static void take_port(const struct jsonl_in *in, struct predict_rates *r)
{
    char to[8];
    double gbs;
    if (jsonl_in_text(in, "to", to, sizeof to) && jsonl_in_real(in, "gbs", &gbs) && gbs > 0)
        r->port_s[!strcmp(to, "card")] = 1e-9 / gbs;
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
        return ERR(-EINVAL, "cannot use '%s': it has more than %d all-reduces", in->path,
                   PREDICT_TIMES);
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
        else if (jsonl_in_is(&in, "port"))
            take_port(&in, out);
        else if (jsonl_in_is(&in, "allreduce") && (rc = take_time(&in, out)) < 0)
            break;
    }
    jsonl_in_close(&in);
    if (rc == 0 && out->n_rows == 0 && out->n_times == 0)
        rc = ERR(-EINVAL,
                 "cannot use '%s': need rows of bench_cast --json or bench_allreduce --json", path);
    return rc;
}

const char *predict_row_name(const struct predict_rate_row *row, char name[PREDICT_WORD])
{
    char f[CODEC_NAME_BYTES];
    snprintf(f, sizeof f, "e%dm%d%s", row->fmt.e, row->fmt.m, mf_suffix(row->fmt));
    switch (row->kind) {
    case PREDICT_ENCODE:
        snprintf(name, PREDICT_WORD, "fp32 -> %s", f);
        break;
    case PREDICT_DECODE:
        snprintf(name, PREDICT_WORD, "%s -> fp32", f);
        break;
    case PREDICT_ADD:
        snprintf(name, PREDICT_WORD, "%s += %s nearest", f, f);
        break;
    default:
        snprintf(name, PREDICT_WORD, "8 ranks %s, at once", f);
    }
    return name;
}

double predict_row_gbs(const struct predict_rate_row *row)
{
    return 1e-9 * row->n / row->seconds * (row->kind == PREDICT_ADD ? 1.5 : 1);
}

int predict_rates_write(const struct predict_rates *r)
{
    char name[PREDICT_WORD];
    struct jsonl j;
    jsonl_to(&j, stdout);
    for (int i = 0; i < r->n_rows; i++) {
        jsonl_begin(&j, "cast");
        jsonl_text(&j, "name", predict_row_name(&r->rows[i], name));
        jsonl_real(&j, "gbs", predict_row_gbs(&r->rows[i]));
        TRY(jsonl_end(&j));
    }
    for (int i = 0; i < 2; i++) {
        if (!(r->port_s[i] > 0))
            continue;
        jsonl_begin(&j, "port");
        jsonl_text(&j, "to", i ? "card" : "ranks");
        jsonl_real(&j, "gbs", 1e-9 / r->port_s[i]);
        TRY(jsonl_end(&j));
    }
    return 0;
}

/* Falls back on the kind's slowest format. */
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

enum predict_kind predict_adds(const struct vec_sum *sum)
{
    return sum->rule == VEC_NEAREST || sum->rule == VEC_TRUNC ? PREDICT_ADD : PREDICT_SUM;
}

struct cost_rates predict_rates_of(const struct predict_rates *r, const struct codec *codec)
{
    const struct vec_sum *sum = codec_sum(codec);
    return (struct cost_rates){
        .encode_s = seconds_of(r, PREDICT_ENCODE, sum->in),
        .decode_s = seconds_of(r, PREDICT_DECODE, sum->out),
        .add_s = seconds_of(r, predict_adds(sum), sum->in),
    };
}

void predict_share_core(struct cost_rates *rates, double ranks)
{
    rates->encode_s *= ranks, rates->decode_s *= ranks, rates->add_s *= ranks;
    rates->message_s *= ranks;
    for (int i = 0; i < rates->port_s.n; i++)
        rates->port_s.at[i] *= ranks;
}
