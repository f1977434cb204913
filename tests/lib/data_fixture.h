/* data_fixture.h : makes small data sets in a temporary folder and captures dataset_open()'s
 * message. */
#ifndef DATA_FIXTURE_H
#define DATA_FIXTURE_H
#include "check.h"
#include "nn/data/dataset.h"
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FIXTURE_H = 28, FIXTURE_W = 30, FIXTURE_TRAIN = 40, FIXTURE_TEST = 20 };
enum {
    FIXTURE_RECORD = 3073,
    FIXTURE_RECORDS = 3,
    FIXTURE_FILES_MAX = 6,
    FIXTURE_BYTES_MAX = 40000
};

struct fixture_file {
    const char *name;
    size_t bytes;
    uint8_t data[FIXTURE_BYTES_MAX];
};

struct fixture {
    char dir[64], spec[100];
    bool gz;
    bool lists;
    const char *folders[2];
    int n_files;
    struct fixture_file files[FIXTURE_FILES_MAX];
};

static inline uint8_t fixture_pixel(size_t image, size_t row, size_t col, size_t channel)
{
    return (uint8_t)((image * 2654435761u + row * 40503u + col * 1299721u + channel * 7919u) >> 3);
}

/* Four images in a row share a class, so the first images are not class-balanced. */
static inline uint8_t fixture_label(size_t image)
{
    return (uint8_t)((image / 4 * 7 + 3) % 10);
}

static inline void fixture_put(struct fixture_file *f, uint8_t byte)
{
    f->data[f->bytes++] = byte;
}

static inline void fixture_put_be32(struct fixture_file *f, size_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        fixture_put(f, (uint8_t)(v >> shift));
}

static inline void fixture_path(const struct fixture *x, const char *name, bool gz,
                                char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s%s", x->dir, name, gz ? ".gz" : "");
}

static inline void fixture_write(const struct fixture *x, const char *name, const uint8_t *data,
                                 size_t bytes)
{
    char path[PATH_MAX];
    fixture_path(x, name, x->gz, path);
    gzFile f = gzopen(path, x->gz ? "wb6" : "wbT");
    int put = bytes ? gzwrite(f, data, (unsigned)bytes) : 0;
    CHECK(f && put == (int)bytes && gzclose_w(f) == Z_OK, "cannot write %s", path);
}

static inline void fixture_remove(const struct fixture *x, const char *name)
{
    char path[PATH_MAX];
    fixture_path(x, name, x->gz, path);
    CHECK(remove(path) == 0, "%s", path);
}

/* Makes x's folders and files. kind: the data's kind in a spec. */
static inline void fixture_open_dir(struct fixture *x, const char *kind)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(x->dir, sizeof x->dir, "%.40s/narrowcast-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(x->dir)) {
        perror(x->dir);
        exit(1);
    }
    snprintf(x->spec, sizeof x->spec, "%s:%s", kind, x->dir);
    for (int i = 0; i < 2 && x->folders[i]; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", x->dir, x->folders[i]);
        CHECK(mkdir(path, 0700) == 0, "%s", path);
    }
    for (int i = 0; i < x->n_files; i++)
        fixture_write(x, x->files[i].name, x->files[i].data, x->files[i].bytes);
}

static inline struct fixture *fixture_alloc(bool gz)
{
    struct fixture *x = calloc(1, sizeof *x);
    if (!x)
        exit(1);
    x->gz = gz;
    return x;
}

/* 40 training images of 28 x 30; 20 test images, numbered from 1000. */
static inline struct fixture *fixture_open_idx(bool gz)
{
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
    struct fixture *x = fixture_alloc(gz);
    for (int test = 0; test < 2; test++) {
        struct fixture_file *images = &x->files[2 * test], *labels = images + 1;
        size_t n = test ? FIXTURE_TEST : FIXTURE_TRAIN, from = test ? 1000 : 0;
        fixture_put_be32(images, 0x803);
        fixture_put_be32(images, n);
        fixture_put_be32(images, FIXTURE_H);
        fixture_put_be32(images, FIXTURE_W);
        fixture_put_be32(labels, 0x801);
        fixture_put_be32(labels, n);
        for (size_t i = 0; i < n; i++) {
            fixture_put(labels, fixture_label(from + i));
            for (size_t p = 0; p < (size_t)FIXTURE_H * FIXTURE_W; p++)
                fixture_put(images, fixture_pixel(from + i, p / FIXTURE_W, p % FIXTURE_W, 0));
        }
    }
    for (x->n_files = 0; x->n_files < 4; x->n_files++)
        x->files[x->n_files].name = names[x->n_files];
    fixture_open_dir(x, "idx");
    return x;
}

static inline struct fixture *fixture_open_cifar(bool gz)
{
    static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    struct fixture *x = fixture_alloc(gz);
    for (x->n_files = 0; x->n_files < 6; x->n_files++) {
        struct fixture_file *f = &x->files[x->n_files];
        f->name = names[x->n_files];
        for (size_t i = 0; i < FIXTURE_RECORDS; i++) {
            size_t image = (size_t)x->n_files * FIXTURE_RECORDS + i;
            fixture_put(f, fixture_label(image));
            for (size_t p = 0; p < 3 * 1024; p++)
                fixture_put(f, fixture_pixel(image, p % 1024 / 32, p % 32, p / 1024));
        }
    }
    fixture_open_dir(x, "cifar10");
    return x;
}

static inline void fixture_put_text(struct fixture_file *f, const char *text)
{
    for (; *text; text++)
        fixture_put(f, (uint8_t)*text);
}

static inline void fixture_put_le(struct fixture_file *f, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fixture_put(f, (uint8_t)(v >> 8 * i));
}

static inline int16_t fixture_sample(int sound, size_t i)
{
    const uint32_t bits = (uint32_t)((i + 1) * 2654435761u) ^ (uint32_t)(sound * 40503);
    return (int16_t)((int32_t)(bits >> 8 & 0xffff) * (int32_t)(i + 100) / 4000 - 8 * (int32_t)i);
}

static inline void fixture_put_wav(struct fixture_file *f, int sound, size_t n)
{
    fixture_put_text(f, "RIFF");
    fixture_put_le(f, (uint32_t)(36 + 2 * n), 4);
    fixture_put_text(f, "WAVEfmt ");
    fixture_put_le(f, 16, 4);
    fixture_put_le(f, 1, 2), fixture_put_le(f, 1, 2);
    fixture_put_le(f, 16000, 4), fixture_put_le(f, 32000, 4);
    fixture_put_le(f, 2, 2), fixture_put_le(f, 16, 2);
    fixture_put_text(f, "data");
    fixture_put_le(f, (uint32_t)(2 * n), 4);
    for (size_t i = 0; i < n; i++)
        fixture_put_le(f, (uint16_t)fixture_sample(sound, i), 2);
}

enum { FIXTURE_SOUND_A = 2000, FIXTURE_SOUND_B = 1039 };

/* The test set is the short one. */
static inline struct fixture *fixture_open_an4(bool gz)
{
    static const struct {
        const char *name, *text;
    } texts[] = {{"etc/an4_train.fileids", "a\nb\n"},
                 {"etc/an4_train.transcription", "<s> GO ZOO </s> (a)\n<s> A </s> (b)\n"},
                 {"etc/an4_test.fileids", "b\n"},
                 {"etc/an4_test.transcription", "B C (b)\n"}};
    struct fixture *x = fixture_alloc(gz);
    for (x->n_files = 0; x->n_files < 4; x->n_files++) {
        x->files[x->n_files].name = texts[x->n_files].name;
        fixture_put_text(&x->files[x->n_files], texts[x->n_files].text);
    }
    x->files[4].name = "wav/a.wav", x->files[5].name = "wav/b.wav";
    fixture_put_wav(&x->files[4], 0, FIXTURE_SOUND_A);
    fixture_put_wav(&x->files[5], 1, FIXTURE_SOUND_B);
    x->n_files = 6;
    x->lists = true;
    x->folders[0] = "etc", x->folders[1] = "wav";
    fixture_open_dir(x, "an4");
    return x;
}

/* 20 windows of 128 characters and 7 surplus characters. */
static inline struct fixture *fixture_open_text(bool gz)
{
    struct fixture *x = fixture_alloc(gz);
    x->n_files = 1;
    x->files[0].name = "input.txt";
    for (size_t i = 0; i < 20 * 128 + 8; i++)
        fixture_put(&x->files[0], (uint8_t)("to be, or not"[i * i / 7 % 13]));
    fixture_open_dir(x, "text");
    snprintf(x->spec, sizeof x->spec, "text:%s/input.txt", x->dir);
    return x;
}

static inline int fixture_unlink(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static inline void fixture_close(struct fixture *x)
{
    CHECK(nftw(x->dir, fixture_unlink, 8, FTW_DEPTH | FTW_PHYS) == 0, "%s", x->dir);
    free(x);
}

static inline int fixture_dataset_open(const char *spec, size_t subset, struct dataset **out,
                                       char said[1024])
{
    int caught = memfd_create("said", 0), saved = dup(2);
    if (caught < 0 || saved < 0 || dup2(caught, 2) < 0)
        exit(1);
    int rc = dataset_open(spec, subset, out);
    dup2(saved, 2);
    close(saved);
    ssize_t n = pread(caught, said, 1023, 0);
    said[n < 0 ? 0 : n] = 0;
    close(caught);
    return rc;
}

static inline bool fixture_one_line(const char *said)
{
    const char *end = strchr(said, '\n');
    return end && !end[1] && strncmp(said, "narrowcast: ", 12) == 0;
}

static inline void fixture_refused(const char *spec, size_t subset, const char *one,
                                   const char *two)
{
    char said[1024];
    struct dataset *d = NULL;
    int rc = fixture_dataset_open(spec, subset, &d, said);
    CHECK(rc < 0 && !d, "'%.60s' was taken, should say: %s", spec, two);
    CHECK(fixture_one_line(said) && strstr(said, one) && strstr(said, two),
          "wanted '%s' and '%s' in: %s", one, two, said);
    if (rc == 0)
        dataset_close(d);
}

#endif
