/* melbank.h : turns sound into log energies of mel bands.
 *
 *   16 kHz --25 ms every 10 ms, Hamming--> 400 samples, 112 zeros
 *       --FFT--> |X|^2 at 0 .. 256 * 31.25 Hz --33 triangles, equally wide in mel--> energies
 *       --log--> 33 numbers a frame
 * A band's triangle is 1 at its own mel and 0 at its neighbours', from MELBANK_LOW to 8000 Hz. mel
 * = 2595 log10(1 + Hz / 700). Samples are scaled to -1 to 1; energies are at least
 * MELBANK_LEAST. */
#ifndef MELBANK_H
#define MELBANK_H
#include <stddef.h>
#include <stdint.h>

enum {
    MELBANK_RATE = 16000, /* samples a second */
    MELBANK_FRAME = 400,
    MELBANK_HOP = 160,
    MELBANK_FFT = 512,
    MELBANK_BANDS = 33,
    MELBANK_LOW = 20 /* Hz */
};
#define MELBANK_LEAST 1e-10

struct melbank;

int melbank_open(struct melbank **out);
void melbank_close(struct melbank *m); /* accepts NULL */

/* Return 0 for a sound shorter than a frame. */
size_t melbank_frames(size_t n_samples);
/* Write the energies of samples [n] to [melbank_frames(n)][MELBANK_BANDS]. */
void melbank_energies(const struct melbank *m, const int16_t *samples, size_t n, float *energies);

#endif
