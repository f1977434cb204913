/* dump.c : reads the files of a gradient dump. */
#include "dump.h"
#include "base/file.h"
#include <string.h>

static int dump_read_meta(struct dump *d)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/meta.txt", d->dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot open \"%s\": %s", path, strerror(errno));
    int n =
        fscanf(f, "ranks %d steps %" SCNu64 " first %" SCNu64, &d->n_ranks, &d->n_steps, &d->first);
    fclose(f);
    if (n != 3 || d->n_ranks < 1 || d->n_ranks > 65536 || d->n_steps > UINT64_MAX - d->first)
        return ERR(-EINVAL, "cannot read \"%s\": want \"ranks P steps S first F\"", path);
    if (d->n_steps == 0)
        return ERR(-EINVAL, "cannot use \"%s\": no step is in it", path);
    return 0;
}

/* Append the layer in `line`. Layers must lie end to end, in order. */
static int dump_read_layer(struct dump *d, const char *path, const char *line)
{
    struct dump_layer l = {.column = 0};
    if (sscanf(line, "%63s %zu %zu %zu %zu", l.name, &l.offset, &l.n, &l.column, &l.stride) < 3 ||
        l.n < 1 || l.n > SIZE_MAX / 8 - d->n)
        return ERR(-EINVAL, "cannot read \"%s\", line %d: want \"name offset length\"", path,
                   d->n_layers + 1);
    if (l.offset != d->n)
        return ERR(-EINVAL,
                   "cannot read \"%s\", line %d: offset is %zu, and the layers before end at %zu",
                   path, d->n_layers + 1, l.offset, d->n);
    struct dump_layer *more = realloc(d->layers, ((size_t)d->n_layers + 1) * sizeof *more);
    if (!more)
        return ERR(-ENOMEM, "cannot allocate %d layers", d->n_layers + 1);
    d->layers = more;
    d->layers[d->n_layers++] = l;
    d->n += l.n;
    return 0;
}

static int dump_read_layers(struct dump *d)
{
    char path[PATH_MAX], line[256];
    snprintf(path, sizeof path, "%s/layers.txt", d->dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot open \"%s\": %s", path, strerror(errno));
    int rc = 0;
    while (rc == 0 && fgets(line, sizeof line, f))
        rc = dump_read_layer(d, path, line);
    fclose(f);
    if (rc == 0 && d->n_layers == 0)
        return ERR(-EINVAL, "cannot use \"%s\": no layer is in it", path);
    return rc;
}

int dump_read_flat(const struct dump *d, uint64_t step, const char *name, float *x)
{
    char path[PATH_MAX], beyond;
    snprintf(path, sizeof path, "%s/step%06" PRIu64 ".%s.f32", d->dir, step, name);
    struct file_in in;
    size_t got, more = 0;
    TRY(file_in_open(&in, path));
    int rc = file_in_read(&in, x, d->n * sizeof *x, &got);
    if (rc == 0)
        rc = file_in_read(&in, &beyond, 1, &more);
    file_in_close(&in);
    if (rc == 0 && (got != d->n * sizeof *x || more))
        rc = ERR(-EINVAL, "cannot use \"%s\": it has %s than the %zu bytes of layers.txt", path,
                 more ? "more" : "fewer", d->n * sizeof *x);
    return rc;
}

int dump_read_rank(const struct dump *d, uint64_t step, int rank, float *grads)
{
    char name[32];
    snprintf(name, sizeof name, "rank%d", rank);
    return dump_read_flat(d, step, name, grads);
}

int dump_open(struct dump *d, const char *dir)
{
    *d = (struct dump){.dir = dir};
    TRY(dump_read_meta(d));
    return dump_read_layers(d);
}

void dump_close(struct dump *d)
{
    free(d->layers);
}
