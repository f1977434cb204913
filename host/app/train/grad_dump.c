/* grad_dump.c : writes raw gradients for --dump-gradients. */
#include "app/train/grad_dump.h"
#include "app/train/train.h"
#include "base/err.h"
#include "base/file.h"
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int path_of(char path[PATH_MAX], const struct train *t, const char *name)
{
    struct text text = text_in(path, PATH_MAX);
    text_add(&text, "%s/%s", t->o->dump_dir, name);
    return text.full ? ERR(-ENAMETOOLONG, "cannot write to folder '%s': %s", t->o->dump_dir,
                           strerror(ENAMETOOLONG))
                     : 0;
}

static int write_text(const struct train *t, const char *name,
                      void (*print)(const struct train *, struct file_out *))
{
    char path[PATH_MAX];
    TRY(path_of(path, t, name));
    struct file_out out;
    TRY(file_out_open(&out, path));
    print(t, &out);
    return file_out_commit(&out);
}

static void print_meta(const struct train *t, struct file_out *out)
{
    file_out_print(out, "ranks %d steps %" PRIu64 " first %" PRIu64 "\n", t->n_ranks,
                   t->dump_end - t->dump_from, t->dump_from);
}

static void print_layers(const struct train *t, struct file_out *out)
{
    for (int i = 0; i < t->n_params; i++)
        file_out_print(out, "%s %zu %zu %zu %zu\n", t->params[i].name, t->params[i].offset,
                       t->params[i].n, t->params[i].column, t->params[i].stride);
}

static int lock_folder(struct train *t)
{
    t->dump = opendir(t->o->dump_dir);
    const int rc = t->dump ? file_lock(dirfd(t->dump), t->o->resume != NULL) : -errno;
    if (rc)
        return ERR(rc, "cannot write to folder '%s': %s", t->o->dump_dir, file_why(-rc));
    return 0;
}

/* A resumed run continues a dump, or begins it with its first step. */
static int find_first(const struct train *t, uint64_t *first)
{
    char path[PATH_MAX], name[64];
    *first = t->o->dump_first;
    snprintf(name, sizeof name, "step%06" PRIu64 ".rank0.f32", *first);
    TRY(path_of(path, t, name));
    if (t->state.step > *first && access(path, F_OK))
        *first = t->state.step;
    return 0;
}

int grad_dump_open(struct train *t)
{
    if (t->rank > 0)
        return 0;
    if (t->o->dump_first >= t->n_steps)
        return ERR(-EINVAL, "--dump-first '%" PRIu64 "': must be a step of this run, 0 to %" PRIu64,
                   t->o->dump_first, t->n_steps - 1);
    if (mkdir(t->o->dump_dir, 0777) && errno != EEXIST)
        return ERR(-errno, "cannot make folder '%s': %s", t->o->dump_dir, strerror(errno));
    TRY(lock_folder(t));
    TRY(find_first(t, &t->dump_from));
    const uint64_t end = t->o->dump_first + t->o->dump_steps;
    t->dump_end = end < t->n_steps ? end : t->n_steps;
    if (t->dump_from >= t->dump_end) /* a resumed run has dumped all */
        return 0;
    TRY(write_text(t, "meta.txt", print_meta));
    return write_text(t, "layers.txt", print_layers);
}

int grad_dump_end(struct train *t)
{
    if (!t->dump || t->state.step >= t->dump_end)
        return 0;
    t->dump_end = t->state.step > t->dump_from ? t->state.step : t->dump_from;
    return write_text(t, "meta.txt", print_meta);
}

void grad_dump_close(struct train *t)
{
    if (t->dump)
        closedir(t->dump);
    t->dump = NULL;
}

static int write_flat(struct train *t, const char *name, const real *from)
{
    char path[PATH_MAX];
    struct file_out out;
    TRY(path_of(path, t, name));
    TRY(nn_model_get(t->model, t->host, from, t->n_weights));
    TRY(file_out_open(&out, path));
    int rc = file_out_write(&out, t->host, t->n_weights * sizeof *t->host);
    if (rc)
        file_out_discard(&out);
    return rc ? rc : file_out_commit(&out);
}

int grad_dump_step(struct train *t)
{
    const uint64_t step = t->state.step;
    if (step < t->o->dump_first || step - t->o->dump_first >= t->o->dump_steps)
        return 0;
    char name[64];
    snprintf(name, sizeof name, "step%06llu.rank%d.f32", (unsigned long long)step, t->rank);
    TRY(write_flat(t, name, t->grads));
    snprintf(name, sizeof name, "step%06llu.weights.f32", (unsigned long long)step);
    return t->rank == 0 ? write_flat(t, name, t->weights) : 0;
}
