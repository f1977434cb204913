/* collnet_nic.c : describes the network interface to the first card, as the same device in both of
 * NCCL's tables. */
#include "collnet/collnet.h"
#include "base/inet.h"
#include "offload/wire/wire_local.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_MBPS = 10000, COMMS = 64 };
static const size_t most_p2p_bytes = (size_t)1 << 30, most_coll_bytes = (size_t)1 << 26;

static struct {
    char name[IF_NAMESIZE], pci[PATH_MAX];
    int mbps;
    uint32_t ip;
} nic;

static void find_name(void)
{
    struct ifaddrs *all = NULL;
    snprintf(nic.name, sizeof nic.name, "%s", COLLNET_NAME);
    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct sockaddr_in a;
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        memcpy(&a, i->ifa_addr, sizeof a);
        if (ntohl(a.sin_addr.s_addr) == nic.ip)
            snprintf(nic.name, sizeof nic.name, "%s", i->ifa_name);
    }
    freeifaddrs(all);
}

static void find_place(void)
{
    char path[64];
    nic.mbps = 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", nic.name);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%d", &nic.mbps) != 1)
        nic.mbps = 0;
    if (f)
        fclose(f);
    if (nic.mbps <= 0)
        nic.mbps = USUAL_MBPS;
    snprintf(path, sizeof path, "/sys/class/net/%s/device", nic.name);
    if (!realpath(path, nic.pci))
        nic.pci[0] = 0;
}

int collnet_find_nic(uint32_t ip, uint16_t port)
{
    char text[INET_TEXT];
    const int rc = wire_local(NULL, ip, port, &nic.ip);
    if (rc < 0)
        return ERR(rc, "no route to card %s: %s", inet_text(ip, port, text), strerror(-rc));
    find_name();
    find_place();
    return 0;
}

uint32_t collnet_ip(void)
{
    return nic.ip;
}

static int describe(int dev, struct nic_v12 *out)
{
    if (dev != 0 || !nic.ip)
        return NCCL_INVALID_ARGUMENT;
    *out = (struct nic_v12){.name = nic.name,
                            .pci = nic.pci[0] ? nic.pci : NULL,
                            .guid = nic.ip,
                            .pointers = NCCL_HOST,
                            .speed = nic.mbps,
                            .max_comms = COMMS,
                            .max_recvs = 1,
                            .made_of = {.n = 1, .of = {dev}},
                            .most_p2p_bytes = most_p2p_bytes,
                            .most_coll_bytes = most_coll_bytes,
                            .most_multi_request = 1,
                            .rail = -1,
                            .plane = -1};
    return NCCL_SUCCESS;
}

#define HEAD .name = all.name, .pci = all.pci, .guid = all.guid, .pointers = all.pointers
#define PORT                                                                                  \
    .speed = all.speed, .port = all.port, .latency = all.latency, .max_comms = all.max_comms, \
    .max_recvs = all.max_recvs
#define LIMITS                                                  \
    .made_of = {.n = all.made_of.n, .of = {all.made_of.of[0]}}, \
    .most_p2p_bytes = all.most_p2p_bytes, .most_coll_bytes = all.most_coll_bytes
/* Other fields are 0: registrations are not global, no forced flush, no device offload. */
#define DESCRIBE(v, ...)                                \
    int collnet_nic_v##v(int dev, struct nic_v##v *out) \
    {                                                   \
        struct nic_v12 all = {.name = NULL};            \
        const int rc = describe(dev, &all);             \
        if (rc == NCCL_SUCCESS)                         \
            *out = (struct nic_v##v){__VA_ARGS__};      \
        return rc;                                      \
    }
DESCRIBE(6, HEAD, PORT)
DESCRIBE(7, HEAD, PORT)
DESCRIBE(8, HEAD, PORT)
DESCRIBE(9, HEAD, PORT, LIMITS)
DESCRIBE(11, HEAD, PORT, LIMITS, .most_multi_request = all.most_multi_request)

int collnet_nic_v12(int dev, struct nic_v12 *out)
{
    return describe(dev, out);
}
