/* train_options.c : lists the options of `narrowcast train` and `emulate`, and checks that they can
 * be combined. */
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "comm/algo/algo.h"
#include "nn/data/dataset.h"
#include "nn/optim/optim.h"
#include <string.h>

#define AT(field) offsetof(struct train_options, field)
/* Fields of a row that is a headline or has a type without a range. */
#define GROUP(headline) headline, NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0
#define TEXT(name, metavar, fallback, field, mark, help) \
    name, metavar, fallback, help, OPT_TEXT, AT(field), 0, 0, mark
#define CHOICE(name, words, fallback, field, mark, help) \
    name, words, fallback, help, OPT_CHOICE, AT(field), 0, 0, mark
#define FLAG(name, field, mark, help) name, NULL, NULL, help, OPT_FLAG, AT(field), 0, 0, mark

static const char optimiser_words[] = /* after the first bar */
#define OPTIMISER(name, takes, states, update, help) "|" #name
#include "hls/nn/optimisers.def"
    ;

static const struct opt opts[] = {
    {GROUP("data and model")},
    {TEXT("data", "SPEC", "synthetic", data, TRAIN_BITS, dataset_help)},
    {"train-samples", "N", "0", "Take the first N/classes training images of every class. 0: all.",
     OPT_SIZE, AT(train_samples), 0, 1e9, TRAIN_BITS},
    {TEXT("augment", "none|WORD[+WORD...]", "none", augment, TRAIN_BITS,
          "Of training images: crop (a random place of the image in 4 black pixels of border) or "
          "crop-reflect (the border mirrors the image), flip (left to right), cutout[:N] (a random "
          "square of N x N pixels, 8, becomes the mean); as crop-reflect+flip+cutout:8.")},
    {"image", "N", "0",
     "Scale images up to N x N pixels (bilinear), behind --augment; 0: as they are. A network that "
     "needs more than they have says so.",
     OPT_INT, AT(image), 0, DATASET_SCALED_MAX, TRAIN_BITS},
    {TEXT("model", "NAME", "resnet8", model, TRAIN_BITS, nn_model_help)},
    {"width", "X", "1", nn_width_help, OPT_REAL, AT(width), NN_WIDTH_MIN, NN_WIDTH_MAX, TRAIN_BITS},
    {TEXT("block", "plain|zero-gamma|swap[:K]", "plain", block, TRAIN_BITS, nn_block_help)},
    {TEXT("loss", "auto|cross-entropy[:smoothing=X]|ctc", "auto", loss, 0, nn_loss_help)},

    {GROUP("how long, how fast")},
    {"epochs", "N", "3",
     "Passes over the training images; those that do not fill a last batch are left out of that "
     "pass.",
     OPT_INT, AT(epochs), 1, 1e6, 0},
    {"steps", "N", "0", "Instead of --epochs: so many batches.", OPT_INT, AT(steps), 0, 1e12, 0},
    {"until", "X", "0",
     "Ends with the first epoch after which the test accuracy is X or more (0.8), and says what "
     "that "
     "took. 0: goes on.",
     OPT_REAL, AT(until), 0, 1, 0},
    {"batch", "N", "120",
     "Images of a step over all ranks; must be a multiple of the number of ranks.", OPT_SIZE,
     AT(batch), 1, 1 << 20, TRAIN_BITS},
    {"micro", "N", "1",
     "Each rank takes its share of a batch in N passes, whose gradients add up in fp32 before the "
     "all-reduce: memory for N times the images. Batch norms see each pass by itself.",
     OPT_INT, AT(micro), 1, 1 << 20, TRAIN_BITS},
    {"lr", "X", "0.1", "Learning rate at its peak.", OPT_REAL, AT(lr), 0, 1e6, TRAIN_BITS},
    {TEXT("schedule", "S", "cosine", schedule, TRAIN_BITS, schedule_help)},
    {"warmup", "X", "0.5", "Epochs in which the rate grows linearly to its peak.", OPT_REAL,
     AT(warmup), 0, 1e6, TRAIN_BITS},
    {"warmup-from", "X", "0", "The rate that it grows from.", OPT_REAL, AT(warmup_from), 0, 1e6,
     TRAIN_BITS},
    {CHOICE("optimizer", optimiser_words + 1, "sgd", optimizer, TRAIN_BITS,
            "One of those listed below.")},
#define OPTIM_NUMBER(field, option, fallback, least, most, text, help) \
    {option, "X", fallback, help, OPT_REAL, AT(optim.field), least, most, text},
#define OPTIM_FLAG(field, option, text, help) {FLAG(option, optim.field, text, help)},
#include "hls/nn/optimisers.def"
    {"seed", "N", "1",
     "Of weights, order of images, augmentation, dropout and stochastic rounding: the same seed "
     "gives the same weights, bit for bit.",
     OPT_SIZE, AT(seed), 0, 0, TRAIN_BITS},

    {GROUP("gradients on the wire")},
    {TEXT("codec", "C", "minifloat", codec, TRAIN_BITS,
          "One of the kinds listed below; what is behind a colon is the kind's.")},
    {CHOICE("quantise", "auto|large|all", "auto", quantise, TRAIN_BITS,
            "large: the smallest layers, with less than 1 % of all weights, travel in fp32. auto: "
            "all for minifloat, else large.")},
    {TEXT("format", "F", "e4m3", format, TRAIN_BITS,
          "fp32, fp16, bf16, e5m2, e4m3, e4m3fn, e3m0 or any eXmY (X 1..8, Y 0..23), packed at "
          "1+X+Y bits.")},
    {TEXT(
        "scale", "none|const:K|aps|aps-tight|quantile", "aps", scale, TRAIN_BITS,
        "Each layer's power of two: none, const:K, aps (largest that cannot overflow the sum) or "
        "aps-tight (needs exact), for gradients up to 2^126 / ranks and 2^126; or "
        "quantile[:q=X,every=N,samples=N], as relgrad has it: a factor that makes it the format's "
        "largest number.")},
    {TEXT("sum", "RULE", "auto", sum, TRAIN_BITS,
          "exact (one rounding in all), fp32, nearest (every add rounded), kahan or trunc (e5m2); "
          "auto: exact where format and algorithm allow, else fp32, else nearest.")},
    {TEXT(
        "acc-format", "F", "auto", acc_format, TRAIN_BITS,
        "With --sum nearest or kahan: what partial sums are rounded to, those that travel between "
        "ranks included, as e6m9 or e5m10 with --format e5m2; it holds all numbers of --format, "
        "and hops of ring and group-* are as much longer. auto: --format. Not with --algo native: "
        "MPI and NCCL add what they are sent.")},
    {TEXT(
        "out-format", "F", "auto", out_format, TRAIN_BITS,
        "What the sum travels back in. auto: as --format, but e4m3 for 4 bits and fewer where sums "
        "are not rounded to these as they grow.")},
    {FLAG(
        "rescale", rescale, TRAIN_BITS,
        "With --scale aps, --sum nearest and --algo group-*:K: the groups' sums get an exponent of "
        "their own, one a layer, before they are cast again and added up. Head-room is log2 K and "
        "log2 P/K binades instead of log2 P.")},
    {CHOICE("overflow", "saturate|inf", "saturate", overflow, TRAIN_BITS,
            "What is too large becomes the largest finite, or inf.")},
    {CHOICE("round", "nearest|stochastic|zero", "nearest", round, TRAIN_BITS,
            "How gradients are cast; sums round to nearest.")},
    {"first-epochs-fp32", "N", "0", "Hybrid precision: the first N epochs travel in fp32.", OPT_INT,
     AT(first_epochs_fp32), 0, 1e6, TRAIN_BITS},
    {"first-steps-fp32", "N", "0",
     "The first N steps travel in fp32: so runs by several codecs start alike.", OPT_SIZE,
     AT(first_steps_fp32), 0, 1e12, TRAIN_BITS},
    {FLAG("fp32-last-layer", fp32_last_layer, TRAIN_BITS,
          "The classifier's gradients always travel in fp32.")},

    {GROUP("all-reduce")},
    {TEXT("algo", "A", "auto", algo, TRAIN_BITS,
          "An algorithm of those below, or offload (cards in the network, which must all answer at "
          "the start); auto: offload where a card is named and answers, else direct, gather-sum "
          "for short steps, or self for one "
          "rank. Exact sums have the same bits by all of them.")},
    {"bucket-bytes", "N", "1M", "Layers are fused until their codes fill this.", OPT_SIZE,
     AT(bucket_bytes), 1, 1e12, TRAIN_BITS},
    {CHOICE("overlap", "auto|on|off", "auto", overlap, 0,
            "Buckets travel while the backward pass goes on, by a thread of their own; the bits "
            "are the same. auto: on where gradients are on a GPU.")},
    {"deadline", "S", "60", "Seconds that a rank waits for the others before it gives up.",
     OPT_REAL, AT(deadline), 0.1, 1e6, 0},

    {GROUP("cards in the network that add packets")},
    {TEXT("offload", "O", "auto", offload, 0,
          "udp://HOST:PORT[,udp://HOST:PORT...] (reducers that share the packets), eth://HOST:PORT "
          "(likewise, cards that are controlled over their own Ethernet port), sim (starts a "
          "Verilated card on this machine and ends it; sim:c: the card in plain C, which every "
          "build has), xrt[:BDF][@IP] (a card in rank 0's machine, by the Xilinx runtime; IP: the "
          "address it is to have), off, or auto: what NARROWCAST_OFFLOAD says, else off. A card "
          "that fails costs time, no bits: its step is repeated over MPI.")},
    {TEXT("xclbin", "FILE", NULL, xclbin, 0,
          "With --offload xrt or --node-sum xrt: the container that makes a card of the FPGA "
          "(`narrowcast xclbin`). Default: what NARROWCAST_XCLBIN names.")},
    {"card-slots", "N", NULL,
     "Slots wanted of each card, a power of two: as many packets may be under way. Default: 64, "
     "and half of what is free at most, so that others find room.",
     OPT_INT, AT(card_slots), 8, 1024, 0},
    {TEXT(
        "card-group", "ADDRESS[:PORT]", NULL, card_group, 0,
        "Cards send each sum once, to this multicast group (an IPv4 address of 224.0.0.0/4 on the "
        "ranks' own network, as 239.1.1.1), in place of once to each rank: that many times less "
        "on a card's port. A rank that does not hear it ends it for all, in one line. Default: "
        "to each rank.")},
    {"card-deadline", "S", "5",
     "Seconds that a card may be silent before its step goes over MPI; at the start, 2 at least, "
     "before the run begins without it.",
     OPT_REAL, AT(card_deadline), 0.05, 1e4, 0},
    {TEXT("fabric", "NAME", "socket", fabric, 0,
          "How packets reach cards: socket (UDP of the system, many packets a call) or a provider "
          "of libfabric with datagrams: udp, verbs, efa.")},
    {TEXT("fabric-address", "A", NULL, fabric_address, 0,
          "IPv4 address or interface that packets leave by; default: the one by which the card is "
          "reached.")},

    {GROUP("a card in this machine that adds a node's gradients")},
    {TEXT("node-sum", "cpu|xrt[:BDF]", "cpu", node_sum, 0,
          "Who adds inside a node (--algo group-scatter:K, K ranks in all): its ranks, or a card "
          "that rank 0 reaches by the Xilinx runtime. One that is missing, busy or lost costs "
          "time, no bits: the ranks add.")},

    {GROUP("machine")},
    {CHOICE("device", "auto|cpu|cuda", "auto", device, 0,
            "Where networks and gradients live. auto: cuda where a GPU answers, else cpu.")},
    {CHOICE(
        "precision", "fp32|tf32|fp16|bf16|fp16-pure", "fp32", precision, TRAIN_BITS,
        "Of matrix products and activations with --device cuda; weights, their gradients and "
        "the optimiser stay fp32. fp16-pure: of all tensors, which are halves there; on the CPU "
        "each is rounded to e5m10 as soon as it is made.")},
    {CHOICE("reduce-in", "fp16|fp32", "fp16", reduce_in, TRAIN_BITS,
            "With --precision fp16-pure: the means over ranks are rounded to e5m10 as well, before "
            "the optimiser reads them, or are left in fp32.")},
    {TEXT("loss-scale", "S", "auto", loss_scale, TRAIN_BITS,
          "With --precision fp16, fp16-pure or --quant error=F: what gradients of activations are "
          "multiplied by, so that small ones stay. none; K, a power of two from 1 to 16777216: all "
          "of them, at the loss; dynamic (with --quant: overflow=inf): from 65536 on, "
          "half after a step with inf or nan, twice after 2000 without; "
          "adaptive[:T,every,A,max]: a scale of its own for each layer, such that a share T "
          "(0.001) of its products underflow, found anew in every (1) step; A, max (65504): all of "
          "them together and one at most. auto: dynamic with fp16, else none.")},
    {CHOICE(
        "conv", "auto|winograd|gemm", "auto", conv, TRAIN_BITS,
        "How a CPU convolves. winograd: windows of 3x3 in 2.25 times fewer products, all others "
        "and channels that do not come in sixteens by gemm; needs AVX2. auto: that where the CPU "
        "can. gemm: all by matrix products of CBLAS.")},
    {TEXT("gemm", "F[+kahan]", "fp32", gemm, TRAIN_BITS,
          "Emulates matrix units with a narrow accumulator: every product and every partial sum is "
          "rounded to this format, as e5m10 or e6m9+kahan.")},
    {TEXT("quant", "WHAT=F,...", "none", quant, TRAIN_BITS,
          "Emulates narrow numbers between layers: act=F (outputs of layers), weight=F (weights as "
          "layers read them; the optimiser's stay fp32), error=F (gradients of outputs), each "
          "rounded to nearest behind every layer. What is too large becomes the largest finite, "
          "or inf with ,overflow=inf.")},
    {"threads", "N", "1",
     "Threads of a rank's matrix products. More than one may change the last bits.", OPT_INT,
     AT(threads), 1, 1024, TRAIN_BITS},

    {GROUP("files")},
    {TEXT("log", "FILE", NULL, log, 0,
          "JSON lines: one of kind run, then one a step and one an epoch, and one of kind end. "
          "--resume appends to what came before its step, in a log of the same run only.")},
    {TEXT(
        "stats", "FILE", NULL, stats, 0,
        "JSON lines: what narrow floats do to the gradients of a step, layer by layer: exponents, "
        "what underflows and saturates, round-off of the mean, weight updates that are lost.")},
    {"stats-every", "N", "100", "Of step 1 and every N-th behind it.", OPT_SIZE, AT(stats_every), 1,
     1e12, 0},
    {TEXT("trace", "FILE", NULL, trace, 0,
          "A timeline of all ranks, for ui.perfetto.dev or chrome://tracing: what computes and "
          "what travels when. Of a long run the end.")},
    {TEXT("save", "FILE", NULL, save, 0,
          "Checkpoint, written at the end (and see --save-every), whole or not at all; and behind "
          "the step in which SIGINT, SIGTERM or SIGUSR1 arrives.")},
    {"save-every", "N", "0", "Also after every N steps. 0: only at the end.", OPT_SIZE,
     AT(save_every), 0, 1e12, 0},
    {TEXT("resume", "FILE", NULL, resume, 0,
          "Goes on from a checkpoint, to the same bits as if nothing had happened. Options that "
          "matter for bits must be the same, and the number of ranks; with --schedule const or exp "
          "the run may be longer than it was.")},
    {TEXT("dump-gradients", "DIR", NULL, dump_dir, 0,
          "Every rank writes its gradients before the all-reduce: DIR/stepNNNNNN.rankR.f32; and "
          "rank 0 the weights that they are of, DIR/stepNNNNNN.weights.f32, layers.txt and "
          "meta.txt.")},
    {"dump-steps", "N", "100", "How many steps are dumped.", OPT_SIZE, AT(dump_steps), 1, 1e9, 0},
    {"dump-first", "N", "0", "The first step that is dumped, counted from 0.", OPT_SIZE,
     AT(dump_first), 0, 1e12, 0},

    /* the last EMULATE_ROWS rows are only for emulate */
    {GROUP("emulated ranks")},
    {"ranks", "P", "8",
     "Ranks that take turns in this process: their gradients, sums and bits are those of P real "
     "ones.",
     OPT_INT, AT(ranks), 1, 4096, 0},
    {CHOICE("memory", "full|low", "full", memory, 0,
            "low: every rank makes its gradients twice a step, for their exponents and for their "
            "codes, which are added at once; memory does not grow with P but for statistics. The "
            "bits are the same. For sums in rank order (direct, gather) and exact ones.")},
};
enum { EMULATE_ROWS = 3, N_ROWS = sizeof opts / sizeof *opts };

static void list_tables(FILE *to)
{
    const struct codec_kind *codec;
    const struct algo *algo;
    fprintf(to, "\nrules of --optimizer\n");
    for (int i = 0; i < N_OPTIMISERS; i++)
        opt_help_row(to, optimisers[i].name, optimisers[i].help);
    fprintf(to, "\nkinds of --codec\n");
    for (int i = 0; (codec = codec_kind_at(i)); i++)
        opt_help_row(to, codec->name, codec->help);
    fprintf(to, "\nalgorithms of --algo\n");
    for (int i = 0; (algo = algo_at(i)); i++) {
        char word[32];
        snprintf(word, sizeof word, "%s%s", algo->name, algo->grouped ? ":K" : "");
        opt_help_row(to, word, algo->help);
    }
}

const struct opt_command train_command = {
    .name = "train",
    .args = "",
    .about = "Trains a network on the ranks of an MPI job. Each rank takes its share of every "
             "batch; gradients travel as\n"
             "narrow floats, are added up, and every rank takes the same step. Without options: a "
             "small residual network\n"
             "on generated images, a minute or two on two cores.",
    .examples =
        "  host/ranks.sh 4 build/narrowcast train\n"
        "  host/ranks.sh 4 build/narrowcast train --format e5m2 --scale none --algo ring "
        "--sum nearest\n"
        "  host/ranks.sh 4 build/narrowcast train --offload sim\n"
        "  host/ranks.sh 4 build/narrowcast train --data idx:DIR --epochs 5 "
        "--train-samples 20000 --log run.jsonl\n"
        "  host/ranks.sh 2 build/narrowcast train --model caffenet --image 64 --data idx:DIR "
        "--lr 0.01 --bias-lr 2 --schedule poly:0.5\n"
        "  host/ranks.sh 4 build/narrowcast train --save run.ckpt --save-every 100\n"
        "  host/ranks.sh 4 build/narrowcast train --resume run.ckpt\n",
    .opts = opts,
    .n_opts = N_ROWS - EMULATE_ROWS,
    .more = list_tables,
};

const struct opt_command emulate_command = {
    .name = "emulate",
    .args = "",
    .about =
        "Trains as P ranks do, in one process and one after the other: weights, bytes and "
        "checkpoints (except for\n"
        "the id of the run) are those of `narrowcast train` on P ranks, bit for bit. Algorithms "
        "are run by all P\n"
        "ranks, which copy memory where real ones send; where a card is named they add as it "
        "would. It takes the\n"
        "options of train and its own, but not those that mean nothing in one process: --deadline, "
        "--card-slots,\n"
        "--card-deadline, --fabric, --fabric-address, --xclbin and --trace.",
    .examples = "  build/narrowcast emulate --ranks 256 --model resnet20 --batch 8192 "
                "--data cifar10:DIR --format e5m2 --algo group-master:16 --sum nearest\n"
                "  build/narrowcast emulate --ranks 4 --save run.ckpt\n"
                "  host/ranks.sh 4 build/narrowcast train --resume run.ckpt\n",
    .opts = opts,
    .n_opts = N_ROWS,
    .shared = "train",
    .n_shared = N_ROWS - EMULATE_ROWS,
    .more = list_tables,
};

/* For codecs other than minifloat, clears the defaults of minifloat's options. These codecs refuse
 * the options only if they were given. */
static void forget_formats(struct train_options *o, const struct opt_parsed *p)
{
    const char *rest;
    const struct {
        const char *name, **value;
    } words[] = {{"format", &o->format},
                 {"scale", &o->scale},
                 {"sum", &o->sum},
                 {"acc-format", &o->acc_format},
                 {"out-format", &o->out_format},
                 {"overflow", &o->overflow},
                 {"round", &o->round}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!word_has_name(o->codec, "minifloat", &rest) &&
            !opt_given(&train_command, p, words[i].name))
            *words[i].value = NULL;
}

int train_options_read(const struct opt_command *command, int argc, char **argv,
                       struct train_options *o, struct opt_parsed *parsed)
{
    struct train_options read = {0};
    TRY(opt_parse(command, argc, argv, &read, parsed));
    read.optim.kind = optim_find(read.optimizer);
    TRY(train_options_check(command, &read, parsed));
    if (read.steps)
        read.epochs = 0;
    forget_formats(&read, parsed);
    *o = read;
    return 0;
}

void train_options_lines(const struct train_options *o, struct text *to)
{
    char number[OPT_NUMBER];
    opt_lines(&train_command, o, TRAIN_BITS, to);
    for (int i = 0; i < train_command.n_opts; i++) {
        const struct opt *row = &opts[i];
        if (row->mark == TRAIN_TAKEN && optim_takes(o->optim.kind, row->name))
            text_add(to, "%s=%s\n", row->name, opt_get(row, o, number));
    }
    /* Not "auto": a checkpoint from before --loss has no such line, and can be resumed. */
    if (strcmp(o->loss, "auto"))
        text_add(to, "loss=%s\n", o->loss);
}

/* ---- which options can be combined ---- */

bool train_is_pure(const struct train_options *o)
{
    return !strcmp(o->precision, "fp16-pure");
}

bool train_needs_cpu(const struct train_options *o)
{
    return train_is_pure(o) && strcmp(o->gemm, "fp32");
}

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

/* Refuses options that the chosen optimiser does not use. */
static int check_taken(const struct train_options *o, const struct words *w)
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

/* Checks length, rate and output files. */
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
    TRY(check_taken(o, w));
    if (o->optim.nesterov && o->optim.momentum == 0)
        return ERR(-EINVAL, "--nesterov needs --momentum above 0");
    return 0;
}

/* Checks devices and number formats. */
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
    if (pure && optim_takes(o->optim.kind, "eps") && o->optim.eps < 0x1p-24)
        return ERR(-EINVAL,
                   "--eps %g is 0 in halves: --precision fp16-pure needs 2^-24 (6e-8) or more",
                   o->optim.eps);
    if (pure && optim_takes(o->optim.kind, "beta1") && 1 / (1 - o->optim.beta1) > 65504)
        return ERR(-EINVAL,
                   "--beta1 %g: the first step multiplies by 1 / (1 - beta1), which is infinite in "
                   "halves: --precision fp16-pure needs 0.99998 or less",
                   o->optim.beta1);
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
