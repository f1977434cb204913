/* plot_data.c : reads files into series of points. */
#include "app/plot/plot.h"
#include "base/err.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Replaces characters that move a cursor, end a text or call a program. */
static void clean(char to[PLOT_NAME], const char *from)
{
    snprintf(to, PLOT_NAME, "%s", from);
    text_clean(to);
    for (char *c = to; *c; c++)
        if (strchr("'`\\\"", *c))
            *c = '_';
}

static int find_series(const struct plot *p, const char *cleaned)
{
    for (int i = 0; i < p->n_series; i++)
        if (!strcmp(p->series[i].name, cleaned))
            return i;
    return -1;
}

int plot_series_of(struct plot *p, const char *name)
{
    char cleaned[PLOT_NAME];
    clean(cleaned, name);
    const int found = find_series(p, cleaned);
    if (found >= 0)
        return found;
    if (p->n_series == PLOT_SERIES)
        return ERR(-EINVAL, "cannot plot more than %d lines: give fewer %s", PLOT_SERIES,
                   p->kind->layers ? "files, or --layers" : "files or rows");
    memcpy(p->series[p->n_series].name, cleaned, sizeof cleaned);
    return p->n_series++;
}

int plot_series_here(struct plot *p, const struct plot_file *f, const char *name)
{
    char other[PLOT_NAME];
    int s = plot_series_of(p, name);
    for (int i = 2; s >= 0 && s < f->first_series; i++) {
        snprintf(other, sizeof other, "%.80s (%d)", name, i);
        s = plot_series_of(p, other);
    }
    return s;
}

int plot_tick_of(struct plot *p, const char *name)
{
    char cleaned[PLOT_NAME];
    clean(cleaned, name);
    for (int i = 0; i < p->n_ticks; i++)
        if (!strcmp(p->tick[i], cleaned))
            return i;
    if (p->n_ticks == PLOT_TICKS)
        return ERR(-EINVAL, "cannot plot more than %d bars: give fewer rows", PLOT_TICKS);
    memcpy(p->tick[p->n_ticks], cleaned, sizeof cleaned);
    return p->n_ticks++;
}

int plot_tick_new(struct plot *p, const char *name)
{
    char other[PLOT_NAME];
    const int bars = p->n_ticks;
    int tick = plot_tick_of(p, name);
    for (int again = 2; tick >= 0 && p->n_ticks == bars; again++) {
        snprintf(other, sizeof other, "%.80s (%d)", name, again);
        tick = plot_tick_of(p, other);
    }
    return tick;
}

int plot_add(struct plot *p, int s, double x, double y)
{
    struct plot_series *to = &p->series[s];
    if (!isfinite(x) || !isfinite(y))
        return 0;
    if (p->n_points == PLOT_POINTS)
        return ERR(-EINVAL, "cannot plot more than %d points: give fewer files", PLOT_POINTS);
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 64;
        struct plot_point *grown = realloc(to->point, room * sizeof *grown);
        if (!grown)
            return ERR(-ENOMEM, "cannot plot: no memory");
        to->point = grown;
        to->room = room;
    }
    to->point[to->n++] = (struct plot_point){x, y, p->n_points++, 1};
    return 0;
}

int plot_add_mean(struct plot *p, int s, double x, double y)
{
    struct plot_series *to = &p->series[s];
    struct plot_point *last = to->n > 0 ? &to->point[to->n - 1] : NULL;
    if (!last || last->x != x || !isfinite(y))
        return plot_add(p, s, x, y);
    last->y += (y - last->y) / (double)++last->n;
    return 0;
}

size_t plot_thin(struct plot *p, size_t most)
{
    size_t window = 1;
    for (int s = 0; s < p->n_series; s++) {
        struct plot_series *of = &p->series[s];
        const size_t each = (of->n + most - 1) / most, n = of->n;
        if (each <= 1)
            continue;
        window = each > window ? each : window;
        of->n = 0;
        for (size_t first = 0; first < n; first += each) {
            const size_t end = first + each < n ? first + each : n;
            double x = 0, y = 0;
            for (size_t i = first; i < end; i++)
                x += of->point[i].x, y += of->point[i].y;
            of->point[of->n++] =
                (struct plot_point){.x = x / (double)(end - first), .y = y / (double)(end - first)};
        }
    }
    return window;
}

int plot_add_layer(struct plot *p, int s, const struct jsonl_in *in, double y)
{
    char name[PLOT_NAME], cleaned[PLOT_NAME];
    const double at = plot_real(in, "index");
    if (s < 0)
        return s;
    if (!(at >= 0 && at < PLOT_TICKS && at == floor(at)))
        return ERR(-EINVAL, "cannot plot layer %g: layers are numbered 0 to %d", at,
                   PLOT_TICKS - 1);
    int i = (int)at;
    if (!*plot_word(in, "layer", name))
        snprintf(name, sizeof name, "%d", i);
    clean(cleaned, name);
    if (!*p->tick[i])
        memcpy(p->tick[i], cleaned, sizeof cleaned);
    else if (strcmp(p->tick[i], cleaned) != 0) /* files of several models */
        TRY(i = plot_tick_of(p, name));
    p->n_ticks = i >= p->n_ticks ? i + 1 : p->n_ticks;
    return plot_add(p, s, i, y);
}

static int by_x(const void *a, const void *b)
{
    const struct plot_point *p = a, *q = b;
    if (p->x != q->x)
        return p->x > q->x ? 1 : -1;
    return p->order > q->order ? 1 : -1;
}

/* Keeps the last point of equal x, but adds shares. */
static void finish(struct plot_series *s, bool shares)
{
    size_t n = 0;
    double sum = 0;
    if (s->n > 0)
        qsort(s->point, s->n, sizeof *s->point, by_x);
    for (size_t i = 0; i < s->n; i++) {
        const bool again = n > 0 && s->point[n - 1].x == s->point[i].x;
        n -= again;
        s->point[i].y += again && shares ? s->point[n].y : 0;
        s->point[n++] = s->point[i];
    }
    s->n = n;
    for (size_t i = 0; i < n; i++)
        sum += s->point[i].y;
    for (size_t i = 0; i < n && shares && sum > 0; i++)
        s->point[i].y *= 100 / sum;
}

void plot_close(struct plot *p)
{
    for (int i = 0; i < p->n_series; i++)
        free(p->series[i].point);
    p->n_series = 0;
}

double plot_real(const struct jsonl_in *in, const char *key)
{
    double x = (double)NAN;
    (void)jsonl_in_real(in, key, &x);
    return x;
}

const char *plot_word(const struct jsonl_in *in, const char *key, char to[PLOT_NAME])
{
    to[0] = '\0';
    (void)jsonl_in_text(in, key, to, PLOT_NAME);
    return to;
}

void plot_run_name(struct plot_file *f, const struct jsonl_in *in)
{
    if (!jsonl_in_is(in, "run"))
        return;
    char codec[PLOT_NAME], format[PLOT_NAME], scale[PLOT_NAME];
    plot_word(in, "codec", codec), plot_word(in, "format", format), plot_word(in, "scale", scale);
    if (!strcmp(codec, "minifloat") || !codec[0])
        snprintf(f->of, sizeof f->of, "%.20s: %.20s %.30s", f->name, format, scale);
    else
        snprintf(f->of, sizeof f->of, "%.20s: %.60s", f->name, codec);
}

struct plot_file plot_file_in(const struct plot *p, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    struct plot_file f = {.path = path, .first_series = p ? p->n_series : 0};
    snprintf(f.name, sizeof f.name, "%.*s", (int)strcspn(base, "."), base);
    return f;
}

const char *plot_file_name(const struct plot_file *f)
{
    return f->of[0] ? f->of : f->name;
}

static int read_file(struct plot *p, const char *path)
{
    struct plot_file f = plot_file_in(p, path);
    struct jsonl_in in;
    int rc, taken = 0;
    TRY(jsonl_in_open(&in, path));
    while ((rc = jsonl_in_next(&in)) > 0) {
        rc = p->kind->row(p, &f, &in);
        if (rc < 0)
            break;
        taken |= rc > 0;
    }
    jsonl_in_close(&in);
    return rc < 0 ? rc : taken;
}

static void finish_all(struct plot *p)
{
    for (int i = 0; i < p->n_series; i++)
        finish(&p->series[i], p->kind->shares);
}

static int check_layers(const struct plot *p)
{
    int n = 1;
    if (!p->layers)
        return 0;
    if (!p->kind->layers)
        return ERR(-EINVAL, "--layers '%s': rows for %s have no layers", p->layers, p->kind->name);
    for (const char *c = p->layers; *c; c++)
        n += *c == ',';
    return n > PLOT_LAYERS ? ERR(-EINVAL, "--layers: at most %d names", PLOT_LAYERS) : 0;
}

static int check_met(const struct plot *p)
{
    const char *at = p->layers;
    for (int i = 0; at; i++) {
        const size_t n = strcspn(at, ",");
        if (!(p->layers_met >> i & 1))
            return ERR(
                -EINVAL,
                "--layers: no row has the name '%.*s' (s1b0 selects all that begin with s1b0.)",
                (int)n, at);
        at = at[n] ? at + n + 1 : NULL;
    }
    return 0;
}

int plot_read(struct plot *p, const struct plot_kind *kind, const char *layers, char *const *paths,
              int n_paths)
{
    *p = (struct plot){.kind = kind, .layers = layers};
    TRY(check_layers(p));
    for (int i = 0; i < n_paths; i++) {
        const int rc = read_file(p, paths[i]);
        TRY(rc);
        if (rc == 0)
            return ERR(-EINVAL, "cannot plot %s of '%s': need %s", kind->name, paths[i],
                       kind->wants);
    }
    TRY(check_met(p));
    if (p->n_points == 0)
        return ERR(-EINVAL, "cannot plot %s of '%s': it has no finite number", kind->name,
                   paths[0]);
    finish_all(p);
    return 0;
}

int plot_read_some(struct plot *p, const struct plot_kind *kind, char *const *paths, int n_paths)
{
    *p = (struct plot){.kind = kind};
    for (int i = 0; i < n_paths; i++)
        TRY(read_file(p, paths[i]));
    finish_all(p);
    return 0;
}
