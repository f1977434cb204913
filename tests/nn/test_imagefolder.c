/* test_imagefolder.c : decodes JPEG, scales pictures, and reads folders of pictures by class.
 * usage: test_imagefolder [make DIR]     make: write 3 classes of 6 and 3 pictures, and no more */
#include <stdio.h>
#include <jpeglib.h>
#include <errno.h>
#include <math.h>
#include "capture.h"
#include "data_fixture.h"
#include "nn/data/resize.h"
#include "png_make.h"

enum { H = 60, W = 85, SIDE = 32, CLASSES = 3, TRAIN = 6, TEST = 3, ROOM = 200000 };
enum { IMAGE = SIDE * SIDE * 3, N_TRAIN = CLASSES * TRAIN, N_TEST = CLASSES * TEST };

static char folder[80];

/* ---- making pictures ---- */

/* Smooth, so that JPEG keeps it. */
static uint8_t pixel(int number, int row, int col, int c)
{
    return (uint8_t)(40 + 2 * row +
                     (c == 0   ? col / 2
                      : c == 1 ? col
                               : 0) +
                     (c == 2 ? 90 - col : 0) + number % 7);
}

static void fill(int number, int c, uint8_t *x)
{
    for (int i = 0; i < H * W * c; i++)
        x[i] = pixel(number, i / c / W, i / c % W, i % c);
}

struct jpeg_file {
    uint8_t *bytes;
    unsigned long n;
};

/* Grey: of a coefficient in each scan, first its high bits. */
static void set_scans(struct jpeg_compress_struct *jpeg, int n)
{
    enum { BITS = 9 };
    static jpeg_scan_info list[1 + 63 * BITS];
    for (int i = 0; i < n; i++) {
        const int at = (i + BITS - 1) / BITS, low = at * BITS - i, before = (low + 1) % BITS;
        list[i] = (jpeg_scan_info){1, {0}, at, at, i ? before : 0, low};
    }
    jpeg->scan_info = list, jpeg->num_scans = n;
}

/* scans: 0: not progressive; 1: as usual; or their number */
static struct jpeg_file jpeg_make(int c, const uint8_t *x, int scans, bool arithmetic)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {.bytes = NULL};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &f.bytes, &f.n);
    jpeg.image_width = W, jpeg.image_height = H, jpeg.input_components = c;
    jpeg.in_color_space = c == 1 ? JCS_GRAYSCALE : c == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 98, TRUE);
    jpeg.arith_code = arithmetic;
    if (scans == 1)
        jpeg_simple_progression(&jpeg);
    else if (scans)
        set_scans(&jpeg, scans);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < H) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(x + jpeg.next_scanline * (unsigned)(W * c));
        (void)jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return f;
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t n)
{
    char all[300];
    snprintf(all, sizeof all, "%s/%s", folder, path);
    FILE *f = fopen(all, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f), "cannot write %s", all);
}

static void make_folder(const char *path)
{
    char all[300];
    snprintf(all, sizeof all, "%s/%s", folder, path);
    CHECK(!mkdir(all, 0777), "cannot make %s", all);
}

/* Pictures differ in size of their contents only; every third is grey, one is a PNG. */
static void write_picture(const char *set, int class, int i)
{
    static uint8_t x[H * W * 3];
    char path[100];
    const bool png = class == 1 && i == 2;
    const int c = i % 3 == 1 ? 1 : 3;
    fill(10 * class + i, c, x);
    snprintf(path, sizeof path, "%s/class %c/%d.%s", set, "bac"[class], i,
             png     ? "png"
             : i % 2 ? "JPEG"
                     : "jpg");
    if (png) {
        static struct png_file f;
        png_begin(&f, H, W, 2);
        png_pixels(&f, H, W, 3, x, 1, 8192);
        png_end(&f);
        write_bytes(path, f.bytes, f.n);
        return;
    }
    struct jpeg_file f = jpeg_make(c, x, i == 0, false);
    write_bytes(path, f.bytes, f.n);
    free(f.bytes);
}

static void make_tree(void)
{
    static const char *const sets[] = {"train", "val"};
    for (int s = 0; s < 2; s++) {
        char path[100];
        make_folder(sets[s]);
        for (int class = 0; class < CLASSES; class ++) {
            snprintf(path, sizeof path, "%s/class %c", sets[s], "bac"[class]);
            make_folder(path);
            for (int i = 0; i < (s ? TEST : TRAIN); i++)
                write_picture(sets[s], class, i);
        }
        snprintf(path, sizeof path, "%s/list.txt", sets[s]);
        write_bytes(path, (const uint8_t *)"beside the classes", 18);
    }
}

/* ---- decoding ---- */

static int read_bytes(const uint8_t *bytes, size_t n, struct picture *p)
{
    write_bytes("picture", bytes, n);
    *p = (struct picture){.pixels = NULL};
    return picture_read(folder, "picture", p);
}

static int worst(const struct picture *p, const uint8_t *want)
{
    int most = 0;
    for (int i = 0; i < p->h * p->w * p->c; i++)
        most = abs(p->pixels[i] - want[i]) > most ? abs(p->pixels[i] - want[i]) : most;
    return most;
}

static void check_decode(void)
{
    static uint8_t x[H * W * 4], want[H * W * 3];
    for (int kind = 0; kind < 7; kind++) {
        const int c = kind % 3 == 0 ? 1 : kind % 3 == 1 ? 3 : 4;
        struct picture p;
        if (c < 4)
            fill(kind, c, x), memcpy(want, x, (size_t)(H * W * c));
        for (int i = 0; i < H * W && c == 4; i++) /* libjpeg writes Adobe's marker: 255 - ink */
            for (int k = 0; k < 4; k++) {
                x[4 * i + k] = k == 3 ? (uint8_t)(255 - i / W) : pixel(kind, i / W, i % W, k);
                if (k < 3)
                    want[3 * i + k] = (uint8_t)(pixel(kind, i / W, i % W, k) * (255 - i / W) / 255);
            }
        struct jpeg_file f = jpeg_make(c, x, kind == 6 ? 500 : kind > 2, false);
        CHECK(read_bytes(f.bytes, f.n, &p) == 0 && p.h == H && p.w == W && p.c == (c == 1 ? 1 : 3),
              "kind %d", kind);
        CHECK(p.pixels && worst(&p, want) <= 4, "kind %d: off by %d", kind,
              p.pixels ? worst(&p, want) : -1);
        free(p.pixels);
        free(f.bytes);
    }
}

static void check_refused(const char *what, const uint8_t *bytes, size_t n, const char *part)
{
    struct capture said;
    struct picture p;
    capture_begin(&said);
    const int rc = read_bytes(bytes, n, &p);
    capture_end(&said);
    CHECK(rc == -EINVAL && !p.pixels && capture_lines(said.text) == 1 && strstr(said.text, part),
          "%s: %d, %s", what, rc, said.text);
}

/* Cut files lose pixels; other damage is refused in a line, or changes pixels. */
static void check_damage(void)
{
    static uint8_t x[H * W * 3];
    int n_refused = 0;
    fill(0, 3, x);
    struct jpeg_file f = jpeg_make(3, x, 0, false);
    for (size_t n = 2; n < f.n - 2; n += 1 + f.n / 40)
        check_refused("a cut file", f.bytes, n, folder);
    for (size_t at = 2; at < f.n; at += 7) {
        struct capture said;
        struct picture p;
        const uint8_t before = f.bytes[at];
        f.bytes[at] ^= (uint8_t)(1u << at % 8 | 0x10);
        capture_begin(&said);
        const int rc = read_bytes(f.bytes, f.n, &p);
        capture_end(&said);
        CHECK(rc == 0 ? p.pixels && !said.text[0]
                      : !p.pixels && capture_lines(said.text) == 1 && rc == -EINVAL,
              "byte %zu: %d, %s", at, rc, said.text);
        n_refused += rc < 0;
        free(p.pixels);
        f.bytes[at] = before;
    }
    CHECK(n_refused > 5, "only %d damaged files are refused", n_refused);
    size_t at = 2; /* the frame's header: marker c0, length, bits, height, width */
    while (f.bytes[at + 1] != 0xc0)
        at += 2 + (size_t)f.bytes[at + 2] * 256 + f.bytes[at + 3];
    memcpy(f.bytes + at + 5, "\x20\x01", 2);
    check_refused("8193 rows", f.bytes, f.n, "a picture of 85 x 8193, expected 1 to 8192 pixels");
    memcpy(f.bytes + at + 5, "\x20\x00\x20\x00", 4);
    check_refused("8192 x 8192", f.bytes, f.n, "too short for 8192 x 8192 pixels");
    free(f.bytes);
    f = jpeg_make(1, x, 501, false);
    check_refused("501 scans", f.bytes, f.n, "more than 500 scans");
    free(f.bytes);
}

/* Most changes of arithmetic codes make other pixels; some make a code that cannot be. */
static void check_arithmetic(void)
{
    enum { FROM = 440, END = 480 };
    static uint8_t x[H * W * 3];
    int n_refused = 0;
    fill(0, 3, x);
    struct jpeg_file f = jpeg_make(3, x, 0, true);
    CHECK(f.n > END, "only %lu bytes", f.n);
    for (int i = 8 * FROM; i < 8 * END; i++) {
        struct capture said;
        struct picture p;
        f.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        capture_begin(&said);
        (void)read_bytes(f.bytes, f.n, &p);
        capture_end(&said);
        f.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        n_refused += !p.pixels && strstr(said.text, "bad arithmetic code");
        free(p.pixels);
    }
    CHECK(n_refused > 0, "no damage of arithmetic codes is refused");
    free(f.bytes);
}

/* ---- scaling ---- */

/* The definition, in double: a triangle of the size of an output pixel, cut at the part's edges. */
static double scaled(const struct picture *p, const struct resize *r, int row, int col, int c)
{
    const double sy = (double)r->h / r->to_h, sx = (double)r->w / r->to_w;
    const double hy = sy < 1 ? 1 : sy, hx = sx < 1 ? 1 : sx;
    const double cy = (r->top + row + 0.5) * sy, cx = (r->left + col + 0.5) * sx;
    double sum = 0, weights = 0;
    for (int i = 0; i < r->h; i++)
        for (int j = 0; j < r->w; j++) {
            const double wy = 1 - fabs(i + 0.5 - cy) / hy, wx = 1 - fabs(j + 0.5 - cx) / hx;
            if (wy <= 0 || wx <= 0)
                continue;
            weights += wy * wx;
            sum += wy * wx * p->pixels[((r->y + i) * p->w + r->x + j) * p->c + c % p->c];
        }
    return sum / weights;
}

static void check_resize(void)
{
    static uint8_t x[H * W * 3], out[SIDE * SIDE * 3];
    static const struct resize cases[] = {
        {0, 0, H, W, SIDE, SIDE, 0, 0, SIDE},       {3, 5, 50, 70, 40, 56, 4, 12, SIDE},
        {10, 20, 9, 5, SIDE, SIDE, 0, 0, SIDE},     {0, 0, H, W, 90, 124, 29, 46, SIDE},
        {7, 9, SIDE, SIDE, SIDE, SIDE, 0, 0, SIDE}, {59, 82, 1, 1, SIDE, SIDE, 0, 0, SIDE},
        {0, 0, H, 1, SIDE, SIDE, 0, 0, SIDE}};
    for (int c = 1; c <= 3; c += 2)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const struct picture p = {H, W, c, x};
            double most = 0;
            for (int i = 0; i < H * W * c; i++)
                x[i] = (uint8_t)((unsigned)i * 2654435761u >> 23);
            CHECK(picture_resize(&p, &cases[k], out) == 0, "case %zu", k);
            for (int i = 0; i < IMAGE; i++)
                most = check_max(
                    most, fabs(out[i] - scaled(&p, &cases[k], i / 3 / SIDE, i / 3 % SIDE, i % 3)));
            /* two roundings to bytes: 0.5 each */
            CHECK(most <= 1.001 && (k != 4 || most == 0), "case %zu, %d channels: off by %g", k, c,
                  most);
        }
}

/* ---- the data set ---- */

static struct dataset *open_spec(const char *more, size_t subset)
{
    char spec[200], said[1024];
    struct dataset *d = NULL;
    snprintf(spec, sizeof spec, "imagefolder:%s%s", folder, more);
    CHECK(fixture_dataset_open(spec, subset, &d, said) == 0, "%s: %s", spec, said);
    if (!d)
        exit(1);
    return d;
}

static void batch(const struct dataset *d, bool test, int first, int n,
                  const struct dataset_augment *a, real *x, int32_t *y)
{
    uint32_t index[N_TRAIN];
    int32_t lengths[N_TRAIN];
    for (int i = 0; i < n; i++)
        index[i] = (uint32_t)(first + i);
    dataset_batch(d, test, index, n, a, x, y, lengths);
}

static double worst_real(const uint8_t *square, const real *x)
{
    double most = 0;
    for (int i = 0; i < IMAGE; i++)
        most = check_max(
            most, fabs((double)x[i] - (square[i] / 255. - (double[]){.485, .456, .406}[i % 3]) /
                                          (double[]){.229, .224, .225}[i % 3]));
    return most;
}

static void check_test_view(void)
{
    static real x[N_TEST * IMAGE];
    static uint8_t pixels[H * W * 3], square[IMAGE], beside[IMAGE];
    int32_t y[N_TEST];
    struct dataset *d = open_spec(",32", 0);
    CHECK(d->n_train == N_TRAIN && d->n_test == N_TEST && d->n_classes == CLASSES, "sizes");
    CHECK(dataset_shape(d).h == SIDE && dataset_shape(d).w == SIDE && dataset_shape(d).c == 3,
          "shape");
    batch(d, true, 0, N_TEST, NULL, x, y);
    for (int i = 0; i < N_TEST; i++)
        CHECK(y[i] == i / TEST, "label %d is %d", i, y[i]);
    fill(10, 3, pixels); /* class a is the second that make_tree() writes */
    const struct picture p = {H, W, 3, pixels};
    /* 32 * 256 / 224 = 36 rows; 85 * 36 / 60 = 51 columns, of which 19 / 2, rounded to even, are
     * left out on the left */
    CHECK(picture_resize(&p, &(struct resize){0, 0, H, W, 36, 51, 2, 10, SIDE}, square) == 0 &&
              picture_resize(&p, &(struct resize){0, 0, H, W, 36, 51, 2, 9, SIDE}, beside) == 0,
          "view");
    const double most = worst_real(square, x), most_beside = worst_real(beside, x);
    CHECK(most < 4 / 255. / .224 && most < most_beside,
          "the middle of the first picture is off by %g, a column beside it by %g", most,
          most_beside);
    CHECK(dataset_failed(d) == 0, "failed");
    dataset_close(d);
}

/* Any threads, any batches: the same numbers. Other seeds, epochs and pictures: others. */
static void check_augment(void)
{
    static real all[N_TRAIN * IMAGE], again[N_TRAIN * IMAGE];
    int32_t y[N_TRAIN];
    struct dataset_augment a = {.seed = 3, .epoch = 5};
    CHECK(augment_spec("crop+flip", &a.how) == 0, "crop+flip");
    struct dataset *one = open_spec(",32", 0), *four = open_spec(",32,4", 0);
    CHECK(dataset_crc(one) == dataset_crc(four), "threads change the data set");
    CHECK(augment_fits(one, &a.how) == 0, "does not fit");
    batch(one, false, 0, N_TRAIN, &a, all, y);
    batch(four, false, 0, N_TRAIN, &a, again, y);
    CHECK(!memcmp(all, again, sizeof all), "four threads make other numbers");
    for (int i = 0; i < N_TRAIN; i++)
        batch(i % 2 ? one : four, false, i, 1, &a, again + i * IMAGE, y + i);
    CHECK(!memcmp(all, again, sizeof all), "other batches make other numbers");
    for (int i = 0; i < N_TRAIN; i++)
        CHECK(y[i] == i / TRAIN, "label %d is %d", i, y[i]);
    for (int k = 0; k < 2; k++) {
        int n_same = 0;
        *(k ? &a.seed : &a.epoch) += 1;
        batch(one, false, 0, N_TRAIN, &a, again, y);
        for (int i = 0; i < N_TRAIN; i++)
            n_same += !memcmp(all + i * IMAGE, again + i * IMAGE, IMAGE * sizeof *all);
        CHECK(n_same == 0, "%d pictures do not depend on the %s", n_same, k ? "seed" : "epoch");
    }
    /* flipped or not, of the middle */
    CHECK(augment_spec("flip", &a.how) == 0, "flip");
    int n_flipped = 0;
    batch(one, false, 0, N_TRAIN, NULL, all, y);
    batch(one, false, 0, N_TRAIN, &a, again, y);
    for (int i = 0; i < N_TRAIN; i++) {
        bool same = true, flipped = true;
        for (int k = 0; k < IMAGE; k++) {
            const int mirror = (k / 3 / SIDE * SIDE + SIDE - 1 - k / 3 % SIDE) * 3 + k % 3;
            same = same && all[i * IMAGE + k] == again[i * IMAGE + k];
            flipped = flipped && all[i * IMAGE + mirror] == again[i * IMAGE + k];
        }
        CHECK(same != flipped, "picture %d is neither", i);
        n_flipped += flipped;
    }
    CHECK(n_flipped > 2 && n_flipped < N_TRAIN - 2, "%d of %d flipped", n_flipped, N_TRAIN);
    dataset_close(one);
    dataset_close(four);
}

static void check_subset(void)
{
    static real x[IMAGE], want[IMAGE];
    int32_t y[1];
    struct dataset *all = open_spec(",32", 0), *some = open_spec(",32", 2 * CLASSES);
    CHECK(some->n_train == 2 * CLASSES && some->n_test == N_TEST, "a subset");
    batch(some, false, 5, 1, NULL, x, y);
    CHECK(y[0] == 2, "label %d", y[0]);
    batch(all, false, 2 * TRAIN + 1, 1, NULL, want, y);
    CHECK(!memcmp(x, want, sizeof x), "another picture");
    CHECK(dataset_crc(all) != dataset_crc(some), "equal CRCs");
    dataset_close(all);
    dataset_close(some);
}

static void refused(const char *more, size_t subset, const char *part)
{
    char spec[400], said[1024];
    struct dataset *d = NULL;
    snprintf(spec, sizeof spec, "imagefolder:%s%s", folder, more);
    CHECK(fixture_dataset_open(spec, subset, &d, said) < 0 && !d, "%s is taken", spec);
    CHECK(strstr(said, part) && capture_lines(said) == 1, "%s: '%s', not '%s'", spec, said, part);
}

static void check_bad_file(int threads)
{
    static real x[N_TRAIN * IMAGE];
    int32_t y[N_TRAIN];
    char more[20];
    struct capture said;
    snprintf(more, sizeof more, ",32,%d", threads);
    struct dataset *d = open_spec(more, 0);
    capture_begin(&said);
    batch(d, false, 0, N_TRAIN, NULL, x, y);
    batch(d, false, 0, N_TRAIN, NULL, x, y);
    capture_end(&said);
    CHECK(dataset_failed(d) == -EINVAL && capture_lines(said.text) == 1 &&
              strstr(said.text, "train/class b/1.JPEG' offset"),
          "%d threads: %d, %s", threads, dataset_failed(d), said.text);
    for (int i = 0; i < N_TRAIN; i++) {
        bool zero = true;
        for (int k = 0; k < IMAGE; k++)
            zero = zero && x[i * IMAGE + k] == 0;
        CHECK(zero == (i == TRAIN + 1 || i == TRAIN + 4), "picture %d", i);
    }
    dataset_close(d);
}

static void check_refusals(void)
{
    refused(",27", 0, "has 27 pixels a side and 1 threads, expected 28 to 1024 and 1 to 64");
    refused(",32,65", 0, "has 32 pixels a side and 65 threads");
    refused("/train", 0, "need a folder such as ImageNet's");
    refused(",32", 4, "need a multiple of the 3 classes");
    refused(",32", 21, "has classes of fewer than 7");
    write_bytes("train/class b/1.JPEG", (const uint8_t *)"\xff\xd8\xff", 3);
    write_bytes("train/class b/4.jpg", (const uint8_t *)"text", 4);
    check_bad_file(1);
    check_bad_file(3);
    make_folder("val/class d");
    refused(",32", 0, "val/class d' is a class that");
    char link[300];
    snprintf(link, sizeof link, "%s/train/class d", folder);
    CHECK(!symlink("none", link), "cannot link %s", link);
    refused(",32", 0, "cannot read folder '");
    refused(",32", 0, "train/class d': No such file or directory");
    CHECK(!remove(link), "cannot remove %s", link);
    make_folder("train/class d");
    refused(",32", 0, "train/class d' has no pictures, expected *.jpg, *.jpeg or *.png");
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TMPDIR");
    if (argc == 3 && !strcmp(argv[1], "make")) {
        snprintf(folder, sizeof folder, "%s", argv[2]);
        make_tree();
        DONE();
    }
    snprintf(folder, sizeof folder, "%.40s/imagefolder.XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(folder), "no folder");
    check_decode();
    check_damage();
    check_arithmetic();
    check_resize();
    make_tree();
    check_test_view();
    check_augment();
    check_subset();
    check_refusals();
    CHECK(!nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS), "cannot remove %s", folder);
    DONE();
}
