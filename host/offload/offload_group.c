/* offload_group.c : sums to a group: its address, the ears of this rank, and what is said when it is given up.
 *
 *     every rank can join it, every card can send to it --> jobs have it, until a rank does not hear it, or hears what the
 *                                                            others do not: then each rank gets its own frames, for good */
#include "base/err.h"
#include "base/inet.h"
#include "hls/card/packet.h"
#include "offload/offload_inside.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

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
                   "'%s' is no group: %sneed an IPv4 address, as 239.1.1.1 or 239.1.1.1:5000",
                   words, inet_hint(words));
    const uint32_t ip = ntohl(found.s_addr);
    if (ip >> 28 != PKT_GROUPS || (ip & 255) == 255) /* a shell takes .255 for a broadcast */
        return ERR(-EINVAL,
                   "'%s' is no group: need an address of 224.0.0.0/4 that does not end in 255",
                   words);
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
        TRY(wire_join(&words, o->group.ip, o->group.port, &o->ears[i], why));
    }
    return 0;
}

void offload_group_leave(struct offload *o)
{
    for (int i = 0; i < o->n_cards; i++) {
        if (o->ears[i].ops)
            o->ears[i].ops->close(o->ears[i].own);
        o->ears[i] = (struct wire){0};
    }
}

void offload_group_give_up(struct offload *o, const char *why)
{
    char text[INET_TEXT];
    err_news("group %s given up: %s; each rank gets its own frames, the bits are the same",
             inet_text(o->group.ip, o->group.port, text), why);
    o->group.ip = 0;
}
