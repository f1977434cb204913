/* test_dataset_files.c : tests common variants of data set file names. */
#include "data_fixture.h"
#include "nn/data/sample_files.h"

static void test_missing(void)
{
    static const struct {
        const char *spec, *site, *end;
    } sources[] = {
        {"idx:", "Fashion-MNIST (github.com/zalandoresearch/fashion-mnist)",
         "t10k-labels-idx1-ubyte"},
        {"cifar10:", "CIFAR-10 (www.cs.toronto.edu/~kriz/cifar.html)", "test_batch.bin"},
        {"imagefolder:", "ImageNet's (image-net.org, ILSVRC 2012)", "val/CLASS/*.jpg"},
        {"an4:", "AN4 (www.speech.cs.cmu.edu/databases/an4)", ".wav of 16 kHz"},
        {"text:", "Tiny Shakespeare (github.com/karpathy/char-rnn", "input.txt"},
        {"cityscapes:", "Cityscapes (www.cityscapes-dataset.com)", "labelTrainIds"},
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char spec[200], said[1024];
        struct dataset *d = NULL;
        snprintf(spec, sizeof spec, "%s/nowhere/%0*d", sources[i].spec, 90, 0);
        CHECK(fixture_dataset_open(spec, 0, &d, said) < 0, "%s is there", spec);
        const size_t n = strlen(said), k = strlen(sources[i].end);
        CHECK(strstr(said, sources[i].site) && strchr(said, '\n') == said + n - 1 && n > k &&
                  !strncmp(said + n - 1 - k, sources[i].end, k),
              "%s: '%s'", sources[i].spec, said);
    }
}

/* Some programs unpack MNIST's files to names with dots. */
static void test_dots(bool gz)
{
    struct fixture *x = fixture_open_idx(gz);
    char said[1024];
    for (int i = 0; i < x->n_files; i++) {
        char name[64], from[PATH_MAX], to[PATH_MAX];
        struct dataset *d = NULL;
        snprintf(name, sizeof name, "%s", x->files[i].name);
        *strstr(name, "-idx") = '.';
        fixture_path(x, x->files[i].name, gz, from);
        fixture_path(x, name, gz, to);
        CHECK(rename(from, to) == 0, "%s", to);
        CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0 && d->n_train == FIXTURE_TRAIN &&
                  d->n_test == FIXTURE_TEST,
              "%s: %s", name, said);
        dataset_close(d);
    }
    fixture_close(x);
}

/* A loader that had no memory leaves nothing to free. */
static void test_empty(void)
{
    struct dataset *d = calloc(1, sizeof *d);
    CHECK(d, "no memory");
    if (d)
        d->samples = &sample_files;
    dataset_close(d);
}

int main(void)
{
    test_missing();
    test_empty();
    test_dots(false);
    test_dots(true);
    DONE();
}
