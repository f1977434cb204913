/* conform_script.c : fills faults, reads counters and finds addresses of a vector of a card. */
#include "app/conform/conform_script.h"
#include "base/err.h"
#include "offload/card/fpga_counters.h"

int conform_fails(struct conform_script *s, const char *what, const char *field,
                  const char *received, const char *wanted)
{
    struct conform_fault *f = s->fault;
    if (what)
        snprintf(f->what, sizeof f->what, "%s", what);
    if (field)
        snprintf(f->field, sizeof f->field, "%s", field);
    if (received)
        snprintf(f->received, sizeof f->received, "%s", received);
    if (wanted)
        snprintf(f->wanted, sizeof f->wanted, "%s", wanted);
    return CONFORM_FAILED;
}

int conform_counters(struct conform_script *s, uint64_t of[REG_COUNTERS])
{
    struct fpga *card = &s->c->card;
    struct fpga_op ops[FPGA_COUNTER_OPS];
    size_t done;
    fpga_counter_ops(ops);
    int rc = card->ops->batch(card, ops, FPGA_COUNTER_OPS, &done, CONFORM_CONTROL_S);
    if (rc)
        return ERR(rc, "%s", card->why);
    rc = fpga_counter_take(ops, done, of);
    return rc ? ERR(rc, "card %s refuses to show its counters (R117)", card->name) : 0;
}

bool conform_pair(const char *list, uint32_t *ip, uint16_t *port)
{
    uint64_t a, b;
    const char *at = list, *first = jsonl_item(&at);
    if (!first || *first != '"' || !conform_number(first, &a) ||
        !conform_number(jsonl_item(&at), &b) || a > UINT32_MAX || b > UINT16_MAX)
        return false;
    *ip = (uint32_t)a;
    *port = (uint16_t)b;
    return true;
}

const struct conform_end *conform_end_of(const struct conform_script *s, const char *text)
{
    uint32_t ip;
    uint16_t port;
    uint64_t rank;
    if (!text)
        return NULL;
    if (conform_pair(text, &ip, &port))
        return conform_ends_find(&s->ends, ip, port);
    if (*text == '[')
        text = jsonl_item(&text); /* a rank */
    if (!conform_number(text, &rank) || rank >= (uint64_t)s->n_ranks)
        return NULL;
    return conform_ends_find(&s->ends, s->ranks[rank].ip, s->ranks[rank].port);
}

const char *conform_end_name(const struct conform_script *s, const struct conform_end *end,
                             char to[16])
{
    snprintf(to, 16, "%s", end->ip >> 28 == PKT_GROUPS ? "the group" : "another host");
    for (int r = 0; r < s->n_ranks; r++)
        if (end->ip == s->ranks[r].ip && end->port == s->ranks[r].port)
            snprintf(to, 16, "rank %d", r);
    return to;
}
