/* wav.h : sound files: RIFF, 16 bits, one channel. */
#ifndef WAV_H
#define WAV_H
#include <stddef.h>
#include <stdint.h>

/* Reads DIR/NAME, which must be of so many samples a second, at least n_least and at most n_most of them.
 * samples: from malloc, the caller's. Returns 0, or a negative errno with a line. */
int wav_read(const char *dir, const char *name, unsigned rate, size_t n_least, size_t n_most,
             int16_t **samples, size_t *n);

#endif
