/* speech.h : stores utterances with transcripts. Energies of all frames are concatenated; batches
 * normalise them and join neighbours. */
#ifndef SPEECH_H
#define SPEECH_H
#include "nn/data/dataset.h"
#include "nn/data/melbank.h"

enum {
    /* neighbours on each side; the first and last frames repeat beyond the ends */
    SPEECH_BESIDE = 5,
    SPEECH_FEATURES = (2 * SPEECH_BESIDE + 1) * MELBANK_BANDS,
    SPEECH_BLANK = 0,
    SPEECH_SPACE = 1,
    SPEECH_A = 2,
    SPEECH_CLASSES = SPEECH_A + 26
};

struct speech_set {
    size_t n;         /* utterances */
    size_t *frame;    /* [n + 1] first frame of each utterance */
    float *energies;  /* [frame[n]][MELBANK_BANDS] */
    size_t *letter;   /* [n + 1] first label of each utterance */
    uint8_t *letters; /* [letter[n]] */
};

/* d->own: training and test set, and bands' moments over the training frames */
struct speech {
    struct speech_set sets[2];
    float mean[MELBANK_BANDS], inv_std[MELBANK_BANDS];
};

/* Put an empty speech into d->own. Returns 0 or -ENOMEM (reported). */
int speech_init(struct dataset *d);
/* Returns 0 or -ENOMEM (reported). */
int speech_append(struct speech_set *s, const struct melbank *m, const int16_t *samples,
                  size_t n_samples, const uint8_t *letters, size_t n_letters);

extern const struct sample_ops sample_speech;

#endif
