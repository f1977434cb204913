/* cmd_doctor.c : runs `narrowcast doctor`. */
#include "app/app.h"
#include "app/doctor/doctor.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "comm/mpi/comm_library.h"
#include "job/choice.h"
#include <stdlib.h>
#include <string.h>

struct doctor_options {
    const char *offload, *fabric;
    double deadline, card_deadline;
    bool json;
};

#define AT(field) offsetof(struct doctor_options, field)
static const struct opt opts[] = {
    {"offload", "O", "auto",
     "Also check cards: HOST:PORT, or any value of train's --offload. auto: the cards named by "
     "NARROWCAST_OFFLOAD, if any.",
     TEXT_AT(offload)},
    {"fabric", "NAME", "socket", "How packets reach cards: see train's --fabric.", TEXT_AT(fabric)},
    {"card-deadline", "S", "3", "Seconds of silence after which a card counts as failed.",
     REAL_AT(card_deadline, 0.05, 1e4)},
    {"deadline", "S", "60", "Seconds to wait for the other ranks before failing.",
     REAL_AT(deadline, 0.1, 1e6)},
    {"json", NULL, NULL, "Print one JSON object per finding.", FLAG_AT(json)},
};

static void list_checks(FILE *to)
{
    int at = fprintf(to, "\nchecks\n ");
    for (const struct doctor_check *c = doctor_checks; c->name; c++) {
        at += fprintf(to, " %s,", c->name);
        if (at > 70)
            at = fprintf(to, "\n ");
    }
    fprintf(to, " cards\n");
}

static const struct opt_command command = {
    .name = "doctor",
    .args = "",
    .about = "Checks the set-up of this machine or, started like a training, of a cluster. It "
             "prints one line per check (ok, warn or fail) with a command that repairs it. The "
             "exit status is 1 if a check failed, else 0.",
    .examples = "  build/narrowcast doctor\n"
                "  host/ranks.sh 4 build/narrowcast doctor --json\n"
                "  mpirun -H node1,node2 build/narrowcast doctor --offload udp://10.0.0.9:4000\n",
    .opts = opts,
    .n_opts = sizeof opts / sizeof *opts,
    .more = list_checks,
};

static int print(const char *check, const struct doctor_finding *f, bool json)
{
    static const char *const grades[] = {"ok", "warn", "fail"};
    if (!json) {
        printf("%-5s %-13s %s%s%s\n", grades[f->grade], check, f->what, f->mend[0] ? "; fix: " : "",
               f->mend);
        return 0;
    }
    struct jsonl j;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "finding");
    jsonl_text(&j, "grade", grades[f->grade]);
    jsonl_text(&j, "check", check);
    jsonl_text(&j, "what", f->what);
    jsonl_text(&j, "mend", f->mend[0] ? f->mend : NULL);
    return jsonl_end(&j);
}

/* Returns 1 if a check failed. */
static int print_all(const struct doctor *d, const struct doctor_finding *cards, bool json)
{
    bool failed = cards->grade == DOCTOR_FAIL;
    for (const struct doctor_check *c = doctor_checks; c->name; c++) {
        struct doctor_finding f = {0};
        c->look(d, &f);
        failed |= f.grade == DOCTOR_FAIL;
        TRY(print(c->name, &f, json));
    }
    TRY(print("cards", cards, json));
    return failed;
}

/* All ranks call it. Returns 1 if a check failed. */
static int examine(struct comm *c, int level, const struct doctor_options *o)
{
    struct info mine = {.n = 0};
    struct doctor d;
    struct doctor_finding cards = {0};
    const size_t where_bytes = strlen(o->offload) + sizeof "udp://";
    char *where = buf_alloc(where_bytes);
    if (!where)
        return -ENOMEM;
    snprintf(where, where_bytes, "%s%s", *o->offload >= '0' && *o->offload <= '9' ? "udp://" : "",
             o->offload);
    doctor_facts(&mine, level);
    int rc = doctor_gather(c, &mine, &d);
    if (rc == 0)
        rc = doctor_card(c, where, strcmp(o->fabric, "socket") ? o->fabric : NULL, o->card_deadline,
                         &cards);
    const int printed = rc == 0 && comm_rank(c) == 0 ? print_all(&d, &cards, o->json) : 0;
    int8_t failed = printed != 0;
    if (rc == 0)
        rc = comm_max_i8(c, &failed, 1);
    doctor_close(&d);
    free(where);
    return rc < 0 ? rc : printed < 0 ? printed : failed;
}

static int check_cards(const struct doctor_options *o, const struct opt_parsed *p)
{
    static const char *const names[] = {"fabric", "card-deadline"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (opt_given(&command, p, names[i]) && !choice_named_cards(o->offload))
            return choice_no_card(names[i]);
    return 0;
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_options o = {0};
    struct opt_parsed parsed;
    struct comm *c;
    TRY(opt_parse(&command, argc, argv, &o, &parsed));
    if (parsed.help)
        return opt_help(&command, &parsed, stdout), 0;
    TRY(check_cards(&o, &parsed));
    int rank;
    comm_library_started(&rank);
    if (rank == 0)
        doctor_warn_early();
    const int level = comm_begin(true);
    TRY(level);
    TRY(comm_open(o.deadline, &c));
    const int rc = examine(c, level, &o);
    comm_close(c);
    return rc;
}
