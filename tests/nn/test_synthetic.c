/* test_synthetic.c : no linear model learns the generated images, others do. */
#include "data_fixture.h"
#include <math.h>

enum { N_CLASSES = 10, PIXELS = 28 * 28 };

static struct dataset *open_or_die(const char *spec)
{
    struct dataset *d = NULL;
    if (dataset_open(spec, 0, &d) < 0)
        exit(1);
    return d;
}

static uint32_t hash_bytes(uint32_t hash, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = hash * 1000003 + p[i];
    return hash;
}

static void test_same_bytes(void)
{
    struct dataset *d = open_or_die("synthetic:200,7"), *again = open_or_die("synthetic:200,7");
    struct dataset *other = open_or_die("synthetic:200,8"), *standard = open_or_die("synthetic");
    CHECK(d->n_train == 200 && d->n_test == 50 && d->h == 28 && d->w == 28 && d->c == 1, "%zu %zu",
          d->n_train, d->n_test);
    CHECK(standard->n_train == 8000 && standard->n_test == 2000, "%zu %zu", standard->n_train,
          standard->n_test);
    CHECK(memcmp(d->train_x, again->train_x, 200 * PIXELS) == 0 &&
              memcmp(d->test_x, again->test_x, 50 * PIXELS) == 0,
          "twice");
    CHECK(memcmp(d->train_x, other->train_x, 200 * PIXELS) != 0, "the seed changes nothing");
    CHECK(memcmp(d->train_x, d->test_x, PIXELS) != 0, "test images are training images");
    uint32_t hash = hash_bytes(hash_bytes(0, d->train_x, 200 * PIXELS), d->test_x, 50 * PIXELS);
    /* from a Python program */
    CHECK(hash == 0x053821fe, "hash 0x%08x: not the bytes that every machine must find", hash);
    int n_class[N_CLASSES] = {0};
    for (size_t i = 0; i < standard->n_train; i++)
        n_class[standard->train_y[i]]++;
    for (int k = 0; k < N_CLASSES; k++)
        CHECK(n_class[k] == 800, "class %d: %d", k, n_class[k]);
    dataset_close(d);
    dataset_close(again);
    dataset_close(other);
    dataset_close(standard);
}

struct images {
    size_t n;
    float *x;
    uint16_t *y;
};

static struct images take(const struct dataset *d, bool test)
{
    struct images m = {test ? d->n_test : d->n_train, NULL, test ? d->test_y : d->train_y};
    const uint8_t *x = test ? d->test_x : d->train_x;
    m.x = malloc(m.n * PIXELS * sizeof *m.x);
    for (size_t i = 0; m.x && i < m.n * PIXELS; i++)
        m.x[i] = (x[i] / 255.0f - d->mean[0]) * d->inv_std[0];
    return m;
}

static int best_class(const float *w, const float *x, float score[N_CLASSES])
{
    int best = 0;
    for (int k = 0; k < N_CLASSES; k++) {
        score[k] = 0;
        for (int p = 0; p < PIXELS; p++)
            score[k] += w[k * PIXELS + p] * x[p];
        best = score[k] > score[best] ? k : best;
    }
    return best;
}

static double accuracy(const float *w, struct images m)
{
    size_t n_right = 0;
    float score[N_CLASSES];
    for (size_t i = 0; i < m.n; i++)
        n_right += best_class(w, m.x + i * PIXELS, score) == m.y[i];
    return (double)n_right / (double)m.n;
}

static double train_linear(struct images train, struct images test, int n_epochs)
{
    float *w = calloc(N_CLASSES * PIXELS, sizeof *w), score[N_CLASSES];
    for (size_t step = 0; step < train.n * (size_t)n_epochs; step++) {
        const float *x = train.x + step % train.n * PIXELS;
        float sum = 0, top = score[best_class(w, x, score)];
        for (int k = 0; k < N_CLASSES; k++)
            sum += score[k] = expf(score[k] - top);
        for (int k = 0; k < N_CLASSES; k++) {
            float g = score[k] / sum - (k == train.y[step % train.n]);
            for (int p = 0; p < PIXELS; p++)
                w[k * PIXELS + p] -= 0.0005f * g * x[p];
        }
    }
    double right = accuracy(w, test);
    free(w);
    return right;
}

static void test_linear_fails(struct images train, struct images test)
{
    for (int epochs = 1; epochs <= 5; epochs += 4) {
        double right = train_linear(train, test, epochs);
        printf("linear classifier after %d epochs: %.1f %%\n", epochs, 100 * right);
        CHECK(right < 0.30, "a linear classifier reaches %.1f %%", 100 * right);
    }
}

/* Control: with a bright row per class a linear model learns them. */
static void test_linear_control(struct images train, struct images test)
{
    struct images both[2] = {train, test};
    for (int set = 0; set < 2; set++)
        for (size_t i = 0; i < both[set].n; i++)
            for (int p = 0; p < 28; p++)
                both[set].x[i * PIXELS + (size_t)(28 * (2 * both[set].y[i] + 4) + p)] += 1;
    double right = train_linear(train, test, 2);
    printf("linear classifier, classes marked: %.1f %%\n", 100 * right);
    CHECK(right > 0.9, "the trainer reaches %.1f %% on images that are marked", 100 * right);
}

/* Absolute correlation of two images, the second moved by (dy, dx). */
static float likeness(const float *a, const float *b, int dy, int dx)
{
    float sum = 0;
    int n = 0;
    for (int y = dy < 0 ? -dy : 0; y < 28 && y + dy < 28; y++)
        for (int x = dx < 0 ? -dx : 0; x < 28 && x + dx < 28; x++, n++)
            sum += a[y * 28 + x] * b[(y + dy) * 28 + x + dx];
    return fabsf(sum) / sqrtf((float)n);
}

static void test_nonlinear_succeeds(struct images train, struct images test)
{
    enum { N_KNOWN = 120, N_ASKED = 50 };
    int n_right = 0;
    for (size_t i = 0; i < N_ASKED; i++) {
        float best = 0;
        uint16_t class = 0;
        for (size_t j = 0; j < N_KNOWN; j++)
            for (int move = 0; move < 17 * 17; move++) {
                float like = likeness(test.x + i * PIXELS, train.x + j * PIXELS, move / 17 - 8,
                                      move % 17 - 8);
                if (like > best) {
                    best = like;
                    class = train.y[j];
                }
            }
        n_right += class == test.y[i];
    }
    printf("nearest of %d by |correlation| over moves: %d of %d\n", N_KNOWN, n_right, N_ASKED);
    CHECK(n_right > 40, "%d of %d", n_right, N_ASKED);
}

int main(void)
{
    test_same_bytes();
    struct dataset *d = open_or_die("synthetic:2000,1");
    struct images train = take(d, false), test = take(d, true);
    if (!train.x || !test.x)
        return 1;
    test_linear_fails(train, test);
    test_nonlinear_succeeds(train, test);
    test_linear_control(train, test);
    free(train.x);
    free(test.x);
    dataset_close(d);
    DONE();
}
