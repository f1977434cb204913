/* cityscapes.c : reads the unpacked folders of Cityscapes
 * (www.cityscapes-dataset.com, Cordts et al. 2016).
 *
 *   DIR/leftImg8bit/{train,val}/CITY/STEM_leftImg8bit.png      RGB (or .ppm)
 *   DIR/gtFine/{train,val}/CITY/STEM_gtFine_labelTrainIds.png  grey: class 0..18, 255 does not
 *                                                              count (or .pgm)
 *
 * cityscapesScripts' createTrainIdLabelImgs makes labelTrainIds from labelIds. Samples are squares.
 * A training image gives several crops at random places, keyed by its number. A test (val) image is
 * cut into tiles in which each pixel counts once. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "hls/arith/draw.h"
#include "nn/model.h"
#include "nn/data/picture.h"
#include "nn/data/sources.h"

enum { CLASSES = 19, SIDE_DEFAULT = 256, CROPS_DEFAULT = 4, CROPS_MAX = 1000 };
static const char image_end[] = "_leftImg8bit", label_end[] = "_gtFine_labelTrainIds";

struct crops {
    size_t side, n, room;
    uint8_t *x, *maps; /* [room, side, side, 3], [room, side, side] */
};

struct scene {
    struct picture image, labels;
    char dir[2][PATH_MAX], name[2][NAME_MAX + 1]; /* of images; of label maps */
};

static int make_room(struct crops *to)
{
    const size_t pixels = to->side * to->side, room = to->room ? 2 * to->room : 8;
    if (to->n < to->room)
        return 0;
    uint8_t *x = realloc(to->x, room * pixels * 3);
    if (x)
        to->x = x;
    uint8_t *maps = realloc(to->maps, room * pixels);
    if (maps)
        to->maps = maps;
    if (!x || !maps)
        return ERR(-ENOMEM, "cannot allocate %zu crops of %zu x %zu pixels", room, to->side,
                   to->side);
    to->room = room;
    return 0;
}

/* Labels in the square's first `rows` rows and `cols` columns do not count. */
static int add_crop(struct crops *to, const struct scene *s, size_t y, size_t x, size_t rows,
                    size_t cols)
{
    TRY(make_room(to));
    const size_t side = to->side, w = (size_t)s->image.w;
    uint8_t *pixels = to->x + to->n * side * side * 3, *map = to->maps + to->n * side * side;
    for (size_t row = 0; row < side; row++, pixels += side * 3, map += side) {
        const size_t from = (y + row) * w + x;
        memcpy(pixels, s->image.pixels + from * 3, side * 3);
        memcpy(map, s->labels.pixels + from, side);
        memset(map, NN_MAP_IGNORED, row < rows ? side : cols);
    }
    to->n++;
    return 0;
}

static int add_drawn(struct crops *to, const struct scene *s, uint32_t number, int n)
{
    struct draw draw = draw_open(0, DRAW_PLACES, 0, number);
    for (int i = 0; i < n; i++) {
        const size_t y = draw_below(&draw, (uint32_t)((size_t)s->image.h - to->side + 1)),
                     x = draw_below(&draw, (uint32_t)((size_t)s->image.w - to->side + 1));
        TRY(add_crop(to, s, y, x, 0, 0));
    }
    return 0;
}

static int add_tiles(struct crops *to, const struct scene *s)
{
    const size_t h = (size_t)s->image.h, w = (size_t)s->image.w, side = to->side;
    for (size_t y = 0; y < h; y += side)
        for (size_t x = 0; x < w; x += side) {
            const size_t top = y + side > h ? h - side : y, left = x + side > w ? w - side : x;
            TRY(add_crop(to, s, top, left, y - top, x - left));
        }
    return 0;
}

static int list_folder(const char *path, struct dirent ***list)
{
    const int n = source_list(path, NULL, list);
    if (n < 0)
        return ERR(n,
                   "cannot read folder '%s': %s: need the folder of Cityscapes "
                   "(www.cityscapes-dataset.com) with leftImg8bit/ and gtFine/, with labelTrainIds",
                   path, strerror(-n));
    return n;
}

static int read_pair(struct scene *s)
{
    TRY(picture_read(s->dir[0], s->name[0], &s->image));
    TRY(picture_read(s->dir[1], s->name[1], &s->labels));
    return 0;
}

static int check_pair(const struct scene *s, size_t side)
{
    const struct picture *x = &s->image, *y = &s->labels;
    const char *dir = s->dir[1], *name = s->name[1];
    if (x->c != 3)
        return ERR(-EINVAL, "'%s/%s' has %d channel, expected 3 (RGB)", s->dir[0], s->name[0],
                   x->c);
    if (y->c != 1 || y->h != x->h || y->w != x->w)
        return ERR(-EINVAL, "'%s/%s' is %dx%dx%d, expected %dx%dx1 like its image", dir, name, y->h,
                   y->w, y->c, x->h, x->w);
    if ((size_t)x->h < side || (size_t)x->w < side)
        return ERR(-EINVAL,
                   "'%s/%s' is %dx%d, expected at least %zu pixels a side, the size of crops",
                   s->dir[0], s->name[0], x->h, x->w, side);
    for (int i = 0; i < y->h * y->w; i++)
        if (y->pixels[i] >= CLASSES && y->pixels[i] != NN_MAP_IGNORED)
            return ERR(-EINVAL, "'%s/%s' pixel (%d, %d) has label %u, expected 0 to %d or %d", dir,
                       name, i / y->w, i % y->w, y->pixels[i], CLASSES - 1, NN_MAP_IGNORED);
    return 0;
}

static bool name_labels(struct scene *s)
{
    const char *name = s->name[0], *end = strstr(name, image_end);
    if (!end ||
        (strcmp(end + sizeof image_end - 1, ".png") && strcmp(end + sizeof image_end - 1, ".ppm")))
        return false;
    const char *kind =
        end[sizeof image_end] == 'p' && end[sizeof image_end + 1] == 'n' ? "png" : "pgm";
    snprintf(s->name[1], sizeof s->name[1], "%.*s%s.%s", (int)(end - name), name, label_end, kind);
    return true;
}

/* crops: random crops of the image; 0: tiles. *number: the next image's number; goes up by one per
 * image if crops > 0. */
static int add_file(struct crops *to, struct scene *s, int crops, uint32_t *number)
{
    if (!name_labels(s))
        return 0;
    int rc = read_pair(s);
    if (rc == 0)
        rc = check_pair(s, to->side);
    if (rc == 0)
        rc = crops ? add_drawn(to, s, (*number)++, crops) : add_tiles(to, s);
    free(s->image.pixels);
    free(s->labels.pixels);
    s->image.pixels = s->labels.pixels = NULL;
    return rc;
}

static int add_city(struct crops *to, const char *dir, const char *set, const char *city, int crops,
                    uint32_t *number)
{
    struct scene s = {.image.pixels = NULL};
    struct dirent **files = NULL;
    const int most = PATH_MAX - 64 - NAME_MAX;
    snprintf(s.dir[0], PATH_MAX, "%.*s/leftImg8bit/%s/%s", most, dir, set, city);
    snprintf(s.dir[1], PATH_MAX, "%.*s/gtFine/%s/%s", most, dir, set, city);
    const int is_city = source_is_folder(s.dir[0]);
    if (is_city <= 0)
        return is_city; /* 0: an archive, for example */
    const int n = list_folder(s.dir[0], &files);
    int rc = n < 0 ? n : 0;
    for (int i = 0; rc == 0 && i < n; i++) {
        snprintf(s.name[0], sizeof s.name[0], "%s", files[i]->d_name);
        rc = add_file(to, &s, crops, number);
    }
    source_list_free(files, n);
    return rc;
}

static int add_set(struct crops *to, const char *dir, const char *set, int crops)
{
    char path[PATH_MAX];
    struct dirent **cities = NULL;
    uint32_t number = 0;
    snprintf(path, sizeof path, "%.*s/leftImg8bit/%s", PATH_MAX - 64, dir, set);
    const int n = list_folder(path, &cities);
    int rc = n < 0 ? n : 0;
    for (int i = 0; rc == 0 && i < n; i++)
        rc = add_city(to, dir, set, cities[i]->d_name, crops, &number);
    source_list_free(cities, n);
    if (rc == 0 && to->n == 0)
        rc = ERR(-ENOENT, "'%s' has no images, expected CITY/*%s.png (or .ppm)", path, image_end);
    return rc;
}

static int parse(const char *arg, char dir[PATH_MAX], size_t *side, int *crops)
{
    long sides = SIDE_DEFAULT, n = CROPS_DEFAULT;
    TRY(source_folder(arg, dir, PATH_MAX, &sides, &n));
    if (sides < NN_SIDE_MIN || sides > NN_SIDE_MAX || n < 1 || n > CROPS_MAX)
        return ERR(
            -EINVAL,
            "data set 'cityscapes:%s' has %ld crops of %ld pixels a side, expected 1 to %d of "
            "%d to %d",
            arg, n, sides, CROPS_MAX, NN_SIDE_MIN, NN_SIDE_MAX);
    *side = (size_t)sides;
    *crops = (int)n;
    return 0;
}

int cityscapes_load(const char *arg, struct dataset *d)
{
    char dir[PATH_MAX];
    struct crops train = {.n = 0}, test;
    int n_crops = CROPS_DEFAULT;
    TRY(parse(arg, dir, &train.side, &n_crops));
    test = train;
    int rc = add_set(&train, dir, "train", n_crops);
    if (rc == 0)
        rc = add_set(&test, dir, "val", 0);
    d->h = d->w = (int)train.side;
    d->c = 3;
    d->n_classes = CLASSES;
    d->samples = &sample_maps;
    d->train_x = train.x, d->train_map = train.maps, d->n_train = train.n;
    d->test_x = test.x, d->test_map = test.maps, d->n_test = test.n;
    return rc;
}
