/* conform_card.c : plays a vector of a card: registers its job and does its events. */
#include "app/conform/conform_script.h"
#include "base/err.h"
#include <stdlib.h>
#include <sys/random.h>

/* Opens the sockets of all addresses that the events name. */
static int open_ends(struct conform_script *s, const char *events)
{
    uint32_t ip;
    uint16_t port;
    for (int r = 0; r < s->n_ranks; r++)
        TRY(conform_ends_open(&s->ends, s->ranks[r].ip, s->ranks[r].port));
    for (const char *event; (event = jsonl_item(&events));) {
        const char *from = jsonl_member(event, "from"), *out = jsonl_member(event, "out");
        if (from && conform_pair(from, &ip, &port))
            TRY(conform_ends_open(&s->ends, ip, port));
        for (const char *to; out && (to = jsonl_item(&out));)
            if (conform_pair(to, &ip, &port))
                TRY(conform_ends_open(&s->ends, ip, port));
    }
    return 0;
}

/* ---- the job ---- */

struct told {
    uint64_t index, ranks, base, slots, in_fmt, out_fmt, key, group, group_port;
};

static bool read_job(struct conform_script *s, const char *job, struct told *t)
{
    const struct {
        const char *name;
        uint64_t *to, most;
    } parts[] = {{"index", &t->index, 31},
                 {"ranks", &t->ranks, PKT_MAX_RANKS},
                 {"slot_base", &t->base, UINT16_MAX},
                 {"slots", &t->slots, UINT16_MAX},
                 {"in_fmt", &t->in_fmt, UINT8_MAX},
                 {"out_fmt", &t->out_fmt, UINT8_MAX},
                 {"key", &t->key, UINT64_MAX},
                 {"group", &t->group, UINT32_MAX},
                 {"group_port", &t->group_port, UINT16_MAX}};
    if (!job || !jsonl_member(job, "addresses"))
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!conform_number(jsonl_member(job, parts[i].name), parts[i].to) ||
            *parts[i].to > parts[i].most)
            return false;
    const char *list = jsonl_member(job, "addresses");
    for (const char *pair; (pair = jsonl_item(&list)); s->n_ranks++)
        if (s->n_ranks == PKT_MAX_RANKS ||
            !conform_pair(pair, &s->ranks[s->n_ranks].ip, &s->ranks[s->n_ranks].port))
            return false;
    return t->ranks == (uint64_t)s->n_ranks && t->ranks > 0;
}

/* Returns CONFORM_NOT_RUN if the card has no room for the job, or other formats. */
static int fits(struct conform_script *s, const struct told *t)
{
    const struct fpga_caps *caps = &s->c->caps;
    const char *wanted = jsonl_in_value(s->in, "cap_formats");
    uint64_t formats;
    char why[64] = "";
    if (t->index >= caps->jobs)
        snprintf(why, sizeof why, "the card has %u jobs", caps->jobs);
    else if (t->base + t->slots > caps->slots)
        snprintf(why, sizeof why, "the card has %u slots", caps->slots);
    else if (t->ranks > caps->ranks)
        snprintf(why, sizeof why, "the card takes %u ranks", caps->ranks);
    else if (t->group && !caps->groups)
        snprintf(why, sizeof why, "the card cannot send to groups");
    else if (wanted && conform_number(wanted, &formats) && formats != caps->formats)
        snprintf(why, sizeof why, "the card's CAP_FORMATS is %08x, not %08x", caps->formats,
                 (unsigned)formats);
    if (!*why)
        return 0;
    conform_fails(s, why, NULL, NULL, NULL);
    return CONFORM_NOT_RUN;
}

static int start(struct conform_script *s, const struct told *t)
{
    struct conform *c = s->c;
    const struct card_fit fit = {.in_fmt = (uint32_t)t->in_fmt, .out_fmt = (uint32_t)t->out_fmt};
    struct fpga_rank ranks[PKT_MAX_RANKS], group = {0};
    const struct conform_end *end = conform_ends_find(&s->ends, (uint32_t)t->group, 0);
    for (int r = 0; r < s->n_ranks; r++) {
        const struct conform_end *of =
            conform_ends_find(&s->ends, s->ranks[r].ip, s->ranks[r].port);
        ranks[r] = (struct fpga_rank){of->real_ip, of->real_port};
    }
    if (t->group && end)
        group = (struct fpga_rank){end->real_ip, end->real_port};
    if (getrandom(&s->mask, sizeof s->mask, 0) != sizeof s->mask)
        return ERR(-EIO, "cannot make a key: the system has no random numbers");
    s->mask |= 1u << 31; /* no key of a vector becomes 0 */
    s->jobs_used = 1u << t->index;
    s->job = (struct fpga_job){t->key ^ s->mask, (uint32_t)t->index, (uint32_t)t->base,
                               (uint32_t)t->slots};
    const int rc = fpga_job_start_as(&c->card, &c->caps, &fit, ranks, s->n_ranks, &group,
                                     CONFORM_CONTROL_S, &s->job);
    if (rc == -EBUSY && c->counted)
        return conform_fails(s, "the job's registration (R114)", "JOB_COMMIT", "refused", "done");
    if (rc == -EBUSY)
        return ERR(rc, "%s: conform needs a card without other jobs", c->card.why);
    return rc ? ERR(rc, "%s", c->card.why) : 0;
}

/* Stops all jobs of the vector. A job that does not run, or belongs to another host, refuses it. */
static int stop(struct conform_script *s)
{
    struct fpga *card = &s->c->card;
    for (uint32_t i = 0; i < 32; i++) {
        const struct fpga_job job = {.index = i};
        const int rc = s->jobs_used >> i & 1 ? fpga_job_stop(card, &job, CONFORM_CONTROL_S) : 0;
        if (rc)
            return ERR(rc, "%s", card->why);
    }
    return 0;
}

/* ---- events ---- */

static bool latches(const char *events)
{
    uint64_t at;
    for (const char *event; (event = jsonl_item(&events));) {
        const char *read = jsonl_member(event, "read");
        if (read && conform_number(jsonl_item(&read), &at) && at == REG_COUNTER_LO)
            return true;
    }
    return false;
}

static int play(struct conform_script *s, const char *events)
{
    TRY(conform_counters(s, s->latched));
    for (const char *event; (event = jsonl_item(&events));) {
        s->fault->event++;
        const int rc =
            jsonl_member(event, "frame") ? conform_exchange(s, event) : conform_register(s, event);
        if (rc)
            return rc;
    }
    return 0;
}

int conform_card(struct conform *c, const struct jsonl_in *in, struct conform_fault *fault)
{
    const char *events = jsonl_in_value(in, "events"), *job = jsonl_in_value(in, "job");
    struct told told;
    struct conform_script *s = calloc(1, sizeof *s);
    if (!s)
        return ERR(-ENOMEM, "cannot run a vector: no memory");
    *s = (struct conform_script){.c = c, .in = in, .fault = fault};
    s->ends.card_ip = c->card_ip;
    s->ends.card_port = c->card_port;
    int rc = events && read_job(s, job, &told) ? fits(s, &told) : conform_malformed(in);
    if (!rc)
        rc = open_ends(s, events);
    if (!rc)
        rc = start(s, &told);
    if (!rc) {
        s->own_latch = latches(events);
        rc = play(s, events);
    }
    if (rc >= 0 && s->jobs_used) {
        const int stopped = stop(s);
        rc = stopped ? stopped : rc;
    }
    conform_ends_close(&s->ends);
    free(s);
    return rc;
}
