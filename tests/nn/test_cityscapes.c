/* test_cityscapes.c : reads Cityscapes' layout, with 600 random changes. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "capture.h"
#include "check.h"
#include "hls/arith/draw.h"
#include "nn/data/dataset.h"
#include "png_make.h"

enum { H = 70, W = 100, SIDE = 32, CROPS = 3, IMAGE = SIDE * SIDE * 3, MAP = SIDE * SIDE };

static char folder[64];

static void fill(int number, uint8_t *x, uint8_t *y)
{
    for (int i = 0; i < H * W; i++) {
        x[3 * i] = (uint8_t)(i / W);
        x[3 * i + 1] = (uint8_t)(i % W);
        x[3 * i + 2] = (uint8_t)number;
        y[i] = (uint8_t)((i / W / 3 + i % W / 5 + number) % 20);
        y[i] = y[i] == 19 ? 255 : y[i];
    }
}

static void make_folder(const char *path)
{
    char all[300];
    snprintf(all, sizeof all, "%s/%s", folder, path);
    CHECK(!mkdir(all, 0700), "cannot make %s", all);
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t n)
{
    char all[300];
    snprintf(all, sizeof all, "%s/%s", folder, path);
    FILE *f = fopen(all, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f), "cannot write %s", all);
}

static void write_png(const char *path, int h, int w, int c, const uint8_t *x)
{
    struct png_file f;
    png_begin(&f, h, w, c == 3 ? 2 : 0);
    png_pixels(&f, h, w, c, x, 1, 8192);
    png_end(&f);
    write_bytes(path, f.bytes, f.n);
}

static void write_pnm(const char *path, int c, const uint8_t *x)
{
    static uint8_t bytes[H * W * 3 + 40];
    const int n = snprintf((char *)bytes, 40, "P%d %d %d 255\n", c == 3 ? 6 : 5, W, H);
    memcpy(bytes + n, x, (size_t)(H * W * c));
    write_bytes(path, bytes, (size_t)(n + H * W * c));
}

static void write_scene(const char *set, const char *city, int number, bool png)
{
    static uint8_t x[H * W * 3], y[H * W];
    char image[200], labels[200];
    fill(number, x, y);
    snprintf(image, sizeof image, "leftImg8bit/%s/%s/%s_%06d_leftImg8bit.%s", set, city, city,
             number, png ? "png" : "ppm");
    snprintf(labels, sizeof labels, "gtFine/%s/%s/%s_%06d_gtFine_labelTrainIds.%s", set, city, city,
             number, png ? "png" : "pgm");
    if (png) {
        write_png(image, H, W, 3, x);
        write_png(labels, H, W, 1, y);
    } else {
        write_pnm(image, 3, x);
        write_pnm(labels, 1, y);
    }
}

static void make_data(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/cities.XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(folder), "no folder");
    static const char *const folders[] = {"leftImg8bit",
                                          "gtFine",
                                          "leftImg8bit/train",
                                          "leftImg8bit/val",
                                          "gtFine/train",
                                          "gtFine/val",
                                          "leftImg8bit/train/bern",
                                          "leftImg8bit/train/aachen",
                                          "leftImg8bit/val/ulm",
                                          "gtFine/train/bern",
                                          "gtFine/train/aachen",
                                          "gtFine/val/ulm"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(folders[i]);
    write_scene("train", "bern", 2, true);
    write_scene("train", "aachen", 1, true);
    write_scene("train", "aachen", 0, false);
    write_scene("val", "ulm", 7, true);
    write_bytes("leftImg8bit/train/bern/license.txt", (const uint8_t *)"no image", 8);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int open_data(const char *more, struct dataset **d)
{
    char spec[200];
    snprintf(spec, sizeof spec, "cityscapes:%s%s", folder, more);
    return dataset_open(spec, 0, d);
}

static void check_crop(const uint8_t *x, const uint8_t *map, int number, bool whole, int *seen)
{
    static uint8_t from[H * W * 3], labels[H * W];
    const int top = x[0], left = x[1];
    fill(number, from, labels);
    for (int i = 0; i < MAP; i++) {
        const int at = (top + i / SIDE) * W + left + i % SIDE;
        CHECK(top + SIDE <= H && left + SIDE <= W && !memcmp(x + 3 * i, from + 3 * at, 3),
              "pixel %d of a crop at %d, %d of image %d", i, top, left, number);
        CHECK(map[i] == labels[at] || (!whole && map[i] == 255),
              "pixel %d of a crop: label %u, not %u", i, map[i], labels[at]);
        if (seen)
            seen[at] += map[i] != 255;
    }
}

static void check_data(void)
{
    struct dataset *d = NULL, *again = NULL;
    static int seen[H * W];
    static uint8_t x[H * W * 3], y[H * W];
    CHECK(open_data(",32,3", &d) == 0 && open_data(",32,3", &again) == 0, "not opened");
    if (!d || !again)
        return;
    CHECK(d->n_train == 3 * CROPS && d->n_test == 3 * 4 && d->h == SIDE && d->w == SIDE &&
              d->c == 3 && d->n_classes == 19,
          "%zu and %zu crops of %dx%dx%d", d->n_train, d->n_test, d->h, d->w, d->c);
    CHECK(!memcmp(d->train_x, again->train_x, d->n_train * IMAGE), "other crops");
    int n_places = 0;
    for (int i = 0; i < (int)d->n_train; i++) {
        const uint8_t *crop = d->train_x + i * IMAGE;
        /* aachen before bern, 0 before 1 */
        check_crop(crop, d->train_map + i * MAP, i / CROPS, true, NULL);
        n_places += i > 0 && memcmp(crop, crop - IMAGE, 2);
    }
    CHECK(n_places > 6, "%d places of 8 differ", n_places);
    for (int i = 0; i < (int)d->n_test; i++)
        check_crop(d->test_x + i * IMAGE, d->test_map + i * MAP, 7, false, seen);
    fill(7, x, y);
    for (int i = 0; i < H * W; i++)
        CHECK(seen[i] == (y[i] != 255), "pixel %d of the test image counts %d times", i, seen[i]);
    dataset_close(d);
    dataset_close(again);
    d = NULL;
    CHECK(open_data(",64", &d) == 0 && d->h == 64 && d->n_train == 12, "64 pixels a side");
    dataset_close(d);
}

static void check_refused(const char *more, int want, const char *part)
{
    struct dataset *d = NULL;
    struct capture said;
    capture_begin(&said);
    const int rc = open_data(more, &d);
    capture_end(&said);
    CHECK(rc == want && capture_lines(said.text) == 1 && strstr(said.text, part), "%s: %d, %s",
          part, rc, said.text);
}

static size_t change(struct draw *d, uint8_t *bytes, size_t n)
{
    const uint32_t near = n > 32 && draw_below(d, 2) ? 32 : (uint32_t)n;
    switch (draw_below(d, 4)) {
    case 0:
        return draw_below(d, near);
    case 1:
        bytes[n] = (uint8_t)draw_u32(d);
        return n + 1;
    default:
        for (uint32_t i = draw_below(d, 4) + 1; i > 0; i--) {
            uint8_t *at = &bytes[draw_below(d, near)];
            *at = (uint8_t)(draw_below(d, 2) ? draw_u32(d) : *at ^ 1u << draw_below(d, 8));
        }
        return n;
    }
}

static void check_changes(const char *path, const char *scene, uint32_t which)
{
    enum { SEED = 4711, ROUNDS = 150, MAX_N = H * W * 3 + 1000 };
    static uint8_t good[MAX_N], bad[MAX_N + 1];
    struct draw draw = draw_open(SEED, DRAW_IMAGE, 0, which);
    char all[300];
    snprintf(all, sizeof all, "%s/%s", folder, path);
    FILE *f = fopen(all, "rb");
    const size_t n = f ? fread(good, 1, MAX_N, f) : 0;
    CHECK(f && n > 100 && n < MAX_N && !fclose(f), "%s: %zu bytes", path, n);
    int n_taken = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct dataset *d = NULL;
        struct capture said;
        memcpy(bad, good, n);
        write_bytes(path, bad, change(&draw, bad, n));
        capture_begin(&said);
        const int rc = open_data(",32", &d);
        capture_end(&said);
        n_taken += rc == 0;
        CHECK(rc == 0 ? d && !*said.text
                      : rc < 0 && !d && capture_lines(said.text) == 1 && strstr(said.text, scene),
              "round %d of %s: %d, %s", round, path, rc, said.text);
        dataset_close(d);
    }
    printf("%s: %d of %d changes still load (seed %d)\n", path, n_taken, ROUNDS, SEED);
    CHECK(n_taken < ROUNDS, "nothing was refused");
    write_bytes(path, good, n);
}

static void check_fuzz(void)
{
    check_changes("leftImg8bit/train/aachen/aachen_000000_leftImg8bit.ppm", "aachen_000000", 0);
    check_changes("gtFine/train/aachen/aachen_000000_gtFine_labelTrainIds.pgm", "aachen_000000", 1);
    check_changes("leftImg8bit/val/ulm/ulm_000007_leftImg8bit.png", "ulm_000007", 2);
    check_changes("gtFine/val/ulm/ulm_000007_gtFine_labelTrainIds.png", "ulm_000007", 3);
}

static void check_refusals(void)
{
    static uint8_t x[H * W * 3], y[H * W];
    static const char labels[] = "gtFine/val/ulm/ulm_000007_gtFine_labelTrainIds.png",
                      image[] = "leftImg8bit/val/ulm/ulm_000007_leftImg8bit.png";
    char path[200];
    fill(7, x, y);
    check_refused(",16", -EINVAL, "crops of 16 pixels a side, expected 1 to 1000 of 28 to 1024");
    check_refused(",32,0", -EINVAL, "has 0 crops");
    check_refused(",71", -EINVAL, "is 70x100, expected at least 71 pixels a side");
    check_refused("/none", -ENOENT, "need the folder of Cityscapes");
    snprintf(path, sizeof path, "%s/leftImg8bit/train/zurich", folder);
    CHECK(!symlink("none", path), "cannot link %s", path);
    check_refused(",32", -ENOENT, "leftImg8bit/train/zurich': No such file or directory");
    unlink(path);
    y[205] = 19;
    write_png(labels, H, W, 1, y);
    check_refused(",32", -EINVAL, "pixel (2, 5) has label 19, expected 0 to 18 or 255");
    write_png(labels, H - 1, W, 1, y);
    check_refused(",32", -EINVAL, "is 69x100x1, expected 70x100x1");
    write_png(labels, H, W / 3, 3, x);
    check_refused(",32", -EINVAL, "is 70x33x3, expected 70x100x1");
    write_png(image, H, W, 1, x);
    check_refused(",32", -EINVAL, "has 1 channel, expected 3 (RGB)");
    snprintf(path, sizeof path, "%s/%s", folder, labels);
    unlink(path);
    check_refused(",32", -ENOENT, "ulm_000007_gtFine_labelTrainIds.png");
    snprintf(path, sizeof path, "%s/%s", folder, image);
    unlink(path);
    check_refused(",32", -ENOENT, "has no images, expected CITY/*_leftImg8bit.png");
}

int main(void)
{
    make_data();
    check_data();
    check_fuzz();
    check_refusals();
    CHECK(!nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), "cannot remove %s", folder);
    DONE();
}
