/* speech.h : utterances with transcripts, as samples: energies of all frames one after the other (melbank.h),
 * normalised and seen with their neighbours when a batch is made. */
#ifndef SPEECH_H
#define SPEECH_H
#include "nn/data/dataset.h"
#include "nn/data/melbank.h"

enum {
    SPEECH_BESIDE = 5, /* frames on either side; the first and the last stand for those beyond */
    SPEECH_FEATURES = (2 * SPEECH_BESIDE + 1) * MELBANK_BANDS,
    SPEECH_BLANK = 0,
    SPEECH_SPACE = 1,
    SPEECH_A = 2,
    SPEECH_CLASSES = SPEECH_A + 26
};

struct speech_set {
    size_t n;         /* utterances */
    size_t *frame;    /* [n + 1] where the frames of each begin */
    float *energies;  /* [frame[n]][MELBANK_BANDS] */
    size_t *letter;   /* [n + 1] where the labels of each begin */
    uint8_t *letters; /* [letter[n]] */
};

/* What d->own is: the training and the test set; of each band, over the training frames. */
struct speech {
    struct speech_set sets[2];
    float mean[MELBANK_BANDS], inv_std[MELBANK_BANDS];
};

/* For a source: an empty one in d->own. Returns 0, or -ENOMEM with a line. */
int speech_init(struct dataset *d);
/* Appends an utterance. Returns 0, or -ENOMEM with a line. */
int speech_append(struct speech_set *s, const struct melbank *m, const int16_t *samples,
                  size_t n_samples, const uint8_t *letters, size_t n_letters);

extern const struct sample_ops sample_speech;

#endif
