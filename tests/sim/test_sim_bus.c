/* test_sim_bus.c : tests a card on its machine's bus: registers, memory, nonsense values, runs
 * that are never polled. */
#include "bus_card.h"
#include "hls/core/expmax.h"
#include "hls/core/quant.h"
#include "hls/core/reduce.h"
#include "hls/card/regs.h"
#include "sim_client.h"

static void registers(bool listens)
{
    uint32_t value;
    CHECK(reads(nic + REG_ID) == REG_ID_VALUE, "ID %x", reads(nic + REG_ID));
    for (uint32_t on = 0; on < 4; on++) {
        CHECK(bus_write(nic + REG_CTRL, on & 1) == 0, "CTRL");
        CHECK(reads(nic + REG_CTRL) == (on & 1), "CTRL is not %u", on & 1);
    }
    CHECK(bus_write(nic + REG_DROP_IN, 77) == 0 && reads(nic + REG_DROP_IN) == 77, "DROP_IN");
    CHECK(bus_write(nic + REG_DROP_IN, 0) == 0, "DROP_IN");
    const uint64_t none[] = {0,
                             nic - 4,
                             nic + 2,
                             nic + 0xff0,
                             nic + 0x1008,
                             nic + KERNEL_WINDOW - 4,
                             reduce + 0x1000,
                             reduce + 0xfff,
                             unquant + KERNEL_WINDOW,
                             unquant + 0x1000,
                             mem,
                             UINT64_MAX,
                             UINT64_MAX - 3,
                             nic + (1ull << 32)};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        CHECK(bus_read(none[i], &value) == 1, "0x%llx answers", (unsigned long long)none[i]);
        CHECK(bus_write(none[i], 1) == 1, "0x%llx takes", (unsigned long long)none[i]);
    }
    const uint32_t ip = reads(nic + SHELL_IP), port = reads(nic + SHELL_PORT);
    CHECK(bus_write(nic + SHELL_IP, 0x0a000001) == 0, "IP");
    CHECK(bus_write(nic + SHELL_PORT, 0x14711) == 0, "PORT");
    if (listens) {
        CHECK(ip == 0x7f000001 && port, "IP %x, PORT %u", ip, port);
        CHECK(reads(nic + SHELL_IP) == ip && reads(nic + SHELL_PORT) == port, "it has moved");
    } else {
        CHECK(ip == 0 && port == 0, "IP %x, PORT %u", ip, port);
        CHECK(reads(nic + SHELL_IP) == 0x0a000001 && reads(nic + SHELL_PORT) == 0x4711,
              "IP and PORT are not kept");
    }
    const uint64_t at[] = {reduce + ARG_REDUCE_MM_out + 4, expmax + ARG_EXPMAX_status,
                           quant + ARG_QUANT_shift, unquant + ARG_UNQUANT_n};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        CHECK(bus_write(at[i], 0xdead0000 + (uint32_t)i) == 0, "argument");
        CHECK(reads(at[i]) == 0xdead0000 + i, "argument %zu is not kept", i);
    }
    CHECK(bus_write(reduce + KERNEL_STATUS, 5) == 0 && reads(reduce + KERNEL_STATUS) != 5,
          "STATUS");
    CHECK(bus_write(quant + 0x74, 5) == 0 && reads(quant + 0x74) == 0, "there is no register");
    CHECK(bus_write(quant + 0xffc, 5) == 0 && reads(quant + 0xffc) == 0, "there is no register");
}

static void memory(void)
{
    static uint8_t x[SIMLINK_MAX + 1], y[SIMLINK_MAX + 1];
    const uint64_t end = mem + mem_bytes;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)draw();
    CHECK(get(mem, y, 1) == 0 && y[0] == 0 && get(end - 1, y, 1) == 0 && y[0] == 0, "not 0");
    CHECK(put(mem, x, 1) == 0 && get(mem, y, 1) == 0 && y[0] == x[0], "the first byte");
    CHECK(put(end - SIMLINK_MAX, x, SIMLINK_MAX) == 0 &&
              get(end - SIMLINK_MAX, y, SIMLINK_MAX) == 0 && !memcmp(x, y, SIMLINK_MAX),
          "the last bytes");
    CHECK(put(mem - 1, x, 1) == 1 && put(mem - 1, x, 2) == 1, "in front of memory");
    CHECK(put(end, x, 1) == 1 && put(end - 10, x + 1, 11) == 1, "behind memory");
    CHECK(get(end - 10, y, 10) == 0 && !memcmp(y, x + SIMLINK_MAX - 10, 10), "half is written");
    CHECK(get(mem - 1, y, 1) == 1 && get(end, y, 1) == 1 && get(end - 10, y, 11) == 1, "read");
    CHECK(get(mem, y, SIMLINK_MAX + 1) == 1, "more than a message holds");
    CHECK(get(0, y, 1) == 1 && get(UINT64_MAX, y, 1) == 1 && get(UINT64_MAX - 5, y, 100) == 1 &&
              put(UINT64_MAX, x, 100) == 1,
          "no memory there");
    CHECK(ask((struct simlink){.kind = SIMLINK_MEM_READ, .a = mem, .b = UINT64_MAX}, NULL).status ==
              1,
          "all there is");
    CHECK(put(mem, x, 0) == 0 && get(end, y, 0) == 0, "no bytes");
}

static void refused(void)
{
    static uint8_t before[1 << 12], after[sizeof before];
    const struct mm_run good = {.in = mem + (16 << 20),
                                .out = mem + (20 << 20),
                                .parts = 3,
                                .stride = 9,
                                .beats = 7,
                                .fmt = 0x43,
                                .out_fmt = 0x52};
    struct mm_run bad;
    for (size_t i = 0; i < sizeof before; i++)
        before[i] = (uint8_t)draw();
    put_all(good.out, before, sizeof before);
#define ENDS(field, value, is)                                                        \
    do {                                                                              \
        bad = good;                                                                   \
        bad.field = (value);                                                          \
        set_reduce(bad);                                                              \
        go(reduce);                                                                   \
        CHECK(reads(reduce + KERNEL_STATUS) == (is), #field " " #value ": status %x", \
              reads(reduce + KERNEL_STATUS));                                         \
        get_all(good.out, after, sizeof after);                                       \
        CHECK(!memcmp(before, after, sizeof after), #field " " #value ": written");   \
    } while (0)
    ENDS(parts, 0, REDUCE_REFUSED);
    ENDS(parts, 65, REDUCE_REFUSED);
    ENDS(fmt, 0x44, REDUCE_REFUSED);
    ENDS(out_fmt, 0xffffffff, REDUCE_REFUSED);
    ENDS(out_shift, 7, REDUCE_REFUSED);
    ENDS(saturate, 2, REDUCE_REFUSED);
    ENDS(in, good.in + 1, REDUCE_REFUSED);
    ENDS(out, good.out + 32, REDUCE_REFUSED);
    ENDS(in, 0, KERNEL_NO_MEMORY);
    ENDS(in, mem - 64, KERNEL_NO_MEMORY);
    ENDS(in, mem + mem_bytes - 64 * (2 * 9 + 7) + 64, KERNEL_NO_MEMORY);
    ENDS(in, UINT64_MAX - 63, KERNEL_NO_MEMORY);
    ENDS(out, mem + mem_bytes - 64 * 6, KERNEL_NO_MEMORY);
    ENDS(out, UINT64_MAX - 63, KERNEL_NO_MEMORY);
    ENDS(beats, UINT32_MAX, REDUCE_REFUSED);
    ENDS(beats, REDUCE_MAX_BEATS + 1, REDUCE_REFUSED);
    ENDS(beats, REDUCE_MAX_BEATS, KERNEL_NO_MEMORY);
    ENDS(stride, UINT32_MAX, KERNEL_NO_MEMORY);
    ENDS(beats, 0, 0);
#undef ENDS
    bad = good; /* beats of sums exceed a register */
    bad.beats = UINT32_MAX;
    bad.fmt = 0x21;
    set_reduce(bad);
    go(reduce);
    CHECK(reads(reduce + KERNEL_STATUS) == REDUCE_REFUSED, "status %x",
          reads(reduce + KERNEL_STATUS));
    bad = good;
    bad.in = mem + mem_bytes - 64 * (2 * 9 + 7);
    set_reduce(bad);
    go(reduce);
    CHECK(!(reads(reduce + KERNEL_STATUS) >> 30), "the last beat: %x",
          reads(reduce + KERNEL_STATUS));
}

static void senseless(uint64_t base, int arg, bool wide, uint64_t value, uint32_t status)
{
    poison_words();
    argument(base + (uint64_t)arg, value, wide);
    go(base);
    CHECK(word(0) == status, "kernel at %llx, argument %x = %llx: status %x, not %x",
          (unsigned long long)base, arg, (unsigned long long)value, word(0), status);
}

static void refused_casts(void)
{
    const uint64_t outside[] = {0, mem - 64, mem + mem_bytes - 64, UINT64_MAX - 63};
    const uint32_t silent = 0x07070707;
    for (size_t i = 0; i < 4; i++) {
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_x, true, outside[i], KERNEL_NO_MEMORY);
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_codes, true, outside[i], KERNEL_NO_MEMORY);
        set_unquant(MANY, 0x43, 0);
        senseless(unquant, ARG_UNQUANT_codes, true, outside[i], KERNEL_NO_MEMORY);
        set_unquant(MANY, 0x43, 0);
        senseless(unquant, ARG_UNQUANT_x, true, outside[i], KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_x, true, outside[i], KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_absmax, true, outside[i] + 62, KERNEL_NO_MEMORY);
        set_expmax(MANY, 1);
        senseless(expmax, ARG_EXPMAX_status, true, outside[i] + 62, silent);
        set_quant(MANY, 0x43, 0, 1);
        senseless(quant, ARG_QUANT_status, true, outside[i] + 62, silent);
    }
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_fmt, false, 0x44, QUANT_REFUSED);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_shift, false, INT32_MAX, QUANT_REFUSED);
    set_quant(1, 0x43, 0, 1);
    senseless(quant, ARG_QUANT_x, true, at_x + 4, QUANT_REFUSED);
    set_unquant(1, 0x43, 0);
    senseless(unquant, ARG_UNQUANT_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_unquant(1, 0x43, 0);
    senseless(unquant, ARG_UNQUANT_codes, true, at_codes + 32, QUANT_REFUSED);
    set_expmax(1, 1);
    senseless(expmax, ARG_EXPMAX_n, false, UINT32_MAX, KERNEL_NO_MEMORY);
    set_expmax(1, 1);
    senseless(expmax, ARG_EXPMAX_x, true, at_x + 1, EXPMAX_REFUSED);
}

/* Sizes are small or absurd: large ones that fit into memory may take long. */
static void garbage(void)
{
    const uint64_t bases[] = {reduce, expmax, quant, unquant};
    const uint32_t values[] = {0,    1,    2,          16,         100,        0x43,      0x52,
                               0x5a, 0x40, 0x3fffffc0, 0x3fffff80, 0xffffffff, 0x80000000};
    for (unsigned i = 0; i < 600; i++) {
        const uint64_t base = bases[i % 4];
        for (unsigned k = 0; k < 12; k++)
            CHECK(bus_write(base + 0x10 + 4 * (draw() % 22), values[draw() % 13]) == 0, "garbage");
        for (unsigned at = 0x14; at < 0x40; at += 4)
            if (draw() % 3)
                CHECK(bus_write(base + at, 0x40) == 0, "the upper half of an address");
        go(base);
    }
}

/* During a long run registers answer, other kernels run, and new arguments apply to the next
 * run. */
static void meanwhile(void)
{
    set_expmax(1 << 28, 1);
    SET(EXPMAX, expmax, x, mem);
    CHECK(bus_write(expmax, KERNEL_CTRL_START) == 0 && reads(expmax) == KERNEL_CTRL_START,
          "it runs");
    CHECK(bus_write(expmax + ARG_EXPMAX_x, 0xffffffff) == 0, "argument");
    CHECK(bus_write(expmax + ARG_EXPMAX_n, 0xffffffff) == 0, "argument");
    CHECK(bus_write(expmax, KERNEL_CTRL_START) == 0, "a start that is too early");
    for (unsigned i = 0; i < 50; i++)
        CHECK(reads(nic + REG_ID) == REG_ID_VALUE, "ID");
    set_quant(1000, 0x43, 0, 1);
    go(quant);
    CHECK(reads(expmax) == KERNEL_CTRL_START, "it runs no more");
}

static void alone(void)
{
    const double until = clock_s() + ANSWER_S;
    poison_words();
    set_expmax(1 << 20, 1);
    CHECK(bus_write(expmax, KERNEL_CTRL_START) == 0, "start");
    while (word(0) && clock_s() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(word(0) == 0, "it does not go on by itself");
    CHECK(reads(expmax) & KERNEL_CTRL_DONE, "done is not kept");
}

static void strangers(void)
{
    const uint32_t ip = reads(nic + SHELL_IP), kinds[] = {SIMLINK_BUS_READ, SIMLINK_BUS_WRITE,
                                                          SIMLINK_MEM_READ, SIMLINK_MEM_WRITE};
    const uint16_t port = (uint16_t)reads(nic + SHELL_PORT);
    static struct client c;
    struct simlink answer;
    for (int i = 0; i < 4; i++) {
        const uint64_t at = i < 2 ? nic + REG_ID : mem;
        CHECK(client_open(&c, ip, port) == 0, "cannot connect");
        CHECK(client_read(&c, REG_ID) == REG_ID_VALUE, "cannot read a register");
        CHECK(client_ask(&c, (struct simlink){.kind = kinds[i], .a = at, .b = 4}, NULL, &answer) ==
                  -1,
              "message %u is answered", kinds[i]);
        close(c.fd);
    }
    /* The card's owner may take all slots. */
    const uint32_t all = reads(nic + REG_CAP_SLOTS);
    CHECK(bus_write(nic + REG_JOB_INDEX, 0) == 0 && bus_write(nic + REG_JOB_RANKS, 1) == 0 &&
              bus_write(nic + REG_JOB_SLOTS, all) == 0 &&
              bus_write(nic + REG_JOB_COMMIT, REG_JOB_COMMIT_START) == 0,
          "the owner's job");
    CHECK(!(reads(nic + REG_STATUS) & REG_STATUS_REFUSED), "refused");
    CHECK(client_open(&c, ip, port) == 0, "cannot connect");
    CHECK(client_write(&c, REG_JOB_INDEX, 0) == 0 && client_write(&c, REG_JOB_COMMIT, 0) == 1,
          "a stranger stops the owner's job");
    CHECK(client_wire(&c, "jobs") == 1, "%d jobs", (int)client_wire(&c, "jobs"));
    CHECK(bus_write(nic + REG_CTRL, 0) == 0 && client_write(&c, REG_CTRL, REG_CTRL_LATCH) == 0,
          "CTRL");
    close(c.fd);
    CHECK(bus_write(nic + REG_JOB_INDEX, 0) == 0 && bus_write(nic + REG_JOB_COMMIT, 0) == 0,
          "stop");
}

static void one_model(const char *model)
{
    for (int listens = 0; listens < 2; listens++) {
        start(model, listens ? "127.0.0.1:0" : NULL);
        registers(listens);
        memory();
        refused();
        refused_casts();
        garbage();
        alone();
        if (listens)
            strangers();
        meanwhile();
        fpga_process_close(&card);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    of_both(argv[0], one_model);
    DONE();
}
