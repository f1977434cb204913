/* test_counters_rtl.c : counters.sv loses no pulse, and a snapshot shows all counters of one
 * clock. */
#include "check.h"
#include "hls/card/regs.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"
#include <string.h>

static uint64_t seed = 0xc0;

static struct model *m;
static uint8_t *rst, *snapshot, *busy, *at;
static uint32_t *pulses;
static uint64_t *value, live[REG_COUNTERS], copy[REG_COUNTERS];

static void clock_once(unsigned rate, int snap)
{
    *pulses = 0;
    for (int i = 0; i < REG_COUNTERS; i++)
        *pulses |= (uint32_t)(rtl_rand(&seed) % 8 < rate) << i;
    *snapshot = (uint8_t)snap;
    for (int i = 0; i < REG_COUNTERS; i++)
        live[i] += *pulses >> i & 1;
    if (snap)
        memcpy(copy, live, sizeof copy);
    model_tick(m);
    *snapshot = 0;
}

static void check_copies(unsigned rate)
{
    int waited = 0;
    for (model_eval(m); *busy && waited < 200; waited++)
        clock_once(rate, 0);
    CHECK(waited <= 2 * REG_COUNTERS, "a snapshot takes more than %d clocks", waited);
    for (int i = 0; i < REG_COUNTERS; i++) {
        *at = (uint8_t)i;
        clock_once(rate, 0);
        CHECK(*value == copy[i], "counter %d shows %llu, not %llu", i, (unsigned long long)*value,
              (unsigned long long)copy[i]);
    }
}

int main(int argc, char **argv)
{
    printf("seed %llx\n", (unsigned long long)seed);
    m = model_open(argc, argv);
    rst = model_port(m, "rst_i", NULL);
    pulses = model_port(m, "count_i", NULL);
    snapshot = model_port(m, "snapshot_i", NULL);
    busy = model_port(m, "busy_o", NULL);
    at = model_port(m, "index_i", NULL);
    value = model_port(m, "value_o", NULL);
    for (int life = 0; life < 3; life++) {
        *rst = 1;
        clock_once(3, 0);
        clock_once(3, 0);
        *rst = 0;
        memset(live, 0, sizeof live);
        memset(copy, 0, sizeof copy);
        for (int i = 0; i < 2 * REG_COUNTERS; i++)
            clock_once(8, 0);
        check_copies(8);
        for (int i = 0; i < 1500; i++) {
            unsigned rate = i % 3 ? rtl_rand(&seed) % 9 : 8;
            for (unsigned n = rtl_rand(&seed) % 100; n; n--)
                clock_once(rate, 0);
            clock_once(rate, 1);
            while (rtl_rand(&seed) % 2) {
                for (unsigned n = rtl_rand(&seed) % 40; n; n--)
                    clock_once(rate, 0);
                clock_once(rate, 1);
            }
            if (i % 50 == 0)
                for (int n = 0; n < 300; n++)
                    clock_once(8, rtl_rand(&seed) % 8 < (unsigned)i / 50 % 9);
            check_copies(rate);
        }
    }
    printf("%llu clocks, counter 0 at %llu\n", (unsigned long long)model_cycles(m),
           (unsigned long long)live[0]);
    model_close(m);
    DONE();
}
