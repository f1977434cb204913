/* melbank.h : sound to logarithms of energies in mel bands, and their neighbours in time.
 *
 *     16 kHz --25 ms every 10 ms, Hamming--> 400 samples, 112 zeros --FFT--> |X|^2 at 0 .. 256 * 31.25 Hz
 *         --33 triangles, equally wide in mel--> energies --log--> 33 numbers a frame
 * A band's triangle is 1 at its own mel and 0 at its neighbours'; they reach from MELBANK_LOW to 8000 Hz; mel
 * = 2595 log10(1 + Hz / 700). Samples are of -1 .. 1; energies below MELBANK_LEAST count as that. */
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

struct melbank; /* its tables */

/* Returns 0, or -ENOMEM with a line. close takes NULL. */
int melbank_open(struct melbank **out);
void melbank_close(struct melbank *m);

/* Frames of a sound of so many samples; 0: it is shorter than one. */
size_t melbank_frames(size_t n_samples);
/* energies [melbank_frames(n)][MELBANK_BANDS] of samples [n] */
void melbank_energies(const struct melbank *m, const int16_t *samples, size_t n, float *energies);

#endif
