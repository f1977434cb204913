/* augment_words.c : --augment's word. */
#include "base/err.h"
#include "nn/data/dataset.h"
#include <string.h>

enum { BORDER = 4, CUTOUT = 8 }; /* pixels: He's recipe for CIFAR, DavidNet's cutout */

static int refuse(const char *words)
{
    return ERR(-EINVAL,
               "unknown --augment \"%s\": want none, or some of crop (or crop-reflect), flip and "
               "cutout[:N], N 1..%d, each once, with + between them: crop-reflect+flip+cutout:%d",
               words, DATASET_SIDE_MAX, CUTOUT);
}

/* The part [n] is this word. */
static bool is(const char *part, size_t n, const char *word)
{
    return strlen(word) == n && !memcmp(part, word, n);
}

/* cutout's N out of its part [n]; 0: there is none that is right. */
static int read_side(const char *part, size_t n)
{
    static const char name[] = "cutout:";
    const size_t digits = sizeof name - 1;
    int side = 0;
    if (is(part, n, "cutout"))
        return CUTOUT;
    if (n <= digits || n > digits + 2 || memcmp(part, name, digits))
        return 0;
    for (size_t i = digits; i < n; i++) {
        if (part[i] < '0' || part[i] > '9')
            return 0;
        side = side * 10 + part[i] - '0';
    }
    return side <= DATASET_SIDE_MAX ? side : 0;
}

int augment_words(const char *words, struct augment *out)
{
    struct augment a = {0};
    if (!strcmp(words, "none")) {
        *out = a;
        return 0;
    }
    for (const char *part = words;; part++) {
        const size_t n = strcspn(part, "+");
        const bool reflect = is(part, n, "crop-reflect");
        if (!a.crop && (reflect || is(part, n, "crop")))
            a.crop = BORDER, a.reflect = reflect;
        else if (!a.flip && is(part, n, "flip"))
            a.flip = 1;
        else if (a.cutout || !(a.cutout = read_side(part, n)))
            return refuse(words);
        part += n;
        if (!*part)
            break;
    }
    *out = a;
    return 0;
}

int augment_fits(const struct dataset *d, const struct augment *a)
{
    const int least = d->h < d->w ? d->h : d->w;
    const struct {
        bool asked;
        unsigned bit;
        const char *word;
    } words[] = {{a->crop && !a->reflect, AUGMENT_CROP, "crop"},
                 {a->reflect, AUGMENT_REFLECT, "crop-reflect"},
                 {a->flip, AUGMENT_FLIP, "flip"},
                 {a->cutout, AUGMENT_CUTOUT, "cutout"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].asked && !(d->samples->augments & words[i].bit))
            return ERR(-EINVAL, "--augment %s is not for %s, as those of '%s' are", words[i].word,
                       d->samples->name, d->name);
    if (a->cutout > least)
        return ERR(-EINVAL, "--augment cutout:%d does not fit images of %dx%d: N is %d at most",
                   a->cutout, d->h, d->w, least);
    return 0;
}
