/* choice.c : resolves --algo and --offload. */
#include "job/choice.h"
#include "base/err.h"
#include "offload/offload.h"
#include <stdlib.h>
#include <string.h>

static bool is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

const char *choice_algo(const char *algo)
{
    return is(algo, "offload") ? "auto" : algo;
}

/* *by_word: the user has named the cards, not the environment. */
static const char *cards_of(const char *word, bool *by_word)
{
    const char *environment = getenv("NARROWCAST_OFFLOAD");
    *by_word = !is(word, "auto");
    const char *cards = *by_word ? word : environment;
    return cards && *cards && !is(cards, "off") ? cards : NULL;
}

const char *choice_named_cards(const char *word)
{
    bool by_word;
    return cards_of(word, &by_word);
}

int choice_no_card(const char *option)
{
    return ERR(-EINVAL,
               "--%s has no effect without a card: leave it out, or name a card with --offload or "
               "NARROWCAST_OFFLOAD",
               option);
}

int choice_cards(const char *algo, const char *word, const struct codec *codec, int n_ranks,
                 const char **out, char *why, size_t size)
{
    const bool asked = is(algo, "offload");
    bool by_word;
    const char *cards = cards_of(word, &by_word);
    why[0] = 0;
    if (asked && !cards)
        return ERR(-EINVAL, "--algo offload needs cards: give --offload udp://HOST:PORT or sim, or "
                            "set NARROWCAST_OFFLOAD");
    if (cards && offload_check(codec_card_sum(codec), n_ranks, why, size) < 0) {
        if (asked || by_word)
            return ERR(-EINVAL, "%s", why);
        /* not an error: the environment belongs to the machine, the codec to the run */
        cards = NULL;
    }
    *out = cards;
    return 0;
}

int choice_agree(struct comm *c, const char *cards)
{
    return comm_check_equal(
        c, cards ? cards : "", cards ? strlen(cards) : 0,
        "the card list (--offload, or NARROWCAST_OFFLOAD, which mpirun -x passes to all ranks)");
}
