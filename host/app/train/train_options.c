/* train_options.c : lists the options of `narrowcast train` and `emulate`. */
#include "app/train/train_options.h"
#include "base/err.h"
#include "base/text.h"
#include "codec/codec_kind.h"
#include "comm/algo/algo.h"
#include "nn/data/dataset.h"
#include "nn/optim/optim.h"
#include <string.h>

#define AT(field) offsetof(struct train_options, field)

#define GROUP(headline) headline, NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0
#define TEXT(name, metavar, fallback, field, mark, help) \
    name, metavar, fallback, help, OPT_TEXT, AT(field), 0, 0, mark
#define CHOICE(name, words, fallback, field, mark, help) \
    name, words, fallback, help, OPT_CHOICE, AT(field), 0, 0, mark
#define FLAG(name, field, mark, help) name, NULL, NULL, help, OPT_FLAG, AT(field), 0, 0, mark

static const struct opt opts[] = {
    {GROUP("data and model")},
    {TEXT("data", "SPEC", "synthetic", data, TRAIN_BITS, dataset_help)},
    {"train-samples", "N", "0",
     "Use only the first N/classes training images of every class, without classes the first N "
     "samples. 0: all.",
     OPT_SIZE, AT(train_samples), 0, 1e9, TRAIN_BITS},
    {TEXT(
        "augment", "none|WORD[+WORD...]", "none", augment, TRAIN_BITS,
        "How to vary training images: crop (at a random place of the image inside a black border "
        "of 4 pixels) or crop-reflect (the border mirrors the image), flip (left to right), "
        "cutout[:N] (a random square of N x N pixels, default 8, becomes the mean). Join several "
        "with +: crop-reflect+flip+cutout:8. For imagefolder, crop is a random part of 8 to 100 % "
        "of the picture's area, with sides of 3:4 to 4:3; there is no crop-reflect and cutout.")},
    {"image", "N", "0",
     "Scale images up to N x N pixels (bilinear, up to 227), after --augment. 0: keep their size. "
     "A network "
     "that needs larger images says so.",
     OPT_INT, AT(image), 0, DATASET_SCALED_MAX, TRAIN_BITS},
    {TEXT("model", "NAME", "resnet8", model, TRAIN_BITS, nn_model_help)},
    {"width", "X", "1", nn_width_help, OPT_REAL, AT(width), NN_WIDTH_MIN, NN_WIDTH_MAX, TRAIN_BITS},
    {TEXT("block", "plain|zero-gamma|swap[:K]", "plain", block, TRAIN_BITS, nn_block_help)},
    {TEXT("loss", "auto|cross-entropy[:smoothing=X]|ctc", "auto", loss, TRAIN_LATER, nn_loss_help)},

    {GROUP("length of the run and optimiser")},
    {"epochs", "N", "3",
     "Passes over the training images. A pass leaves out images that do not fill its last batch.",
     INT_AT(epochs, 1, 1e6)},
    {"steps", "N", "0", "Number of batches to train, instead of --epochs.", INT_AT(steps, 0, 1e12)},
    {"until", "X", "0",
     "Stop after the first epoch that reaches test accuracy X (0.8 is 80 %), and report the steps, "
     "time and bytes until then. 0: do not stop early.",
     REAL_AT(until, 0, 1)},
    {"batch", "N", "120",
     "Images in a step, of all ranks together; a multiple of the number of ranks (with --blocks "
     "of V, with --micro of N times as many).",
     OPT_SIZE, AT(batch), 1, 1 << 20, TRAIN_BITS},
    {"blocks", "V", "0",
     "Cut each batch into V equal blocks, and treat each block as a rank of its own: it has its "
     "own cast, batch-norm moments and random draws. Weights and logs (except for times and bytes "
     "sent) then do not depend on the number of processes, which may be anything from 1 to V, and "
     "a run may be resumed on another number of processes. Fewest bytes travel if the number of "
     "processes divides V, since a process then adds its blocks first; the number of messages "
     "grows with the square of V. For a card each block is a rank. Not with --shard, --trace, "
     "--node-sum, --overlap on or --algo native. 0: one block per process.",
     INT_AT(blocks, 0, 4096)},
    {"elastic", "MIN", "0",
     "Go on while at least MIN processes live; needs --blocks, and an MPI with fault tolerance: "
     "`mpirun --with-ft ulfm` of Open MPI 5. The step in which a process dies is done again by the "
     "others, with the same bits. A process that is silent for --deadline is killed. SIGUSR2 adds "
     "a process after the step. Not with --predict. 0: all processes must live.",
     INT_AT(elastic, 0, 4096)},
    {"micro", "N", "1",
     "Split each rank's share of a batch into N passes, and add their gradients in fp32 before the "
     "all-reduce: the memory of a pass then suffices for N times as many images. Batch norm sees "
     "each pass separately.",
     OPT_INT, AT(micro), 1, 1 << 20, TRAIN_BITS},
    {"lr", "X", "0.1", "Peak learning rate.", OPT_REAL, AT(lr), 0, 1e6, TRAIN_BITS},
    {TEXT("schedule", "S", "cosine", schedule, TRAIN_BITS, schedule_help)},
    {"warmup", "X", "0.5", "Epochs in which the learning rate grows linearly to its peak.",
     OPT_REAL, AT(warmup), 0, 1e6, TRAIN_BITS},
    {"warmup-from", "X", "0", "Learning rate at the start of the warm-up.", OPT_REAL,
     AT(warmup_from), 0, 1e6, TRAIN_BITS},
    {CHOICE("optimizer", optim_words + 1, "sgd", optimizer, TRAIN_BITS,
            "Optimiser; see the list below.")},
#define OPTIM_NUMBER(field, option, fallback, least, most, text, help) \
    {option, "X", fallback, help, OPT_REAL, AT(optim.field), least, most, text},
#define OPTIM_FLAG(field, option, text, help) {FLAG(option, optim.field, text, help)},
#include "hls/nn/optimisers.def"
    {"seed", "N", "1",
     "Seed of weights, image order, augmentation, dropout and stochastic rounding. The same seed "
     "gives the same weights, bit for bit; on a GPU only with NARROWCAST_CONV=first in the "
     "environment, since cuDNN's plans are else chosen by speed.",
     OPT_SIZE, AT(seed), 0, 0, TRAIN_BITS},

    {GROUP("gradients on the wire")},
    {TEXT("codec", "C", "minifloat", codec, TRAIN_BITS,
          "Codec with its parameters after a colon; see the list below.")},
    {CHOICE("quantise", "auto|large|all|conv", "auto", quantise, TRAIN_BITS,
            "Layers to quantise; others are sent in fp32. large: all except the smallest, which "
            "together hold less than 1 % of all weights. conv: only the kernels of convolutions. "
            "auto: all for minifloat and relgrad, else large.")},
    {TEXT(
        "format", "F", "e4m3", format, TRAIN_BITS,
        "fp32, fp16, bf16, e5m2, e4m3, e4m3fn, e3m0 or any eXmY (X 1..8, Y 0..23), packed to "
        "1+X+Y bits. eXmYfn has no inf, and eXmYf neither inf nor nan; both use these codes for "
        "larger numbers, and X is at most 7. e4m3 reaches 240; fp8, fp8_e4m3 and what others call "
        "E4M3 are e4m3fn, up to 448. fp8_e5m2, fp6_e2m3, fp6_e3m2 and fp4 mean e5m2, e2m3f, e3m2f "
        "and e2m1f.")},
    {TEXT("scale", "none|const:K|aps[:G]|aps-tight[:G]|quantile", "aps", scale, TRAIN_BITS,
          "Power of two that scales each layer before the cast. none: 1. const:K: K. aps: the "
          "largest that cannot overflow the sum. aps-tight: a tighter one that needs exact sums. "
          "aps:G, aps-tight:G: one for each G = 16, 32, 64 or 128 elements, for formats with few "
          "exponent bits, such as e2m5f with aps-tight:32. "
          "Gradients may reach 2^126 / ranks with aps and 2^126 with aps-tight. "
          "quantile[:q=X,every=N,samples=N]: map a quantile to the format's largest number, as in "
          "relgrad.")},
    {TEXT("sum", "RULE", "auto", sum, TRAIN_BITS,
          "exact (rounded only once), fp32, nearest (each addition rounded), kahan or trunc "
          "(e5m2); auto: exact where format and algorithm allow it (formats of more than 10 "
          "mantissa bits: with aps-tight), else fp32, else nearest. For reproducible sums of fp32 "
          "gradients use --format e3m23 --scale aps-tight:32.")},
    {TEXT(
        "acc-format", "F", "auto", acc_format, TRAIN_BITS,
        "With --sum nearest or kahan: the format of partial sums, for example e6m9 or e5m10 with "
        "--format e5m2. Partial sums also travel in it, so hops of ring and group-* become longer. "
        "It must represent every number of --format, or with --scale none or const:K may be "
        "narrower (on the CPU): --format fp32 --scale none --sum kahan --acc-format e4m3 sends "
        "fp32 and adds in e4m3. auto: --format. Not for --algo native, where MPI and NCCL add.")},
    {TEXT(
        "out-format", "F", "auto", out_format, TRAIN_BITS,
        "Format in which the sum is sent back. auto: --format, but e4m3 for formats of at most 4 "
        "bits if partial sums are not rounded to them. F:G gives each G = 16, 32, 64 or 128 exact "
        "sums an exponent of their own; auto does so with aps-tight:G if F has at most 3 exponent "
        "bits. Cards cannot.")},
    {FLAG("rescale", rescale, TRAIN_BITS,
          "With --scale aps, --sum nearest and --algo group-*:K: find a new exponent per layer for "
          "the groups' sums before these are cast again and added. Needs head-room for log2 K and "
          "log2 P/K binades instead of log2 P.")},
    {CHOICE("overflow", "saturate|inf", "saturate", overflow, TRAIN_BITS,
            "Values that are too large become the largest finite value, or inf: nan in eXmYfn, and "
            "in eXmYf still the largest value.")},
    {CHOICE(
        "round", "nearest|stochastic|zero", "nearest", round, TRAIN_BITS,
        "How gradients are cast. nearest: ties to even. stochastic: up with the probability of the "
        "part that is cut off. zero: toward zero. Sums are rounded to nearest; --sum trunc also "
        "has "
        "its own cast, without --round.")},
    {"first-epochs-fp32", "N", "0",
     "Hybrid precision: send the gradients of the first N epochs in fp32.", OPT_INT,
     AT(first_epochs_fp32), 0, 1e6, TRAIN_BITS},
    {"first-steps-fp32", "N", "0",
     "Send the gradients of the first N steps in fp32, so that runs with different codecs start "
     "alike.",
     OPT_SIZE, AT(first_steps_fp32), 0, 1e12, TRAIN_BITS},
    {FLAG("fp32-last-layer", fp32_last_layer, TRAIN_BITS,
          "Always send the classifier's gradients in fp32.")},

    {GROUP("all-reduce")},
    {TEXT("algo", "A", "auto", algo, TRAIN_BITS,
          "An algorithm from the list below, or offload: cards in the network, which must all "
          "answer at the start. Any other algorithm adds what cards do not. auto: self for one "
          "rank, gather-sum for short steps, group-scatter:K if the K ranks of a machine (or the K "
          "blocks of a process) should add first, else direct. With auto and offload they also add "
          "before cards do, if that saves time. "
          "Exact sums have the same bits with every algorithm.")},
    {"bucket-bytes", "N", "0",
     "Fuse layers until their codes fill this many bytes. 0: 1M, or 8M if gradients are on a GPU.",
     OPT_SIZE, AT(bucket_bytes), 0, 1e12, TRAIN_BITS},
    {CHOICE("overlap", "auto|on|off", "auto", overlap, 0,
            "on: a second thread sends buckets during the backward pass, except with --micro above "
            "1 and in steps for --stats or --dump-gradients. Not with --blocks; no effect in "
            "emulate. The bits are the same. "
            "auto: on if gradients are on a GPU.")},
    {CHOICE("shard", "no|optimizer|all", "no", shard, 0,
            "optimizer: each rank keeps the optimiser's states, and fp32 weights, of its own 1/P "
            "of all weights, and updates only these (ZeRO). Gradients are reduce-scattered, and "
            "the weights gathered after each step; they have the bits of a run without --shard if "
            "they travel in fp32. For sgd and adamw, with direct or auto. all: also release "
            "gradients bucket by bucket during the backward pass, which waits so that about two "
            "buckets are in memory; only on the CPU, and not with --micro, --dump-gradients or "
            "--overlap off. Neither mode works with --blocks, --stats, --receipts, --rescale, "
            "--node-sum, cards or fp16-pure.")},
    {TEXT("gather", "fp32|bf16|fp16|delta:F[:G]", "fp32", gather, TRAIN_LATER,
          "With --shard: how new weights travel. delta:F[:G]: as differences from the weights "
          "sent last, in format F with an exponent for each G elements (a power of two from 8 to "
          "8192; default 1024). Rounding errors are added to the next difference. On the CPU.")},
    {"deadline", "S", "60",
     "Seconds to wait for the other ranks before the run fails; with cards up to 1.75 times as "
     "long.",
     REAL_AT(deadline, 0.1, 1e6)},

    {GROUP("cards in the network that add packets")},
    {TEXT(
        "offload", "O", "auto", offload, 0,
        "Cards to use. udp://HOST:PORT[,udp://HOST:PORT...]: cards that share the packets. "
        "eth://HOST:PORT[,...]: the same, controlled over the cards' own Ethernet ports. sim: "
        "start a Verilated card on this machine for the run; sim:c: the card in plain C, which "
        "every build has. xrt[:BDF][@IP]: a card in rank 0's machine, through the Xilinx runtime; "
        "IP is the address to give it. off: none. auto: the value of NARROWCAST_OFFLOAD, else off. "
        "A card that fails costs time but changes no bits: its step is repeated over MPI. Cards "
        "add exactly, up to 64 ranks (fp16: 32): minifloats of 4, 8 or 16 bits with at most 5 "
        "exponent (eXmYf: 3) and 10 mantissa bits, of eXmYfn only e4m3fn; and ternary. With "
        "NARROWCAST_OFFLOAD others add over "
        "MPI.")},
    {TEXT("xclbin", "FILE", NULL, xclbin, 0,
          "The xclbin to load into the FPGA with --offload xrt or --node-sum xrt (see `narrowcast "
          "xclbin`). Default: the file named by NARROWCAST_XCLBIN.")},
    {"card-slots", "N", NULL,
     "Slots to request from each card, a power of two: the limit of packets in flight. Default: "
     "64, but at most half of the free slots, so that other jobs find room.",
     INT_AT(card_slots, 8, 1024)},
    {TEXT("card-group", "ADDRESS[:PORT]", NULL, card_group, 0,
          "Multicast group ADDRESS[:PORT] to which cards send each sum once, instead of once to "
          "each rank. This divides the traffic of a card's port by the number of ranks. An IPv4 "
          "address of 224.0.0.0/4 in the ranks' own network, such as 239.1.1.1; port 28259 unless "
          "given. With UDP sockets only (--fabric), and not with xrt. If a rank does not "
          "receive the group's packets, all ranks leave the group with one warning. Default: send "
          "to each rank.")},
    {"card-deadline", "S", "5",
     "Seconds of silence after which a card's step is repeated over MPI; more than a quarter of "
     "--deadline counts as that quarter. At the start the limit is at least 2 seconds; then the "
     "run begins without the "
     "card.",
     REAL_AT(card_deadline, 0.05, 1e4)},
    {TEXT(
        "fabric", "NAME", "socket", fabric, 0,
        "How packets reach cards: socket (UDP of the system, many packets per call), xdp (AF_XDP, "
        "past the system's network stack: needs root and an Ethernet interface with one receive "
        "queue, one rank and card per interface), or a libfabric provider with datagrams. Cards "
        "answer plain UDP: udp, neither verbs nor efa.")},
    {TEXT("fabric-address", "A", NULL, fabric_address, 0,
          "IPv4 address or interface that packets leave from. Default: the one that routes to the "
          "card.")},

    {GROUP("a card in this machine that adds a node's gradients")},
    {TEXT("node-sum", "cpu|xrt[:BDF]", "cpu", node_sum, 0,
          "The adder inside a node (--algo group-scatter:K with K ranks in all): cpu, the ranks, "
          "or xrt, a card that rank 0 reaches through the Xilinx runtime. A missing, busy or lost "
          "card costs time but changes no bits: the ranks add instead.")},

    {GROUP("machine")},
    {CHOICE("device", "auto|cpu|cuda", "auto", device, 0,
            "Where networks and gradients live. auto: cuda if a GPU is usable, else cpu.")},
    {CHOICE(
        "precision", "fp32|tf32|fp16|bf16|fp16-pure", "fp32", precision, TRAIN_BITS,
        "Format of matrix products and activations with --device cuda. Weights, their "
        "gradients and the optimiser stay fp32. tf32 is PyTorch's default for convolutions; fp32 "
        "is ours, because its results are near the CPU's. On a CPU with AVX512-BF16, bf16 rounds "
        "the operands of matrix products; Winograd convolutions, which are faster, stay fp32 "
        "(unless --conv gemm). fp16-pure: all tensors are fp16; on the CPU each value is rounded "
        "to e5m10 when it is computed.")},
    {CHOICE("reduce-in", "fp16|fp32", "fp16", reduce_in, TRAIN_BITS,
            "With --precision fp16-pure: fp16 also rounds the means over ranks to e5m10 before the "
            "optimiser reads them; fp32 keeps them in fp32.")},
    {TEXT(
        "loss-scale", "S", "auto", loss_scale, TRAIN_BITS,
        "Factor on activation gradients that keeps small ones from underflow, with --precision "
        "fp16, fp16-pure or --quant error=F. none: 1. K: this power of two, from 1 to 16777216, "
        "applied to the loss. dynamic (with --quant, needs overflow=inf): starts at 65536, "
        "halves after a step with inf or nan, doubles after 2000 steps without. "
        "adaptive[:T,every,A,max]: a factor per layer, found anew in every (default: 1) step, so "
        "that a share T (0.001, up to 0.5) of its products underflow; A and max (65504) limit the "
        "product of all factors and each factor. auto: dynamic with fp16, else none.")},
    {CHOICE("conv", "auto|winograd|gemm", "auto", conv, TRAIN_BITS,
            "How the CPU convolves. winograd: 3x3 windows in 2.25 times fewer products; other "
            "windows, and channels that are no multiple of 16, by gemm; needs AVX2. gemm: all by "
            "matrix products of CBLAS. auto: winograd if the CPU can, without --gemm.")},
    {TEXT(
        "gemm", "F[+kahan]", "fp32", gemm, TRAIN_BITS,
        "Emulate matrix units with a narrow accumulator: round every product and every partial "
        "sum to this format, such as e5m10 or e6m9+kahan. Needs --precision fp32, or fp16-pure on "
        "the CPU; not with --conv winograd.")},
    {TEXT("quant", "WHAT=F,...", "none", quant, TRAIN_BITS,
          "Emulate narrow numbers between layers, rounded to nearest after every layer: act=F "
          "(outputs of layers), weight=F (weights as layers read them; the optimiser's stay fp32), "
          "error=F (gradients of outputs). Values that are too large become the largest finite "
          "value, or inf with ,overflow=inf. Needs --precision fp32.")},
    {"threads", "N", "1",
     "Threads for a rank's matrix products; more ranks are faster. More than one may change the "
     "last bits.",
     OPT_INT, AT(threads), 1, 1024, TRAIN_BITS},

    {GROUP("files")},
    {TEXT("log", "FILE", NULL, log, 0,
          "Write JSON lines: one of kind run, one per step, one per epoch, and one of kind end. "
          "--resume cuts the log at the checkpoint and appends to it; it must be the log of the "
          "same run.")},
    {TEXT("stats", "FILE", NULL, stats, 0,
          "Write JSON lines with the effect of narrow floats on a step's gradients, layer by "
          "layer: exponents, underflow, saturation, round-off of the mean, lost weight updates.")},
    {"stats-every", "N", "100",
     "Write --stats for step 1 and each N-th step after it: 1, N+1, 2N+1.",
     SIZE_AT(stats_every, 1, 1e12)},
    {TEXT("receipts", "FILE", NULL, receipts, 0,
          "Write JSON lines with SHA-256 digests of every step: of each rank's codes, and of the "
          "means, the optimiser's states and the weights. A rank whose means, states or weights "
          "differ from the others' ends the run. `narrowcast verify` repeats a step and compares. "
          "On the CPU.")},
    {"verify-every", "N", "0",
     "With --receipts: in every N-th step another rank, drawn by --seed, computes a rank's "
     "gradients again. If they differ, the run ends. 0: never.",
     SIZE_AT(verify_every, 0, 1e12)},
    {TEXT("trace", "FILE", NULL, trace, 0,
          "Write a timeline of all ranks for ui.perfetto.dev or chrome://tracing: computation (on "
          "a CPU by layer), casts, all-reduces with their bytes, and the bytes of each step. It "
          "holds only the end of a long run.")},
    {TEXT("save", "FILE", NULL, save, 0,
          "Write a checkpoint at the end (see also --save-every). After SIGINT, SIGTERM or SIGUSR1 "
          "the run ends after its step, with a checkpoint and exit status 128 + the signal's "
          "number. The file appears only when it is complete.")},
    {"save-every", "N", "0", "Also write the checkpoint after every N steps. 0: only at the end.",
     SIZE_AT(save_every, 0, 1e12)},
    {TEXT("resume", "FILE", NULL, resume, 0,
          "Continue from a checkpoint, with the same bits as an uninterrupted run. The number of "
          "ranks and all options that influence bits must be the same. With --schedule const or "
          "exp the run may be made longer.")},
    {TEXT(
        "init", "FILE", NULL, init, 0,
        "Start with the weights of a checkpoint, also of another network or data set: layers with "
        "an equal name and shape are taken, and a line names the others. Optimiser, batch-norm "
        "statistics, steps and order of images start anew. Not with --resume or --receipts.")},
    {TEXT(
        "predict", "DIR", NULL, predict, 0,
        "After the last test write the predicted label map of each test image as DIR/NUMBER.png. A "
        "pixel's value is its class, and the palette has the colours of Pascal VOC. Each rank "
        "writes its images. DIR must be new or empty.")},
    {TEXT("dump-gradients", "DIR", NULL, dump_dir, 0,
          "Write every rank's gradients before the all-reduce to DIR/stepNNNNNN.rankR.f32. Rank 0 "
          "also writes the weights, DIR/stepNNNNNN.weights.f32, and layers.txt and meta.txt.")},
    {"dump-steps", "N", "100", "Number of steps to dump.", SIZE_AT(dump_steps, 1, 1e9)},
    {"dump-first", "N", "0", "First step to dump, counted from 0.", SIZE_AT(dump_first, 0, 1e12)},

    /* the last EMULATE_ROWS rows are only for emulate */
    {GROUP("emulated ranks")},
    {"ranks", "P", "8",
     "Number of ranks that take turns in this process. Gradients, sums and bits are those of P "
     "real ranks.",
     INT_AT(ranks, 1, 4096)},
    {CHOICE(
        "memory", "full|low", "full", memory, 0,
        "low: compute the gradients of each rank twice in a step, once for the exponents and "
        "once for codes that are added at once. Memory then does not grow with P, except for "
        "statistics. The bits are the same; the bytes sent are not counted. Needs exact sums, or "
        "sums in rank order (direct, gather, gather-sum), of minifloat, ternary or relgrad. Not "
        "with --stats and --receipts.")},
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
    .about = "Trains a network on the ranks of an MPI job. Each rank computes the gradients of its "
             "share of a batch. The ranks exchange them as narrow floats, add them, and all take "
             "the same step. Without options: a small residual network on generated images, "
             "about half a minute on two cores. The exit status is 0 if the training has ended, "
             "128 + N after signal N, else 1.",
    .examples = "  host/ranks.sh 4 build/narrowcast train\n"
                "  host/ranks.sh 4 build/narrowcast train --format e5m2 --scale none \\\n"
                "      --algo ring --sum nearest\n"
                "  host/ranks.sh 4 build/narrowcast train --offload sim\n"
                "  host/ranks.sh 4 build/narrowcast train --data idx:DIR --epochs 5 \\\n"
                "      --train-samples 20000 --log run.jsonl\n"
                "  host/ranks.sh 2 build/narrowcast train --model caffenet --image 64 \\\n"
                "      --data idx:DIR --lr 0.01 --bias-lr 2 --schedule poly:0.5\n"
                "  host/ranks.sh 4 build/narrowcast train --save run.ckpt --save-every 100\n"
                "  host/ranks.sh 4 build/narrowcast train --resume run.ckpt\n",
    .opts = opts,
    .n_opts = N_ROWS - EMULATE_ROWS,
    .more = list_tables,
};

const struct opt_command emulate_command = {
    .name = "emulate",
    .args = "",
    .about = "Trains like P ranks, but in one process that runs them in turn. Weights, bytes and "
             "checkpoints (except for the id of the run) equal those of `narrowcast train` on P "
             "ranks, bit for bit. All P ranks run the algorithm and copy memory where real ranks "
             "send. Where a card is named, they add as it would. Takes all options of train except "
             "the algorithm native and those without a meaning in one process: --deadline, "
             "--card-slots, --card-group, --card-deadline, --fabric, --fabric-address, --xclbin, "
             "--trace, --blocks, --shard, "
             "--gather and --elastic.",
    .examples = "  build/narrowcast emulate --ranks 256 --model resnet20 --batch 8192 \\\n"
                "      --data cifar10:DIR --format e5m2 --algo group-master:16 --sum nearest\n"
                "  build/narrowcast emulate --ranks 4 --save run.ckpt\n"
                "  host/ranks.sh 4 build/narrowcast train --resume run.ckpt\n",
    .opts = opts,
    .n_opts = N_ROWS,
    .shared = "train",
    .n_shared = N_ROWS - EMULATE_ROWS,
    .more = list_tables,
};

void train_forget_formats(struct train_options *o, const struct opt_parsed *p)
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
    if (!parsed->help)
        TRY(train_job_id_check());
    read.optim.kind = optim_find(read.optimizer);
    TRY(train_options_check(command, &read, parsed));
    if (read.steps)
        read.epochs = 0;
    train_forget_formats(&read, parsed);
    *o = read;
    return 0;
}

void train_options_lines(const struct train_options *o, struct text *to)
{
    char number[OPT_NUMBER];
    opt_lines(&train_command, o, TRAIN_BITS, to);
    for (int i = 0; i < train_command.n_opts; i++) {
        const struct opt *row = &opts[i];
        const bool taken = row->mark == TRAIN_TAKEN && optim_takes(o->optim.kind, row->name);
        const bool later =
            row->mark == TRAIN_LATER && strcmp(opt_get(row, o, number), row->fallback);
        if (taken || later)
            text_add(to, "%s=%s\n", row->name, opt_get(row, o, number));
    }
}
