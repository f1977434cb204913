/* inet.c : "HOST:PORT" and IPv4 addresses as text. */
#include "base/inet.h"
#include "base/err.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int inet_parse(const char *text, uint32_t *ip, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    char host[256], *end = NULL;
    const unsigned long number =
        colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
    if (!colon || !end || *end || number > 65535 || colon == text ||
        colon - text >= (int)sizeof host)
        return ERR(-EINVAL, "cannot read '%s' as an address: it is HOST:PORT, as 127.0.0.1:4711",
                   text);
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = 0;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc)
        return ERR(-EINVAL, "cannot find host '%s': %s", host, gai_strerror(rc));
    struct sockaddr_in at;
    memcpy(&at, found->ai_addr, sizeof at);
    freeaddrinfo(found);
    *ip = ntohl(at.sin_addr.s_addr);
    *port = (uint16_t)number;
    return 0;
}

const char *inet_text(uint32_t ip, uint16_t port, char to[INET_TEXT])
{
    snprintf(to, INET_TEXT, "%u.%u.%u.%u:%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255,
             (unsigned)port);
    return to;
}
