/* train_check.c : checks that options of `narrowcast train` and `emulate` can be combined. */
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/text.h"
#include "job/choice.h"
#include "nn/optim/optim.h"
#include <string.h>

bool train_is_pure(const struct train_options *o)
{
    return !strcmp(o->precision, "fp16-pure");
}

bool train_only_kernels(const struct train_options *o)
{
    return !strcmp(o->quantise, "conv");
}

bool train_is_sharded(const struct train_options *o)
{
    return strcmp(o->shard, "no") != 0;
}

bool train_can_shard(enum optim_kind kind)
{
    return kind != OPTIM_lars;
}

bool train_releases(const struct train_options *o)
{
    return !strcmp(o->shard, "all");
}

bool train_needs_cpu(const struct train_options *o)
{
    return train_is_pure(o) && strcmp(o->gemm, "fp32");
}

struct command_line {
    const struct opt_command *command;
    const struct opt_parsed *parsed;
};

static bool given(const struct command_line *w, const char *name)
{
    return opt_given(w->command, w->parsed, name);
}

static int check_emulated(const struct train_options *o, const struct command_line *w)
{
    static const char *const names[] = {
        "deadline", "card-slots", "card-deadline", "fabric", "fabric-address", "xclbin",
        "trace",    "blocks",     "shard",         "gather", "elastic",        "card-group"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (given(w, names[i]))
            return ERR(-EINVAL,
                       "--%s has no effect on emulated ranks, which share one process: leave it "
                       "out, or use train",
                       names[i]);
    if (o->receipts && o->memory && !strcmp(o->memory, "low"))
        return ERR(-EINVAL, "--receipts needs the codes of all ranks, which --memory low does not "
                            "keep: use --memory full");
    if (o->stats && o->memory && !strcmp(o->memory, "low"))
        return ERR(-EINVAL, "--stats needs the gradients of all ranks, which --memory low does not "
                            "keep: use --memory full");
    return 0;
}

static int check_taken(const struct train_options *o, const struct command_line *w)
{
    for (int i = 0; i < w->command->n_opts; i++) {
        const char *option = w->command->opts[i].name;
        char room[128];
        struct text takers = text_in(room, sizeof room);
        const char *between = "";
        for (int k = 0; k < N_OPTIMISERS; k++)
            if (optim_takes((enum optim_kind)k, option)) {
                text_add(&takers, "%s%s", between, optimisers[k].name);
                between = " or ";
            }
        if (*room && w->parsed->given[i] && !optim_takes(o->optim.kind, option))
            return ERR(-EINVAL, "--%s needs --optimizer %s", option, room);
    }
    return 0;
}

static int check_run(const struct train_options *o, const struct command_line *w)
{
    if (o->steps && given(w, "epochs"))
        return ERR(-EINVAL,
                   "--epochs and --steps both set the length of the run: give only one of them");
    if (o->save_every && !o->save)
        return ERR(-EINVAL, "--save-every %llu needs --save FILE",
                   (unsigned long long)o->save_every);
    if (!o->dump_dir && (given(w, "dump-steps") || given(w, "dump-first")))
        return ERR(-EINVAL, "--dump-steps and --dump-first need --dump-gradients DIR");
    if (!o->receipts && given(w, "verify-every"))
        return ERR(-EINVAL, "--verify-every needs --receipts FILE");
    if (!o->stats && given(w, "stats-every"))
        return ERR(-EINVAL, "--stats-every needs --stats FILE");
    TRY(train_files_check(o));
    if (o->init && (o->resume || o->receipts))
        return ERR(-EINVAL, "--init does not work with --%s: leave one of them out",
                   o->resume ? "resume" : "receipts");
    if (o->predict && o->elastic)
        return ERR(-EINVAL, "--predict does not work with --elastic: resume the run's checkpoint "
                            "with --predict afterwards");
    if (o->warmup == 0 && given(w, "warmup-from"))
        return ERR(-EINVAL, "--warmup-from needs --warmup above 0");
    TRY(check_taken(o, w));
    if (o->optim.nesterov && o->optim.momentum == 0)
        return ERR(-EINVAL, "--nesterov needs --momentum above 0");
    return 0;
}

static int check_numbers(const struct train_options *o, const struct command_line *w)
{
    const bool pure = train_is_pure(o), on_cpu = !strcmp(o->device, "cpu"),
               on_gpu = !strcmp(o->device, "cuda"), fp32 = !strcmp(o->precision, "fp32"),
               low = strcmp(o->gemm, "fp32");
    if (strcmp(o->precision, "fp16") && !pure && !strstr(o->quant, "error=") &&
        given(w, "loss-scale") && strcmp(o->loss_scale, "none"))
        return ERR(-EINVAL, "--loss-scale needs --precision fp16, fp16-pure or --quant error=F: "
                            "other gradients have the exponent range of fp32");
    if (on_cpu && !fp32 && !pure && strcmp(o->precision, "bf16"))
        return ERR(-EINVAL, "--precision %s needs --device cuda: the CPU computes in fp32 or bf16",
                   o->precision);
    if (on_gpu && pure && low)
        return ERR(-EINVAL,
                   "--gemm %s rounds fp32 products, and --precision fp16-pure has none on a GPU: "
                   "use --device cpu",
                   o->gemm);
    if (on_gpu && given(w, "conv"))
        return ERR(-EINVAL, "--conv %s applies only to the CPU: use --device cpu", o->conv);
    if (pure && optim_takes(o->optim.kind, "eps") && o->optim.eps < 0x1p-24)
        return ERR(-EINVAL,
                   "--eps %g becomes 0 in fp16: --precision fp16-pure needs at least 2^-24 (6e-8)",
                   o->optim.eps);
    if (pure && optim_takes(o->optim.kind, "beta1") && 1 / (1 - o->optim.beta1) > 65504)
        return ERR(-EINVAL,
                   "--beta1 %g: the first step's factor 1 / (1 - beta1) is inf in fp16: "
                   "--precision fp16-pure needs at most 0.99998",
                   o->optim.beta1);
    if (!pure && given(w, "reduce-in"))
        return ERR(-EINVAL, "--reduce-in needs --precision fp16-pure: other precisions have fp32 "
                            "gradients of weights");
    if (low && !strcmp(o->conv, "winograd"))
        return ERR(-EINVAL, "--gemm %s rounds every product: it needs --conv gemm or auto",
                   o->gemm);
    if (low && !fp32 && !pure)
        return ERR(-EINVAL, "--gemm %s rounds fp32 products: it needs --precision fp32", o->gemm);
    if (strcmp(o->quant, "none") && !fp32)
        return ERR(-EINVAL, "--quant %s rounds fp32 activations: it needs --precision fp32",
                   o->quant);
    return 0;
}

static int check_cards(const struct train_options *o, const struct command_line *w)
{
    static const char *const names[] = {"card-slots", "card-group", "fabric", "fabric-address"};
    const char *cards = choice_named_cards(o->offload);
    for (size_t i = 0; i < sizeof names / sizeof *names && !cards; i++)
        if (given(w, names[i]))
            return choice_no_card(names[i]);
    if (given(w, "xclbin") && !(cards && !strncmp(cards, "xrt", 3)) &&
        strncmp(o->node_sum, "xrt", 3))
        return ERR(-EINVAL, "--xclbin needs --offload xrt or --node-sum xrt");
    return 0;
}

/* Sharded runs have no codes in a card's format, no norms of whole layers, and no means of all
 * weights. */
static int check_shard(const struct train_options *o, const struct command_line *w)
{
    static const char *const others[] = {"blocks", "stats", "receipts", "node-sum", "rescale"};
    if (!train_is_sharded(o))
        return given(w, "gather") ? ERR(-EINVAL, "--gather %s needs --shard optimizer", o->gather)
                                  : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (given(w, others[i]))
            return ERR(-EINVAL, "--%s does not work with --shard: leave one of them out",
                       others[i]);
    if (!train_can_shard(o->optim.kind))
        return ERR(-EINVAL, "--optimizer lars needs the norms of whole layers, which --shard "
                            "divides: use sgd or adamw, or leave --shard out");
    if (train_is_pure(o))
        return ERR(-EINVAL, "--shard needs fp32 gradients of weights: leave out --precision "
                            "fp16-pure");
    return 0;
}

/* Released gradients cannot be added up, dumped or sent later. */
static int check_releases(const struct train_options *o, const struct command_line *w)
{
    const char *keeps = o->micro > 1                 ? "--micro above 1"
                        : given(w, "dump-gradients") ? "--dump-gradients"
                        : !strcmp(o->overlap, "off") ? "--overlap off"
                        : !strcmp(o->device, "cuda") ? "--device cuda"
                                                     : NULL;
    return train_releases(o) && keeps
               ? ERR(-EINVAL,
                     "%s keeps all gradients in memory: leave it out, or use --shard "
                     "optimizer",
                     keeps)
               : 0;
}

int train_options_check(const struct opt_command *command, const struct train_options *o,
                        const struct opt_parsed *parsed)
{
    const struct command_line w = {command, parsed};
    if (o->memory)
        TRY(check_emulated(o, &w));
    TRY(check_run(o, &w));
    TRY(check_cards(o, &w));
    TRY(check_numbers(o, &w));
    TRY(check_shard(o, &w));
    TRY(check_releases(o, &w));
    if (o->blocks && given(&w, "trace"))
        return ERR(-EINVAL, "--trace does not work with --blocks: leave one of them out");
    if (o->blocks && !strcmp(o->overlap, "on"))
        return ERR(-EINVAL, "--overlap on does not work with --blocks: leave one of them out");
    if (o->elastic && !o->blocks)
        return ERR(-EINVAL, "--elastic needs --blocks V, so that others can compute the blocks of "
                            "a process that dies");
    if (o->elastic > o->blocks)
        return ERR(-EINVAL, "--elastic %lld is more than the %lld blocks: a process needs a block",
                   (long long)o->elastic, (long long)o->blocks);
    return 0;
}
