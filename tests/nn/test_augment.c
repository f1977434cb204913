/* test_augment.c : compares --augment's images with a slow transcription. */
#include "capture.h"
#include "data_fixture.h"
#include <errno.h>

enum { SEED = 20240131, SIDE = 32, BORDER = 13, WIDE = SIDE + 2 * BORDER };

static void test_words(void)
{
    const struct {
        const char *words;
        struct augment want;
    } good[] = {{"none", {0}},
                {"crop", {4, 0, 0, 0}},
                {"flip", {0, 0, 1, 0}},
                {"crop+flip", {4, 0, 1, 0}},
                {"flip+crop", {4, 0, 1, 0}},
                {"crop-reflect", {4, 1, 0, 0}},
                {"cutout", {0, 0, 0, 8}},
                {"cutout:1", {0, 0, 0, 1}},
                {"flip+cutout:64", {0, 0, 1, 64}},
                {"crop-reflect+flip+cutout:8", {4, 1, 1, 8}}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct augment a = {9, 9, 9, 9};
        CHECK(augment_spec(good[i].words, &a) == 0 && !memcmp(&a, &good[i].want, sizeof a),
              "%s: crop %d, reflect %d, flip %d, cutout %d", good[i].words, a.crop, a.reflect,
              a.flip, a.cutout);
    }
    const char *const bad[] = {"",
                               "Crop",
                               "crop+",
                               "+crop",
                               "crop++flip",
                               "crop,flip",
                               "flips",
                               "crop:4",
                               "none+flip",
                               "flip+none",
                               "crop+crop-reflect",
                               "crop+crop",
                               "reflect",
                               "flip+flip",
                               "cutout:",
                               "cutout:0",
                               "cutout:65",
                               "cutout:-1",
                               "cutout:8x",
                               "cutout:008",
                               "cutout8",
                               "cutout: 8",
                               "cutout+cutout:4",
                               "cutout:8+cutout:8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct augment a = {9, 9, 9, 9};
        struct capture said;
        capture_begin(&said);
        const int rc = augment_spec(bad[i], &a);
        capture_end(&said);
        CHECK(rc == -EINVAL && a.crop == 9 && capture_lines(said.text) == 1 &&
                  strstr(said.text, "crop-reflect+flip+cutout:8"),
              "\"%s\": %d, %s", bad[i], rc, said.text);
    }
}

static void test_fits(const struct dataset *d, int least)
{
    for (int n = 0; n < 65; n++) {
        const struct augment a = {.cutout = n};
        struct capture said;
        capture_begin(&said);
        const int rc = augment_fits(d, &a);
        capture_end(&said);
        CHECK(n <= least ? rc == 0 : rc == -EINVAL && capture_lines(said.text) == 1,
              "a square of %d in %dx%d: %d, %s", n, d->h, d->w, rc, said.text);
    }
}

static void test_reflect(void)
{
    static const int want[] = {3, 2, 1, 2, 3, 4, 5, 4, 3, 2};
    for (int i = 0; i < 10; i++)
        CHECK(view_line(1, i - 2, 5) == want[i] - 1, "place %d: %d", i, view_line(1, i - 2, 5));
    CHECK(view_line(1, -4, 5) == 4 && view_line(1, 8, 5) == 0, "the whole image in its border");
    for (int i = -3; i < 8; i++)
        CHECK(view_line(0, i, 5) == (i < 0 || i > 4 ? -1 : i), "black border, place %d", i);
}

static int below(uint64_t key, uint64_t *next, uint64_t n)
{
    for (;;) {
        const uint64_t product = philox_u32(key, (*next)++) * n;
        if (product % (1ull << 32) >= (1ull << 32) % n)
            return (int)(product >> 32);
    }
}

/* The direction turns at edges. */
static void transcribe(const struct dataset *d, uint32_t image, const struct dataset_augment *a,
                       real *out)
{
    static real wide[WIDE][WIDE][3], seen[SIDE][SIDE][3];
    const int h = d->h, w = d->w, c = d->c, crop = a->how.crop, n = a->how.cutout;
    const uint8_t *from = d->train_x + (size_t)image * (size_t)(h * w * c);
    const uint64_t key =
        philox_key(a->seed, 0x6175, (uint32_t)a->epoch, (uint32_t)(a->epoch >> 32), image);
    uint64_t next = 0;
    const int top = below(key, &next, 2 * (uint64_t)crop + 1);
    const int left = below(key, &next, 2 * (uint64_t)crop + 1);
    const bool turn = philox_u32(key, next++) >> 31 && a->how.flip;
    const int cut_y = below(key, &next, (uint64_t)(h - n) + 1);
    const int cut_x = below(key, &next, (uint64_t)(w - n) + 1);

    for (int y = -crop; y < h + crop; y++)
        for (int x = -crop; x < w + crop; x++) {
            int line = 0, col = 0, down = 1, right = 1;
            for (int i = 0; i < (y < 0 ? -y : y); i++) {
                down = line == h - 1 ? -1 : down;
                line += down;
            }
            for (int i = 0; i < (x < 0 ? -x : x); i++) {
                right = col == w - 1 ? -1 : right;
                col += right;
            }
            const bool black = !a->how.reflect && (y < 0 || y >= h || x < 0 || x >= w);
            for (int k = 0; k < c; k++) {
                const int pixel = black ? 0 : from[(line * w + col) * c + k];
                wide[y + crop][x + crop][k] =
                    (real)((pixel / 255.0 - (double)d->mean[k]) * (double)d->inv_std[k]);
            }
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            memcpy(seen[y][turn ? w - 1 - x : x], wide[top + y][left + x], sizeof seen[0][0]);
    for (int y = cut_y; y < cut_y + n; y++)
        memset(seen[y][cut_x], 0, (size_t)n * sizeof seen[0][0]);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int k = 0; k < c; k++)
                out[(y * w + x) * c + k] = seen[y][x][k];
}

static void test_pixels(const struct dataset *d, struct augment how)
{
    enum { N = 24 };
    const size_t size = (size_t)(d->h * d->w * d->c);
    real *x = calloc(N * size, sizeof *x), *want = calloc(size, sizeof *x);
    uint32_t index[N];
    int32_t labels[N];
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        const struct dataset_augment a = {how, SEED, epoch << 33 | epoch};
        for (uint32_t i = 0; i < N; i++)
            index[i] = (i * 7 + 1) % (uint32_t)d->n_train;
        dataset_batch(d, false, index, N, &a, x, labels, NULL);
        for (size_t i = 0; i < N; i++) {
            transcribe(d, index[i], &a, want);
            CHECK(!memcmp(x + i * size, want, size * sizeof *want),
                  "%dx%d, crop %d, reflect %d, flip %d, cutout %d: image %u of epoch %d", d->h,
                  d->w, how.crop, how.reflect, how.flip, how.cutout, index[i], (int)epoch);
        }
    }
    free(x), free(want);
}

static int find_square(const struct dataset *d, int n, const real *x)
{
    int first = -1, zeros = 0;
    for (int i = 0; i < d->h * d->w; i++)
        if (x[i * d->c] == 0) {
            first = zeros++ ? first : i;
            const int y = i / d->w - first / d->w, col = i % d->w - first % d->w;
            if (y >= n || col < 0 || col >= n)
                return -1;
        }
    return zeros == n * n ? first : -1;
}

/* All places are equally likely: chi-square with 34 degrees of freedom stays under 65.2, with 2
 * under 13.9 (1 in 1000). */
static void test_square(const struct dataset *d, int n, double limit)
{
    enum { EPOCHS = 100, N = 35, PLACES_MAX = 35 };
    const int down = d->h - n + 1, right = d->w - n + 1, places = down * right;
    const size_t size = (size_t)(d->h * d->w * d->c);
    real *x = calloc(N * size, sizeof *x), *plain = calloc(N * size, sizeof *x);
    int count[PLACES_MAX] = {0};
    uint32_t index[N];
    int32_t labels[N];
    for (uint32_t i = 0; i < N; i++)
        index[i] = i;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const struct dataset_augment a = {{4, 1, 1, n}, SEED, epoch},
                                     b = {{4, 1, 1, 0}, SEED, epoch};
        dataset_batch(d, false, index, N, &a, x, labels, NULL);
        dataset_batch(d, false, index, N, &b, plain, labels, NULL);
        for (int i = 0; i < N; i++) {
            const real *image = x + (size_t)i * size;
            const int first = find_square(d, n, image);
            const int y = first / d->w, col = first % d->w;
            CHECK(first >= 0 && y < down && col < right, "epoch %d, image %d: no square of %d",
                  (int)epoch, i, n);
            count[first < 0 ? 0 : (y * right + col) % PLACES_MAX]++;
            size_t differ = 0;
            for (size_t k = 0; k < size; k++)
                differ += image[k] != plain[(size_t)i * size + k];
            CHECK(differ == (size_t)(n * n * d->c), "epoch %d, image %d: %zu values differ",
                  (int)epoch, i, differ);
        }
    }
    double chi2 = 0, each = (double)EPOCHS * N / places;
    for (int i = 0; i < places; i++)
        chi2 += (count[i] - each) * (count[i] - each) / each;
    CHECK(chi2 < limit, "a square of %d at %d places: chi-square %g", n, places, chi2);
    free(x), free(plain);
}

int main(void)
{
    printf("seed %d\n", SEED);
    test_words();
    test_reflect();
    struct fixture *x[2] = {fixture_open_idx(false), fixture_open_cifar(false)};
    struct dataset *d[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        CHECK(dataset_open(x[i]->spec, 0, &d[i]) == 0, "%s", x[i]->spec);
        if (!d[i])
            continue;
        test_fits(d[i], d[i]->h < d[i]->w ? d[i]->h : d[i]->w);
        const struct augment ways[] = {{4, 0, 1, 0}, {4, 1, 0, 0},  {4, 1, 1, 8}, {BORDER, 1, 1, 1},
                                       {0, 0, 0, 9}, {0, 0, 1, 28}, {4, 0, 0, 8}};
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
            test_pixels(d[i], ways[k]);
    }
    if (d[0]) {
        test_square(d[0], 24, 65.2); /* 5 x 7 places in 28x30 */
        test_square(d[0], 28, 13.9); /* 1 x 3 */
    }
    for (int i = 0; i < 2; i++)
        dataset_close(d[i]), fixture_close(x[i]);
    DONE();
}
