/* layer_file.h : casts a raw fp32 file as one layer, and back, for --codec. The layer is number 0,
 * of rank 0, in step 0. */
#ifndef LAYER_FILE_H
#define LAYER_FILE_H
#include "codec/codec.h"

/* Returns whether the codec encodes each element independently. */
bool layer_file_is_minifloat(const char *codec);

/* Returns whether decoding needs the layer's largest number. */
bool layer_file_asks_max(const struct codec *codec);

/* Casts a file. codec: settled for one rank, and seeded. weights: file of the layer's weights, or
 * NULL if not needed (codec_asks_weights()). state: file of the codec's state, read if it exists
 * and then written; NULL: none. *max: set, for layer_file_uncast(). */
int layer_file_cast(const struct codec *codec, const char *in, const char *weights,
                    const char *state, const char *out, float *max);

/* Decodes a file. count: number of values; 0: all. */
int layer_file_uncast(const struct codec *codec, const char *in, const char *weights,
                      uint64_t count, float max, const char *out);

#endif
