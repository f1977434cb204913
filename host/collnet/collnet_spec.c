/* collnet_spec.c : reads the options in the environment, and prints to NCCL's log. */
#include "collnet/collnet.h"
#include "base/inet.h"
#include "base/text.h"
#include "offload/offload.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    nccl_log *log;
    bool read, on;
    struct collnet_spec spec;
} setup = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void to_nccl(void *arg, bool error, const char *line)
{
    (void)arg, (void)error;
    if (setup.log)
        setup.log(NCCL_LOG_WARN, NCCL_ABOUT, __FILE__, __LINE__, "NET/narrowcast: %s", line);
}

struct err_lines collnet_lines(void)
{
    return (struct err_lines){.to = to_nccl};
}

void collnet_inform(const char *format, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (setup.log)
        setup.log(NCCL_LOG_INFO, NCCL_ABOUT, __FILE__, __LINE__, "NET/narrowcast: %s", line);
}

int collnet_result(int rc)
{
    switch (rc) {
    case 0:
        return NCCL_SUCCESS;
    case -EINVAL:
    case -EPROTO:
        return NCCL_INVALID_USAGE;
    case -ETIMEDOUT:
    case -ECONNRESET:
    case -EPIPE:
        return NCCL_REMOTE_ERROR;
    default:
        return NCCL_SYSTEM_ERROR;
    }
}

/* The environment may change later. */
static const char *word(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? strdup(text) : NULL;
}

static int read_deadline(double *out)
{
    const char *text = getenv("NARROWCAST_DEADLINE");
    double s = 600;
    if (text && *text && !(number_whole(text, &s) && s > 0 && s < 1e9))
        return ERR(-EINVAL, "bad NARROWCAST_DEADLINE \"%s\": need a number of seconds above 0",
                   text);
    *out = s;
    return 0;
}

static int find_nic(const char *cards)
{
    static const char heads[][7] = {"udp://", "eth://"};
    enum { HEAD = sizeof heads[0] - 1 };
    uint32_t first_ip = 0;
    uint16_t first_port = 0;
    if (!cards)
        return ERR(-ENOENT, "no card is named, so all-reduces do not use one: set "
                            "NARROWCAST_OFFLOAD=udp://HOST:PORT on all ranks");
    for (const char *at = cards, *comma; at; at = comma ? comma + 1 : NULL) {
        char address[256];
        uint32_t ip;
        uint16_t port;
        comma = strchr(at, ',');
        if (strncmp(at, heads[0], HEAD) && strncmp(at, heads[1], HEAD))
            return ERR(-EINVAL,
                       "cannot use NARROWCAST_OFFLOAD \"%s\": need udp://HOST:PORT or "
                       "eth://HOST:PORT, separated by commas",
                       cards);
        snprintf(address, sizeof address, "%.*s", (int)strcspn(at, ",") - HEAD, at + HEAD);
        TRY(inet_parse(address, &ip, &port));
        if (at == cards) {
            first_ip = ip;
            first_port = port;
        }
    }
    TRY(offload_check_names(cards));
    return collnet_find_nic(first_ip, first_port);
}

static int read_spec(struct collnet_spec *w)
{
    *w = (struct collnet_spec){.cards = word("NARROWCAST_OFFLOAD"),
                               .format = word("NARROWCAST_FORMAT"),
                               .scale = word("NARROWCAST_SCALE"),
                               .round = word("NARROWCAST_ROUND"),
                               .out_format = word("NARROWCAST_OUT_FORMAT")};
    TRY(find_nic(w->cards));
    TRY(read_deadline(&w->deadline_s));
    if (!w->format && (w->scale || w->round || w->out_format))
        return ERR(-EINVAL, "cannot use NARROWCAST_%s without a format: set NARROWCAST_FORMAT",
                   w->scale   ? "SCALE"
                   : w->round ? "ROUND"
                              : "OUT_FORMAT");
    for (int k = w->format ? COLLNET_WORDS : COLLNET_E4M3FN; k < COLLNET_KINDS; k++)
        TRY(collnet_check(w, (enum collnet_kind)k));
    return 0;
}

void collnet_begin(nccl_log *log)
{
    struct err_lines lines = collnet_lines(), *before;
    pthread_mutex_lock(&setup.lock);
    setup.log = log;
    if (!setup.read) {
        before = err_turn(&lines);
        setup.on = read_spec(&setup.spec) == 0;
        err_turn(before);
    }
    setup.read = true;
    pthread_mutex_unlock(&setup.lock);
}

const struct collnet_spec *collnet_spec(void)
{
    return setup.on ? &setup.spec : NULL;
}
