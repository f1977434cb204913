/* fpga_link_ops.c : batch, address and time of a card at the end of a link. */
#include "offload/card/fpga_link_ops.h"
#include "base/clock.h"
#include "base/err.h"
#include <string.h>

static int link_failed(struct fpga *card, int rc)
{
    if (rc == -EPIPE)
        return fpga_failed(card, rc, "card %s has closed the connection", card->name);
    if (rc == -ETIMEDOUT)
        return fpga_failed(card, rc, "card %s does not answer", card->name);
    return fpga_failed(card, rc, "card %s: %s", card->name, strerror(-rc));
}

int fpga_link_batch(struct fpga *card, struct fpga_link *l, struct fpga_op *ops, size_t n,
                    size_t *done, double timeout_s)
{
    uint8_t body[8 * SIMLINK_BATCH_MOST];
    const struct simlink ask = {.kind = SIMLINK_BATCH, .bytes = (uint32_t)(8 * n)};
    struct simlink answer;
    if (n > SIMLINK_BATCH_MOST)
        return fpga_failed(card, -EINVAL, "card %s cannot take %zu operations at once", card->name,
                           n);
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < 4; b++) {
            body[8 * i + (size_t)b] =
                (uint8_t)((ops[i].at | (ops[i].read ? 1u << 31 : 0)) >> 8 * b);
            body[8 * i + 4 + (size_t)b] = (uint8_t)(ops[i].value >> 8 * b);
        }
    int rc = fpga_link_ask(l, ask, body, &answer, clock_s() + timeout_s);
    if (!rc && (answer.a > n || answer.bytes < 4 * answer.a || (!answer.status && answer.a < n)))
        rc = -EPROTO;
    if (rc)
        return link_failed(card, rc);
    for (size_t i = 0; i < answer.a; i++)
        if (ops[i].read)
            ops[i].value = (uint32_t)l->body[4 * i] | (uint32_t)l->body[4 * i + 1] << 8 |
                           (uint32_t)l->body[4 * i + 2] << 16 | (uint32_t)l->body[4 * i + 3] << 24;
    *done = (size_t)answer.a;
    return 0;
}

int fpga_link_address(struct fpga *card, struct fpga_link *l, uint32_t *ip, uint16_t *port,
                      double timeout_s)
{
    struct simlink answer;
    int rc = fpga_link_ask(l, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL, &answer,
                           clock_s() + timeout_s);
    if (rc)
        return link_failed(card, rc);
    if (!answer.b || answer.b > UINT16_MAX)
        return fpga_failed(card, -ENOTSUP, "card %s has no port for frames", card->name);
    *ip = (uint32_t)answer.a;
    *port = (uint16_t)answer.b;
    return 0;
}

int fpga_link_time(struct fpga *card, struct fpga_link *l, struct fpga_time *out, double timeout_s)
{
    struct simlink answer;
    int rc = fpga_link_ask(l, (struct simlink){.kind = SIMLINK_TIME}, NULL, &answer,
                           clock_s() + timeout_s);
    if (rc)
        return link_failed(card, rc);
    *out = (struct fpga_time){answer.a, answer.b, answer.c};
    return 0;
}

bool fpga_link_whole(struct fpga *card, const struct fpga_link *l)
{
    if (fpga_link_alive(l))
        return true;
    (void)fpga_failed(card, -EPIPE, "card %s has closed its control connection", card->name);
    return false;
}
