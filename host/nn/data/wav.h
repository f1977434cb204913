/* wav.h : reads sound files: RIFF, 16 bits, one channel. */
#ifndef WAV_H
#define WAV_H
#include <stddef.h>
#include <stdint.h>

/* Read DIR/NAME, which must have `rate` samples a second and n_least to n_most samples. The caller
 * frees *samples. Returns 0 or -errno (reported). */
int wav_read(const char *dir, const char *name, unsigned rate, size_t n_least, size_t n_most,
             int16_t **samples, size_t *n);

#endif
