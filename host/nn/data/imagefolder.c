/* imagefolder.c : lists folders of pictures by class, as those of ImageNet (ILSVRC 2012).
 *
 *   DIR/train/CLASS/FILE.jpg     (.jpeg and .png, too, in any case)
 *   DIR/val/CLASS/FILE.jpg
 *
 * A class has any name without a leading dot. Classes are numbered in the order of their names. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "nn/data/sample_files.h"
#include "nn/data/sources.h"
#include "nn/model.h"

enum { SIDE_DEFAULT = 224, THREADS_MAX = 64 };

static void *grown(void *list, size_t *room, size_t needed, size_t item)
{
    if (needed <= *room)
        return list;
    const size_t more = 2 * needed + 64;
    void *to = realloc(list, more * item);
    if (to)
        *room = more;
    else
        (void)ERR(-ENOMEM, "cannot allocate a list of %zu pictures", needed);
    return to;
}

static int add(struct files_list *l, const char *class, const char *file, int label)
{
    const size_t bytes = strlen(class) + strlen(file) + 2;
    size_t room = l->room;
    char *names = grown(l->names, &l->room_bytes, l->n_bytes + bytes, 1);
    if (!names)
        return -ENOMEM;
    l->names = names;
    size_t *name = grown(l->name, &room, l->n + 1, sizeof *l->name);
    if (!name)
        return -ENOMEM;
    l->name = name;
    uint16_t *labels = grown(l->label, &l->room, l->n + 1, sizeof *l->label);
    if (!labels)
        return -ENOMEM;
    l->label = labels;
    snprintf(l->names + l->n_bytes, bytes, "%s/%s", class, file);
    l->name[l->n] = l->n_bytes;
    l->label[l->n++] = (uint16_t)label;
    l->n_bytes += bytes;
    return 0;
}

static int is_picture(const struct dirent *d)
{
    const char *end = strrchr(d->d_name, '.');
    return d->d_name[0] != '.' && end &&
           (!strcasecmp(end, ".jpg") || !strcasecmp(end, ".jpeg") || !strcasecmp(end, ".png"));
}

static int add_class(struct files_list *l, const char *class, int label)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct dirent **files = NULL;
    snprintf(path, sizeof path, "%s/%s", l->path, class);
    const int n = source_list(path, is_picture, &files);
    int rc = n < 0 ? ERR(n, "cannot read folder '%s': %s", path, strerror(-n)) : 0;
    if (n == 0)
        rc = ERR(-ENOENT, "'%s' has no pictures, expected *.jpg, *.jpeg or *.png", path);
    for (int i = 0; i < n && rc == 0; i++)
        rc = add(l, class, files[i]->d_name, label);
    source_list_free(files, n);
    return rc;
}

static int find_class(const struct files *f, int n_classes, const char *name)
{
    int low = 0, high = n_classes;
    while (low < high) {
        const int middle = (low + high) / 2, order = strcmp(name, f->classes[middle]);
        if (order == 0)
            return middle;
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    return -1;
}

/* Lists the classes' folders; files beside them do not count, but links to nothing are refused. */
static int list_classes(const struct files_list *l, struct dirent ***out)
{
    int kept = 0, is_class = 0;
    const int n = source_list(l->path, NULL, out);
    if (n < 0)
        return ERR(n,
                   "cannot read folder '%s': %s: need a folder such as ImageNet's "
                   "(image-net.org, ILSVRC 2012) with train/CLASS/*.jpg and val/CLASS/*.jpg",
                   l->path, strerror(-n));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof path, "%s/%s", l->path, (*out)[i]->d_name);
        if (is_class >= 0)
            is_class = source_is_folder(path);
        if (is_class > 0)
            (*out)[kept++] = (*out)[i];
        else
            free((*out)[i]);
    }
    if (is_class >= 0)
        return kept;
    source_list_free(*out, kept);
    *out = NULL;
    return is_class;
}

static int list_train(struct files *f, int *n_classes)
{
    struct dirent **classes = NULL;
    const int n = list_classes(&f->train, &classes);
    int rc = n < 0 ? n : 0;
    if (rc == 0 && (n < 2 || n > DATASET_CLASSES_MAX))
        rc = ERR(-EINVAL, "'%s' has %d folders of classes, expected 2 to %d", f->train.path, n,
                 DATASET_CLASSES_MAX);
    f->classes = rc == 0 ? buf_alloc((size_t)n * sizeof *f->classes) : NULL;
    if (rc == 0 && !f->classes)
        rc = -ENOMEM;
    for (int i = 0; i < n && rc == 0; i++) {
        snprintf(f->classes[i], sizeof f->classes[i], "%s", classes[i]->d_name);
        rc = add_class(&f->train, classes[i]->d_name, i);
    }
    *n_classes = n;
    source_list_free(classes, n);
    return rc;
}

static int list_test(struct files *f, int n_classes)
{
    struct dirent **classes = NULL;
    const int n = list_classes(&f->test, &classes);
    int rc = n < 0 ? n : 0;
    if (n == 0)
        rc = ERR(-ENOENT, "'%s' has no folders of classes", f->test.path);
    for (int i = 0; i < n && rc == 0; i++) {
        const char *name = classes[i]->d_name;
        const int label = find_class(f, n_classes, name);
        rc = label < 0 ? ERR(-EINVAL, "'%s/%s' is a class that '%s' does not have", f->test.path,
                             name, f->train.path)
                       : add_class(&f->test, name, label);
    }
    source_list_free(classes, n);
    return rc;
}

static int parse(const char *arg, struct files *f, int *side)
{
    char dir[PATH_MAX];
    long sides = SIDE_DEFAULT, threads = 1;
    TRY(source_folder(arg, dir, PATH_MAX - sizeof "/train", &sides, &threads));
    if (sides < NN_SIDE_MIN || sides > NN_SIDE_MAX || threads < 1 || threads > THREADS_MAX)
        return ERR(
            -EINVAL,
            "data set 'imagefolder:%s' has %ld pixels a side and %ld threads, expected %d to "
            "%d and 1 to %d",
            arg, sides, threads, NN_SIDE_MIN, NN_SIDE_MAX, THREADS_MAX);
    snprintf(f->train.path, PATH_MAX, "%.*s/train", PATH_MAX - 8, dir);
    snprintf(f->test.path, PATH_MAX, "%.*s/val", PATH_MAX - 8, dir);
    f->n_threads = (int)threads;
    *side = (int)sides;
    return 0;
}

int imagefolder_load(const char *arg, struct dataset *d)
{
    struct files *f = d->own = buf_alloc(sizeof *f);
    d->samples = &sample_files;
    if (!f)
        return -ENOMEM;
    TRY(parse(arg, f, &d->h));
    d->w = d->h;
    d->c = FILES_CHANNELS;
    TRY(list_train(f, &d->n_classes));
    TRY(list_test(f, d->n_classes));
    d->n_train = f->train.n;
    d->n_test = f->test.n;
    return 0;
}
