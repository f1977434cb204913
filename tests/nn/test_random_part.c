/* test_random_part.c : imagefolder's random parts lie in the picture and reach the ends of their
 * ranges of places, areas and aspects. A picture's colours tell rows and columns:
 *
 *   red = 3 row, green = 3 column --part of h rows from y on--> red = 3 (y + (i + 1/2) h / SIDE) */
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "nn/data/dataset.h"

enum { FULL = 85, STEP = 3, SIDE = 32, DRAWS = 200, ROOM = 20 };

static char folder[60];

static void make_picture(const char *class)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, class);
    CHECK(!mkdir(path, 0777), "cannot make %s", path);
    snprintf(path, sizeof path, "%s/%s/0.png", folder, class); /* contents tell the format */
    FILE *f = fopen(path, "wb");
    CHECK(f, "cannot write %s", path);
    fprintf(f, "P6 %d %d 255\n", FULL, FULL);
    for (int i = 0; i < FULL * FULL; i++)
        fputc(STEP * (i / FULL), f), fputc(STEP * (i % FULL), f), fputc(0, f);
    CHECK(!fclose(f), "cannot write %s", path);
}

static struct dataset *open_pictures(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX];
    struct dataset *d = NULL;
    snprintf(folder, sizeof folder, "%.40s/random.XXXXXX", tmp ? tmp : "/tmp");
    CHECK(mkdtemp(folder), "no folder");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "val" : "train");
        CHECK(!mkdir(path, 0777), "cannot make %s", path);
    }
    make_picture("train/a");
    make_picture("train/b");
    make_picture("val/a");
    snprintf(path, sizeof path, "imagefolder:%s,%d", folder, SIDE);
    CHECK(dataset_open(path, 0, &d) == 0, "cannot open %s", path);
    if (!d)
        exit(1);
    return d;
}

/* Row or column under the centre of pixel (i, i). */
static double place(const struct dataset *d, const real *x, int i, int c)
{
    const double v = (double)x[(i * SIDE + i) * 3 + c] / (double)d->inv_std[c] + (double)d->mean[c];
    return 255 * v / STEP + 0.5;
}

/* Pixels LOW and HIGH are so far from the edges that the filter is whole; their values are rounded
 * by 1/2 at most. *size is off by at most 0.8 and *first by 0.4. */
static void find_part(const struct dataset *d, const real *x, int c, double *first, double *size)
{
    enum { LOW = 8, HIGH = 23 };
    const double low = place(d, x, LOW, c), high = place(d, x, HIGH, c);
    *size = (high - low) * SIDE / (HIGH - LOW);
    *first = low - (LOW + 0.5) * *size / SIDE;
}

struct range {
    double least, most;
};

static void widen(struct range *r, double v)
{
    r->least = v < r->least ? v : r->least;
    r->most = v > r->most ? v : r->most;
}

static void check_range(const char *what, struct range got, double least, double most, double off)
{
    CHECK(got.least >= least - off && got.least <= least + off && got.most >= most - off &&
              got.most <= most + off,
          "%s from %g to %g, expected %g to %g", what, got.least, got.most, least, most);
}

static void check_parts(const struct dataset *d)
{
    static real x[SIDE * SIDE * 3];
    struct range edges[2], places[2], area = {9, 0}, aspect = {9, 0};
    struct dataset_augment a = {.seed = 3};
    int32_t label, length;
    for (int c = 0; c < 2; c++)
        edges[c] = places[c] = (struct range){FULL, 0};
    CHECK(augment_spec("crop", &a.how) == 0, "crop");
    for (; a.epoch < DRAWS; a.epoch++) {
        double first[2], size[2];
        dataset_batch(d, false, (const uint32_t[]){0}, 1, &a, x, &label, &length);
        for (int c = 0; c < 2; c++) {
            find_part(d, x, c, &first[c], &size[c]);
            widen(&edges[c], first[c]);
            widen(&edges[c], first[c] + size[c]);
            if (FULL - size[c] > ROOM)
                widen(&places[c], first[c] / (FULL - size[c]));
        }
        widen(&area, size[0] * size[1] / (FULL * FULL));
        widen(&aspect, size[1] / size[0]);
    }
    check_range("rows", edges[0], 0, FULL, 0.5);
    check_range("columns", edges[1], 0, FULL, 0.5);
    check_range("places above", places[0], 0, 1, 0.05);
    check_range("places on the left", places[1], 0, 1, 0.05);
    check_range("areas", area, 0.08, 1, 0.04);
    check_range("aspects", aspect, 3. / 4, 4. / 3, 0.02);
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

int main(void)
{
    struct dataset *d = open_pictures();
    check_parts(d);
    dataset_close(d);
    CHECK(!nftw(folder, forget, 8, FTW_DEPTH | FTW_PHYS), "cannot remove %s", folder);
    DONE();
}
