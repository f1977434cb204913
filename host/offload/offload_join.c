/* offload_join.c : opens the card path on all ranks together, or on none.
 *
 *     rank 0 reaches the cards       -- where frames go ---->  every rank binds a wire to each card
 *     rank 0 registers a job on each <- addresses of wires ---
 *            a new key, a secret     -- key, secret, slots ->  all ping each card at full length
 *     (with a group: every rank also joins it; if a rank cannot, or a card cannot send to it, no
 *     rank uses the group)
 *     all ranks agree that every pong came, and on the longest frames that all paths take
 * A card that fails here is no error: rank 0 keeps the reason and tries again later. A failure of
 * MPI is an error, and a lack of memory aborts the job. */
#include "base/clock.h"
#include "base/err.h"
#include "hls/card/packet.h"
#include "offload/offload_inside.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const double register_s = 2, stop_s = 0.2;

/* Ranks exchange these as raw bytes, because all run the same program. */
struct hello {
    int n_members, members[OFFLOAD_MAX_CARDS]; /* 0: the path stays closed */
    uint32_t beats;
    /* addresses of the cards' frames */
    struct fpga_rank cards[OFFLOAD_MAX_CARDS];
};
struct reply {
    /* joined: in the group, else group_failed has the reason. bound: has a wire to every card, else
     * `unbound` is the card without one. */
    bool bound, joined;
    int unbound;
    char host[64], why[WIRE_WHY_BYTES], group_failed[WIRE_WHY_BYTES];
    struct fpga_rank wires[OFFLOAD_MAX_CARDS];
};
struct terms {
    bool registered;
    uint64_t nonce; /* for tags; unknown to cards */
    uint64_t secret[4];
    struct fpga_rank group; /* ip 0: no group from now on */
    struct fpga_job jobs[OFFLOAD_MAX_CARDS];
};

static void greet(const struct offload *o, struct hello *hello)
{
    hello->beats = WINDOW_BEATS;
    for (int i = 0; i < o->n_cards; i++) {
        if (!o->cards[i].ops)
            continue;
        hello->members[hello->n_members++] = i;
        hello->cards[i] = o->frames_at[i];
        hello->beats = o->caps[i].beats < hello->beats ? o->caps[i].beats : hello->beats;
    }
}

/* Returns the members with a loopback address (127.x.x.x), out of reach for other hosts. */
static uint32_t on_this_host(const struct offload *o, const struct hello *hello)
{
    uint32_t cards = 0;
    for (int k = 0; k < o->n_members; k++)
        if (hello->cards[o->members[k]].ip >> 24 == 127)
            cards |= 1u << o->members[k];
    return cards;
}

/* If false, sets o->why and o->blamed. */
static bool all_bound(struct offload *o, const struct hello *hello, const struct reply *replies)
{
    const uint32_t here = on_this_host(o, hello);
    for (int r = 0; r < comm_n_ranks(o->comm); r++) {
        if (here && strcmp(replies[r].host, replies[0].host)) {
            snprintf(o->why, sizeof o->why,
                     "rank %d is on host %.64s, but only %.64s can reach a card at 127.0.0.1", r,
                     replies[r].host, replies[0].host);
            o->blamed |= here;
            return false;
        }
        if (!replies[r].bound) {
            snprintf(o->why, sizeof o->why, "rank %d: %s", r, replies[r].why);
            o->blamed |= 1u << replies[r].unbound;
            return false;
        }
    }
    return true;
}

static void look_at_group(struct offload *o, const struct reply *replies)
{
    char why[WIRE_WHY_BYTES + 16] = {0};
    for (int r = comm_n_ranks(o->comm) - 1; r >= 0; r--)
        if (!replies[r].joined)
            snprintf(why, sizeof why, "rank %d: %s", r, replies[r].group_failed);
    for (int k = 0; k < o->n_members; k++)
        if (!o->caps[o->members[k]].groups)
            snprintf(why, sizeof why, "card %s cannot send to a group", o->names[o->members[k]]);
    if (why[0])
        offload_group_abandon(o, why);
}

static int register_jobs(struct offload *o, const struct reply *replies, struct terms *terms)
{
    for (int k = 0; k < o->n_members; k++) {
        const int i = o->members[k];
        struct fpga_rank *ranks = o->ranks[i];
        for (int r = 0; r < o->n_masters; r++)
            ranks[r] = replies[r * o->near].wires[i];
        int rc = fpga_job_start_group(&o->cards[i], &o->caps[i], &o->fit, ranks, o->n_masters,
                                      (uint32_t)o->slots, o->group.ip ? &o->group : NULL,
                                      fmax(register_s, o->card_deadline_s), &o->jobs[i]);
        if (rc) {
            snprintf(o->why, sizeof o->why, "%s", o->cards[i].why);
            o->blamed |= 1u << i;
            return rc;
        }
    }
    if (getrandom(&terms->nonce, sizeof terms->nonce, 0) != sizeof terms->nonce ||
        getrandom(terms->secret, sizeof terms->secret, 0) != sizeof terms->secret) {
        snprintf(o->why, sizeof o->why, "cannot make a secret: the system has no random numbers");
        return -EIO;
    }
    memcpy(terms->jobs, o->jobs, sizeof terms->jobs);
    terms->registered = true;
    return 0;
}

static void close_wires(struct offload *o)
{
    offload_group_leave(o);
    for (int i = 0; i < o->n_cards; i++) {
        if (o->wires[i].ops)
            o->wires[i].ops->close(o->wires[i].own);
        o->wires[i] = (struct wire){0};
    }
}

static void bind_wires(struct offload *o, const struct hello *hello, struct reply *mine)
{
    mine->bound = mine->joined = true;
    if (gethostname(mine->host, sizeof mine->host - 1))
        mine->host[0] = 0;
    if (!offload_is_master(o))
        return;
    for (int k = 0; k < o->n_members && mine->bound; k++) {
        const int i = o->members[k];
        const struct wire_options f = {
            .provider = o->provider[0] ? o->provider : NULL,
            .local = o->local[0] ? o->local : NULL,
            .card_ip = hello->cards[i].ip,
            .card_port = hello->cards[i].port,
            .frame_bytes = (size_t)(1 + card_fit_most(&o->fit, hello->beats)) * PKT_BEAT_BYTES,
        };
        if (wire_open(&f, &o->wires[i], mine->why)) {
            mine->bound = false;
            mine->unbound = i;
        } else {
            mine->wires[i] = (struct fpga_rank){o->wires[i].ip, o->wires[i].port};
        }
    }
    mine->joined = !o->group.ip || !offload_group_join(o, hello->cards, mine->group_failed);
}

/* Sets terms->registered if all ranks are bound and all cards have a job. */
static int agree_terms(struct offload *o, const struct hello *hello, const struct reply *mine,
                       struct terms *terms)
{
    const bool first = comm_rank(o->comm) == 0;
    struct reply *replies = first ? malloc((size_t)comm_n_ranks(o->comm) * sizeof *replies) : NULL;
    if (first && !replies)
        comm_abort(o->comm,
                   ERR(-ENOMEM, "no memory for the addresses of %d ranks", comm_n_ranks(o->comm)));
    int rc = comm_gather(o->comm, mine, sizeof *mine, replies);
    if (!rc && first && all_bound(o, hello, replies)) {
        if (o->group.ip)
            look_at_group(o, replies);
        (void)register_jobs(o, replies, terms);
    }
    terms->group = o->group;
    free(replies);
    TRY(rc);
    TRY(comm_bcast(o->comm, terms, sizeof *terms, 0));
    o->group = terms->group;
    if (!o->group.ip)
        offload_group_leave(o);
    return 0;
}

static int open_window(struct offload *o, const struct hello *hello, const struct terms *terms)
{
    struct window_card cards[OFFLOAD_MAX_CARDS];
    struct window_config config = {
        .rank = comm_rank(o->comm) / o->near,
        .n_ranks = o->n_masters,
        .nonce = terms->nonce,
        .fit = o->fit,
        .saturate = o->sum.overflow == MF_SATURATE,
        .out_shift = o->sum.out_shift,
        .beats = hello->beats,
        .card_deadline_s = o->card_deadline_s,
        .others_s = o->others_s,
    };
    memcpy(config.secret, terms->secret, sizeof config.secret);
    for (int k = 0; k < o->n_members; k++) {
        const int i = o->members[k];
        cards[k] = (struct window_card){o->wires[i], o->group_wires[i], o->jobs[i], o->names[i]};
    }
    int rc = window_open(&config, cards, o->n_members, clock_s(), &o->window);
    if (rc)
        comm_abort(o->comm, rc);
    window_start_pings(o->window, clock_s());
    return offload_drive(o, false);
}

static int try_window(struct offload *o, const struct hello *hello, const struct terms *terms)
{
    int8_t all[2] = {0, INT8_MIN}; /* failed; beats, 1 to 128, negative */
    memcpy(o->jobs, terms->jobs, sizeof o->jobs);
    if (offload_is_master(o)) {
        all[0] = open_window(o, hello, terms) != 0;
        all[1] = (int8_t) - (int)window_beats(o->window);
    }
    TRY(comm_max_i8(o->comm, all, 2));
    if (o->window)
        window_limit(o->window, (uint32_t)-all[1]);
    if (all[0])
        TRY(offload_learn_why(o));
    return all[0] ? 0 : 1;
}

void offload_leave(struct offload *o)
{
    const struct card_path_count now = offload_counted(o);
    window_close(o->window);
    o->window = NULL;
    o->before = now;
    close_wires(o);
    for (int i = 0; i < o->n_cards; i++) {
        if (o->cards[i].ops && o->jobs[i].slots && fpga_job_stop(&o->cards[i], &o->jobs[i], stop_s))
            fpga_close(&o->cards[i]);
        o->jobs[i] = (struct fpga_job){0};
    }
    o->n_members = 0;
    o->open = false;
}

/* Returns 1 if the path is open, 0 if cards are out now, or a negative errno. */
static int join_reached(struct offload *o, const struct hello *hello)
{
    struct reply mine = {0};
    struct terms terms = {0};
    const double start_s = clock_s();
    o->blamed = 0;
    o->abandon_why[0] = 0;
    o->n_members = hello->n_members;
    memcpy(o->members, hello->members, sizeof o->members);
    bind_wires(o, hello, &mine);
    TRY(agree_terms(o, hello, &mine, &terms));
    int rc = terms.registered ? try_window(o, hello, &terms) : 0;
    if (rc <= 0) {
        offload_leave(o);
        offload_blame(o, o->blamed, clock_s() - start_s);
    }
    return rc;
}

int offload_join(struct offload *o)
{
    const bool first = comm_rank(o->comm) == 0;
    for (int rc = 0; !rc;) {
        struct hello hello = {0};
        if (first)
            greet(o, &hello);
        TRY(comm_bcast(o->comm, &hello, sizeof hello, 0));
        if (!hello.n_members)
            return 0;
        TRY(rc = join_reached(o, &hello));
    }
    o->open = true;
    return 1;
}
