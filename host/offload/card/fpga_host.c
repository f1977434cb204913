/* fpga_host.c : parses and resolves "host:port". */
#include "offload/card/fpga_host.h"
#include "base/inet.h"
#include "offload/card/fpga.h"
#include <stdarg.h>
#include <stdio.h>

bool fpga_host_fits(const char *name)
{
    char host[INET_HOST_BYTES];
    uint16_t port;
    return inet_split(name, host, &port) == 0 && port > 0;
}

int fpga_host_find(struct fpga *card, const char *name, struct sockaddr_in *to)
{
    char host[INET_HOST_BYTES], why[INET_WHY_BYTES] = "need HOST:PORT";
    uint32_t ip;
    uint16_t port;
    int rc = inet_split(name, host, &port);
    if (rc == 0)
        rc = inet_find(host, &ip, why);
    if (rc)
        return fpga_failed(card, rc, "card %s: %s", card->name, why);
    *to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip), .sin_port = htons(port)};
    return 0;
}

int fpga_failed(struct fpga *card, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(card->why, sizeof card->why, format, ap);
    va_end(ap);
    return code;
}
