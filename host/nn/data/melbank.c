/* melbank.c : computes energies of mel bands with its own FFT in double. */
#include "nn/data/melbank.h"
#include <math.h>
#include <stdlib.h>
#include "base/err.h"

enum { BINS = MELBANK_FFT / 2 + 1, LEVELS = 9 };

struct melbank {
    double window[MELBANK_FRAME];
    double cosine[MELBANK_FFT / 2], sine[MELBANK_FFT / 2];
    int place[MELBANK_FFT]; /* bit-reversed sample index */
    double share[MELBANK_BANDS][BINS];
    int first[MELBANK_BANDS], end[MELBANK_BANDS]; /* bins with a nonzero share */
};

static double mel_of(double hz)
{
    return 2595 * log10(1 + hz / 700);
}

static void fill_bands(struct melbank *m)
{
    const double low = mel_of(MELBANK_LOW), high = mel_of(MELBANK_RATE / 2.0),
                 step = (high - low) / (MELBANK_BANDS + 1);
    for (int b = 0; b < MELBANK_BANDS; b++) {
        m->first[b] = BINS;
        for (int k = 0; k < BINS; k++) {
            const double mel = mel_of(k * (double)MELBANK_RATE / MELBANK_FFT);
            const double away = fabs(mel - (low + (b + 1) * step)) / step;
            m->share[b][k] = away < 1 ? 1 - away : 0;
            if (away >= 1)
                continue;
            m->first[b] = m->first[b] < k ? m->first[b] : k;
            m->end[b] = k + 1;
        }
    }
}

int melbank_open(struct melbank **out)
{
    const double turn = 2 * acos(-1);
    struct melbank *m = calloc(1, sizeof *m);
    if (!m)
        return ERR(-ENOMEM, "cannot open the mel bands: no memory");
    for (int i = 0; i < MELBANK_FRAME; i++)
        m->window[i] = 0.54 - 0.46 * cos(turn * i / (MELBANK_FRAME - 1));
    for (int i = 0; i < MELBANK_FFT / 2; i++) {
        m->cosine[i] = cos(turn * i / MELBANK_FFT);
        m->sine[i] = -sin(turn * i / MELBANK_FFT);
    }
    for (int i = 0; i < MELBANK_FFT; i++)
        for (int level = 0; level < LEVELS; level++)
            m->place[i] |= (i >> level & 1) << (LEVELS - 1 - level);
    fill_bands(m);
    *out = m;
    return 0;
}

void melbank_close(struct melbank *m)
{
    free(m);
}

size_t melbank_frames(size_t n_samples)
{
    return n_samples < MELBANK_FRAME ? 0 : 1 + (n_samples - MELBANK_FRAME) / MELBANK_HOP;
}

/* Cooley-Tukey FFT; samples are in bit-reversed order. */
static void transform(const struct melbank *m, double *re, double *im)
{
    for (int half = 1; half < MELBANK_FFT; half *= 2)
        for (int from = 0; from < MELBANK_FFT; from += 2 * half)
            for (int i = 0; i < half; i++) {
                const double c = m->cosine[i * (MELBANK_FFT / 2 / half)],
                             s = m->sine[i * (MELBANK_FFT / 2 / half)];
                const int a = from + i, b = a + half;
                const double x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
                re[b] = re[a] - x, im[b] = im[a] - y;
                re[a] += x, im[a] += y;
            }
}

static void frame(const struct melbank *m, const int16_t *samples, float *energies)
{
    double re[MELBANK_FFT] = {0}, im[MELBANK_FFT] = {0};
    for (int i = 0; i < MELBANK_FRAME; i++)
        re[m->place[i]] = samples[i] * 0x1p-15 * m->window[i];
    transform(m, re, im);
    for (int k = 0; k < BINS; k++)
        re[k] = re[k] * re[k] + im[k] * im[k];
    for (int b = 0; b < MELBANK_BANDS; b++) {
        double sum = 0;
        for (int k = m->first[b]; k < m->end[b]; k++)
            sum += m->share[b][k] * re[k];
        energies[b] = (float)log(sum > MELBANK_LEAST ? sum : MELBANK_LEAST);
    }
}

void melbank_energies(const struct melbank *m, const int16_t *samples, size_t n, float *energies)
{
    const size_t n_frames = melbank_frames(n);
    for (size_t t = 0; t < n_frames; t++)
        frame(m, samples + t * MELBANK_HOP, energies + t * MELBANK_BANDS);
}
