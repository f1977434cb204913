/* test_picture.c : reads PNG, PGM and PPM, also cut anywhere or with any byte changed. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "capture.h"
#include "check.h"
#include "nn/data/picture.h"
#include "png_make.h"

enum { H = 13, W = 9 };

static char folder[64];

static uint8_t pixel(int i)
{
    return (uint8_t)((unsigned)i * 2654435761u >> 21 ^ (unsigned)i / 7);
}

static void write_file(const uint8_t *bytes, size_t n)
{
    char path[80];
    snprintf(path, sizeof path, "%s/picture", folder);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f), "cannot write %s", path);
}

static int read_bytes(const uint8_t *bytes, size_t n, struct picture *p)
{
    write_file(bytes, n);
    return picture_read(folder, "picture", p);
}

static void check_refused(const char *what, const uint8_t *bytes, size_t n, const char *part)
{
    struct capture said;
    struct picture p = {.pixels = NULL};
    capture_begin(&said);
    const int rc = read_bytes(bytes, n, &p);
    capture_end(&said);
    CHECK(rc == -EINVAL && !p.pixels && capture_lines(said.text) == 1 && strstr(said.text, part),
          "%s: %d, %s", what, rc, said.text);
}

static void check_picture(const char *what, const struct png_file *f, int c, const uint8_t *want)
{
    struct picture p = {.pixels = NULL};
    CHECK(read_bytes(f->bytes, f->n, &p) == 0, "%s is not read", what);
    if (p.pixels)
        CHECK(p.h == H && p.w == W && p.c == c && !memcmp(p.pixels, want, (size_t)(H * W * c)),
              "%s: %dx%dx%d, or other pixels", what, p.h, p.w, p.c);
    free(p.pixels);
}

static void check_png(void)
{
    uint8_t x[H * W * 3], index[H * W], palette[3 * 100];
    struct png_file f;
    for (int first = 0; first < 10; first++) {
        for (int i = 0; i < H * W * 3; i++) /* few levels make Paeth break ties */
            x[i] = first < 5 ? pixel(i) : pixel(i) % 6;
        for (int c = 1; c <= 3; c += 2)
            for (size_t part = 1; part < 1000; part = 10 * part + 1) {
                png_begin(&f, H, W, c == 3 ? 2 : 0);
                png_chunk(&f, "tEXt", (const uint8_t *)"Comment", 7);
                png_pixels(&f, H, W, c, x, first, part);
                png_end(&f);
                check_picture("PNG", &f, c, x);
            }
    }
    for (int i = 0; i < 300; i++)
        palette[i] = (uint8_t)(255 - i * 3);
    for (int i = 0; i < H * W; i++) {
        index[i] = pixel(i) % 100;
        memcpy(x + 3 * i, palette + 3 * index[i], 3);
    }
    png_begin(&f, H, W, 3);
    png_chunk(&f, "PLTE", palette, sizeof palette);
    png_pixels(&f, H, W, 1, index, 0, 100);
    png_end(&f);
    check_picture("PNG with a palette", &f, 3, x);
    png_begin(&f, H, W, 3);
    png_chunk(&f, "PLTE", palette, 3 * 99);
    index[5] = 99;
    png_pixels(&f, H, W, 1, index, 0, 100);
    png_end(&f);
    check_refused("a colour that is not there", f.bytes, f.n, "has colour 99 of 99");
}

static void check_damage(void)
{
    uint8_t x[H * W];
    struct png_file f, bad;
    for (int i = 0; i < H * W; i++)
        x[i] = pixel(i);
    png_begin(&f, H, W, 0);
    png_pixels(&f, H, W, 1, x, 0, 60);
    png_end(&f);
    for (size_t n = 0; n < f.n; n++)
        check_refused("cut", f.bytes, n, folder);
    for (size_t i = 0; i < f.n; i++) {
        bad = f;
        bad.bytes[i] ^= 0x10;
        check_refused("changed", bad.bytes, f.n, folder);
    }
    bad = f;
    bad.bytes[bad.n++] = 0;
    check_refused("longer", bad.bytes, bad.n, "data after the expected end");
}

static void check_header(int at, uint8_t value, const char *part)
{
    uint8_t x[H * W] = {0}, head[13] = {0, 0, 0, W, 0, 0, 0, H, 8};
    struct png_file f;
    head[at] = value;
    png_begin(&f, H, W, 0);
    f.n = 8;
    png_chunk(&f, "IHDR", head, sizeof head);
    png_pixels(&f, H, W, 1, x, 0, 1000);
    png_end(&f);
    check_refused(part, f.bytes, f.n, part);
}

static void check_headers(void)
{
    check_header(8, 16, "16 bits a channel");
    check_header(9, 6, "colour type 6,");
    check_header(12, 1, "interlacing 1");
    check_header(3, 0, "width is zero");
    check_header(0, 1, "width exceeds user limit");
    check_header(7, H + 1, "Not enough image data");
    check_header(7, H - 1, "Too much image data");
    check_header(2, 0x1f, "too short for");
}

static void check_chunks(void)
{
    uint8_t x[H * W] = {0};
    struct png_file f;
    png_begin(&f, H, W, 0);
    png_chunk(&f, "NEED", x, 3);
    check_refused("unknown", f.bytes, f.n, "unhandled critical chunk");
    png_begin(&f, H, W, 3);
    png_chunk(&f, "PLTE", x, 4);
    check_refused("palette", f.bytes, f.n, "PLTE: invalid");
    png_begin(&f, H, W, 0);
    png_end(&f);
    check_refused("no pixels", f.bytes, f.n, "IEND: out of place");
    png_begin(&f, H, W, 0);
    png_chunk(&f, "IDAT", x, 9);
    check_refused("no stream", f.bytes, f.n, "IDAT: ");
}

static void check_pnm(void)
{
    uint8_t x[H * W * 3];
    struct png_file f;
    for (int i = 0; i < H * W * 3; i++)
        x[i] = pixel(i);
    for (int c = 1; c <= 3; c += 2) {
        f.n = (size_t)snprintf((char *)f.bytes, 100, "P%d\n# made by # a test\n%d  %d\n255\n",
                               c == 3 ? 6 : 5, W, H);
        memcpy(f.bytes + f.n, x, (size_t)(H * W * c));
        f.n += (size_t)(H * W * c);
        check_picture("PNM", &f, c, x);
        check_refused("cut", f.bytes, f.n - 1, "bytes of pixels, expected");
        for (size_t n = 0; n < 36; n++)
            check_refused("cut", f.bytes, n, folder);
    }
    static const struct {
        const char *text, *said;
    } bad[] = {{"P6 9 13 65535\n", "65535 grey levels"},
               {"P6 9 0 255\n", "a picture of 9 x 0"},
               {"P6 99999999 1 255\n", "expected 1 to 8192"},
               {"P6 x", "a picture of 0 x 0"},
               {"P4 9 13\n", "unknown kind of picture, expected JPEG, PNG"},
               {"", "unknown kind of picture, expected JPEG, PNG"},
               {"P6 1 1 255 123 ", "4 bytes of pixels, expected 3"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(bad[i].text, (const uint8_t *)bad[i].text, strlen(bad[i].text), bad[i].said);
}

/* Values above 127 show that no sign is lost; the palette's first colours are Pascal VOC's. */
static void check_labels(void)
{
    static const uint8_t voc[][3] = {{0, 0, 0},   {128, 0, 0},   {0, 128, 0},   {128, 128, 0},
                                     {0, 0, 128}, {128, 0, 128}, {0, 128, 128}, {128, 128, 128},
                                     {64, 0, 0},  {192, 0, 0},   {64, 128, 0}};
    uint8_t labels[H * W];
    char path[80];
    struct picture p = {.pixels = NULL};
    struct capture said;
    for (int i = 0; i < H * W; i++)
        labels[i] = (uint8_t)(i % 11);
    snprintf(path, sizeof path, "%s/picture", folder);
    CHECK(png_write_labels(path, H, W, labels) == 0, "labels are not written");
    CHECK(picture_read(folder, "picture", &p) == 0 && p.h == H && p.w == W && p.c == 3,
          "written labels are not read");
    for (int i = 0; p.pixels && i < H * W; i++)
        CHECK(!memcmp(p.pixels + 3 * i, voc[labels[i]], 3), "pixel %d has another colour", i);
    free(p.pixels);
    snprintf(path, sizeof path, "%s/nowhere/picture", folder);
    capture_begin(&said);
    const int rc = png_write_labels(path, H, W, labels);
    capture_end(&said);
    CHECK(rc == -ENOENT && capture_lines(said.text) == 1, "no folder: %d, %s", rc, said.text);
    capture_begin(&said);
    const int full = png_write_labels("/dev/full", H, W, labels);
    capture_end(&said);
    CHECK(full < 0 && capture_lines(said.text) == 1, "a full disk: %d, %s", full, said.text);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[80];
    snprintf(folder, sizeof folder, "%.40s/picture.XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(folder), "no folder");
    check_png();
    check_labels();
    check_damage();
    check_headers();
    check_chunks();
    check_pnm();
    snprintf(path, sizeof path, "%s/picture", folder);
    CHECK(!unlink(path) && !rmdir(folder), "cannot remove %s", folder);
    DONE();
}
