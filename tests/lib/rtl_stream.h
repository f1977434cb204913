/* rtl_stream.h : checks a ready/valid buffer of 32-bit beats under random stalls: order, stable
 * stalled beats, capacity, full speed without stalls. */
#ifndef RTL_STREAM_H
#define RTL_STREAM_H
#include "check.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"

static void rtl_check_stream(struct model *m, unsigned capacity, uint64_t seed, uint64_t n_clocks)
{
    uint32_t *in_data = model_port(m, "in_data_i", NULL),
             *out_data = model_port(m, "out_data_o", NULL);
    uint8_t *in_valid = model_port(m, "in_valid_i", NULL),
            *in_ready = model_port(m, "in_ready_o", NULL);
    uint8_t *out_valid = model_port(m, "out_valid_o", NULL),
            *out_ready = model_port(m, "out_ready_i", NULL);
    uint8_t *rst = model_port(m, "rst_i", NULL);
    /* multiples of an odd constant all differ */
    uint64_t rand = seed, taken = 0, given = 0;
    unsigned in_stall = 0, out_stall = 0, most = 0;
    int put = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint64_t clock = 0; clock < n_clocks; clock++) {
        if (clock % 512 == 0) {
            in_stall = clock < 512 ? 0 : rtl_stall(&rand);
            out_stall = clock < 512 ? 0 : rtl_stall(&rand);
        }
        *rst = clock < 2 || clock % 100000 == 99999;
        if (*rst)
            taken = given = taken > given ? taken : given;
        if (!*in_valid || put || *rst) { /* once valid, a beat waits */
            *in_valid = (uint8_t)!rtl_chance(&rand, in_stall);
            *in_data = (uint32_t)taken * 0x9e3779b1u;
        }
        *in_valid &= (uint8_t) !*rst;
        *out_ready = (uint8_t)!rtl_chance(&rand, out_stall);
        model_eval(m);
        int get = *out_valid && *out_ready && !*rst;
        put = *in_valid && *in_ready && !*rst;
        uint32_t held = *out_data;
        int stalled = *out_valid && !*out_ready && !*rst;
        if (get) {
            CHECK(given < taken, "clock %llu: a beat from nothing", (unsigned long long)clock);
            CHECK(held == (uint32_t)given * 0x9e3779b1u, "clock %llu: beat %llu is %08x",
                  (unsigned long long)clock, (unsigned long long)given, held);
        }
        taken += (uint64_t)put;
        given += (uint64_t)get;
        model_tick(m);
        CHECK(!stalled || (*out_valid && *out_data == held), "clock %llu: a stalled beat changed",
              (unsigned long long)clock);
        unsigned inside = (unsigned)(taken - given);
        CHECK(*rst || *out_valid == (inside > 0), "clock %llu: %u inside, valid %d",
              (unsigned long long)clock, inside, *out_valid);
        CHECK(*rst || *in_ready == (inside < capacity), "clock %llu: %u inside, ready %d",
              (unsigned long long)clock, inside, *in_ready);
        most = inside > most ? inside : most;
        if (clock == 511)
            CHECK(given == 509, "%llu beats in 509 clocks without a stall",
                  (unsigned long long)given);
    }
    CHECK(most == capacity, "%u beats at most were inside", most);
    CHECK(taken > n_clocks / 4, "only %llu beats", (unsigned long long)taken);
}

#endif
