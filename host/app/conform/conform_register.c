/* conform_register.c : writes and reads a register as a vector does. */
#include "app/conform/conform_script.h"
#include "base/clock.h"
#include "base/err.h"
#include <inttypes.h>

static const char *register_name(uint64_t at)
{
    switch (at) {
#define REG(NAME, at, access, what) \
    case at:                        \
        return #NAME;
#include "hls/card/regs.def"
    default:
        return "no register";
    }
}

/* Return the vector's value with this run's keys, addresses and counters; keep those that later
 * values refer to. */
static uint32_t real_of(struct conform_script *s, uint64_t at, bool write, uint32_t value)
{
    const struct conform_end *end;
    switch (at) {
    case REG_JOB_KEY_LO:
        return write ? value ^ s->mask : value;
    case REG_JOB_INDEX:
        s->jobs_used |= value < s->c->caps.jobs && value < 32 ? 1u << value : 0;
        return value;
    case REG_RANK_IP:
    case REG_SEEN_IP:
        s->ip = value;
        end = conform_ends_find(&s->ends, value, 0);
        return end ? end->real_ip : value;
    case REG_RANK_PORT:
    case REG_SEEN_PORT:
        end = value ? conform_ends_find(&s->ends, s->ip, (uint16_t)value) : NULL;
        return end ? end->real_port : value;
    case REG_COUNTER_INDEX:
        s->counter_index = value;
        return value;
    case REG_COUNTER_LO: /* counts since the vector began */
        s->shown = value + (s->counter_index < REG_COUNTERS ? s->latched[s->counter_index] : 0);
        return (uint32_t)s->shown;
    case REG_COUNTER_HI:
        return (uint32_t)(s->shown >> 32) + value;
    default:
        return value;
    }
}

/* A stop may take a while: STATUS is read until it is complete. */
static int execute(struct conform_script *s, struct fpga_op *op, bool *refused)
{
    struct fpga *card = &s->c->card;
    const double until = clock_s() + CONFORM_CONTROL_S;
    const uint32_t write = op->value;
    do {
        size_t done;
        op->value = op->read ? 0 : write;
        const int rc = card->ops->batch(card, op, 1, &done, CONFORM_CONTROL_S);
        if (rc)
            return ERR(rc, "%s", card->why);
        *refused = !done;
    } while (op->read && op->at == REG_STATUS && op->value & REG_STATUS_STOPPING &&
             clock_s() < until);
    return 0;
}

/* A shared card stays enabled (R119). */
static int check_disabled(struct conform_script *s)
{
    struct fpga_op op = {.at = REG_CTRL, .read = true};
    bool refused;
    TRY(execute(s, &op, &refused));
    if (!(op.value & REG_CTRL_ENABLE))
        return 0;
    conform_fails(s, "the card is shared and stays enabled (R119)", NULL, NULL, NULL);
    return CONFORM_NOT_RUN;
}

int conform_register(struct conform_script *s, const char *event)
{
    const char *write = jsonl_member(event, "write"), *read = jsonl_member(event, "read"),
               *pair = write ? write : read;
    uint64_t at, value;
    bool refused;
    if (!pair || !conform_number(jsonl_item(&pair), &at) ||
        !conform_number(jsonl_item(&pair), &value) || at >= REG_WINDOW || value > UINT32_MAX)
        return conform_malformed(s->in);
    const uint32_t wanted = real_of(s, at, write, (uint32_t)value);
    const bool to_refuse = jsonl_member(event, "refused");
    struct fpga_op op = {.at = (uint32_t)at, .read = !write, .value = wanted};
    TRY(execute(s, &op, &refused));
    char what[64], is[16], should[16];
    snprintf(what, sizeof what, "%s of %03" PRIx64, write ? "write" : "read", at);
    if (refused != to_refuse)
        return conform_fails(s, what, register_name(at), refused ? "refused" : "accepted",
                             to_refuse ? "refused" : "accepted");
    if (write && at == REG_CTRL && !(value & REG_CTRL_ENABLE))
        return check_disabled(s);
    /* SEEN_RANK is 0 only before the first wrong source since power-up. A card has sizes of its
     * own. */
    if (write || refused || op.value == wanted || (at == REG_SEEN_RANK && !value) ||
        (at >= REG_CAP_SLOTS && at <= REG_CAP_FORMATS))
        return 0;
    snprintf(is, sizeof is, "%08x", op.value);
    snprintf(should, sizeof should, "%08x", wanted);
    return conform_fails(s, what, register_name(at), is, should);
}
