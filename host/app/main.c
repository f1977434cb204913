/* main.c : runs a subcommand of `narrowcast` and turns its result into an exit status. */
#include "app/app.h"
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/file.h"
#include "base/opt/opt.h"
#include "nn/cpu/blas.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef APP_COMMIT /* set by the Makefile */
#define APP_COMMIT "unknown"
#endif

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    bool multiplies; /* uses CBLAS, or reports its version */
    const char *about;
} commands[] = {
    {"train", cmd_train, true, "train a network on several ranks that exchange narrow floats"},
    {"emulate", cmd_emulate, true, "the same training in one process, with the same bits"},
    {"verify", cmd_verify, true, "repeat a step of a training and compare it with its receipts"},
    {"cast", cmd_cast, false, "cast raw fp32 to packed codes of a narrow format"},
    {"uncast", cmd_uncast, false, "cast packed codes back to raw fp32"},
    {"reduce", cmd_reduce, false, "add files of packed codes, as the ranks of a job would"},
    {"sim", cmd_sim, false, "simulate a card on the network, or read its counters"},
    {"card", cmd_card, false, "own a card of this machine and serve it to all jobs"},
    {"conform", cmd_conform, false,
     "test a card or a library against the rules, with stored vectors"},
    {"xclbin", cmd_xclbin, false, "show, check or make the container that XRT loads into a card"},
    {"predict", cmd_predict, false, "predict the time of a step on a cluster that you describe"},
    {"plot", cmd_plot, false, "draw charts and tables of the logs of trainings and benches"},
    {"report", cmd_report, false, "make an HTML page about trainings: facts, curves, bytes, time"},
    {"info", cmd_info, true, "show what this build and this machine can do"},
    {"doctor", cmd_doctor, true, "check the set-up of a machine or cluster and suggest repairs"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *to)
{
    fprintf(to, "narrowcast: data-parallel training that sends gradients as narrow floats\n\n"
                "usage: narrowcast COMMAND [options]\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].about);
    fprintf(to, "\n"
                "narrowcast COMMAND --help        all options of a command, with their defaults\n"
                "narrowcast COMMAND --help WORD   only one option, section or row of a list\n"
                "narrowcast help COMMAND [WORD]   the same\n"
                "narrowcast --version\n\n"
                "environment\n"
                "  NARROWCAST_OFFLOAD=CARDS, NARROWCAST_XCLBIN=FILE   see train --help\n"
                "  NARROWCAST_ISA=WORD       instructions: scalar, avx2, avx512, avx512vbmi,\n"
                "                            avx512fp16 or neon; the bits are the same.\n"
                "                            Default: the best of this CPU\n"
                "  NARROWCAST_CONV=WORD      cuDNN's plans: fastest (the default), first (the\n"
                "                            same bits in every run) or any\n"
                "  NARROWCAST_GPU_TRANSPORT=WORD   how codes travel between GPUs: auto, nccl,\n"
                "                            ipc, mpi or pinned\n"
                "  NARROWCAST_RUN=ID         16 hex digits: a job that is started again resumes\n"
                "                            its --save file\n"
                "  NARROWCAST_CUDA, _MPI, _FABRIC, _XDP, _XRT, _DNNL=PATH   the library to load\n"
                "                            instead of the one beside the program\n\n"
                "Start here (a small network on generated images; half a minute on two cores):\n");
    opt_print(to, "  host/ranks.sh 4 build/narrowcast train\n");
}

static int unknown(const char *word)
{
    const char *names[N_COMMANDS], *topic = word + strspn(word, "-");
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    if (opt_help_has(&train_command, topic))
        return ERR(-EINVAL,
                   "'%s' is not a command but belongs to train: see 'narrowcast train --help %s'",
                   word, topic);
    const char *nearest = opt_nearest(word, names, N_COMMANDS);
    if (nearest)
        return ERR(-EINVAL, "unknown command '%s': did you mean '%s'?", word, nearest);
    return ERR(-EINVAL, "unknown command '%s': see 'narrowcast --help'", word);
}

static int run(int argc, char **argv)
{
    static char help[] = "--help";
    if (argc < 2) {
        usage(stderr);
        return -EINVAL;
    }
    if (!strcmp(argv[1], "help") && argc >= 3) { /* like COMMAND --help [WORD] */
        argv[1] = argv[2];
        argv[2] = help;
    }
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i].name)) {
            if (commands[i].multiplies)
                blas_know_cpu(argv);
            return commands[i].run(argc - 2, argv + 2);
        }
    if (!strcmp(argv[1], "--version"))
        printf("narrowcast " APP_VERSION "\n");
    else if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        usage(stdout);
    else
        return unknown(argv[1]);
    return 0;
}

int main(int argc, char **argv)
{
    file_hold_standard();
    signal(SIGXFSZ, SIG_IGN); /* writes beyond the size limit return an error */
    app_commit = APP_COMMIT;
    int rc = run(argc, argv);
    if (!rc)
        rc = file_end_standard();
    return rc < 0 ? 1 : rc;
}
