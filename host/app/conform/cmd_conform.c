/* cmd_conform.c : runs `narrowcast conform`. */
#include "app/app.h"
#include "app/conform/conform_library.h"
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
    const char *card, *library, *vectors, *only;
    double deadline_s;
    bool json;
};

#define AT(field) offsetof(struct conform_options, field)
static const struct opt opts[] = {
    {.name = "what is tested", .type = OPT_GROUP},
    {"card", "udp://HOST:PORT", NULL,
     "A card. It must be free: no other program may use it meanwhile.", TEXT_AT(card)},
    {"library", "FILE", NULL,
     "A shared library with the functions of narrowcast.h, such as build/libnarrowcast.so.",
     TEXT_AT(library)},
    {"vectors", "DIR", NULL,
     "Folder of the vectors' files. Default: the ones installed with this program, or those of the "
     "source tree.",
     TEXT_AT(vectors)},
    {"only", "ID", NULL, "Only vectors whose id begins so, such as card/drop, card/sum or sum/.",
     TEXT_AT(only)},
    {"deadline", "S", NULL,
     "With --card: seconds to wait for an answer, and for a frame to be counted; default 1, a "
     "simulated RTL may need more. With --library: seconds for a vector; default 60.",
     REAL_AT(deadline_s, 0.001, 3600)},
    {"json", NULL, NULL, "Print JSON lines: one for each vector, then the counts.", FLAG_AT(json)},
};

static const struct opt_command command = {
    .name = "conform",
    .args = "",
    .about =
        "Tests whether a card or a library follows the rules of FORMAT.md (tests/conformance in "
        "the sources), with the stored vectors.\n\n"
        "Each vector has one line: passed; or FAILED, the rules that it checks, and the first "
        "field or element that differs; or not run, and why. Exit 0: none failed.\n\n"
        "--card registers each vector's job as a training does, sends the frames in order, and "
        "compares answers, registers and the counters that count each frame. Addresses, ports and "
        "keys of the vectors become those of this host, with new CRCs. The network must not lose "
        "frames: run the command next to the card. On 127.0.0.1 each rank has an IP address of its "
        "own; elsewhere ranks and strangers differ in ports only. Rules of leases (R122 to R126) "
        "are not tested.\n\n"
        "--library casts with nc_cast() and nc_uncast(), and adds with nc_open_over() and "
        "nc_allreduce() of ranks that are threads. Inputs are the fp32 numbers of a vector's "
        "codes, results are compared as fp32 bits. Each vector has a process of its own: a crash, "
        "or no "
        "end within --deadline, fails this vector only. Not run, as no call of narrowcast.h shows "
        "or takes the values: random words (R11, R18 to R22, R53 to R56, R58, R66); residuals (R62 "
        "to R64); packing, exponents, formats of sums, wide words, words of NVFP4 and MX (R143 to "
        "R145), sums of near ranks (R142), samples and tags by themselves; messages and packets. "
        "Left out of vectors: inf and nan where a library must refuse or skip them (R14, "
        "R30, R36), and blocks' exponents of groups (R137).",
    .examples = "  # a card in software; every line says passed or not run\n"
                "  build/narrowcast sim --listen 127.0.0.1:4711 --engine c &\n"
                "  build/narrowcast conform --card udp://127.0.0.1:4711\n"
                "  # while a card is being written: the checks of arriving frames\n"
                "  build/narrowcast conform --card udp://127.0.0.1:4711 --only card/drop\n"
                "  # exact sums of a library\n"
                "  build/narrowcast conform --library build/libnarrowcast.so --only sum/exact\n",
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
        if (result == CONFORM_FAILED && f->event >= 0)
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
    if (result == CONFORM_FAILED && f->event >= 0)
        printf(": event %d, %s: %s: received %s, wanted %s\n", f->event, f->what, f->field,
               f->received, f->wanted);
    else if (result == CONFORM_FAILED)
        printf(": %s: %s: received %s, wanted %s\n", f->what, f->field, f->received, f->wanted);
    else
        printf("\n");
    fflush(stdout);
    return 0;
}

static int play(struct conform *c, const struct conform_options *o, const char *op,
                const struct jsonl_in *in, struct conform_fault *fault)
{
    return o->library             ? conform_library(o->library, c->deadline_s, in, fault)
           : strcmp(op, "stream") ? conform_card(c, in, fault)
                                  : conform_stream(c, in, fault);
}

static int run_line(struct conform *c, const struct conform_options *o, const struct jsonl_in *in,
                    struct report *r)
{
    struct conform_fault fault = {0};
    char id[64] = "", op[16] = "";
    (void)jsonl_in_text(in, "id", id, sizeof id);
    (void)jsonl_in_text(in, "op", op, sizeof op);
    if ((o->only && strncmp(id, o->only, strlen(o->only)) != 0) || !strcmp(op, "lease"))
        return 0;
    if (progress_due(&r->progress))
        progress_say(&r->progress, "%d vectors: next %s", r->passed + r->failed + r->not_run, id);
    const int result = play(c, o, op, in, &fault);
    if (result < 0)
        return result;
    r->passed += result == CONFORM_PASSED;
    r->failed += result == CONFORM_FAILED;
    r->not_run += result == CONFORM_NOT_RUN;
    return say(r, in, result, &fault);
}

static int run_file(struct conform *c, const struct conform_options *o, const char *folder,
                    const char *name, struct report *r)
{
    char path[PATH_MAX];
    struct jsonl_in in;
    if ((size_t)snprintf(path, sizeof path, "%s/%s.jsonl", folder, name) >= sizeof path)
        return ERR(-ENAMETOOLONG, "--vectors '%s': too long", folder);
    TRY(jsonl_in_open(&in, path));
    int rc;
    while ((rc = jsonl_in_next(&in)) > 0 && (rc = run_line(c, o, &in, r)) == 0)
        ;
    jsonl_in_close(&in);
    return rc;
}

static int run_all(struct conform *c, const struct conform_options *o, struct report *r)
{
    static const char *const card[] = {"card", "control", "step", NULL};
    static const char *const library[] = {
        "formats",      "casts",    "streams", "uncasts",    "packing", "random",    "scales",
        "sums",         "means",    "groups",  "wide_words", "qsgd",    "onebit",    "ternary",
        "quantile",     "step",     "ranks",   "packets",    "tags",    "checksums", "codec_texts",
        "format_bytes", "exchange", "blocks",  "job",        NULL};
    char path[PATH_MAX];
    const char *folder = o->vectors;
    folder = folder ? folder : beside("../share/narrowcast/vectors", path);
    folder = folder == path || o->vectors ? folder : beside("../tests/conformance/vectors", path);
    if (folder != path && !o->vectors)
        return ERR(-ENOENT, "cannot find the vectors: name their folder with --vectors DIR");
    for (const char *const *name = o->library ? library : card; *name; name++)
        TRY(run_file(c, o, folder, *name, r));
    if (!(r->passed + r->failed + r->not_run))
        return ERR(-EINVAL, "no vector of a %s in '%s'%s%s%s", o->library ? "library" : "card",
                   folder, o->only ? " begins with '" : "", o->only ? o->only : "",
                   o->only ? "'" : "");
    return 0;
}

static int open_card(struct conform *c, const char *where)
{
    /* a format that every card adds */
    static const struct card_fit fit = {
        .in_fmt = 0xa5, .out_fmt = 0xa5, .in_width = 8, .out_width = 8, .wider = 8, .ratio = 1};
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
    struct conform c = {.deadline_s = o->deadline_s != 0 ? o->deadline_s : o->library ? 60 : 1};
    struct report r = {0};
    int rc = o->library ? conform_library_check(o->library, c.deadline_s) : open_card(&c, o->card);
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
    if (!o.card == !o.library)
        return ERR(-EINVAL, "conform needs either a card, such as --card udp://127.0.0.1:4711, or "
                            "a library, such as --library build/libnarrowcast.so");
    if (o.card)
        TRY(fpga_check_name(o.card));
    if (o.card && strncmp(o.card, fpga_ops_udp.prefix, strlen(fpga_ops_udp.prefix)) != 0)
        return ERR(-EINVAL, "--card '%s': conform controls cards over TCP: need udp://HOST:PORT",
                   o.card);
    return run(&o);
}
