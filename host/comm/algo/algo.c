/* algo.c : finds all-reduce algorithms by name and settles codecs for them. */
#include "comm/algo/algo.h"
#include "base/err.h"
#include "base/opt/opt.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct algo *const table[] = {
#define ALGO(name) &algo_##name,
#include "comm/algo/algos.def"
#undef ALGO
};
enum { N_ALGOS = sizeof table / sizeof table[0] };

const struct algo *algo_at(int i)
{
    return i >= 0 && i < N_ALGOS ? table[i] : NULL;
}

/* Callers resolve `offload` before. */
static int refuse_unknown(const char *word)
{
    char list[256], guess[OPT_GUESS];
    struct text names = text_in(list, sizeof list);
    text_add(&names, "auto offload");
    for (int i = 0; i < N_ALGOS; i++)
        text_add(&names, " %s%s", table[i]->name, table[i]->grouped ? ":K" : "");
    return ERR(-EINVAL, "no algorithm \"%s\": need one of %s%s", word, list,
               opt_guess(word, list, guess));
}

static int parse_group(const char *word, const char *digits, int *group)
{
    char *end;
    errno = 0;
    long k = strtol(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0 || k < 1 || k > INT_MAX)
        return ERR(
            -EINVAL,
            "cannot use algorithm \"%s\": the group size must be a whole number from 1 to %d", word,
            INT_MAX);
    *group = (int)k;
    return 0;
}

int algo_find(const char *word, int n_ranks, const struct algo **algo, int *group)
{
    const char *name = strcmp(word, "auto") != 0 ? word : n_ranks == 1 ? "self" : "direct";
    const char *digits = NULL;
    const struct algo *found = NULL;
    for (int i = 0; i < N_ALGOS && !found; i++)
        if (word_has_name(name, table[i]->name, &digits))
            found = table[i];
    if (!found)
        return refuse_unknown(word);
    if (found->grouped && !digits)
        return ERR(-EINVAL, "cannot use algorithm \"%s\" without a group size: need \"%s:K\"", word,
                   word);
    if (!found->grouped && digits)
        return ERR(-EINVAL, "cannot use algorithm \"%s\": \"%s\" takes no group size", word,
                   found->name);
    int k = 0;
    if (digits)
        TRY(parse_group(word, digits, &k));
    *algo = found;
    *group = k;
    return 0;
}

int algo_here(const struct comm *c, const struct algo **algo)
{
    if ((*algo)->mpis_order && !comm_is_mpi(c))
        return ERR(-EINVAL,
                   "cannot run \"%s\" %s: MPI chooses its order of additions; use another --algo",
                   (*algo)->name,
                   comm_is_virtual(c) ? "with virtual ranks" : "over a transport of the caller's");
    if ((*algo)->by_memory && comm_is_virtual(c) && comm_n_processes(c) == 1)
        *algo = (*algo)->by_memory;
    return 0;
}

struct codec_adder algo_adder(const struct algo *algo, int group)
{
    return (struct codec_adder){.name = algo->name,
                                .needs = algo->needs,
                                .adds = algo->adds,
                                .takes = algo->takes,
                                .node = algo->needs & REDUCE_NODES ? group : 0,
                                .group = group};
}

void algo_leave(const struct algo *algo, struct comm *c, struct algo_buffers *buffers)
{
    if (algo->close && buffers->state)
        algo->close(c, buffers);
    buffers->state = NULL;
}

static bool adds_kind(const struct algo *algo, const struct codec *codec)
{
    return (!algo->needs || algo->needs & codec->kind->sums) && (!algo->adds || codec_sum(codec));
}

static int refuse_kind(const struct algo *algo, const struct codec *codec)
{
    char list[256];
    struct text names = text_in(list, sizeof list);
    for (int i = 0; i < N_ALGOS; i++)
        if (adds_kind(table[i], codec))
            text_add(&names, " %s%s", table[i]->name, table[i]->grouped ? ":K" : "");
    return ERR(-EINVAL, "algorithm \"%s\" cannot add codec \"%s\": need one of%s", algo->name,
               codec->kind->name, list);
}

int algo_settle(const struct algo *algo, int group, int n_ranks, struct codec *codec)
{
    const struct codec_adder by = algo_adder(algo, group);
    if (!adds_kind(algo, codec))
        return refuse_kind(algo, codec);
    TRY(codec_settle(codec, n_ranks, &by));
    return algo->check ? algo->check(codec, n_ranks, group) : 0;
}
