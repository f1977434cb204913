/* sample_speech.c : makes batches of utterances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/crc.h"
#include "base/err.h"
#include "nn/data/speech.h"

int speech_init(struct dataset *d)
{
    struct speech *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot allocate the utterances");
    d->own = s;
    d->samples = &sample_speech;
    return 0;
}

/* Covers only lengths and transcripts: the last bits of energies depend on the libm. */
static uint32_t speech_crc(const struct dataset *d, uint32_t crc)
{
    const struct speech *s = d->own;
    for (const struct speech_set *set = s->sets; set < s->sets + 2; set++) {
        crc = crc_more(crc, set->frame, (set->n + 1) * sizeof *set->frame);
        crc = crc_more(crc, set->letter, (set->n + 1) * sizeof *set->letter);
        crc = crc_more(crc, set->letters, set->letter[set->n]);
    }
    return crc;
}

static void speech_close(struct dataset *d)
{
    struct speech *s = d->own;
    for (int i = 0; s && i < 2; i++) {
        free(s->sets[i].frame);
        free(s->sets[i].energies);
        free(s->sets[i].letter);
        free(s->sets[i].letters);
    }
    free(s);
}

static int grow(void *list, size_t has, size_t more, size_t item)
{
    void **at = list;
    size_t room = 1;
    while (has && room < has)
        room *= 2;
    if (*at && has + more <= room)
        return 0;
    while (room < has + more)
        room *= 2;
    void *grown = realloc(*at, room * item);
    if (!grown)
        return ERR(-ENOMEM, "cannot allocate %zu bytes of utterances", room * item);
    *at = grown;
    return 0;
}

int speech_append(struct speech_set *s, const struct melbank *m, const int16_t *samples,
                  size_t n_samples, const uint8_t *letters, size_t n_letters)
{
    const size_t frames = melbank_frames(n_samples), at = s->n ? s->frame[s->n] : 0,
                 letter = s->n ? s->letter[s->n] : 0;
    TRY(grow(&s->frame, s->n ? s->n + 1 : 0, 2, sizeof *s->frame));
    TRY(grow(&s->letter, s->n ? s->n + 1 : 0, 2, sizeof *s->letter));
    TRY(grow(&s->energies, at, frames, MELBANK_BANDS * sizeof *s->energies));
    TRY(grow(&s->letters, letter, n_letters + 1, 1));
    melbank_energies(m, samples, n_samples, s->energies + at * MELBANK_BANDS);
    memcpy(s->letters + letter, letters, n_letters);
    s->frame[s->n] = at;
    s->letter[s->n] = letter;
    s->n++;
    s->frame[s->n] = at + frames;
    s->letter[s->n] = letter + n_letters;
    return 0;
}

/* A constant band gets an inv_std of 1. */
static void find_moments(struct speech *s)
{
    const size_t n = s->sets[0].frame[s->sets[0].n];
    for (int b = 0; b < MELBANK_BANDS; b++) {
        double sum = 0, squares = 0;
        for (size_t t = 0; t < n; t++)
            sum += (double)s->sets[0].energies[t * MELBANK_BANDS + (size_t)b];
        const double mean = sum / (double)n;
        for (size_t t = 0; t < n; t++) {
            const double off = (double)s->sets[0].energies[t * MELBANK_BANDS + (size_t)b] - mean;
            squares += off * off;
        }
        const double variance = squares / (double)n;
        s->mean[b] = (float)mean;
        s->inv_std[b] = variance > 1e-6 ? (float)(1 / sqrt(variance)) : 1;
    }
}

/* The longest utterance sets the shape. */
static int speech_settle(struct dataset *d, size_t subset)
{
    struct speech *s = d->own;
    if (subset > s->sets[0].n)
        return ERR(-EINVAL, "cannot take a subset of %zu utterances: '%s' has only %zu", subset,
                   d->name, s->sets[0].n);
    s->sets[0].n = subset ? subset : s->sets[0].n;
    for (int i = 0; i < 2; i++)
        for (size_t u = 0; u < s->sets[i].n; u++) {
            const int frames = (int)(s->sets[i].frame[u + 1] - s->sets[i].frame[u]),
                      letters = (int)(s->sets[i].letter[u + 1] - s->sets[i].letter[u]);
            d->h = frames > d->h ? frames : d->h;
            d->n_transcript = letters > d->n_transcript ? letters : d->n_transcript;
        }
    d->w = 1;
    d->c = SPEECH_FEATURES;
    d->n_classes = SPEECH_CLASSES;
    d->n_train = s->sets[0].n;
    d->n_test = s->sets[1].n;
    find_moments(s);
    return 0;
}

static void fill(const struct speech *s, const float *energies, int frames, real *x)
{
    for (int t = 0; t < frames; t++)
        for (int off = -SPEECH_BESIDE; off <= SPEECH_BESIDE; off++) {
            const int at = t + off < 0 ? 0 : t + off >= frames ? frames - 1 : t + off;
            const float *from = energies + (size_t)at * MELBANK_BANDS;
            for (int b = 0; b < MELBANK_BANDS; b++)
                *x++ = (real)((from[b] - s->mean[b]) * s->inv_std[b]);
        }
}

static void speech_to_real(const struct dataset *d, bool test, const uint32_t *index, int n,
                           const struct dataset_augment *augment, real *x)
{
    const struct speech *s = d->own;
    const struct speech_set *set = &s->sets[test];
    const size_t size = (size_t)d->h * SPEECH_FEATURES;
    (void)augment;
    for (int i = 0; i < n; i++, x += size) {
        const size_t first = set->frame[index[i]], frames = set->frame[index[i] + 1] - first,
                     used = frames * SPEECH_FEATURES;
        fill(s, set->energies + first * MELBANK_BANDS, (int)frames, x);
        memset(x + used, 0, (size - used) * sizeof *x);
    }
}

static void speech_labels(const struct dataset *d, bool test, const uint32_t *index, int n,
                          const struct dataset_augment *augment, int32_t *labels, int32_t *lengths)
{
    const struct speech *s = d->own;
    const struct speech_set *set = &s->sets[test];
    (void)augment;
    for (int i = 0; i < n; i++) {
        const size_t u = index[i], n_letters = set->letter[u + 1] - set->letter[u];
        for (size_t j = 0; j < (size_t)d->n_transcript; j++)
            *labels++ = j < n_letters ? set->letters[set->letter[u] + j] : NN_IGNORED;
        if (lengths)
            lengths[i] = (int32_t)(set->frame[u + 1] - set->frame[u]);
    }
}

const struct sample_ops sample_speech = {
    .name = "utterances",
    .target = NN_TRANSCRIPT,
    .settle = speech_settle,
    .to_real = speech_to_real,
    .labels = speech_labels,
    .crc = speech_crc,
    .close = speech_close,
};
