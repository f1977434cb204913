/* cmd_conform.c : runs `narrowcast conform`. */
#include "app/app.h"
#include "app/conform/conform.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "base/plugin.h"
#include "base/progress.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const double progress_after_s = 2;

struct conform_options {
    const char *card, *vectors, *only;
    double deadline_s;
    bool json;
};

#define AT(field) offsetof(struct conform_options, field)
static const struct opt opts[] = {
    {.name = "what is tested", .type = OPT_GROUP},
    {"card", "udp://HOST:PORT", NULL,
     "The card. It must be free: no other program may use it meanwhile.", TEXT_AT(card)},
    {"vectors", "DIR", NULL,
     "Folder of card.jsonl, control.jsonl and step.jsonl. Default: the ones installed with this "
     "program, or those of the source tree.",
     TEXT_AT(vectors)},
    {"only", "ID", NULL, "Only vectors whose id begins so, such as card/drop or card/sum.",
     TEXT_AT(only)},
    {"deadline", "S", "1",
     "Seconds to wait for an answer, and for a frame to be counted. A simulated RTL may need more.",
     REAL_AT(deadline_s, 0.001, 3600)},
    {"json", NULL, NULL, "Print JSON lines: one for each vector, then the counts.", FLAG_AT(json)},
};

static const struct opt_command command = {
    .name = "conform",
    .args = "",
    .about =
        "Tests whether a card follows the rules of FORMAT.md (tests/conformance in the sources), "
        "with the stored vectors. It registers each vector's job as a training does, sends the "
        "frames in order, and compares answers, registers and the counters that count each frame. "
        "Addresses, ports and keys of the vectors become those of this host, with new CRCs.\n\n"
        "Each vector has one line: passed; or FAILED, the rules that it checks, and the first "
        "field that differs; or not run, as the card lacks what FORMAT.md leaves open. Exit 0: "
        "none failed. The network must not lose frames: run the command next to the card. On "
        "127.0.0.1 each rank has an IP address of its own; elsewhere ranks and strangers differ "
        "in ports only. Rules of leases (R122 to R126) are not tested.",
    .examples = "  # a card in software; every line says passed or not run\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711 --engine c &\n"
                "  build/narrowcast conform --card udp://127.0.0.1:4711\n"
                "  # while a card is being written: the checks of arriving frames\n"
                "  build/narrowcast conform --card udp://127.0.0.1:4711 --only card/drop\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
};

struct report {
    struct jsonl json; /* to stdout; f NULL: text */
    struct progress progress;
    int passed, failed, not_run;
};

static const char *const results[] = {"passed", "FAILED", "not run"};

static int say(struct report *r, const struct jsonl_in *in, int result,
               const struct conform_fault *f)
{
    char id[64] = "?", rules[256] = "";
    (void)jsonl_in_text(in, "id", id, sizeof id);
    (void)jsonl_in_text(in, "rules", rules, sizeof rules);
    progress_clear(&r->progress);
    if (r->json.f) {
        jsonl_begin(&r->json, "vector");
        jsonl_text(&r->json, "id", id);
        jsonl_text(&r->json, "rules", rules);
        jsonl_text(&r->json, "result", result == CONFORM_FAILED ? "failed" : results[result]);
        if (result == CONFORM_FAILED)
            jsonl_int(&r->json, "event", f->event);
        if (result != CONFORM_PASSED)
            jsonl_text(&r->json, result == CONFORM_FAILED ? "at" : "why", f->what);
        if (result == CONFORM_FAILED) {
            jsonl_text(&r->json, "field", f->field);
            jsonl_text(&r->json, "received", f->received);
            jsonl_text(&r->json, "wanted", f->wanted);
        }
        return jsonl_end(&r->json);
    }
    printf("%-8s %-22s %s", results[result], id, rules);
    if (result == CONFORM_NOT_RUN)
        printf(": %s", f->what);
    if (result == CONFORM_FAILED)
        printf(": event %d, %s: %s: received %s, wanted %s", f->event, f->what, f->field,
               f->received, f->wanted);
    printf("\n");
    fflush(stdout);
    return 0;
}

static int run_line(struct conform *c, const struct jsonl_in *in, const char *only,
                    struct report *r)
{
    struct conform_fault fault = {0};
    char id[64] = "", op[16] = "";
    int result;
    (void)jsonl_in_text(in, "id", id, sizeof id);
    (void)jsonl_in_text(in, "op", op, sizeof op);
    if (only && strncmp(id, only, strlen(only)) != 0)
        return 0;
    if (progress_due(&r->progress))
        progress_say(&r->progress, "%d vectors: next %s", r->passed + r->failed + r->not_run, id);
    if (!strcmp(op, "card") || !strcmp(op, "step"))
        result = conform_card(c, in, &fault);
    else if (!strcmp(op, "stream"))
        result = conform_stream(c, in, &fault);
    else
        return 0;
    if (result < 0)
        return result;
    r->passed += result == CONFORM_PASSED;
    r->failed += result == CONFORM_FAILED;
    r->not_run += result == CONFORM_NOT_RUN;
    return say(r, in, result, &fault);
}

static int run_file(struct conform *c, const char *folder, const char *name, const char *only,
                    struct report *r)
{
    char path[PATH_MAX];
    struct jsonl_in in;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return ERR(-ENAMETOOLONG, "--vectors '%s': too long", folder);
    TRY(jsonl_in_open(&in, path));
    int rc;
    while ((rc = jsonl_in_next(&in)) > 0 && (rc = run_line(c, &in, only, r)) == 0)
        ;
    jsonl_in_close(&in);
    return rc;
}

static int run_all(struct conform *c, const struct conform_options *o, struct report *r)
{
    static const char *const names[] = {"card.jsonl", "control.jsonl", "step.jsonl"};
    char path[PATH_MAX];
    const char *folder = o->vectors;
    folder = folder ? folder : beside("../share/narrowcast/vectors", path);
    folder = folder == path || o->vectors ? folder : beside("../tests/conformance/vectors", path);
    if (folder != path && !o->vectors)
        return ERR(-ENOENT, "cannot find the vectors: name their folder with --vectors DIR");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        TRY(run_file(c, folder, names[i], o->only, r));
    if (!(r->passed + r->failed + r->not_run))
        return ERR(-EINVAL, "no vector of a card in '%s'%s%s%s", folder,
                   o->only ? " begins with '" : "", o->only ? o->only : "", o->only ? "'" : "");
    return 0;
}

static int open_card(struct conform *c, const char *where)
{
    static const struct card_fit fit = {.in_width = 8, .out_width = 8, .wider = 8, .ratio = 1};
    int rc = fpga_open(&c->card, where, NULL, CONFORM_CONTROL_S);
    if (!rc)
        rc = fpga_job_caps(&c->card, &fit, 1, &c->caps, CONFORM_CONTROL_S);
    if (!rc)
        rc = c->card.ops->address(&c->card, &c->card_ip, &c->card_port, CONFORM_CONTROL_S);
    return rc ? ERR(rc, "%s", c->card.why) : 0;
}

static int end(struct report *r, bool json)
{
    if (json) {
        jsonl_begin(&r->json, "conform");
        jsonl_int(&r->json, "passed", r->passed);
        jsonl_int(&r->json, "failed", r->failed);
        jsonl_int(&r->json, "not_run", r->not_run);
        TRY(jsonl_end(&r->json));
    } else {
        printf("%d vectors passed, %d failed, %d not run\n", r->passed, r->failed, r->not_run);
    }
    return r->failed > 0; /* exit 1 without a further line */
}

static int run(const struct conform_options *o)
{
    struct conform c = {.deadline_s = o->deadline_s};
    struct report r = {0};
    int rc = open_card(&c, o->card);
    if (!rc) {
        progress_init(&r.progress, !isatty(STDOUT_FILENO)); /* else the lines show it */
        r.progress.next_s = clock_s() + progress_after_s;
        if (o->json)
            jsonl_to(&r.json, stdout);
        rc = run_all(&c, o, &r);
        progress_close(&r.progress);
    }
    fpga_close(&c.card);
    return rc ? rc : end(&r, o->json);
}

int cmd_conform(int argc, char **argv)
{
    struct conform_options o = {0};
    struct opt_parsed p;
    TRY(opt_parse(&command, argc, argv, &o, &p));
    if (p.help) {
        opt_help(&command, &p, stdout);
        return 0;
    }
    if (!o.card)
        return ERR(-EINVAL, "conform needs a card, such as --card udp://127.0.0.1:4711");
    TRY(fpga_check_name(o.card));
    if (strncmp(o.card, fpga_ops_udp.prefix, strlen(fpga_ops_udp.prefix)) != 0)
        return ERR(-EINVAL, "--card '%s': conform controls cards over TCP: need udp://HOST:PORT",
                   o.card);
    return run(&o);
}
