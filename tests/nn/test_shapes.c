/* test_shapes.c : generated label maps have the same bytes on every machine and move with their
 * pixels. */
#include <errno.h>
#include <string.h>
#include "capture.h"
#include "check.h"
#include "nn/data/dataset.h"
#include <zlib.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, CLASSES = 6, TRAIN = 80, TEST = 20 };

static void check_bytes(const struct dataset *d)
{
    struct dataset *again = NULL, *other = NULL;
    CHECK(dataset_open("shapes:80,3", 0, &again) == 0 &&
              dataset_open("shapes:80,4", 0, &other) == 0,
          "cannot open shapes");
    CHECK(d->h == SIDE && d->w == SIDE && d->c == 3 && d->n_classes == CLASSES &&
              d->n_train == TRAIN && d->n_test == TEST,
          "%dx%dx%d, %zu and %zu", d->h, d->w, d->c, d->n_train, d->n_test);
    if (again && other) {
        CHECK(!memcmp(d->train_x, again->train_x, TRAIN * PIXELS * 3) &&
                  !memcmp(d->test_map, again->test_map, TEST * PIXELS),
              "twice the same seed, other bytes");
        CHECK(memcmp(d->train_x, other->train_x, PIXELS) && memcmp(d->train_x, d->test_x, PIXELS),
              "another seed or set, the same image");
    }
    const uLong crc =
        crc32_z(crc32_z(0, d->train_x, TRAIN * PIXELS * 3), d->test_map, TEST * PIXELS);
    CHECK(crc == 0x3553cfb0, "crc 0x%08lx: the images differ from the recorded ones", crc);
    dataset_close(again);
    dataset_close(other);
}

static void check_crc(const struct dataset *d)
{
    uint8_t *const last[] = {d->train_map + TRAIN * PIXELS - 1, d->test_map + TEST * PIXELS - 1};
    const uint32_t crc = dataset_crc(d);
    for (int test = 0; test < 2; test++) {
        *last[test] ^= 1;
        CHECK(dataset_crc(d) != crc, "a label of set %d does not count", test);
        *last[test] ^= 1;
    }
}

static void check_classes(const struct dataset *d)
{
    size_t n[256] = {0};
    for (size_t i = 0; i < TRAIN * PIXELS; i++)
        n[d->train_map[i]]++;
    size_t counted = n[NN_MAP_IGNORED];
    for (int k = 0; k < CLASSES; k++) {
        CHECK(n[k] > TRAIN * PIXELS / 50, "class %d: %zu pixels", k, n[k]);
        counted += n[k];
    }
    CHECK(counted == TRAIN * PIXELS, "%zu pixels of no class", TRAIN * PIXELS - counted);
    CHECK(n[0] > n[1] && n[0] > TRAIN * PIXELS / 4 && n[0] < TRAIN * PIXELS * 3 / 4,
          "%zu pixels of background", n[0]);
    CHECK(n[NN_MAP_IGNORED] > TRAIN * PIXELS / 100 && n[NN_MAP_IGNORED] < TRAIN * PIXELS / 8,
          "%zu pixels do not count", n[NN_MAP_IGNORED]);
    for (size_t i = 0; i < TRAIN * PIXELS; i++) {
        const uint8_t here = d->train_map[i];
        if (i % SIDE < SIDE - 1 && here != NN_MAP_IGNORED && d->train_map[i + 1] != NN_MAP_IGNORED)
            CHECK(here == d->train_map[i + 1], "pixel %zu: classes meet without a border", i);
    }
}

static void check_places(struct dataset *d, struct augment how)
{
    enum { N = 6 };
    const struct dataset_augment a = {how, 9, 2};
    real *x = malloc(N * PIXELS * 3 * sizeof *x);
    int32_t *labels = malloc(N * PIXELS * sizeof *labels);
    uint32_t index[N];
    int n_flipped = 0, n_moved = 0;
    for (uint32_t i = 0; i < N; i++)
        index[i] = 7 * i % TRAIN;
    dataset_batch(d, false, index, N, &a, x, labels, NULL);
    for (int i = 0; i < N * PIXELS; i++) {
        const int row = (int)x[3 * i] - 1, col = (int)x[3 * i + 1] - 1;
        const uint8_t *map = d->train_map + index[i / PIXELS] * PIXELS;
        const int label = row < 0 ? NN_MAP_IGNORED : map[row * SIDE + col];
        CHECK(labels[i] == (label == NN_MAP_IGNORED ? NN_IGNORED : label),
              "pixel %d: label %d, not %d (of %d, %d)", i, labels[i], label, row, col);
        n_flipped += i % SIDE == 20 && row >= 0 && col > SIDE / 2 + 4;
        n_moved += row >= 0 && row != i / SIDE % SIDE;
    }
    CHECK(!how.flip == !n_flipped && !how.crop == !n_moved, "%d flipped, %d moved: no test",
          n_flipped, n_moved);
    free(x), free(labels);
}

static void check_augments(void)
{
    struct dataset *d = NULL;
    if (dataset_open("shapes:80,3", 0, &d))
        return;
    for (int i = 0; i < TRAIN * PIXELS; i++) {
        d->train_x[3 * i] = (uint8_t)(i / SIDE % SIDE + 1);
        d->train_x[3 * i + 1] = (uint8_t)(i % SIDE + 1);
    }
    for (int c = 0; c < 3; c++)
        d->mean[c] = 0, d->inv_std[c] = 255;
    check_places(d, (struct augment){.flip = 1});
    check_places(d, (struct augment){.crop = 4});
    check_places(d, (struct augment){.crop = 4, .reflect = 1, .flip = 1});
    dataset_close(d);
}

static void check_refused(int rc, struct capture *said, const char *part)
{
    capture_end(said);
    CHECK(rc == -EINVAL && capture_lines(said->text) == 1 && strstr(said->text, part), "%d, %s", rc,
          said->text);
}

static void check_refusals(struct dataset *d)
{
    static const struct {
        const char *spec, *said;
        size_t subset;
    } bad[] = {{"shapes:", "malformed", 0},
               {"shapes:80", "expected shapes:n,seed", 0},
               {"shapes:82,1", "a multiple of 4", 0},
               {"shapes:80,1", "'shapes:80,1' has only 80", 81}};
    struct capture said;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dataset *none = NULL;
        capture_begin(&said);
        check_refused(dataset_open(bad[i].spec, bad[i].subset, &none), &said, bad[i].said);
    }
    capture_begin(&said);
    check_refused(dataset_scale(d, 128), &said, "leave --image out");
    capture_begin(&said);
    check_refused(augment_fits(d, &(struct augment){.cutout = 8}), &said,
                  "cutout is impossible for");
    capture_begin(&said);
    check_refused(dataset_suits(d, "lenet5", (struct nn_target){NN_CLASS, 1}), &said, "synthetic");
    CHECK(augment_fits(d, &(struct augment){.crop = 4, .flip = 1}) == 0 &&
              dataset_suits(d, "fcn", (struct nn_target){NN_DENSE, PIXELS}) == 0,
          "what it can do is refused");
}

static void check_subset(const struct dataset *d)
{
    struct dataset *some = NULL;
    CHECK(dataset_open("shapes:80,3", 12, &some) == 0, "a subset of 12");
    if (some)
        CHECK(some->n_train == 12 && some->n_test == TEST && some->mean[0] != d->mean[0] &&
                  !memcmp(some->train_map, d->train_map, 12 * PIXELS),
              "%zu images", some->n_train);
    dataset_close(some);
}

int main(void)
{
    struct dataset *d = NULL;
    CHECK(dataset_open("shapes:80,3", 0, &d) == 0, "cannot open shapes:80,3");
    if (d) {
        check_bytes(d);
        check_crc(d);
        check_classes(d);
        check_augments();
        check_refusals(d);
        check_subset(d);
    }
    dataset_close(d);
    DONE();
}
