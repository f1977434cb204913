/* an4.c : reads CMU's AN4: a list of utterances, and a transcript and a sound file of each.
 *
 *   etc/an4_{train,test}.fileids         an4_clstk/fash/an251-fash-b
 *   etc/an4_{train,test}.transcription   <s> YES </s> (an251-fash-b)     words, then the utterance
 *   wav/an4_clstk/fash/an251-fash-b.wav  16 kHz, 16 bits, one channel */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "nn/data/datafile.h"
#include "nn/model.h"
#include "nn/data/sources.h"
#include "nn/data/speech.h"
#include "nn/data/wav.h"

enum { TEXT_MAX = 64 << 20, ID_MAX = 200 };

struct lines {
    struct datafile f;
    char *text;
    size_t bytes, at, start; /* end and start of the last line read */
};

static const char where[] =
    "AN4 (www.speech.cs.cmu.edu/databases/an4) in this folder: etc/an4_train.fileids, "
    "etc/an4_train.transcription, the same of an4_test, and wav/ with the sounds as .wav of 16 kHz";

static int lines_open(const char *dir, const char *name, struct lines *l)
{
    uint8_t *text = NULL;
    *l = (struct lines){.at = 0};
    TRY(datafile_open_any(dir, (const char *const[]){name, NULL}, where, &l->f));
    const int rc = datafile_all(&l->f, TEXT_MAX, &text, &l->bytes);
    if (rc < 0) {
        datafile_close(&l->f);
        return rc;
    }
    l->text = (char *)text;
    return 0;
}

static void lines_close(struct lines *l)
{
    free(l->text);
    datafile_close(&l->f);
}

static const char *lines_next(struct lines *l, size_t *n)
{
    if (l->at == l->bytes)
        return NULL;
    const char *line = l->text + l->at, *end = memchr(line, '\n', l->bytes - l->at);
    l->start = l->at;
    *n = end ? (size_t)(end - line) : l->bytes - l->at;
    l->at += *n + (end != NULL);
    while (*n && isspace((unsigned char)line[*n - 1]))
        --*n;
    return line;
}

static int take_id(struct lines *l, const char *line, size_t n, char *id)
{
    size_t good = 0;
    while (good < n &&
           (isalnum((unsigned char)line[good]) || (line[good] && strchr("_-./", line[good]))))
        good++;
    if (n < 1 || n >= ID_MAX || good < n)
        return datafile_err(&l->f, l->start + good,
                            "expected the path of an utterance, up to %d letters, digits, _ - . /",
                            ID_MAX - 1);
    memcpy(id, line, n);
    id[n] = 0;
    return 0;
}

/* Words precede "(name)"; <s> and </s> are dropped. */
static int take_words(const struct lines *l, const char *line, size_t n, const char *id,
                      uint8_t *letters, size_t *n_letters)
{
    const char *slash = strrchr(id, '/'), *name = slash ? slash + 1 : id;
    const size_t tail = strlen(name) + 2;
    if (n < tail || line[n - tail] != '(' || line[n - 1] != ')' ||
        memcmp(line + n - tail + 1, name, tail - 2))
        return datafile_err(&l->f, l->start, "expected a transcript that ends in (%s)", name);
    *n_letters = 0;
    for (size_t i = 0; i < n - tail; i++) {
        const char c = line[i];
        const size_t left = n - tail - i;
        if (left >= 3 && !memcmp(line + i, "<s>", 3))
            i += 2;
        else if (left >= 4 && !memcmp(line + i, "</s>", 4))
            i += 3;
        else if (c >= 'A' && c <= 'Z')
            letters[(*n_letters)++] = (uint8_t)(SPEECH_A + c - 'A');
        else if (c == ' ' && *n_letters && letters[*n_letters - 1] != SPEECH_SPACE)
            letters[(*n_letters)++] = SPEECH_SPACE;
        else if (c != ' ')
            return datafile_err(&l->f, l->start + i, "character 0x%02x, expected A to Z and spaces",
                                (unsigned char)c);
        if (*n_letters > CTC_LABELS_MAX + 1) /* 1: a space at the end */
            break;
    }
    if (*n_letters && letters[*n_letters - 1] == SPEECH_SPACE)
        --*n_letters;
    if (*n_letters > CTC_LABELS_MAX)
        return datafile_err(&l->f, l->start, "a transcript of more than %d letters",
                            CTC_LABELS_MAX);
    return 0;
}

static int take_utterance(const char *dir, const char *id, const struct melbank *m,
                          const uint8_t *letters, size_t n_letters, struct speech_set *set)
{
    char name[ID_MAX + 16];
    int16_t *samples = NULL;
    size_t n;
    snprintf(name, sizeof name, "wav/%s.wav", id);
    TRY(wav_read(dir, name, MELBANK_RATE, MELBANK_FRAME,
                 MELBANK_FRAME + (size_t)(NN_STEPS_MAX - 1) * MELBANK_HOP, &samples, &n));
    const int rc = speech_append(set, m, samples, n, letters, n_letters);
    free(samples);
    return rc;
}

static int read_set(const char *dir, const struct melbank *m, struct lines *ids,
                    struct lines *words, struct speech_set *set)
{
    char id[ID_MAX];
    uint8_t letters[CTC_LABELS_MAX + 2];
    const char *line;
    size_t n, n_letters = 0;
    while ((line = lines_next(ids, &n))) {
        TRY(take_id(ids, line, n, id));
        line = lines_next(words, &n);
        if (!line)
            return datafile_err(&words->f, words->at,
                                "the file ends where the transcript of %s is expected", id);
        TRY(take_words(words, line, n, id, letters, &n_letters));
        TRY(take_utterance(dir, id, m, letters, n_letters, set));
    }
    if (lines_next(words, &n))
        return datafile_err(&words->f, words->start, "a transcript for which '%s' has no utterance",
                            ids->f.path);
    if (set->n == 0)
        return datafile_err(&ids->f, 0, "the file is empty, expected utterances");
    return 0;
}

static int load_set(const char *dir, const char *part, const struct melbank *m,
                    struct speech_set *set)
{
    struct lines ids, words;
    char name[64];
    snprintf(name, sizeof name, "etc/an4_%s.fileids", part);
    TRY(lines_open(dir, name, &ids));
    snprintf(name, sizeof name, "etc/an4_%s.transcription", part);
    int rc = lines_open(dir, name, &words);
    if (rc < 0)
        goto close_ids;
    rc = read_set(dir, m, &ids, &words, set);
    lines_close(&words);
close_ids:
    lines_close(&ids);
    return rc;
}

int an4_load(const char *dir, struct dataset *d)
{
    struct melbank *m;
    TRY(speech_init(d));
    TRY(melbank_open(&m));
    struct speech *s = d->own;
    int rc = load_set(dir, "train", m, &s->sets[0]);
    if (rc == 0)
        rc = load_set(dir, "test", m, &s->sets[1]);
    melbank_close(m);
    return rc;
}
