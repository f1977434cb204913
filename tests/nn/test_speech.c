/* test_speech.c : compares features of sounds with the definition; reads transcripts, texts and
 * damaged files. */
#include "data_fixture.h"
#include "nn/data/melbank.h"
#include "nn/data/speech.h"
#include <math.h>

static double mel(double hz)
{
    return 2595 * log10(1 + hz / 700);
}

static double slow_energy(const int16_t *samples, int band)
{
    const double pi = acos(-1), low = mel(20), step = (mel(8000) - low) / 34;
    double sum = 0;
    for (int k = 0; k <= 256; k++) {
        const double away = fabs(mel(k * 31.25) - low - (band + 1) * step) / step;
        double re = 0, im = 0;
        for (int i = 0; i < 400 && away < 1; i++) {
            const double v = samples[i] / 32768.0 * (0.54 - 0.46 * cos(2 * pi * i / 399));
            re += v * cos(2 * pi * k * i / 512);
            im -= v * sin(2 * pi * k * i / 512);
        }
        sum += away < 1 ? (1 - away) * (re * re + im * im) : 0;
    }
    return log(fmax(sum, 1e-10));
}

static int n_frames(size_t n)
{
    return 1 + (int)((n - 400) / 160);
}

/* [frames][33] */
static void slow_energies(int sound, size_t n, double *energies)
{
    int16_t samples[FIXTURE_SOUND_A];
    for (size_t i = 0; i < n; i++)
        samples[i] = fixture_sample(sound, i);
    for (int t = 0; t < n_frames(n); t++)
        for (int b = 0; b < MELBANK_BANDS; b++)
            energies[t * MELBANK_BANDS + b] = slow_energy(samples + t * 160, b);
}

static void check_features(const struct dataset *d)
{
    enum { A = 11, B = 4, ALL = A + B, BESIDE = 5, N = 363 };
    static double e[ALL * MELBANK_BANDS], mean[MELBANK_BANDS], deviation[MELBANK_BANDS];
    static float x[2 * A * N];
    double worst = 0;
    slow_energies(0, FIXTURE_SOUND_A, e);
    slow_energies(1, FIXTURE_SOUND_B, e + A * MELBANK_BANDS);
    for (int b = 0; b < MELBANK_BANDS; b++) {
        for (int t = 0; t < ALL; t++)
            mean[b] += e[t * MELBANK_BANDS + b] / ALL;
        for (int t = 0; t < ALL; t++)
            deviation[b] += pow(e[t * MELBANK_BANDS + b] - mean[b], 2) / ALL;
        deviation[b] = sqrt(deviation[b]);
    }
    d->samples->to_real(d, false, (const uint32_t[]){1, 0}, 2, NULL, x);
    for (int which = 0; which < 2; which++) {
        const int frames = which ? A : B;
        const double *from = which ? e : e + A * MELBANK_BANDS;
        for (int t = 0; t < A; t++)
            for (int i = 0; i < N; i++) {
                int at = t - BESIDE + i / MELBANK_BANDS;
                const int b = i % MELBANK_BANDS;
                at = at < 0 ? 0 : at >= frames ? frames - 1 : at;
                const double want =
                    t < frames ? (from[at * MELBANK_BANDS + b] - mean[b]) / deviation[b] : 0;
                const double got = (double)x[(which * A + t) * N + i];
                worst = check_max(worst, fabs(got - want));
                CHECK(fabs(got - want) <= 1e-4, "utterance %d frame %d feature %d: %g, not %g",
                      which, t, i, got, want);
            }
    }
    printf("features: off by %.2g at most\n", worst);
}

static void check_an4(void)
{
    struct fixture *x = fixture_open_an4(false);
    char said[1024];
    struct dataset *d;
    CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0, "%s", said);
    CHECK(d->n_train == 2 && d->n_test == 1 && d->h == 11 && d->w == 1 && d->c == 363 &&
              d->n_classes == 28 && d->n_transcript == 6,
          "%zu + %zu of %d x %d x %d, %d classes, %d letters", d->n_train, d->n_test, d->h, d->w,
          d->c, d->n_classes, d->n_transcript);
    check_features(d);
    static const int32_t want[2][6] = {{'G' - 'A' + 2, 'O' - 'A' + 2, 1, 'Z' - 'A' + 2,
                                        'O' - 'A' + 2, 'O' - 'A' + 2},
                                       {2, -1, -1, -1, -1, -1}},
                         test[6] = {3, 1, 4, -1, -1, -1};
    int32_t labels[2][6], lengths[2];
    d->samples->labels(d, false, (const uint32_t[]){0, 1}, 2, NULL, &labels[0][0], lengths);
    CHECK(!memcmp(labels, want, sizeof want) && lengths[0] == 11 && lengths[1] == 4,
          "training: %d %d, %d and %d steps", labels[0][0], labels[1][0], lengths[0], lengths[1]);
    d->samples->labels(d, true, (const uint32_t[]){0}, 1, NULL, &labels[0][0], lengths);
    CHECK(!memcmp(labels[0], test, sizeof test) && lengths[0] == 4, "test: %d, %d steps",
          labels[0][0], lengths[0]);
    dataset_close(d);
    CHECK(fixture_dataset_open(x->spec, 1, &d, said) == 0 && d->n_train == 1, "a subset: %s", said);
    dataset_close(d);
    fixture_refused(x->spec, 3, "subset of 3 utterances", "has only 2");
    fixture_close(x);
}

static void check_damage(struct fixture *x, int file, const char *from, const char *to,
                         const char *one, const char *two)
{
    const struct fixture_file *good = &x->files[file];
    static uint8_t bad[FIXTURE_BYTES_MAX];
    memcpy(bad, good->data, good->bytes);
    uint8_t *at = memmem(bad, good->bytes, from, strlen(from));
    CHECK(at, "no %s in %s", from, good->name);
    memcpy(at, to, strlen(from));
    fixture_write(x, good->name, bad, good->bytes);
    fixture_refused(x->spec, 0, one, two);
    fixture_write(x, good->name, good->data, good->bytes);
}

/* Trailing bytes are ignored, but at most a MiB more than the longest utterance is read. */
static void check_long(void)
{
    enum { LIMIT = 2 * (400 + 160 * 4095) + (1 << 20) };
    struct fixture *x = fixture_open_an4(false);
    char path[PATH_MAX], said[1024], limit[60];
    struct dataset *d = NULL;
    fixture_path(x, "wav/a.wav", false, path);
    snprintf(limit, sizeof limit, "offset %d: a file of more than %d bytes", LIMIT, LIMIT);
    CHECK(!truncate(path, LIMIT), "%s", path);
    CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0, "%s", said);
    CHECK(!truncate(path, LIMIT + 1), "%s", path);
    fixture_refused(x->spec, 0, "a.wav'", limit);
    dataset_close(d);
    fixture_close(x);
}

/* A chunk of odd size has a pad byte, which its size does not count. */
static void check_odd_chunk(void)
{
    enum { DATA = 36, EXTRA = 12 };
    static uint8_t padded[FIXTURE_BYTES_MAX];
    struct fixture *x = fixture_open_an4(false);
    const struct fixture_file *good = &x->files[4];
    char said[1024];
    struct dataset *d = NULL, *odd = NULL;
    CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0, "%s", said);
    memcpy(padded, good->data, DATA);
    memcpy(padded + DATA, "LIST\x03\0\0\0abc", EXTRA);
    memcpy(padded + DATA + EXTRA, good->data + DATA, good->bytes - DATA);
    fixture_write(x, good->name, padded, good->bytes + EXTRA);
    CHECK(fixture_dataset_open(x->spec, 0, &odd, said) == 0, "%s", said);
    CHECK(d && odd && dataset_crc(d) == dataset_crc(odd), "other utterances");
    dataset_close(d);
    dataset_close(odd);
    fixture_close(x);
}

/* In a pipe, sizes are unknown: the samples are the rest of the file, even if the RIFF chunk has
 * the header's size. Chunks that it has after empty data are no samples. */
static void check_pipes(void)
{
    static const char *const sizes[] = {"\xff\xff\xff\xff", "\x00\xf0\xff\x7f", "\0\0\0\0"};
    static const char header[] = "\x24\0\0\0";
    struct fixture *x = fixture_open_an4(false);
    const struct fixture_file *good = &x->files[4];
    char said[1024];
    struct dataset *d = NULL;
    CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0, "%s", said);
    const uint32_t crc = d ? dataset_crc(d) : 0;
    dataset_close(d);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        static uint8_t piped[FIXTURE_BYTES_MAX];
        memcpy(piped, good->data, good->bytes);
        memcpy(piped + 4, sizes[i], 4);
        memcpy(piped + 40, sizes[i], 4);
        fixture_write(x, good->name, piped, good->bytes);
        d = NULL;
        CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0 && dataset_crc(d) == crc,
              "size %zu: %s", i, said);
        dataset_close(d);
        memcpy(piped + 4, i == 2 ? header : sizes[i], 4);
        fixture_write(x, good->name, piped, 60);
        fixture_refused(x->spec, 0, "a.wav' offset 44", "8 samples, expected");
        memcpy(piped + 16, sizes[i], 4); /* only the samples may extend to the end */
        fixture_write(x, good->name, piped, good->bytes);
        fixture_refused(x->spec, 0, "a.wav' offset", i == 2 ? "a format of 0 bytes" : "are left");
        memcpy(piped, good->data, good->bytes);
        memcpy(piped + 40, sizes[2], 4);
        fixture_write(x, good->name, piped, good->bytes);
        fixture_refused(x->spec, 0, "a.wav' offset 44", "0 samples, expected");
    }
    fixture_close(x);
}

/* In turn: floats, two channels, and 8 bits in the file's header. */
static void check_formats(struct fixture *x)
{
    static const struct {
        int at; /* byte of the file */
        uint8_t value;
        const char *said;
    } formats[] = {{20, 3, "format 3, 1 channels, 16 bits, expected"},
                   {22, 2, "format 1, 2 channels, 16 bits, expected"},
                   {34, 8, "format 1, 1 channels, 8 bits, expected"}};
    const struct fixture_file *good = &x->files[4];
    static uint8_t bad[FIXTURE_BYTES_MAX];
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        memcpy(bad, good->data, good->bytes);
        bad[formats[i].at] = formats[i].value;
        fixture_write(x, good->name, bad, good->bytes);
        fixture_refused(x->spec, 0, "a.wav' offset 20", formats[i].said);
    }
    fixture_write(x, good->name, good->data, good->bytes);
}

static void check_damages(void)
{
    struct fixture *x = fixture_open_an4(false);
    check_formats(x);
    check_damage(x, 0, "b\n", "c\n", "an4_train.transcription' offset 20", "ends in (c)");
    check_damage(x, 0, "b\n", "?\n", "an4_train.fileids' offset 2", "expected the path");
    check_damage(x, 1, "ZOO", "Z1O", "an4_train.transcription' offset 8", "character 0x31");
    check_damage(x, 1, "(a)", "(b)", "an4_train.transcription' offset 0", "ends in (a)");
    check_damage(x, 4, "RIFF", "RIFX", "a.wav' offset 0", "not a sound file");
    check_damage(x, 4, "\x80\x3e", "\x40\x1f", "a.wav' offset 24",
                 "8000 samples a second, expected 16000");
    check_damage(x, 4, "data", "junk", "a.wav' offset 4044", "chunk 'data' is expected");
    check_damage(x, 5, "fmt ", "fnt ", "b.wav' offset 2122", "chunk 'fmt ' is expected");
    fixture_write(x, "wav/b.wav", x->files[5].data, 700);
    fixture_refused(x->spec, 0, "b.wav' offset 40", "a chunk of 2078 bytes, but only 656 are left");
    fixture_write(x, "wav/b.wav", x->files[5].data, x->files[5].bytes);
    fixture_write(x, "etc/an4_test.fileids", (const uint8_t *)"", 0);
    fixture_refused(x->spec, 0, "an4_test.transcription' offset 0", "has no utterance");
    fixture_write(x, "etc/an4_test.fileids", (const uint8_t *)"b\na\n", 4);
    fixture_refused(x->spec, 0, "an4_test.transcription' offset 8", "the transcript of a");
    fixture_close(x);
}

static void check_text(void)
{
    enum { WINDOW = 128 };
    struct fixture *x = fixture_open_text(true);
    static float x_of[WINDOW * 16];
    int32_t labels[WINDOW], length;
    char said[1024];
    struct dataset *d;
    static const char sorted[] = " ,benort";
    CHECK(fixture_dataset_open(x->spec, 0, &d, said) == 0, "%s", said);
    CHECK(d->n_train == 18 && d->n_test == 2 && d->h == WINDOW && d->w == 1 && d->c == 8 &&
              d->n_classes == 8 && dataset_target(d).kind == NN_DENSE &&
              dataset_target(d).n == WINDOW,
          "%zu + %zu windows of %d x %d, %d characters", d->n_train, d->n_test, d->h, d->c,
          d->n_classes);
    for (int w = 0; w < 20; w++) {
        const bool test = w >= 18;
        const uint32_t index = (uint32_t)(test ? w - 18 : w);
        d->samples->to_real(d, test, &index, 1, NULL, x_of);
        d->samples->labels(d, test, &index, 1, NULL, labels, &length);
        for (int t = 0; t < WINDOW; t++) {
            const uint8_t *at = x->files[0].data + w * WINDOW + t;
            for (int k = 0; k < 8; k++)
                CHECK(x_of[t * 8 + k] == (float)(sorted[k] == *at), "window %d step %d", w, t);
            CHECK(sorted[labels[t]] == at[1] && length == WINDOW, "window %d step %d: label %d", w,
                  t, labels[t]);
        }
    }
    dataset_close(d);
    fixture_write(x, "input.txt", x->files[0].data, 1280);
    fixture_refused(x->spec, 0, "offset 1280", "1281 characters");
    for (int i = 0; i < 1281; i++)
        x->files[0].data[i] = 'a';
    fixture_write(x, "input.txt", x->files[0].data, 1281);
    fixture_refused(x->spec, 0, "only one distinct character", "at least 2");
    fixture_close(x);
}

int main(void)
{
    check_an4();
    check_long();
    check_odd_chunk();
    check_pipes();
    check_damages();
    check_text();
    DONE();
}
