/* layer_file.h : a raw fp32 file as the one layer of a codec whose codes are those of a whole layer,
 * there and back: `cast` and `uncast` with --codec. The layer is number 0, of rank 0, in step 0. */
#ifndef LAYER_FILE_H
#define LAYER_FILE_H
#include "codec/codec.h"

/* Is it of the kind whose codes are elements', each by itself? */
bool layer_file_is_minifloat(const char *codec);

/* codec: settled for one rank, seeded. weights: a file of what gradients are of, for a codec that
 * asks for them (codec_asks_weights()); else NULL. state: a file of what the codec keeps, read if it
 * is there, and written; NULL: nothing is kept. *max: what layer_file_uncast() needs of a codec that asks for
 * it (codec_asks_max()). Returns 0 or a negative errno with a line. */
int layer_file_cast(const struct codec *codec, const char *in, const char *weights,
                    const char *state, const char *out, float *max);

/* count: how many values; 0: as many as there are codes. */
int layer_file_uncast(const struct codec *codec, const char *in, const char *weights,
                      uint64_t count, float max, const char *out);

#endif
