/* test_dataset.c : data sets are read as written; bad files are refused in one line with name and
 * offset. */
#include "capture.h"
#include "data_fixture.h"
#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

static void check_images(const char *what, const struct dataset *d, bool test, size_t first_image)
{
    const uint8_t *x = test ? d->test_x : d->train_x;
    const uint16_t *y = test ? d->test_y : d->train_y;
    for (size_t i = 0; i < (test ? d->n_test : d->n_train); i++) {
        CHECK(y[i] == fixture_label(first_image + i), "%s: label %zu is %u", what, i, y[i]);
        for (int row = 0; row < d->h; row++)
            for (int col = 0; col < d->w; col++)
                for (int c = 0; c < d->c; c++, x++)
                    CHECK(*x == fixture_pixel(first_image + i, (size_t)row, (size_t)col, (size_t)c),
                          "%s: image %zu, pixel (%d, %d, %d) is %u", what, i, row, col, c, *x);
    }
}

static void test_idx(bool gz)
{
    struct fixture *x = fixture_open_idx(gz);
    struct dataset *d = NULL;
    CHECK(dataset_open(x->spec, 0, &d) == 0, "gz %d", gz);
    if (d) {
        CHECK(d->h == FIXTURE_H && d->w == FIXTURE_W && d->c == 1 && d->n_classes == 10, "%dx%dx%d",
              d->h, d->w, d->c);
        CHECK(d->n_train == FIXTURE_TRAIN && d->n_test == FIXTURE_TEST, "%zu %zu", d->n_train,
              d->n_test);
        CHECK(strncmp(d->name, x->spec, strlen(d->name)) == 0 && *d->name, "%s", d->name);
        check_images("idx", d, false, 0);
        check_images("idx", d, true, 1000);
    }
    dataset_close(d);
    fixture_close(x);
}

static void test_cifar(bool gz)
{
    struct fixture *x = fixture_open_cifar(gz);
    struct dataset *d = NULL;
    CHECK(dataset_open(x->spec, 0, &d) == 0, "gz %d", gz);
    if (d) {
        CHECK(d->h == 32 && d->w == 32 && d->c == 3 && d->n_classes == 10, "%dx%dx%d", d->h, d->w,
              d->c);
        CHECK(d->n_train == 5 * FIXTURE_RECORDS && d->n_test == FIXTURE_RECORDS, "%zu %zu",
              d->n_train, d->n_test);
        check_images("cifar10", d, false, 0);
        check_images("cifar10", d, true, 5 * FIXTURE_RECORDS);
    }
    dataset_close(d);
    fixture_close(x);
}

static void test_crc(void)
{
    struct fixture *x = fixture_open_cifar(false);
    struct dataset *d = NULL;
    CHECK(dataset_open(x->spec, 0, &d) == 0, "cannot open %s", x->spec);
    if (d) {
        uint16_t *const labels[] = {d->train_y + d->n_train - 1, d->test_y + d->n_test - 1};
        uint8_t *const pixels[] = {d->train_x + d->n_train * 3072 - 1,
                                   d->test_x + d->n_test * 3072 - 1};
        const uint32_t crc = dataset_crc(d);
        for (int test = 0; test < 2; test++) {
            *labels[test] ^= 1;
            CHECK(dataset_crc(d) != crc, "label of set %d", test);
            *labels[test] ^= 1;
            *pixels[test] ^= 1;
            CHECK(dataset_crc(d) != crc, "pixel of set %d", test);
            *pixels[test] ^= 1;
        }
        CHECK(dataset_crc(d) == crc, "twice the same bytes, other CRCs");
    }
    dataset_close(d);
    fixture_close(x);
}

static void test_moments(void)
{
    struct fixture *x = fixture_open_cifar(false);
    struct dataset *d = NULL;
    if (dataset_open(x->spec, 0, &d) == 0)
        for (int c = 0; c < 3; c++) {
            size_t n = d->n_train * 1024;
            double mean = 0, variance = 0;
            for (size_t i = 0; i < n; i++)
                mean += d->train_x[3 * i + (size_t)c] / 255.0 / (double)n;
            for (size_t i = 0; i < n; i++)
                variance += pow(d->train_x[3 * i + (size_t)c] / 255.0 - mean, 2) / (double)n;
            CHECK(fabs((double)d->mean[c] - mean) < 1e-6, "channel %d: %g, not %g", c,
                  (double)d->mean[c], mean);
            CHECK(fabs((double)d->inv_std[c] * sqrt(variance) - 1) < 1e-6, "channel %d: 1/%g", c,
                  sqrt(variance));
        }
    dataset_close(d);
    fixture_close(x);
}

static void test_suits(void)
{
    static const struct {
        struct nn_target wants;
        const char *said;
    } cases[] = {{{NN_CLASS, 1}, NULL},
                 {{NN_CLASS, 2}, "has 1 labels per sample, but network 'fcn' takes 2"},
                 {{NN_DENSE, FIXTURE_H * FIXTURE_W}, "needs a label per pixel or time step"}};
    struct fixture *x = fixture_open_idx(false);
    struct dataset *d = NULL;
    if (dataset_open(x->spec, 0, &d) == 0)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct capture said;
            capture_begin(&said);
            const int rc = dataset_suits(d, "fcn", cases[i].wants);
            capture_end(&said);
            CHECK(rc == (cases[i].said ? -EINVAL : 0) &&
                      (!cases[i].said ||
                       (capture_lines(said.text) == 1 && strstr(said.text, cases[i].said))),
                  "case %zu: %d, %s", i, rc, said.text);
        }
    CHECK(d, "cannot open %s", x->spec);
    dataset_close(d);
    fixture_close(x);
}

static void test_subset(void)
{
    struct fixture *x = fixture_open_idx(false);
    struct dataset *all = NULL, *some = NULL;
    if (dataset_open(x->spec, 0, &all) == 0 && dataset_open(x->spec, 20, &some) == 0) {
        size_t size = FIXTURE_H * FIXTURE_W, taken[10] = {0}, at = 0;
        CHECK(some->n_train == 20 && some->n_test == FIXTURE_TEST, "%zu %zu", some->n_train,
              some->n_test);
        for (size_t i = 0; i < all->n_train && at < 20; i++)
            if (taken[all->train_y[i]]++ < 2) {
                CHECK(some->train_y[at] == all->train_y[i] &&
                          memcmp(some->train_x + at * size, all->train_x + i * size, size) == 0,
                      "image %zu should be image %zu of all", at, i);
                at++;
            }
        CHECK(at == 20 && some->mean[0] != all->mean[0], "%zu", at);
    } else {
        CHECK(false, "cannot open a subset");
    }
    fixture_refused(x->spec, 15, "15", "need a multiple of the 10 classes");
    fixture_refused(x->spec, 50, "subset of 50", "has 4 of class 0, not 5");
    dataset_close(some);
    dataset_close(all);
    dataset_close(NULL);
    fixture_close(x);
}

struct damage {
    int file;
    enum { SET, CUT, APPEND } how;
    size_t at;
    uint8_t byte;
    const char *says, *names; /* names: the file to blame, if another */
};

static void check_damage(const struct fixture *x, const struct damage *m)
{
    static struct fixture_file f;
    f = x->files[m->file];
    if (m->how == SET)
        f.data[m->at] = m->byte;
    else if (m->how == CUT)
        f.bytes = m->at;
    else
        fixture_put(&f, m->byte);
    fixture_write(x, f.name, f.data, f.bytes);
    fixture_refused(x->spec, 0, m->names ? m->names : f.name, m->says);
    fixture_write(x, f.name, x->files[m->file].data, x->files[m->file].bytes);
}

static const struct damage idx_damages[] = {
    {0, SET, 0, 0x55, "is not an IDX image file: magic 0x55000803 at offset 0, expected 0x00000803",
     NULL},
    {0, SET, 2, 0x0d, "magic 0x00000d03 at offset 0, expected 0x00000803", NULL},
    {0, SET, 3, 2, "2 dimensions at offset 3, expected 3", NULL},
    {1, SET, 1, 1, "is not an IDX label file: magic 0x00010801 at offset 0, expected 0x00000801",
     NULL},
    {3, SET, 3, 3, "3 dimensions at offset 3, expected 1", NULL},
    {0, SET, 7, 0, "offset 4: 0 images, expected 1 to 10000000", NULL},
    {0, SET, 4, 255, "offset 4: 4278190120 images, expected", NULL},
    {1, SET, 4, 255, "offset 4: 4278190120 labels, expected", NULL},
    {1, SET, 7, 41, "offset 4: 41 labels, expected 40, the number of images in", NULL},
    {0, SET, 7, 39, "offset 4: 40 labels, expected 39, the number of images in",
     "train-labels-idx1-ubyte"},
    {0, SET, 11, 27, "offset 8: images of 27 rows, expected 28 to 64", NULL},
    {0, SET, 8, 128, "offset 8: images of 2147483676 rows, expected 28 to 64", NULL},
    {0, SET, 15, 65, "offset 12: images of 65 columns, expected 28 to 64", NULL},
    {0, SET, 15, 0, "offset 12: images of 0 columns, expected 28 to 64", NULL},
    {2, SET, 11, 29, "offset 8: images of 29 rows, expected 28 as in the training images", NULL},
    {2, SET, 15, 29, "offset 12: images of 29 columns, expected 30 as in the training images",
     NULL},
    {0, CUT, 0, 0, "offset 0: the file ends inside the magic number, expected 4 bytes more", NULL},
    {1, CUT, 3, 0, "offset 3: the file ends inside the magic number, expected 1 bytes more", NULL},
    {2, CUT, 14, 0, "offset 14: the file ends inside the header, expected 2 bytes more", NULL},
    {0, CUT, 16, 0, "offset 16: the file ends, expected 33600 bytes more", NULL},
    {0, CUT, 33615, 0, "offset 33615: the file ends, expected 1 bytes more", NULL},
    {3, CUT, 20, 0, "offset 20: the file ends, expected 8 bytes more", NULL},
    {0, APPEND, 0, 1, "offset 33616: data after the expected end of the file", NULL},
    {3, APPEND, 0, 1, "offset 28: data after the expected end of the file", NULL},
    {1, SET, 25, 10, "offset 25: label 10, expected 0 to 9", NULL},
    {3, SET, 8, 255, "offset 8: label 255, expected 0 to 9", NULL},
    {0, SET, 15, 29, "offset 32496: data after the expected end of the file", NULL},
};

static const struct damage cifar_damages[] = {
    {0, CUT, 0, 0, "offset 0: the file is empty, expected records of 3073 bytes", NULL},
    {4, CUT, 3074, 0, "offset 3074: the file ends inside a record, expected 3072 bytes more", NULL},
    {5, APPEND, 0, 0, "offset 9220: the file ends inside a record, expected 3072 bytes more", NULL},
    {1, SET, 6146, 10, "offset 6146: label 10, expected 0 to 9", NULL},
    {5, SET, 0, 200, "offset 0: label 200, expected 0 to 9", NULL},
};

static void test_damages(struct fixture *x, const struct damage *damages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_damage(x, &damages[i]);
    for (int i = 0; i < x->n_files; i++) {
        const struct fixture_file *f = &x->files[i];
        char both[PATH_MAX], path[PATH_MAX];
        fixture_remove(x, f->name);
        snprintf(both, sizeof both, "cannot open '%s/%s' or its .gz", x->dir, f->name);
        fixture_refused(x->spec, 0, both, "No such file");
        fixture_path(x, f->name, x->gz, path);
        CHECK(mkdir(path, 0700) == 0, "%s", path);
        fixture_refused(x->spec, 0, path, "is not a regular file");
        /* must not wait for a writer */
        CHECK(rmdir(path) == 0 && mkfifo(path, 0600) == 0, "%s", path);
        fixture_refused(x->spec, 0, path, "is not a regular file");
        fixture_remove(x, f->name);
        fixture_write(x, f->name, f->data, f->bytes);
    }
    struct dataset *d = NULL;
    CHECK(dataset_open(x->spec, 0, &d) == 0, "the repaired data set");
    dataset_close(d);
    fixture_close(x);
}

static void test_gzip_damage(void)
{
    static uint8_t packed[FIXTURE_BYTES_MAX];
    struct fixture *x = fixture_open_idx(true);
    const char *name = x->files[0].name;
    char path[PATH_MAX];
    fixture_path(x, name, true, path);
    FILE *f = fopen(path, "rb");
    size_t bytes = f ? fread(packed, 1, sizeof packed, f) : 0;
    if (f)
        fclose(f);
    CHECK(bytes > 100 && bytes < sizeof packed, "%zu", bytes);
    x->gz = false;
    char packed_name[64];
    snprintf(packed_name, sizeof packed_name, "%s.gz", name);
    const size_t cuts[] = {12, bytes / 2, bytes - 9, bytes - 8, bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        fixture_write(x, packed_name, packed, cuts[i]);
        fixture_refused(x->spec, 0, packed_name,
                        "the gzip stream is damaged here or later: unexpected end of file");
    }
    packed[bytes - 8] ^= 1;
    fixture_write(x, packed_name, packed, bytes);
    fixture_refused(x->spec, 0, packed_name,
                    "offset 0: the gzip stream is damaged here or later: incorrect data check");
    packed[bytes - 8] ^= 1;
    packed[bytes - 4] ^= 1;
    fixture_write(x, packed_name, packed, bytes);
    fixture_refused(x->spec, 0, packed_name,
                    "offset 0: the gzip stream is damaged here or later: incorrect length check");
    packed[2] ^= 1;
    fixture_write(x, packed_name, packed, bytes);
    fixture_refused(
        x->spec, 0, packed_name,
        "offset 0: the gzip stream is damaged here or later: unknown compression method");
    fixture_close(x);
}

static void test_lying_header(void)
{
    struct fixture *x = fixture_open_idx(false);
    struct rlimit before = {0};
    for (int i = 0; i < 2; i++) {
        struct fixture_file *f = &x->files[i];
        f->data[5] = 0x80; /* 2^23 + 40 */
        memset(f->data + f->bytes, 0, sizeof f->data - f->bytes);
        fixture_write(x, f->name, f->data, f->bytes);
    }
    char path[PATH_MAX];
    fixture_path(x, x->files[1].name, false, path);
    CHECK(truncate(path, 8 + (1 << 23) + 40) == 0, "%s", path); /* labels: a hole of zeros */
    getrlimit(RLIMIT_AS, &before);
#ifndef __SANITIZE_ADDRESS__
    struct rlimit small = {1u << 30, before.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &small) == 0, "cannot limit memory");
#endif
    fixture_refused(x->spec, 0, x->files[0].name,
                    "offset 33616: the file ends, expected 7046430720 bytes more");
    setrlimit(RLIMIT_AS, &before);
    fixture_close(x);
}

static void test_specs(void)
{
    static const char *const specs[][2] = {
        {"", "unknown data set '': need one of synthetic[:n,seed], idx:DIR, cifar10:DIR"},
        {"mnist", "unknown data set 'mnist'"},
        {"id:/tmp", "unknown data set 'id:/tmp'"},
        {"idxx:/tmp", "unknown data set 'idxx:/tmp'"},
        {"idx", "data set 'idx' lacks its DIR: need idx:DIR"},
        {"idx:", "data set 'idx:' lacks its DIR: need idx:DIR"},
        {"cifar10:", "data set 'cifar10:' lacks its DIR: need cifar10:DIR"},
        {"synthetic:", "is malformed, expected synthetic:n,seed"},
        {"synthetic:400", "is malformed"},
        {"synthetic:400,", "is malformed"},
        {"synthetic:,1", "is malformed"},
        {"synthetic:400,x", "is malformed"},
        {"synthetic:400,1,", "is malformed"},
        {"synthetic: 400,1", "is malformed"},
        {"synthetic:-400,1", "is malformed"},
        {"synthetic:400,-1", "is malformed"},
        {"synthetic:400,99999999999999999999", "two whole numbers below 2^64"},
        {"imagefolder:,224", "data set ':,224' lacks its DIR"},
        {"cityscapes:,64,4", "data set ':,64,4' lacks its DIR"},
        {"synthetic:0,1", "has 0 images, expected a multiple of 10 from 40"},
        {"synthetic:30,1", "has 30 images, expected a multiple of 10 from 40"},
        {"synthetic:45,1", "has 45 images, expected a multiple of 10 from 40"},
        {"synthetic:1000010,1", "has 1000010 images, expected a multiple of 10 from 40 to 1000000"},
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        fixture_refused(specs[i][0], 0, "data set", specs[i][1]);
    static char deep[PATH_MAX + 100] = "idx:/";
    memset(deep + 5, 'd', PATH_MAX);
    fixture_refused(deep, 0, "cannot open '/dddd", "");
}

static void test_real(const char *root)
{
    char spec[PATH_MAX], path[PATH_MAX];
    struct dataset *d = NULL;
    size_t n_class[10] = {0};
    snprintf(spec, sizeof spec, "idx:%s/fashion-mnist", root);
    CHECK(dataset_open(spec, 0, &d) == 0, "%s", spec);
    if (d) {
        CHECK(d->n_train == 60000 && d->n_test == 10000 && d->h == 28 && d->w == 28, "%zu %zu",
              d->n_train, d->n_test);
        CHECK(memcmp(d->train_y, (const uint16_t[]){9, 0, 0, 3, 0}, 5 * sizeof *d->train_y) == 0,
              "first labels");
        for (size_t i = 0; i < d->n_train; i++)
            n_class[d->train_y[i]]++;
        for (int k = 0; k < 10; k++)
            CHECK(n_class[k] == 6000, "class %d: %zu", k, n_class[k]);
        CHECK(fabs((double)d->mean[0] - 0.2860) < 1e-4 &&
                  fabs(1 / (double)d->inv_std[0] - 0.3530) < 1e-4,
              "%g", (double)d->mean[0]);
    }
    dataset_close(d);
    snprintf(path, sizeof path, "%s/cifar10/data_batch_1.bin", root);
    if (access(path, R_OK) != 0) {
        printf("real CIFAR-10 skipped: no %s\n", path);
        return;
    }
    d = NULL;
    snprintf(spec, sizeof spec, "cifar10:%s/cifar10", root);
    CHECK(dataset_open(spec, 0, &d) == 0 && d->n_train == 50000 && d->n_test == 10000, "%s", spec);
    CHECK(d && fabs((double)d->mean[0] - 0.4914) < 1e-3 && fabs((double)d->mean[2] - 0.4465) < 1e-3,
          "%s", spec);
    dataset_close(d);
}

int main(void)
{
    for (int gz = 0; gz < 2; gz++) {
        test_idx(gz);
        test_cifar(gz);
        test_damages(fixture_open_idx(gz), idx_damages, sizeof idx_damages / sizeof *idx_damages);
        test_damages(fixture_open_cifar(gz), cifar_damages,
                     sizeof cifar_damages / sizeof *cifar_damages);
    }
    test_crc();
    test_moments();
    test_suits();
    test_subset();
    test_gzip_damage();
    test_lying_header();
    test_specs();
    const char *root = getenv("NARROWCAST_DATA");
    if (root && *root)
        test_real(root);
    else
        puts("real files skipped: NARROWCAST_DATA is not set");
    DONE();
}
