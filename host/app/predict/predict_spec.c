/* predict_spec.c : parses lists, ranks, speeds, times and layers. */
#include "app/predict/predict.h"
#include "base/err.h"
#include "base/text.h"
#include "base/buf.h"
#include "nn/model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int predict_spec(const char *option, const char *text, struct predict_list *out)
{
    *out = (struct predict_list){.n = 0};
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        if (length == 0)
            return ERR(-EINVAL, "--%s '%s': need items separated by single commas", option, text);
        if (out->n == PREDICT_LIST || length >= PREDICT_WORD)
            return ERR(-EINVAL,
                       "--%s '%s': too long: need at most %d items of fewer than %d letters",
                       option, text, PREDICT_LIST, PREDICT_WORD);
        memcpy(out->word[out->n++], at, length);
        at += length;
        if (!*at++)
            return 0;
    }
}

static int one_rank(const char *text, const char *at, char **end, int *out)
{
    const long n = *at >= '0' && *at <= '9' ? strtol(at, end, 10) : 0;
    if (n < 1 || n > PREDICT_RANKS_MAX)
        return ERR(-EINVAL, "--ranks '%s': need 1 to %d: \"2..4096\", \"256\" or \"4,6,100\"", text,
                   PREDICT_RANKS_MAX);
    *out = (int)n;
    return 0;
}

int predict_ranks(const char *text, int *ranks, int *n)
{
    char *at;
    int last = 0;
    *n = 0;
    TRY(one_rank(text, text, &at, &ranks[(*n)++]));
    if (!strncmp(at, "..", 2)) {
        TRY(one_rank(text, at + 2, &at, &last));
        if (*at || last < ranks[0])
            return ERR(-EINVAL, "--ranks '%s': need FROM..TO with FROM below TO", text);
        for (int p = ranks[0]; p <= last / 2; ranks[(*n)++] = p *= 2)
            ;
        return 0;
    }
    while (*at == ',' && *n < PREDICT_RANKS)
        TRY(one_rank(text, at + 1, &at, &ranks[(*n)++]));
    return *at ? ERR(-EINVAL, "--ranks '%s': need \"2..4096\", \"256\" or \"4,6,100\"", text) : 0;
}

struct unit {
    const char *name;
    double value;
};

static bool read_unit(const char *text, const struct unit *units, int n_units, double *out)
{
    char *end;
    const double x = *text >= '0' && *text <= '9' ? number_read(text, &end) : 0;
    for (int i = 0; i < n_units && x > 0; i++)
        if (!strcmp(end, units[i].name)) {
            *out = x * units[i].value;
            return isfinite(*out) && *out > 1e-15 && *out < 1e18;
        }
    return false;
}
#define READ_UNIT(text, units, out) \
    read_unit(text, units, (int)(sizeof(units) / sizeof *(units)), out)

int predict_rate(const char *option, const char *text, double *out)
{
    static const struct unit units[] = {{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
    static const struct unit bare[] = {{"", 1}};
    double number;
    if (READ_UNIT(text, units, out))
        return 0;
    if (READ_UNIT(text, bare, &number))
        return ERR(-EINVAL, "--%s '%s': the unit is missing: append K, M, G or T, as in 10G",
                   option, text);
    return ERR(
        -EINVAL,
        "--%s '%s': need a rate above 0 in K, M, G or T (powers of 1000), such as 10G or 2.5M",
        option, text);
}

int predict_time(const char *option, const char *text, double *out)
{
    static const struct unit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    if (!strcmp(text, "0")) {
        *out = 0;
        return 0;
    }
    return READ_UNIT(text, units, out)
               ? 0
               : ERR(-EINVAL, "--%s '%s': need a time such as 20us, 1.5ms, 2s or 0", option, text);
}

double predict_label_bps(const char *label)
{
    static const struct unit units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
    char word[PREDICT_WORD];
    double bps;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(label, ", "), label);
    return READ_UNIT(word, units, &bps) ? bps : 0;
}

static int read_layer(const char *path, int line_no, char *line, size_t *n)
{
    const char *last = NULL;
    char *end = NULL, *save, *word = strtok_r(line, " \t\r\n", &save);
    for (int i = 0; word && i < 3; word = strtok_r(NULL, " \t\r\n", &save), i++)
        last = word;
    errno = 0;
    const unsigned long long x =
        last && *last >= '0' && *last <= '9' ? strtoull(last, &end, 10) : 0;
    if (x < 1 || x > (uint64_t)1 << 40 || errno || *end)
        return ERR(-EINVAL, "cannot read '%s', line %d: need a layer's name and number of elements",
                   path, line_no);
    *n = (size_t)x;
    return 0;
}

int predict_layers_file(const char *path, struct reducer_layer **layers, int *n)
{
    enum { MAX_LAYERS = 1 << 16 };
    char line[512];
    int rc = 0, n_lines = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot open '%s': %s", path, strerror(errno));
    struct reducer_layer *list = buf_alloc(MAX_LAYERS * sizeof *list);
    rc = list ? 0 : -ENOMEM;
    errno = 0;
    while (rc == 0 && fgets(line, sizeof line, f)) {
        if (n_lines == MAX_LAYERS)
            rc = ERR(-EINVAL, "cannot use '%s': it has more than %d layers", path, MAX_LAYERS);
        else
            rc = read_layer(path, n_lines + 1, line, &list[n_lines].n);
        if (rc == 0)
            list[n_lines++].name = "";
    }
    if (rc == 0 && ferror(f))
        rc =
            ERR(errno ? -errno : -EIO, "cannot read '%s': %s", path, strerror(errno ? errno : EIO));
    fclose(f);
    if (rc == 0 && n_lines == 0)
        rc = ERR(-EINVAL, "cannot use '%s': it has no layers", path);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *layers = list;
    *n = n_lines;
    return 0;
}

int predict_layers_network(const struct predict_options *o, struct reducer_layer **layers, int *n)
{
    const struct nn_shape in = {(int)o->image, (int)o->image, 3};
    struct nn_param *params;
    int n_params;
    TRY(nn_model_list(o->network, o->width, in, (int)o->classes, &params, &n_params));
    struct reducer_layer *list = buf_alloc((size_t)n_params * sizeof *list);
    for (int i = 0; i < n_params && list; i++)
        list[i] = (struct reducer_layer){
            .name = "", .n = params[i].n, .column = params[i].column, .stride = params[i].stride};
    free(params);
    *layers = list;
    *n = n_params;
    return list ? 0 : -ENOMEM;
}

int predict_layers_size(uint64_t bytes, struct reducer_layer **layers, int *n)
{
    struct reducer_layer *list = buf_alloc(sizeof *list);
    if (!list)
        return -ENOMEM;
    list[0] = (struct reducer_layer){.name = "", .n = (size_t)bytes / 4};
    *layers = list;
    *n = 1;
    return 0;
}
