/* sim_counters.c : reads and prints counters. */
#include "app/card/sim_counters.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/jsonl.h"
#include "base/text.h"
#include "hls/card/lease.h"
#include "offload/card/fpga_counters.h"
#include "offload/card/fpga_link.h"
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 3000, OPS = FPGA_COUNTER_OPS, WIRE_BYTES = 2048 };

struct counts {
    uint64_t of[REG_COUNTERS], clocks, beats_in, beats_out;
    bool timed;            /* clocks and beats are known */
    char wire[WIRE_BYTES]; /* "name value" lines of the process around the card */
};

static const struct {
    const char *name, *what;
} counters[REG_COUNTERS] = {
#define COUNTER(NAME, index, what) [index] = {#NAME, what},
#include "hls/card/regs.def"
};

/* of the process around the card; names that explain themselves are missing */
static const struct {
    const char *name, *what;
} around[] = {
    {"controllers", "connections and leases that control the card"},
    {"frames_in", "frames that the card took"},
    {"busy_us", "microseconds of work"},
    {"clock_hz", "simulated clocks per second of work; 0: the engine counts none"},
    {"queue_full", "frames lost because too many waited for the card"},
    {"lines_left_out", "warnings that were not printed"},
    {"leases", "hosts that control the card, besides this reader"},
    {"leases_expired", "hosts that stopped renewing their lease"},
    {"control_malformed", "control datagrams that were no valid request"},
    {"control_busy", "control datagrams lost because another was being worked on"},
    {"datagrams_empty", "datagrams without a frame"},
    {"datagrams_out_full", "frames lost because too many waited to be sent"},
    {"datagrams_out_refused", "frames that the system did not send"},
    {"in_dropped", "frames to the card lost by --drop"},
    {"in_repeated", "by --dup"},
    {"in_reordered", "by --reorder"},
    {"in_delay_full", "lost because too many were delayed"},
    {"out_dropped", "frames from the card lost by --drop"},
    {"out_repeated", "by --dup"},
    {"out_reordered", "by --reorder"},
    {"out_delay_full", "lost because too many were delayed"},
    {"tap_asked", "ARP requests sent"},
    {"tap_full", "packets lost because the interface was full"},
};

static const char *what_is(const char *name)
{
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        if (!strcmp(around[i].name, name))
            return around[i].what;
    return "";
}

static int connect_to(const char *where)
{
    uint32_t ip;
    uint16_t port;
    TRY(inet_parse(where, &ip, &port));
    struct deadline d = deadline_in(clock_s(), WAIT_MS / 1e3);
    const int fd = inet_connect(ip, port, &d);
    return fd >= 0 ? fd : ERR(fd, "cannot reach a card at %s: %s", where, strerror(-fd));
}

static int read_counters(struct fpga_link *link, double until, struct counts *c)
{
    struct fpga_op ops[OPS];
    struct fpga card = {.name = "at this address"};
    size_t done;
    fpga_counter_ops(ops);
    TRY(fpga_link_batch(&card, link, ops, OPS, &done, until - clock_s()));
    return fpga_counter_take(ops, done, c->of);
}

static int ask_all(struct fpga_link *link, double until, struct counts *c)
{
    struct simlink answer;
    TRY(read_counters(link, until, c));
    TRY(fpga_link_ask(link, (struct simlink){.kind = SIMLINK_TIME}, NULL, &answer, until));
    c->clocks = answer.a;
    c->beats_in = answer.b;
    c->beats_out = answer.c;
    c->timed = true;
    TRY(fpga_link_ask(link, (struct simlink){.kind = SIMLINK_WIRE}, NULL, &answer, until));
    const size_t n = answer.bytes < WIRE_BYTES ? answer.bytes : WIRE_BYTES - 1;
    memcpy(c->wire, link->body, n);
    c->wire[n] = 0;
    return 0;
}

/* Subtracts this reader's own lease. */
static int ask_eth(struct fpga *card, struct counts *c)
{
    struct fpga_op ops[OPS], own[] = {{.at = LEASE_REG_LIVE, .read = true},
                                      {.at = LEASE_REG_EXPIRED, .read = true},
                                      {.at = LEASE_REG_MALFORMED, .read = true},
                                      {.at = LEASE_REG_BUSY, .read = true}};
    static const char *const names[] = {"leases", "leases_expired", "control_malformed",
                                        "control_busy"};
    size_t done, n = sizeof own / sizeof *own;
    struct text wire = text_in(c->wire, WIRE_BYTES);
    fpga_counter_ops(ops);
    TRY(card->ops->batch(card, ops, OPS, &done, WAIT_MS * 1e-3));
    TRY(fpga_counter_take(ops, done, c->of));
    TRY(card->ops->batch(card, own, n, &done, WAIT_MS * 1e-3));
    own[0].value = (own[0].value & 0xffff) - 1;
    for (size_t i = 0; i < done; i++)
        text_add(&wire, "%s %u\n", names[i], own[i].value);
    return 0;
}

static bool next_wire(char **at, char **name, char **value)
{
    char *line = strsep(at, "\n"), *space = line ? strchr(line, ' ') : NULL;
    if (!space)
        return false;
    text_clean(line);
    *space = 0;
    *name = line;
    *value = space + 1;
    return true;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static int print_json(struct counts *c)
{
    struct jsonl j;
    char *name, *value;
    jsonl_to(&j, stdout);
    jsonl_begin(&j, "card");
    for (int i = 0; i < REG_COUNTERS; i++)
        jsonl_uint(&j, counters[i].name, c->of[i]);
    if (c->timed) {
        jsonl_uint(&j, "clocks", c->clocks);
        jsonl_uint(&j, "beats_in", c->beats_in);
        jsonl_uint(&j, "beats_out", c->beats_out);
    }
    for (char *at = c->wire; next_wire(&at, &name, &value);)
        if (is_number(value))
            jsonl_number(&j, name, value);
        else
            jsonl_text(&j, name, value);
    return jsonl_end(&j);
}

static int print_table(struct counts *c)
{
    char *name, *value;
    for (int i = 0; i < REG_COUNTERS; i++)
        printf("%-22s %12llu  %s\n", counters[i].name, (unsigned long long)c->of[i],
               counters[i].what);
    if (c->timed)
        printf("%-22s %12llu  %s\n%-22s %12llu  %s\n%-22s %12llu  %s\n", "clocks",
               (unsigned long long)c->clocks, "in which the card was busy", "beats_in",
               (unsigned long long)c->beats_in, "of frames to the card", "beats_out",
               (unsigned long long)c->beats_out, "of frames from the card");
    for (char *at = c->wire; next_wire(&at, &name, &value);) {
        const char *what = what_is(name);
        printf("%-22s %12s%s%s\n", name, value, *what ? "  " : "", what);
    }
    return 0;
}

static int print(struct counts *c, bool json)
{
    return json ? print_json(c) : print_table(c);
}

static int by_datagrams(const char *where, bool json)
{
    struct fpga card = {0};
    struct counts c = {0};
    TRY(fpga_check_name(where));
    int rc = fpga_open(&card, where, NULL, WAIT_MS * 1e-3);
    if (!rc) {
        rc = ask_eth(&card, &c);
        fpga_close(&card);
    }
    if (rc)
        return ERR(rc, "cannot read the counters: %s",
                   card.why[0] ? card.why : "the card refused the request");
    return print(&c, json);
}

int sim_counters(const char *where, bool json)
{
    struct fpga_link link;
    struct counts c = {0};
    if (!strncmp(where, fpga_ops_eth.prefix, strlen(fpga_ops_eth.prefix)))
        return by_datagrams(where, json);
    const int fd = connect_to(where);
    if (fd < 0)
        return fd;
    const double until = clock_s() + WAIT_MS * 1e-3;
    int rc = fpga_link_open(&link, fd, until);
    if (!rc) {
        rc = ask_all(&link, until, &c);
        fpga_link_close(&link);
    }
    if (rc == -EUSERS)
        return ERR(rc,
                   "the card at %s already has as many control connections as it takes: stop one "
                   "of its other programs",
                   where);
    if (rc)
        return ERR(rc, "no card of this version answers at %s: %s", where, strerror(-rc));
    return print(&c, json);
}
