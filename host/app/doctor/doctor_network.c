/* doctor_network.c : what is wrong between machines: sockets' buffers, lengths of packets, clocks. */
#include "app/doctor/doctor.h"
#include "hls/card/packet.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* IPv4 and UDP in front of a frame. */
enum { HEADERS = 28, USUAL = HEADERS + PKT_BEAT_BYTES * (1 + PKT_USUAL_BEATS) };
/* Linux's own limit, which holds the 64 packets that are under way to a card. */
enum { LEAST_BYTES = 212992 };
static const double clocks_s = 1;

void doctor_sockets(const struct doctor *d, struct doctor_finding *f)
{
    for (int r = 0; r < d->n_ranks; r++) {
        const double got = doctor_number(d, r, "receive buffer"),
                     wanted = doctor_number(d, r, "receive buffer wanted"),
                     lost = doctor_number(d, r, "UDP without room");
        const char *host = doctor_fact(d, r, "host");
        if (got < LEAST_BYTES)
            doctor_say(f, DOCTOR_WARN,
                       "a card's socket gets %.0f kB on %s, too little for 64 packets under way: "
                       "some are lost and sent again",
                       got / 1024, host);
        else if (got < wanted && lost > 0)
            doctor_say(f, DOCTOR_WARN,
                       "%.0f datagrams have found no room in sockets of %s since it was started; a "
                       "card's socket gets %.0f kB of %.0f",
                       lost, host, got / 1024, wanted / 1024);
        else
            continue;
        doctor_mend(f, "sysctl -w net.core.rmem_max=%.0f", wanted);
    }
    doctor_say(f, DOCTOR_OK, "%.0f kB for a card's answers",
               doctor_number(d, 0, "receive buffer") / 1024);
}

/* The MTU of fact i, if it is of an interface that is up and no loopback; else 0. */
static int mtu_of(const struct info_fact *fact)
{
    const char *at = strstr(fact->value, "MTU ");
    int mtu = 0;
    if (strncmp(fact->key, "NIC ", 4) || !strcmp(fact->key, "NIC lo") ||
        strstr(fact->value, ", down") || !at)
        return 0;
    return sscanf(at, "MTU %d", &mtu) == 1 ? mtu : 0;
}

/* The longest of a rank's interfaces: 0: there is none. */
static int longest(const struct doctor *d, int rank, const char **name)
{
    const struct info *info = &d->ranks[rank];
    int most = 0;
    for (int i = 0; i < info->n; i++)
        if (mtu_of(&info->facts[i]) > most) {
            most = mtu_of(&info->facts[i]);
            *name = info->facts[i].key + 4;
        }
    return most;
}

void doctor_mtu(const struct doctor *d, struct doctor_finding *f)
{
    const char *first_name = "", *name = "";
    const int first = longest(d, 0, &first_name);
    for (int r = 0; r < d->n_ranks; r++) {
        const int mtu = longest(d, r, &name);
        const char *host = doctor_fact(d, r, "host");
        if (mtu > 0 && mtu < USUAL) {
            doctor_say(
                f, DOCTOR_WARN,
                "%s of %s takes packets of %d bytes: a card's frames, %d on most networks, have %d",
                name, host, mtu, USUAL,
                (mtu - HEADERS) / PKT_BEAT_BYTES * PKT_BEAT_BYTES + HEADERS);
            doctor_mend(f, "ip link set dev %s mtu 1500, if the network takes it", name);
        } else if (mtu > 0 && first > 0 && mtu != first) {
            doctor_say(
                f, DOCTOR_WARN,
                "%s of %s takes packets of %d bytes, %s of %s of %d: all send the shorter ones",
                name, host, mtu, first_name, doctor_fact(d, 0, "host"), first);
            doctor_mend(f, "ip link set dev %s mtu %d on the one, if switches take it",
                        mtu < first ? name : first_name, mtu < first ? first : mtu);
        }
    }
    if (first > 0)
        doctor_say(f, DOCTOR_OK, "%s takes packets of %d bytes", first_name, first);
    else
        doctor_say(f, DOCTOR_OK, "no interface but the loopback is up");
}

void doctor_clocks(const struct doctor *d, struct doctor_finding *f)
{
    int worst = d->n_ranks > 1;
    for (int r = 1; r < d->n_ranks; r++)
        if (fabs(d->ahead_s[r]) - d->sure_s[r] > fabs(d->ahead_s[worst]) - d->sure_s[worst])
            worst = r;
    const double off_s = fabs(d->ahead_s[worst]);
    if (worst && off_s - d->sure_s[worst] > clocks_s) {
        doctor_say(f, DOCTOR_WARN,
                   "the clock of rank %d on %s is %.1f s %s rank 0's: dates of logs and files "
                   "mislead; nothing else depends on it",
                   worst, doctor_fact(d, worst, "host"), off_s,
                   d->ahead_s[worst] > 0 ? "ahead of" : "behind");
        doctor_mend(f, "chronyc makestep, or timedatectl set-ntp true");
    } else if (d->n_ranks > 1) {
        doctor_say(f, DOCTOR_OK, "within %.3g ms of rank 0's", 1e3 * (off_s + d->sure_s[worst]));
    } else {
        doctor_say(f, DOCTOR_OK, "one rank has nobody to compare with");
    }
}
