/* test_dataset_batch.c : checks an epoch's order and a batch's views. */
#include "capture.h"
#include "data_fixture.h"
#include "hls/arith/draw.h"
#include <errno.h>
#include <math.h>

enum { SEED = 20240131 };

static void test_order_is_permutation(void)
{
    enum { N = 1000 };
    static uint32_t order[N + 1], again[N];
    for (size_t n = 0; n <= N; n += n < 4 ? 1 : 83) {
        bool seen[N] = {false};
        order[n] = 0xdeadbeef;
        dataset_order(SEED, 3, n, order);
        CHECK(order[n] == 0xdeadbeef, "wrote behind %zu", n);
        for (size_t i = 0; i < n; i++) {
            CHECK(order[i] < n && !seen[order[i]], "n %zu: element %zu is %u", n, i, order[i]);
            seen[order[i] % N] = true;
        }
    }
    dataset_order(SEED, 3, N, order);
    const struct {
        uint64_t seed, epoch;
        bool equal;
    } others[] = {{SEED, 3, true},
                  {SEED, 4, false},
                  {SEED + 1, 3, false},
                  {SEED, 3 + (1ull << 32), false},
                  {SEED + (1ull << 32), 3, false}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        dataset_order(others[i].seed, others[i].epoch, N, again);
        CHECK((memcmp(order, again, sizeof again) == 0) == others[i].equal, "pair %zu", i);
    }
    uint32_t hash = 0;
    for (size_t i = 0; i < N; i++)
        hash = hash * 1000003 + order[i];
    /* from a Python program */
    CHECK(hash == 0xe0167e20, "hash 0x%08x: not the order that every machine must find", hash);
}

/* All 24 are equally frequent: chi-square with 23 degrees of freedom stays under 49.7 (1 in
 * 1000). */
static void test_order_is_fair(void)
{
    int count[256] = {0};
    double chi2 = 0;
    for (uint64_t epoch = 0; epoch < 24000; epoch++) {
        uint32_t o[4];
        dataset_order(SEED, epoch, 4, o);
        count[o[0] | o[1] << 2 | o[2] << 4 | o[3] << 6]++;
    }
    for (int i = 0; i < 256; i++)
        chi2 += count[i] ? (count[i] - 1000.0) * (count[i] - 1000.0) / 1000 : 0;
    CHECK(chi2 < 49.7, "chi-square %g", chi2);
}

/* Without rejection, a range of 3 * 2^30 would make a third of the results twice as frequent. */
static void test_draw_is_fair(void)
{
    struct draw draw = draw_open(SEED, DRAW_ORDER, 0, 0);
    int thirds[3] = {0};
    for (int i = 0; i < 30000; i++) {
        uint32_t v = draw_below(&draw, 3u << 30);
        CHECK(v < 3u << 30, "%u", v);
        thirds[v % 3]++;
    }
    for (int i = 0; i < 3; i++)
        CHECK(abs(thirds[i] - 10000) < 330, "remainder %d: %d of 30000", i,
              thirds[i]); /* 4 sigma */
    CHECK(draw.next > 39000 && draw.next < 41000, "%llu words for 30000 draws",
          (unsigned long long)draw.next);
    CHECK(draw_below(&draw, 1) == 0, "one choice");
}

static real normal(const struct dataset *d, int c, int pixel)
{
    return (real)((pixel / 255.0 - (double)d->mean[c]) * (double)d->inv_std[c]);
}

static void view_of(const struct dataset *d, uint32_t image, int crop, int top, int left, int flip,
                    real *x)
{
    static uint8_t wide[80][80][3];
    memset(wide, 0, sizeof wide);
    for (int row = 0; row < d->h; row++)
        for (int col = 0; col < d->w; col++)
            for (int c = 0; c < d->c; c++)
                wide[row + crop][col + crop][c] =
                    d->train_x[(((int)image * d->h + row) * d->w + col) * d->c + c];
    for (int row = 0; row < d->h; row++)
        for (int col = 0; col < d->w; col++)
            for (int c = 0; c < d->c; c++)
                x[(row * d->w + (flip ? d->w - 1 - col : col)) * d->c + c] =
                    normal(d, c, wide[top + row][left + col][c]);
}

static int find_view(const struct dataset *d, uint32_t image, int crop, const real *x)
{
    static real want[64 * 64 * 3];
    size_t bytes = (size_t)(d->h * d->w * d->c) * sizeof *x;
    int places = 2 * crop + 1;
    for (int v = 0; v < places * places * 2; v++) {
        view_of(d, image, crop, v / 2 / places, v / 2 % places, v % 2, want);
        if (memcmp(want, x, bytes) == 0)
            return v;
    }
    return -1;
}

static void test_plain(const struct dataset *d)
{
    size_t size = (size_t)(d->h * d->w * d->c);
    real *x = calloc(4 * size, sizeof *x), *want = calloc(size, sizeof *x);
    int32_t y[4];
    const uint32_t index[4] = {7, 0, 7, (uint32_t)d->n_train - 1};
    const struct dataset_augment none = {0};
    for (int with = 0; with < 2; with++) {
        dataset_batch(d, false, index, 4, with ? &none : NULL, x, y, NULL);
        for (int i = 0; i < 4; i++) {
            view_of(d, index[i], 0, 0, 0, 0, want);
            CHECK(memcmp(want, x + (size_t)i * size, size * sizeof *x) == 0,
                  "image %d of the batch", i);
            CHECK(y[i] == d->train_y[index[i]], "label %d", i);
        }
    }
    dataset_batch(d, true, (const uint32_t[]){1, 2}, 2, NULL, x, y, NULL);
    for (size_t i = 0; i < 2 * size; i++)
        CHECK(x[i] == normal(d, (int)i % d->c, d->test_x[size + i]), "test pixel %zu", i);
    CHECK(y[0] == d->test_y[1] && y[1] == d->test_y[2], "test labels %d %d", y[0], y[1]);
    free(x);
    free(want);
}

/* Views depend only on (seed, epoch, image). */
static void test_augment(const struct dataset *d, int crop)
{
    enum { EPOCHS = 30, N = 12 };
    size_t size = (size_t)(d->h * d->w * d->c);
    real *x = calloc(N * size, sizeof *x), *alone = calloc(size, sizeof *x);
    int32_t y[N];
    uint32_t index[N];
    int flips = 0, top = 0, left = 0, diagonal = 0, same = 0, last = -1;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        const struct dataset_augment a = {{.crop = crop, .flip = 1}, SEED, epoch};
        for (uint32_t i = 0; i < N; i++)
            index[i] = (i * 5 + (uint32_t)epoch) % N;
        dataset_batch(d, false, index, N, &a, x, y, NULL);
        for (uint32_t i = 0; i < N; i++) {
            int v = find_view(d, index[i], crop, x + i * size), places = 2 * crop + 1;
            CHECK(v >= 0 && y[i] == d->train_y[index[i]], "epoch %d: no view of image %u",
                  (int)epoch, index[i]);
            flips += v % 2;
            top += v / 2 / places;
            left += v / 2 % places;
            diagonal += v / 2 / places == v / 2 % places;
            same += v == last;
            last = v;
        }
        uint32_t one = (uint32_t)epoch % N;
        dataset_batch(d, false, &index[one], 1, &a, alone, y, NULL);
        CHECK(memcmp(alone, x + one * size, size * sizeof *x) == 0,
              "image %u differs when it is alone", index[one]);
    }
    double n = EPOCHS * N, sigma = sqrt(crop * (crop + 1) / 3.0 / n); /* of a mean of 0..2*crop */
    CHECK(fabs(flips / n - 0.5) < 4 * 0.5 / sqrt(n), "%d flips of %g", flips, n);
    CHECK(fabs(top / n - crop) <= 4 * sigma && fabs(left / n - crop) <= 4 * sigma,
          "mean place %g %g", top / n, left / n);
    /* n/9 expected */
    CHECK(crop == 0 || diagonal < n / 5, "%d of %g places have equal sides", diagonal, n);
    CHECK(crop == 0 || same < n / 20, "%d of %g views are like the one before", same, n);
    free(x);
    free(alone);
}

static void test_no_flip(const struct dataset *d)
{
    size_t size = (size_t)(d->h * d->w * d->c);
    real *x = calloc(size, sizeof *x);
    int32_t y;
    for (uint32_t i = 0; i < 12; i++) {
        const struct dataset_augment a = {{.crop = 4}, SEED, 1},
                                     b = {{.crop = 4, .flip = 1}, SEED, 1};
        dataset_batch(d, false, &i, 1, &a, x, &y, NULL);
        int v = find_view(d, i, 4, x);
        dataset_batch(d, false, &i, 1, &b, x, &y, NULL);
        CHECK(v >= 0 && v % 2 == 0 && find_view(d, i, 4, x) / 2 == v / 2, "image %u", i);
    }
    free(x);
}

/* PyTorch's interpolate(mode='bilinear', align_corners=False). */
static double place(int to, int n_from, int n_to)
{
    return fmax(0, (to + 0.5) * n_from / n_to - 0.5);
}

static void test_scaled(struct dataset *d, int side)
{
    const struct dataset_augment augment = {{4, 1, 1, 8}, 3, 5};
    const uint32_t index[2] = {3, (uint32_t)d->n_train - 2};
    const int h = d->h, w = d->w, c = d->c;
    const size_t n = (size_t)(h * w * c), n_to = (size_t)(side * side * c);
    real *x = calloc(2 * n, sizeof *x), *y = calloc(2 * n_to, sizeof *y);
    int32_t labels[2];
    double worst = 0;
    dataset_batch(d, false, index, 2, &augment, x, labels, NULL);
    CHECK(dataset_scale(d, side) == 0, "to %d", side);
    CHECK(dataset_shape(d).h == side && dataset_shape(d).w == side && dataset_shape(d).c == c,
          "shape of scaled images");
    dataset_batch(d, false, index, 2, &augment, y, labels, NULL);
    d->side = 0;
    for (int i = 0; i < 2; i++)
        for (int row = 0; row < side; row++)
            for (int col = 0; col < side; col++)
                for (int k = 0; k < c; k++) {
                    const double at_y = place(row, h, side), at_x = place(col, w, side);
                    double want = 0;
                    for (int corner = 0; corner < 4; corner++) {
                        const int down = corner / 2, right = corner % 2;
                        const int from_y = (int)fmin(floor(at_y) + down, h - 1),
                                  from_x = (int)fmin(floor(at_x) + right, w - 1);
                        const double part_y = at_y - floor(at_y), part_x = at_x - floor(at_x);
                        want += (down ? part_y : 1 - part_y) * (right ? part_x : 1 - part_x) *
                                (double)x[(size_t)i * n + (size_t)((from_y * w + from_x) * c + k)];
                    }
                    const double got =
                        (double)y[(size_t)i * n_to + (size_t)((row * side + col) * c + k)];
                    worst = check_max(worst, fabs(got - want));
                }
    /* values up to 4; three sums of two products; rounded weights */
    CHECK(worst <= 16 * 4 * 0x1p-24, "%dx%d to %d: off by %.3g", h, w, side, worst);
    CHECK(side != h || side != w || memcmp(x, y, 2 * n * sizeof *x) == 0, "same size, other bits");
    free(x), free(y);
}

static void test_known_scale(void)
{
    static const float want[4][4] = {{1, 1.25f, 1.75f, 2},
                                     {1.5f, 1.75f, 2.25f, 2.5f},
                                     {2.5f, 2.75f, 3.25f, 3.5f},
                                     {3, 3.25f, 3.75f, 4}};
    static uint8_t pixels[4] = {1, 2, 3, 4};
    static uint16_t class = 999;
    struct dataset d = {.samples = &sample_images,
                        .h = 2,
                        .w = 2,
                        .c = 1,
                        .train_x = pixels,
                        .train_y = &class,
                        .inv_std = {255},
                        .side = 4};
    real y[16];
    int32_t label;
    dataset_batch(&d, false, (const uint32_t[]){0}, 1, NULL, y, &label, NULL);
    CHECK(label == 999, "label %d", label);
    for (int i = 0; i < 16; i++)
        CHECK(y[i] == want[i / 4][i % 4], "pixel %d: %g, not %g", i, (double)y[i],
              (double)want[i / 4][i % 4]);
}

static void test_bad_scale(struct dataset *d, int side)
{
    struct capture said;
    capture_begin(&said);
    const int rc = dataset_scale(d, side);
    capture_end(&said);
    CHECK(rc == -EINVAL && capture_lines(said.text) == 1 && d->side == 0, "to %d: %d, %s", side, rc,
          said.text);
}

int main(void)
{
    printf("seed %d\n", SEED);
    test_order_is_permutation();
    test_order_is_fair();
    test_draw_is_fair();
    test_known_scale();
    struct fixture *x[2] = {fixture_open_idx(false), fixture_open_cifar(false)};
    for (int i = 0; i < 2; i++) {
        struct dataset *d = NULL;
        CHECK(dataset_open(x[i]->spec, 0, &d) == 0, "%s", x[i]->spec);
        if (d) {
            test_plain(d);
            test_augment(d, 4);
            test_augment(d, 0);
            test_no_flip(d);
            test_scaled(d, d->h > d->w ? d->h : d->w);
            test_scaled(d, 47);
            test_scaled(d, 64);
            test_scaled(d, 227);
            test_bad_scale(d, d->w - 1);
            test_bad_scale(d, 228);
        }
        dataset_close(d);
        fixture_close(x[i]);
    }
    DONE();
}
