/* fpga_host.c : "host:port" of a card on the network. */
#include "offload/fpga_host.h"
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 64 };

bool fpga_host_fits(const char *name)
{
    const char *colon = strrchr(name, ':');
    if (!colon || colon == name || colon - name >= HOST_BYTES)
        return false;
    for (const char *c = name; c < colon; c++)
        if (*c <= ' ' || *c == ':' || *c == 0x7f)
            return false;
    char *end;
    const long port = strtol(colon + 1, &end, 10);
    return colon[1] >= '0' && colon[1] <= '9' && !*end && port > 0 && port <= UINT16_MAX;
}

int fpga_host_find(struct fpga *card, const char *name, int type, struct sockaddr_in *to)
{
    const char *colon = strrchr(name, ':');
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = type};
    struct addrinfo *found = NULL;
    char host[HOST_BYTES];
    snprintf(host, sizeof host, "%.*s", (int)(colon - name), name);
    const int rc = getaddrinfo(host, colon + 1, &hints, &found);
    if (rc)
        return fpga_failed(card, -ENXIO, "cannot find host '%s' of card %s: %s", host, card->name,
                           gai_strerror(rc));
    memcpy(to, found->ai_addr, sizeof *to);
    freeaddrinfo(found);
    return 0;
}
