/* offload_members.c : tracks on rank 0 which cards take part. Their
 * states change only between steps.
 *
 *     out  --retry, it answers-->  reached  --all join-->  in  --abandoned-->  out (1, 2 .. 10 s)
 *
 * When a card goes out, the others take over its share: all ranks restart at packet 0 under new
 * keys. */
#include "base/clock.h"
#include "base/err.h"
#include "base/inet.h"
#include "base/text.h"
#include "offload/offload_inside.h"
#include "offload/wire/wire_socket.h"
#include "hls/card/packet.h"
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Failed attempts of steps use at most 1/SPARED of the time. */
enum { MAX_RETRY_S = 10, SPARED = 10 };
static const double least_s = 0.05; /* for one attempt */

static int reach(struct offload *o, int i, double timeout_s)
{
    struct fpga *card = &o->cards[i];
    TRY(fpga_open(card, o->names[i], o->xclbin[0] ? o->xclbin : NULL, timeout_s));
    TRY(fpga_job_caps(card, &o->fit, o->n_masters, &o->caps[i], timeout_s));
    return card->ops->address(card, &o->frames_at[i].ip, &o->frames_at[i].port, timeout_s);
}

static void put_off(struct offload *o, int i, double spent_s)
{
    struct offload_retry *retry = &o->retry[i];
    fpga_close(&o->cards[i]);
    retry->at = clock_s() + fmax(SPARED * spent_s, retry->wait_s);
    retry->wait_s = fmin(2 * retry->wait_s, MAX_RETRY_S);
}

static bool try_card(struct offload *o, int i, double timeout_s)
{
    o->retry[i].rc = reach(o, i, timeout_s);
    if (!o->retry[i].rc)
        return true;
    snprintf(o->why, sizeof o->why, "%s", o->cards[i].why);
    put_off(o, i, 0);
    return false;
}

int offload_reach(struct offload *o, double budget_s)
{
    const double until = clock_s() + budget_s;
    double wasted_s = 0;
    int n = 0;
    if (clock_s() < o->rests_until)
        return 0;
    for (int k = 0; k < o->n_cards; k++, o->next = (o->next + 1) % o->n_cards) {
        const double now = clock_s();
        const int i = o->next;
        if (o->cards[i].ops || now < o->retry[i].at)
            continue;
        if (until - now < least_s)
            break;
        if (try_card(o, i, until - now))
            n++;
        else
            wasted_s += clock_s() - now;
    }
    o->rests_until = clock_s() + SPARED * wasted_s;
    return n;
}

int offload_reach_first(struct offload *o, double budget_s)
{
    const double until = clock_s() + budget_s;
    for (int i = 0; i < o->n_cards; i++)
        (void)try_card(o, i, fmax(until - clock_s(), least_s));
    for (int i = 0; i < o->n_cards; i++)
        if (o->retry[i].rc == -ENXIO)
            return ERR(-ENXIO, "%s", o->cards[i].why);
    return 0;
}

const char *offload_why_not_all(const struct offload *o)
{
    for (int i = 0; i < o->n_cards; i++)
        if (!o->cards[i].ops && o->cards[i].why[0])
            return o->cards[i].why;
    return o->why;
}

void offload_blame(struct offload *o, uint32_t cards, double spent_s)
{
    for (int i = 0; i < o->n_cards; i++)
        if (o->cards[i].ops && (!cards || cards >> i & 1)) {
            snprintf(o->cards[i].why, sizeof o->cards[i].why, "%s", o->why);
            put_off(o, i, spent_s);
        }
}

const char *offload_describe(struct offload *o)
{
    struct text to = text_in(o->described, sizeof o->described);
    const struct card_path_count count = offload_counted(o);
    char group[INET_TEXT], format[CODEC_NAME_BYTES];
    text_add(&to, "%d card%s (", o->n_members, o->n_members == 1 ? "" : "s");
    for (int i = 0; i < o->n_members; i++)
        text_add(&to, "%s%s", i ? ", " : "", o->names[o->members[i]]);
    text_add(&to, "), %u slots each", o->jobs[o->members[0]].slots);
    if (o->group.ip)
        text_add(&to, ", sums to group %s", inet_text(o->group.ip, o->group.port, group));
    if (o->near > 1)
        text_add(&to, ", %d near %ss add first, in %s", o->near, comm_rank_word(o->comm),
                 codec_format_name(o->sum.in, format));
    if (o->window)
        text_add(&to, ", frames of %u bytes, RTT %.0f us",
                 (1 + window_beats(o->window)) * PKT_BEAT_BYTES, count.rtt_s * 1e6);
    return o->described;
}

int offload_n_reached(const struct offload *o)
{
    int n = 0;
    for (int i = 0; i < o->n_cards; i++)
        n += o->cards[i].ops != NULL;
    return n;
}

static void say_closed(struct offload *o)
{
    if (!o->failed)
        err_news(
            "offload abandoned: %s; ranks add without cards until one answers, with the same bits",
            o->why);
    o->failed = true;
}

static void say_members(struct offload *o)
{
    const int n = offload_n_reached(o);
    if (o->failed)
        err_news("offload works again: %s", offload_describe(o));
    for (int i = 0; i < o->n_cards; i++) {
        const bool out = !o->cards[i].ops;
        if (!o->failed && out && !o->retry[i].said)
            err_news("%s; %d of %d cards take over its share", o->cards[i].why, n, o->n_cards);
        if (!o->failed && !out && o->retry[i].said)
            err_news("card %s works again: %s", o->names[i], offload_describe(o));
        o->retry[i].said = out;
        if (!out)
            o->retry[i].wait_s = 1;
    }
    o->failed = false;
}

void offload_say_state(struct offload *o)
{
    if (o->open)
        say_members(o);
    else
        say_closed(o);
}

/* Multicast group:
 *     all ranks can join it, all cards can send to it    cards send sums to the group
 *     a rank receives nothing from it, or sums differ    cards send to each rank, for good */

int offload_group_parse(const char *words, struct fpga_rank *out)
{
    const char *colon = words ? strchr(words, ':') : NULL;
    const size_t n = colon ? (size_t)(colon - words) : words ? strlen(words) : 0;
    char address[INET_TEXT] = {0}, *end = NULL;
    struct in_addr found;
    if (!words)
        return 0;
    if (n < sizeof address)
        memcpy(address, words, n);
    const bool has_digits = colon && colon[1] >= '0' && colon[1] <= '9';
    const long port = has_digits ? strtol(colon + 1, &end, 10) : PKT_GROUP_PORT;
    if ((colon && !(end && !*end)) || port < 1 || port > UINT16_MAX ||
        inet_pton(AF_INET, address, &found) != 1)
        return ERR(-EINVAL,
                   "'%s' is not a group: %sneed an IPv4 address, such as 239.1.1.1, or "
                   "239.1.1.1:5000 with a port from 1 to 65535",
                   words, inet_hint(words));
    const uint32_t ip = ntohl(found.s_addr);
    if (ip >> 28 != PKT_GROUPS)
        return ERR(-EINVAL, "'%s' is not a group: need an address of 224.0.0.0/4", words);
    *out = (struct fpga_rank){ip, (uint16_t)port};
    return 0;
}

int offload_group_join(struct offload *o, const struct fpga_rank *cards, char why[WIRE_WHY_BYTES])
{
    for (int k = 0; k < o->n_members; k++) {
        const int i = o->members[k];
        const struct wire_options words = {.local = o->local[0] ? o->local : NULL,
                                           .card_ip = cards[i].ip,
                                           .card_port = cards[i].port};
        TRY(wire_socket_join(&words, o->group.ip, o->group.port, &o->group_wires[i], why));
    }
    return 0;
}

void offload_group_leave(struct offload *o)
{
    for (int i = 0; i < o->n_cards; i++) {
        if (o->group_wires[i].ops)
            o->group_wires[i].ops->close(o->group_wires[i].own);
        o->group_wires[i] = (struct wire){0};
    }
}

void offload_group_abandon(struct offload *o, const char *why)
{
    char text[INET_TEXT];
    err_news("group %s abandoned: %s; cards send to each rank instead, with the same bits",
             inet_text(o->group.ip, o->group.port, text), why);
    o->group.ip = 0;
}
