/* offload.c : reads options, opens and closes the card path. */
#include "offload/offload.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/inet.h"
#include "offload/wire/wire_local.h"
#include "offload/xrt/xrt_card.h"
#include "offload/offload_inside.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* longer than reach_s of offload_card_path.c, because no step waits yet */
static const double open_s = 2;

int offload_n_masters(const struct vec_sum *sum, int n_ranks, const struct offload_options *o)
{
    struct vec_sum by_masters, by_card;
    const bool near = card_near(sum, n_ranks, o->near, o->group, &by_masters, &by_card);
    return near ? n_ranks / o->near : n_ranks;
}

int offload_check(const struct vec_sum *sum, int n_ranks, char *why, size_t size)
{
    struct card_fit fit;
    return card_fit_of(sum, n_ranks, "ranks", &fit, why, size);
}

static int check_container(const struct offload *o, const char *card)
{
    char why[XRT_WHY_BYTES];
    const int rc = xrt_card_check(card, o->xclbin[0] ? o->xclbin : NULL, why);
    return rc ? ERR(-EINVAL, "%s", why) : 0;
}

/* names: of OFFLOAD_MAX_CARDS cards, zeroed */
static int split_names(const char *where, char (*names)[OFFLOAD_NAME_BYTES], int *n_names)
{
    *n_names = 0;
    for (const char *at = where, *comma; at; at = comma ? comma + 1 : NULL) {
        comma = strchr(at, ',');
        const size_t n = comma ? (size_t)(comma - at) : strlen(at);
        if (*n_names == OFFLOAD_MAX_CARDS)
            return ERR(-EINVAL, "cannot use more than %d cards: '%s'", OFFLOAD_MAX_CARDS, where);
        if (n >= OFFLOAD_NAME_BYTES)
            return ERR(-EINVAL, "the name of card '%.*s' is too long: need at most %d characters",
                       (int)n, at, OFFLOAD_NAME_BYTES - 1);
        memcpy(names[*n_names], at, n);
        TRY(fpga_check_name(names[*n_names]));
        for (int i = 0; i < *n_names; i++)
            if (!strcmp(names[i], names[*n_names]) && strncmp(names[i], "sim", 3) != 0)
                return ERR(-EINVAL, "card %s is named twice: name each card once", names[i]);
        ++*n_names;
    }
    return 0;
}

int offload_check_names(const char *where)
{
    char names[OFFLOAD_MAX_CARDS][OFFLOAD_NAME_BYTES] = {{0}};
    int n;
    return split_names(where, names, &n);
}

static int read_names(struct offload *o, const char *where)
{
    TRY(split_names(where, o->names, &o->n_cards));
    for (int i = 0; i < o->n_cards; i++) {
        if (strncmp(o->names[i], "xrt", 3) != 0)
            continue;
        if (o->group.ip)
            return ERR(-EINVAL,
                       "card %s needs all ranks' addresses in the table of its shell, so it cannot "
                       "send to a group",
                       o->names[i]);
        if (comm_rank(o->comm) == 0)
            TRY(check_container(o, o->names[i]));
    }
    return 0;
}

static int read_options(struct offload *o, const struct offload_options *options)
{
    char why[WIRE_WHY_BYTES];
    uint32_t ip;
    if (options->xclbin && snprintf(o->xclbin, sizeof o->xclbin, "%s", options->xclbin) >= PATH_MAX)
        return ERR(-EINVAL, "the path of the xclbin is too long");
    TRY(offload_group_parse(options->group, &o->group));
    TRY(read_names(o, options->where));
    if (options->slots &&
        (options->slots < 8 || options->slots > 1024 || options->slots & (options->slots - 1)))
        return ERR(-EINVAL,
                   "cannot request %d slots from a card: need a power of two from 8 to 1024",
                   options->slots);
    if (options->local &&
        (strlen(options->local) >= sizeof o->local || wire_local(options->local, 0, 0, &ip)))
        return ERR(-EINVAL, "cannot bind to '%s': %sneed an IPv4 address or interface of this host",
                   options->local, inet_hint(options->local));
    if (o->group.ip && options->provider && strcmp(options->provider, "socket"))
        return ERR(-EINVAL, "only --fabric socket receives multicast groups, not '%s'",
                   options->provider);
    if (options->provider && strlen(options->provider) >= sizeof o->provider)
        return ERR(-EINVAL, "the name of the provider is too long");
    if (wire_check(options->provider, why))
        return ERR(-EINVAL, "%s", why);
    if (options->local)
        memcpy(o->local, options->local, strlen(options->local));
    if (options->provider)
        memcpy(o->provider, options->provider, strlen(options->provider));
    o->slots = options->slots;
    /* Other ranks wait meanwhile, in the vote. So all waits for cards must end before deadline_s: a
     * card that takes no packets is abandoned after two card deadlines (window_time.c). */
    const double deadline_s = options->deadline_s > 0 ? options->deadline_s : 60;
    o->card_deadline_s =
        fmin(options->card_deadline_s > 0 ? options->card_deadline_s : 5, deadline_s / 4);
    o->others_s = deadline_s * 3 / 4;
    for (int i = 0; i < o->n_cards; i++)
        o->retry[i].wait_s = 1;
    return 0;
}

static int settle_members(struct offload *o, bool needed)
{
    const bool first = comm_rank(o->comm) == 0;
    if (needed && o->n_members < o->n_cards)
        return !first ? -ENOTCONN
                      : ERR(-ENOTCONN, "%s; algorithm offload needs every card, auto does not",
                            offload_why_not_all(o));
    if (first)
        offload_say_state(o);
    return 0;
}

/* Sets what cards add: codes, or sums of near ranks if that pays. near 1: codes. */
static int set_near(struct offload *o, const struct vec_sum *sum, int near, bool grouped)
{
    const int n_ranks = comm_n_ranks(o->comm);
    const bool pays = card_near(sum, n_ranks, near, grouped, &o->near_sum, &o->sum);
    o->near = pays ? near : 1;
    o->n_masters = n_ranks / o->near;
    if (!pays)
        o->sum = *sum;
    return card_fits(&o->sum, o->n_masters, "ranks", &o->fit);
}

/* Opens cards again if one cannot add sums of near ranks (no formats of 16 bits, or built with
 * Narrow=1). Then each rank sends its codes. */
static int reach_first(struct offload *o, const struct vec_sum *sum)
{
    bool cannot = false;
    TRY(offload_reach_first(o, fmax(open_s, o->card_deadline_s)));
    for (int i = 0; i < o->n_cards; i++)
        cannot = cannot || o->retry[i].rc == -ENOTSUP;
    if (o->near == 1 || !cannot || comm_n_ranks(o->comm) > PKT_MAX_RANKS)
        return 0;
    for (int i = 0; i < o->n_cards; i++) {
        fpga_close(&o->cards[i]);
        o->retry[i] = (struct offload_retry){.wait_s = 1};
    }
    TRY(set_near(o, sum, 1, false));
    return offload_reach_first(o, fmax(open_s, o->card_deadline_s));
}

/* Only rank 0 has reached the cards, so all take its `near`. */
static int agree_near(struct offload *o, const struct vec_sum *sum)
{
    int near = o->near;
    TRY(comm_bcast(o->comm, &near, sizeof near, 0));
    return near == o->near ? 0 : set_near(o, sum, near, false);
}

int offload_open(struct comm *c, const struct vec_sum *sum, const struct offload_options *options,
                 struct offload **out)
{
    struct offload *o = buf_alloc(sizeof *o);
    int rc = o ? 0 : -ENOMEM;
    if (!rc) {
        o->comm = c;
        rc = set_near(o, sum, options->near, options->group);
    }
    if (!rc)
        rc = read_options(o, options);
    if (!rc && comm_rank(c) == 0)
        rc = reach_first(o, sum);
    int agreed = comm_agree(c, rc);
    if (!agreed)
        agreed = agree_near(o, sum);
    if (!agreed)
        agreed = comm_check_equal(c, &o->group, sizeof o->group, "--card-group");
    if (!agreed)
        agreed = offload_join(o);
    if (agreed >= 0)
        agreed = settle_members(o, options->needed);
    if (agreed < 0) {
        offload_close(o);
        return agreed;
    }
    *out = o;
    return 0;
}

void offload_close(struct offload *o)
{
    if (!o)
        return;
    offload_leave(o);
    for (int i = 0; i < o->n_cards; i++)
        fpga_close(&o->cards[i]);
    free(o->near_codes);
    free(o->near_sums);
    free(o);
}

bool offload_is_open(const struct offload *o)
{
    return o->open;
}

const char *offload_why(const struct offload *o)
{
    return o->why;
}

int offload_n_cards(const struct offload *o)
{
    return o->n_cards;
}

bool offload_card_time(struct offload *o, int card, struct fpga_time *out)
{
    struct fpga *f = card >= 0 && card < o->n_cards ? &o->cards[card] : NULL;
    return f && f->ops && f->ops->time(f, out, o->card_deadline_s) == 0;
}
