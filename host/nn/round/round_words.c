/* round_words.c : what is rounded to what: --quant's word, and pure fp16. */
#include "base/err.h"
#include "codec/codec.h"
#include "nn/round/round_ops.h"
#include <string.h>

static const char *const names[ROUND_WORDS] = {"act", "weight", "error"};

static int refuse(const char *word)
{
    return ERR(
        -EINVAL,
        "unknown --quant \"%s\": want none, or act=F, weight=F and error=F, each once and one "
        "of them at least, with or without overflow=saturate or inf: act=e4m3,error=e5m2",
        word);
}

/* The part [n] of the word. Returns 0 or -EINVAL, with a line where that is about a format. */
static int read_part(const char *word, const char *part, size_t n, struct round_setup *s,
                     int *overflow)
{
    char value[CODEC_NAME_BYTES];
    const char *equals = memchr(part, '=', n);
    const size_t key = equals ? (size_t)(equals - part) : n, rest = n - key;
    if (!equals || rest < 2 || rest > sizeof value)
        return refuse(word);
    memcpy(value, equals + 1, rest - 1);
    value[rest - 1] = 0;
    if (key == 8 && !memcmp(part, "overflow", key)) {
        if (*overflow >= 0 || (strcmp(value, "saturate") && strcmp(value, "inf")))
            return refuse(word);
        *overflow = strcmp(value, "inf") ? MF_SATURATE : MF_INF;
        return 0;
    }
    for (int i = 0; i < ROUND_WORDS; i++)
        if (strlen(names[i]) == key && !memcmp(part, names[i], key) && !s->of[i].on) {
            s->of[i].on = true;
            return codec_format_parse("--quant", value, &s->of[i].rule.fmt);
        }
    return refuse(word);
}

int round_words(const char *word, struct round_setup *out)
{
    struct round_setup s = {0};
    int overflow = -1;
    bool any = false;
    if (!strcmp(word, "none"))
        return 0;
    for (const char *part = word;; part++) {
        const size_t n = strcspn(part, ",");
        TRY(read_part(word, part, n, &s, &overflow));
        part += n;
        if (!*part)
            break;
    }
    for (int i = 0; i < ROUND_WORDS; i++) {
        any |= s.of[i].on;
        s.of[i].rule.overflow = overflow == MF_INF ? MF_INF : MF_SATURATE;
    }
    if (!any)
        return refuse(word);
    *out = s;
    return 1;
}

const char round_pure_wide[] =
    "sums inside an operation: products (but with --gemm e5m10), batch norm, means over pixels, "
    "loss, LARS's norms; up to the backward pass batch norm's mean and 1/std, LSTM's gates, cells";
const char round_pure_wide_cuda[] =
    "of products only those of an LSTM's gates, and of convolutions that cuDNN has no sums in half "
    "for; sums of biases' gradients, what an LSTM hands from step to step backward, means by "
    "--reduce-in fp32";

void round_pure(struct round_setup *out)
{
    *out = (struct round_setup){0};
    for (int i = 0; i < ROUND_WHATS; i++) {
        out->of[i].on = i != ROUND_WEIGHT;
        out->of[i].rule = (struct round_rule){.fmt = {5, 10, 0}, .overflow = MF_INF};
    }
}
