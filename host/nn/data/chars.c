/* chars.c : splits a text into windows of bytes, each predicted from those before it. Classes
 * are the byte values that occur, in order, one-hot encoded. The last tenth is the test set.
 *
 *   text    F i r s t _ C i t i z e n ...      consecutive windows of CHARS_WINDOW
 *   input   F i r s t _ C i ...                each starts with an empty memory
 *   labels  i r s t _ C i t ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/crc.h"
#include "base/err.h"
#include "nn/data/datafile.h"
#include "nn/data/sources.h"

enum { CHARS_WINDOW = 128, BYTES_MAX = 1 << 30, TENTH = 10 };

struct chars {
    uint8_t *class;  /* [n_windows * CHARS_WINDOW + 1] */
    size_t first[2]; /* training and test set's first window */
};

static uint32_t chars_crc(const struct dataset *d, uint32_t crc)
{
    const struct chars *c = d->own;
    return crc_more(crc, c->class, (c->first[1] + d->n_test) * CHARS_WINDOW + 1);
}

static void chars_close(struct dataset *d)
{
    struct chars *c = d->own;
    if (c)
        free(c->class);
    free(c);
}

static int chars_settle(struct dataset *d, size_t subset)
{
    if (subset > d->n_train)
        return ERR(-EINVAL, "cannot take a subset of %zu windows of %d characters: '%s' has %zu",
                   subset, CHARS_WINDOW, d->name, d->n_train);
    d->n_train = subset ? subset : d->n_train;
    return 0;
}

static const uint8_t *window(const struct dataset *d, bool test, uint32_t index)
{
    const struct chars *c = d->own;
    return c->class + (c->first[test] + index) * CHARS_WINDOW;
}

static void chars_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                          const struct dataset_augment *augment, real *x)
{
    (void)augment;
    memset(x, 0, (size_t)n * CHARS_WINDOW * (size_t)d->c * sizeof *x);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < CHARS_WINDOW; t++, x += d->c)
            x[window(d, test, index[i])[t]] = 1;
}

static void chars_labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                         const struct dataset_augment *augment, int32_t *labels, int32_t *lengths)
{
    (void)augment;
    for (int i = 0; i < n; i++) {
        for (int t = 0; t < CHARS_WINDOW; t++)
            *labels++ = window(d, test, index[i])[t + 1];
        if (lengths)
            lengths[i] = CHARS_WINDOW;
    }
}

static const struct sample_ops sample_chars = {
    .name = "windows of text",
    .target = NN_DENSE,
    .tells_bits = true,
    .settle = chars_settle,
    .to_real = chars_to_real,
    .labels = chars_labels,
    .crc = chars_crc,
    .close = chars_close,
};

static int classify(uint8_t *text, size_t n)
{
    uint8_t class[256] = {0};
    int n_classes = 0;
    for (size_t i = 0; i < n; i++)
        class[text[i]] = 1;
    for (int byte = 0; byte < 256; byte++)
        if (class[byte])
            class[byte] = (uint8_t)n_classes++;
    for (size_t i = 0; i < n; i++)
        text[i] = class[text[i]];
    return n_classes;
}

static int take(const struct datafile *f, size_t bytes, struct chars *c, struct dataset *d)
{
    const size_t n_windows = bytes ? (bytes - 1) / CHARS_WINDOW : 0;
    if (n_windows < TENTH)
        return datafile_err(f, bytes, "the file ends, expected at least %d characters",
                            TENTH * CHARS_WINDOW + 1);
    d->n_classes = d->c = classify(c->class, bytes);
    if (d->n_classes < 2)
        return datafile_err(f, 0, "only one distinct character, expected at least 2");
    d->h = CHARS_WINDOW;
    d->w = 1;
    d->n_test = n_windows / TENTH;
    d->n_train = n_windows - d->n_test;
    c->first[1] = d->n_train;
    return 0;
}

int text_load(const char *path, struct dataset *d)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char dir[PATH_MAX] = ".";
    struct datafile f;
    struct chars *c = calloc(1, sizeof *c);
    size_t bytes;
    if (!c)
        return ERR(-ENOMEM, "cannot allocate the text");
    d->own = c;
    d->samples = &sample_chars;
    if (slash)
        snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    TRY(datafile_open_any(dir, (const char *const[]){name, NULL},
                          "a text, as Tiny Shakespeare (github.com/karpathy/char-rnn, its folder "
                          "data/tinyshakespeare): input.txt",
                          &f));
    int rc = datafile_all(&f, BYTES_MAX, &c->class, &bytes);
    if (rc == 0)
        rc = take(&f, bytes, c, d);
    datafile_close(&f);
    return rc;
}
