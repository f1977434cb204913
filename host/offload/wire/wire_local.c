/* wire_local.c : finds local addresses, and the longest datagram of a route. */
#include "offload/wire/wire_local.h"
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct sockaddr_in wire_name(uint32_t ip, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(ip);
    return a;
}

struct wire wire_at(const struct wire_ops *ops, void *own, const struct sockaddr_in *name)
{
    return (struct wire){ops, own, ntohl(name->sin_addr.s_addr), ntohs(name->sin_port)};
}

int wire_unbound(const struct wire_options *o, int rc, char why[WIRE_WHY_BYTES])
{
    const struct in_addr card = {htonl(o->card_ip)};
    char text[INET_ADDRSTRLEN] = "";
    if (o->local)
        snprintf(why, WIRE_WHY_BYTES, "cannot bind to '%s': %s", o->local, strerror(-rc));
    else
        snprintf(why, WIRE_WHY_BYTES, "cannot reach the card's address for frames, %s:%u: %s",
                 inet_ntop(AF_INET, &card, text, sizeof text), o->card_port, strerror(-rc));
    return o->local ? -EINVAL : rc;
}

/* Connecting a UDP socket sends nothing. */
static int chosen(int fd, uint32_t ip, uint16_t port, struct sockaddr_in *out)
{
    const struct sockaddr_in to = wire_name(ip, port);
    socklen_t size = sizeof *out;
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) ||
        getsockname(fd, (struct sockaddr *)out, &size))
        return -errno;
    return 0;
}

static int of_interface(int fd, const char *name, struct sockaddr_in *out)
{
    struct ifreq r = {0};
    if (strlen(name) >= sizeof r.ifr_name)
        return -ENODEV;
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (ioctl(fd, SIOCGIFADDR, &r))
        return -errno;
    memcpy(out, &r.ifr_addr, sizeof *out);
    return 0;
}

int wire_local(const char *local, uint32_t ip, uint16_t port, uint32_t *out)
{
    struct sockaddr_in found = wire_name(0, 0);
    struct in_addr given;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;
    if (fd < 0)
        return -errno;
    if (!local)
        rc = chosen(fd, ip, port, &found);
    else if (inet_pton(AF_INET, local, &given) == 1)
        found.sin_addr = given;
    else
        rc = of_interface(fd, local, &found);
    found.sin_port = 0;
    if (!rc && local && bind(fd, (const struct sockaddr *)&found, sizeof found))
        rc = -errno;
    close(fd);
    if (!rc && !found.sin_addr.s_addr)
        rc = -EADDRNOTAVAIL;
    if (!rc)
        *out = ntohl(found.sin_addr.s_addr);
    return rc;
}

size_t wire_most(int fd)
{
    enum { HEADERS = 20 + 8, USUAL = 1500, LONGEST = UINT16_MAX };
    int mtu;
    socklen_t size = sizeof mtu;
    if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size) || mtu <= HEADERS)
        mtu = USUAL;
    return (size_t)(mtu < LONGEST ? mtu : LONGEST) - HEADERS;
}

size_t wire_most_to(uint32_t ip, uint16_t port)
{
    struct sockaddr_in local;
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)chosen(fd, ip, port, &local);
    const size_t most = wire_most(fd);
    if (fd >= 0)
        close(fd);
    return most;
}
