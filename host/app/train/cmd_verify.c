/* cmd_verify.c : runs `narrowcast verify`: checks the file of --receipts, and repeats a training up
 * to a step with emulated ranks, whose digests receipts.c compares. */
#include "app/app.h"
#include "app/train/checkpoint.h"
#include "app/train/receipts.h"
#include "app/train/train.h"
#include "base/buf.h"
#include "base/err.h"
#include "comm/virtual/comm_virtual.h"
#include <inttypes.h>
#include <stdlib.h>

struct verify_options {
    uint64_t step, epoch, block;
    const char *resume, *root;
};

#define AT(field) offsetof(struct verify_options, field)
static const struct opt opts[] = {
    {"epoch", "E", NULL, "Check the lines of this epoch, counted from 1, against its root.",
     SIZE_AT(epoch, 1, 1e12)},
    {"root", "HEX", NULL, "With --epoch: the root must be this one, which you have kept.",
     TEXT_AT(root)},
    {"step", "K", NULL,
     "Repeat the training up to step K, counted from 1, and compare its codes, means, states and "
     "weights, and those of the steps before it.",
     SIZE_AT(step, 1, 1e12)},
    {"block", "B", NULL,
     "With --step: of step K compare only the codes of this rank or block, counted from 0.",
     SIZE_AT(block, 0, 4095)},
    {"resume", "FILE", NULL,
     "With --step: begin at this checkpoint of the training instead of its first step.",
     TEXT_AT(resume)},
};

static const struct opt_command command = {
    .name = "verify",
    .args = "FILE",
    .min_args = 1,
    .max_args = 1,
    .about = "Checks the receipts of a training (train --receipts FILE) on one core. It needs only "
             "the file and the data, which must be where the training found them, and for fewer "
             "steps a checkpoint. The first step, rank and layer with another digest is named.",
    .examples = "  host/ranks.sh 4 build/narrowcast train --model lenet5 --receipts run.receipts\n"
                "  build/narrowcast verify run.receipts --epoch 1\n"
                "  build/narrowcast verify run.receipts --step 5 --block 2\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

/* what the file says */
struct past {
    int ranks;
    uint64_t epoch; /* of the step */
    bool has_root;  /* of that epoch */
    char *text, *copy;
};

static int read_options(const struct jsonl_in *in, struct past *p)
{
    enum { ROOM = 6 * CHECKPOINT_TEXT }; /* an escape has up to 6 bytes */
    const uint64_t ranks = receipt_number(in, "ranks");
    TRY(receipt_first_options(in, p->text));
    p->text = buf_alloc(ROOM);
    if (!p->text)
        return -ENOMEM;
    if (!jsonl_in_raw(in, "text", p->text, ROOM) || ranks < 1 || ranks > 4096)
        return ERR(-EINVAL, "cannot verify '%s', line %" PRIu64 ": it lacks the options", in->path,
                   in->line_no);
    jsonl_in_plain(p->text);
    p->ranks = (int)ranks;
    return 0;
}

static int read_past(const char *path, uint64_t step, struct past *p)
{
    struct jsonl_in in;
    int rc = jsonl_in_open(&in, path);
    while (rc == 0 && (rc = jsonl_in_next(&in)) > 0) {
        rc = 0;
        if (jsonl_in_is(&in, "options"))
            rc = read_options(&in, p);
        else if (jsonl_in_is(&in, "step") && receipt_number(&in, "step") == step)
            p->epoch = receipt_number(&in, "epoch");
        else if (jsonl_in_is(&in, "root"))
            p->has_root = p->has_root || (p->epoch && receipt_number(&in, "epoch") == p->epoch);
    }
    jsonl_in_close(&in);
    if (rc == 0 && !p->ranks)
        rc = ERR(-EINVAL, "cannot verify '%s': it is not a file of --receipts", path);
    if (rc == 0 && !p->epoch)
        rc = ERR(-EINVAL, "cannot verify '%s': it has no step %" PRIu64, path, step);
    return rc;
}

/* Sets an option from a line NAME=VALUE. An empty value is one that was not given. Other lines are
 * facts, which receipts_open_wanted() compares. So are options that a true file lacks (those
 * without a mark): they may name files to write. */
static int set_option(struct train_options *o, struct opt_parsed *given, char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return 0;
    *value++ = '\0';
    if (!strcmp(line, CHECKPOINT_STEPS))
        return opt_set(&train_command.opts[opt_find(&train_command, "steps", 5)], value, o);
    const int row = opt_find(&train_command, line, strlen(line));
    if (row < 0 || !train_command.opts[row].mark || !*value)
        return 0;
    given->given[row] = true;
    return opt_set(&train_command.opts[row], value, o);
}

/* The options of `emulate`, whose ranks have the bits of real ranks and of blocks. */
static int options_of(struct past *p, uint64_t step, struct train_options *o)
{
    struct opt_parsed given = {0};
    TRY(train_options_read(&emulate_command, 0, NULL, o, &given));
    o->steps = (int64_t)step; /* unless the schedule depends on the number */
    o->epochs = 0;
    p->copy = strdup(p->text);
    if (!p->copy)
        return ERR(-ENOMEM, "cannot allocate %zu bytes", strlen(p->text));
    char *at = NULL;
    for (char *line = strtok_r(p->copy, "\n", &at); line; line = strtok_r(NULL, "\n", &at))
        TRY(set_option(o, &given, line));
    train_forget_formats(o, &given);
    o->optim.kind = optim_find(o->optimizer);
    o->ranks = p->ranks;
    o->device = "cpu";
    /* cards change no bits, and are not contacted */
    o->offload = !strcmp(o->algo, "offload") ? "sim:c" : "off";
    return 0;
}

struct verifying {
    const struct train_options *o;
    struct train *ranks;
};

static int run_rank(struct comm *c, void *ctx)
{
    struct verifying *v = ctx;
    struct train *t = &v->ranks[comm_rank(c)];
    t->o = v->o;
    t->comm = c;
    t->owner = comm_rank(c) > 0 ? v->ranks : NULL;
    err_hold();
    int rc = train_open(t);
    if (rc == 0)
        rc = train_redo(t, v->o->wanted->step);
    err_release(false);
    return rc;
}

static int repeat(const struct train_options *o)
{
    struct verifying v = {.o = o};
    struct comm_virtual *ranks;
    TRY(comm_virtual_open((int)o->ranks, NULL, &ranks));
    v.ranks = buf_alloc((size_t)o->ranks * sizeof *v.ranks);
    const int rc = v.ranks ? comm_virtual_run(ranks, run_rank, &v) : -ENOMEM;
    for (int64_t i = o->ranks - 1; i >= 0 && v.ranks; i--)
        train_close(&v.ranks[i]);
    free(v.ranks);
    comm_virtual_close(ranks);
    return rc;
}

static int check_epoch(const char *path, uint64_t epoch, const char *wanted)
{
    struct receipt_root r;
    TRY(receipt_check_root(path, epoch, &r));
    if (r.end != r.last)
        return ERR(-EBADMSG,
                   "'%s': epoch %" PRIu64 " has a root of steps %" PRIu64 " to %" PRIu64
                   ", none of those up to %" PRIu64
                   ": its training was interrupted, or the line was removed",
                   path, epoch, r.first, r.last, r.end);
    if (wanted && strcmp(wanted, r.root) != 0)
        return ERR(-EBADMSG, "'%s': the root of epoch %" PRIu64 " is %s, not %s", path, epoch,
                   r.root, wanted);
    printf("epoch %" PRIu64 ": root %s of steps %" PRIu64 " to %" PRIu64 "\n", epoch, r.root,
           r.first, r.last);
    return 0;
}

static int check_step(const char *path, const struct verify_options *o, bool one, struct past *p)
{
    struct train_options options;
    struct receipt_root root;
    TRY(read_past(path, o->step, p));
    if (p->has_root) /* the step may come after the last root */
        TRY(receipt_check_root(path, p->epoch, &root));
    if (one && o->block >= (uint64_t)p->ranks)
        return ERR(-EINVAL,
                   "--block %" PRIu64 ": the training had %d ranks or blocks, counted from 0",
                   o->block, p->ranks);
    const struct receipts_wanted wanted = {
        .path = path, .step = o->step, .block = one ? (int)o->block : -1, .options = p->text};
    TRY(options_of(p, o->step, &options));
    options.resume = o->resume;
    options.wanted = &wanted;
    TRY(repeat(&options));
    if (one)
        printf("step %" PRIu64 ": the codes of block %" PRIu64 " are those of the receipt\n",
               o->step, o->block);
    else
        printf("step %" PRIu64 ": codes, means, states and weights are those of the receipt\n",
               o->step);
    return 0;
}

int cmd_verify(int argc, char **argv)
{
    struct verify_options o = {0};
    struct opt_parsed p = {0};
    struct past past = {0};
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help)
        return opt_help(&command, &p, stdout), 0;
    if (!o.step == !o.epoch)
        return ERR(-EINVAL, "verify needs either --step K or --epoch E");
    if (!o.step && (opt_given(&command, &p, "block") || o.resume))
        return ERR(-EINVAL, "verify: --block and --resume need --step K");
    if (!o.epoch && o.root)
        return ERR(-EINVAL, "verify: --root needs --epoch E");
    const int rc = o.epoch ? check_epoch(p.args[0], o.epoch, o.root)
                           : check_step(p.args[0], &o, opt_given(&command, &p, "block"), &past);
    free(past.text);
    free(past.copy);
    return rc;
}
