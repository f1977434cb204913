/* test_frame_fifo_rtl.c : compares the frame FIFO with a plain one, clock by clock. */
#include "check.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"

enum { SEED = 24, DEPTH = 16, CLOCKS = 3000000, RING = 64 };

/* Released beats may leave; open ones wait for their frame's end. */
struct plain {
    uint32_t data[RING];
    unsigned first, n_free, n_open;
    int lost;
};

struct frame {
    unsigned beats, end_late;
    int good, end_with_last;
};

static struct frame new_frame(uint64_t *rand)
{
    unsigned kind = rtl_rand(rand) % 16;
    struct frame f = {
        .beats = 1 + rtl_rand(rand) % 6, .good = !rtl_chance(rand, 70), .end_with_last = 1};
    if (kind < 3)
        f.beats = kind * DEPTH / 2;
    if (kind == 3)
        f.beats = DEPTH + rtl_rand(rand) % (2 * DEPTH);
    if (f.beats == 0 || kind >= 11) {
        f.end_with_last = 0;
        f.end_late = rtl_rand(rand) % 4;
    }
    return f;
}

int main(int argc, char **argv)
{
    struct model *m = model_open(argc, argv);
    uint32_t *in_data = model_port(m, "in_data_i", NULL),
             *out_data = model_port(m, "out_data_o", NULL);
    uint8_t *in_valid = model_port(m, "in_valid_i", NULL),
            *in_end = model_port(m, "in_end_i", NULL);
    uint8_t *in_good = model_port(m, "in_good_i", NULL), *full = model_port(m, "full_o", NULL);
    uint8_t *out_valid = model_port(m, "out_valid_o", NULL),
            *out_ready = model_port(m, "out_ready_i", NULL);
    uint8_t *rst = model_port(m, "rst_i", NULL);
    uint64_t rand = SEED, n_in = 0, n_out = 0, n_good = 0, n_bad = 0, n_lost = 0, n_streak = 0,
             streak = 0;
    unsigned in_stall = 0, out_stall = 0;
    struct plain p = {0};
    struct frame f = new_frame(&rand);
    unsigned fresh = 0;
    printf("seed %d\n", SEED);
    for (int clock = 0; clock < CLOCKS; clock++) {
        if (clock % 256 == 0) {
            in_stall = rtl_stall(&rand);
            out_stall = rtl_stall(&rand);
        }
        *rst = clock < 2 || clock % 50000 == 49999;
        if (*rst)
            f = new_frame(&rand);
        *in_valid = (uint8_t)(!*rst && f.beats > 0 && !rtl_chance(&rand, in_stall));
        *in_end = (uint8_t)(!*rst && f.beats == *in_valid &&
                            (*in_valid ? f.end_with_last : f.end_late-- == 0));
        *in_good = (uint8_t)(*in_end ? f.good : rtl_chance(&rand, 128));
        *in_data = rtl_rand(&rand);
        *out_ready = (uint8_t)!rtl_chance(&rand, out_stall);
        model_eval(m);

        int lost = p.lost || (*in_valid && p.n_free + p.n_open == DEPTH);
        int put = *in_valid && !lost, get = *out_valid && *out_ready && !*rst;
        uint32_t held = *out_data;
        int stalled = *out_valid && !*out_ready && !*rst;
        if (!*rst) {
            CHECK(*full == lost, "clock %d: full %d", clock, *full);
            CHECK(*out_valid == (p.n_free > fresh), "clock %d: %u free, valid %d", clock, p.n_free,
                  *out_valid);
            CHECK(!*out_valid || *out_data == p.data[p.first % RING],
                  "clock %d: %08x, must be %08x", clock, *out_data, p.data[p.first % RING]);
        }
        if (put)
            p.data[(p.first + p.n_free + p.n_open++) % RING] = *in_data;
        if (get) {
            p.first++;
            p.n_free--;
        }
        fresh = 0;
        p.lost = lost && !*in_end;
        if (*in_end) {
            fresh = *in_good && !lost ? p.n_open : 0;
            p.n_free += fresh;
            p.n_open = 0;
            n_good += *in_good && !lost;
            n_bad += !*in_good;
            n_lost += (uint64_t)lost;
        }
        f.beats -= *in_valid;
        if (*in_end)
            f = new_frame(&rand);
        n_in += (uint64_t)put;
        n_out += (uint64_t)get;
        streak = get ? streak + 1 : 0;
        n_streak = streak > n_streak ? streak : n_streak;
        if (*rst)
            p = (struct plain){0};
        fresh = *rst ? 0 : fresh;

        model_tick(m);
        CHECK(!stalled || (*out_valid && *out_data == held), "clock %d: a stalled beat changed",
              clock);
    }
    printf("%llu beats in, %llu out; frames: %llu good, %llu bad, %llu without room; %llu beats in "
           "a row\n",
           (unsigned long long)n_in, (unsigned long long)n_out, (unsigned long long)n_good,
           (unsigned long long)n_bad, (unsigned long long)n_lost, (unsigned long long)n_streak);
    CHECK(n_good > 50000 && n_bad > 20000 && n_lost > 20000 && n_streak > DEPTH,
          "too few of a kind");
    model_close(m);
    DONE();
}
