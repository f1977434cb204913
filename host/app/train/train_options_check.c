/* train_options_check.c : which options of `narrowcast train` and `emulate` go together. */
#include <string.h>
#include "app/train/train_options.h"
#include "base/err.h"

bool train_is_pure(const struct train_options *o)
{
    return !strcmp(o->precision, "fp16-pure");
}

bool train_needs_cpu(const struct train_options *o)
{
    return train_is_pure(o) && strcmp(o->gemm, "fp32");
}

/* The words of a command line, and what is asked of them. */
struct words {
    const struct opt_command *command;
    const struct opt_parsed *parsed;
};

static bool given(const struct words *w, const char *name)
{
    return opt_given(w->command, w->parsed, name);
}

static int check_emulated(const struct train_options *o, const struct words *w)
{
    static const char *const names[] = {"deadline",       "card-slots", "card-deadline", "fabric",
                                        "fabric-address", "xclbin",     "trace"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (given(w, names[i]))
            return ERR(-EINVAL,
                       "--%s means nothing to emulated ranks, which share a process: leave it out, "
                       "or take train",
                       names[i]);
    if (o->stats && o->memory && !strcmp(o->memory, "low"))
        return ERR(-EINVAL, "--stats looks at gradients that --memory low does not keep: it needs "
                            "--memory full");
    return 0;
}

/* How long, how fast, and what is written. */
static int check_run(const struct train_options *o, const struct words *w)
{
    if (o->steps && given(w, "epochs"))
        return ERR(-EINVAL, "--epochs and --steps both say how long: give one of them");
    if (o->save_every && !o->save)
        return ERR(-EINVAL, "--save-every %llu needs --save FILE",
                   (unsigned long long)o->save_every);
    if (!o->dump_dir && (given(w, "dump-steps") || given(w, "dump-first")))
        return ERR(-EINVAL, "--dump-steps and --dump-first need --dump-gradients DIR");
    if (!o->stats && given(w, "stats-every"))
        return ERR(-EINVAL, "--stats-every needs --stats FILE");
    TRY(train_files_check(o));
    if (o->warmup == 0 && given(w, "warmup-from"))
        return ERR(-EINVAL, "--warmup-from needs --warmup above 0");
    if (o->nesterov && strcmp(o->optimizer, "sgd"))
        return ERR(-EINVAL, "--nesterov needs --optimizer sgd");
    if (o->nesterov && o->momentum == 0)
        return ERR(-EINVAL, "--nesterov needs --momentum above 0");
    if (given(w, "trust") && strcmp(o->optimizer, "lars"))
        return ERR(-EINVAL, "--trust needs --optimizer lars");
    return 0;
}

/* What computes, in which numbers. */
static int check_numbers(const struct train_options *o, const struct words *w)
{
    const bool pure = train_is_pure(o), on_cpu = !strcmp(o->device, "cpu"),
               on_gpu = !strcmp(o->device, "cuda"), fp32 = !strcmp(o->precision, "fp32"),
               low = strcmp(o->gemm, "fp32");
    if (strcmp(o->precision, "fp16") && !pure && !strstr(o->quant, "error=") &&
        given(w, "loss-scale") && strcmp(o->loss_scale, "none"))
        return ERR(-EINVAL,
                   "--loss-scale needs --precision fp16, fp16-pure or --quant error=F: all "
                   "else has the exponents of fp32");
    if (on_cpu && !fp32 && !pure)
        return ERR(-EINVAL, "--precision %s needs --device cuda: the CPU computes in fp32",
                   o->precision);
    if (on_gpu && pure && low)
        return ERR(-EINVAL,
                   "--gemm %s rounds fp32 products, which --precision fp16-pure has none of on "
                   "a GPU: it needs --device cpu",
                   o->gemm);
    if (on_gpu && given(w, "conv"))
        return ERR(-EINVAL, "--conv %s says how a CPU convolves: it needs --device cpu", o->conv);
    if (!pure && given(w, "reduce-in"))
        return ERR(-EINVAL, "--reduce-in needs --precision fp16-pure: all other gradients of "
                            "weights are fp32");
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

int train_options_check(const struct opt_command *command, const struct train_options *o,
                        const struct opt_parsed *parsed)
{
    const struct words w = {command, parsed};
    TRY(check_run(o, &w));
    TRY(check_numbers(o, &w));
    return o->memory ? check_emulated(o, &w) : 0;
}
