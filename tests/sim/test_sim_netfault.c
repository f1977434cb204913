/* test_sim_netfault.c : the simulated bad network has the given rates, repeats with its seed, and
 * keeps no frame for ever. */
#include "check.h"
#include "sim/netfault.h"
#include <string.h>

enum { FRAMES = 40000, MAX_OUT = 2 * FRAMES + 100 };
static uint32_t came_out[MAX_OUT];
static int n_out;

static void take(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    uint32_t number = 0;
    (void)arg;
    CHECK(n >= 4, "%zu bytes", n);
    memcpy(&number, bytes, sizeof number);
    CHECK(n == 4 + number % 5 && ip == number + 1 && port == (uint16_t)number, "frame %u", number);
    if (n_out < MAX_OUT)
        came_out[n_out++] = number;
}

/* Frames are 10 us apart. Returns a hash of the output order. */
static uint64_t run(struct netfault_rates rates, uint64_t seed, uint32_t way, struct netfault *f)
{
    uint64_t now = 1, hash = 0xcbf29ce484222325u;
    netfault_init(f, rates, seed, way);
    n_out = 0;
    for (uint32_t i = 0; i < FRAMES; i++, now += 10000) {
        uint8_t bytes[8] = {0};
        memcpy(bytes, &i, sizeof i);
        netfault_put(f, i + 1, (uint16_t)i, bytes, 4 + i % 5, now);
        netfault_drain(f, now, take, NULL);
        CHECK(netfault_due(f) > now, "something is due and did not come");
    }
    netfault_drain(f, now + NETFAULT_HOLD_NS + rates.delay_ns, take, NULL);
    netfault_drain(f, now + 2 * (NETFAULT_HOLD_NS + rates.delay_ns), take, NULL);
    CHECK(netfault_due(f) == UINT64_MAX, "something is left");
    CHECK(f->seen == FRAMES && f->full == 0, "%llu seen", (unsigned long long)f->seen);
    CHECK((uint64_t)n_out == f->seen - f->dropped + f->repeated, "%d came out", n_out);
    for (int i = 0; i < n_out; i++)
        hash = (hash ^ came_out[i]) * 0x100000001b3u;
    return hash;
}

static void about(uint64_t n, double of, double p, const char *what)
{
    const double mean = of * p, d = (double)n - mean;
    CHECK(d * d <= 25 * of * p * (1 - p), "%s: %llu of %.0f", what, (unsigned long long)n, of);
}

int main(void)
{
    static struct netfault f;
    static unsigned char times[FRAMES];
    const struct netfault_rates good = {0, 0, 0, 0}, bad = {0.05, 0.05, 0.1, 0},
                                slow = {0, 0, 0, 1000000};
    int late = 0, worst = 0, least = FRAMES;

    run(good, 1, 0, &f);
    CHECK(!f.on && n_out == FRAMES, "a good network");
    for (int i = 0; i < n_out; i++)
        CHECK(came_out[i] == (uint32_t)i, "a good network reorders");
    netfault_fini(&f);

    const struct netfault_rates each[] = {{0.05, 0, 0, 0}, {0, 0.05, 0, 0}, {0, 0, 0.1, 0}, slow};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        run(each[i], 1, 0, &f);
        CHECK(f.on && (f.dropped > 0) == (i == 0) && (f.repeated > 0) == (i == 1) &&
                  (f.reordered > 0) == (i == 2),
              "rate %zu alone", i);
        netfault_fini(&f);
    }

    const uint64_t first = run(bad, 1, 0, &f);
    CHECK(f.on, "on");
    about(f.dropped, FRAMES, 0.05, "dropped");
    about(f.repeated, FRAMES - (double)f.dropped, 0.05, "repeated");
    about(f.reordered, n_out, 0.1, "reordered");
    printf("of %d: %llu dropped, %llu repeated, %llu reordered\n", FRAMES,
           (unsigned long long)f.dropped, (unsigned long long)f.repeated,
           (unsigned long long)f.reordered);
    for (int i = 0; i < n_out; i++) {
        const uint32_t number = came_out[i];
        CHECK(++times[number] <= 2, "frame %u came out %d times", number, times[number]);
        int behind = 0; /* largest distance to an older frame among the next ones */
        for (int k = i + 1; k < n_out && k < i + 40; k++)
            if (came_out[k] < number && (int)(number - came_out[k]) > behind)
                behind = (int)(number - came_out[k]);
        late += behind > 0;
        worst = behind > worst ? behind : worst;
    }
    for (int i = 0, newest = 0; i < n_out; i++) {
        const int number = (int)came_out[i];
        if (number < newest && newest - number < least)
            least = newest - number;
        newest = number > newest ? number : newest;
    }
    CHECK(least == 1, "the least late frame came after %d newer ones", least);
    CHECK(late > FRAMES / 20 && worst >= 6 && worst <= 16, "%d overtook others, by %d at most",
          late, worst);
    netfault_fini(&f);

    CHECK(run(bad, 1, 0, &f) == first, "another fate by the same seed");
    netfault_fini(&f);
    CHECK(run(bad, 2, 0, &f) != first, "the same fate by another seed");
    netfault_fini(&f);
    CHECK(run(bad, 1, 1, &f) != first, "the same fate both ways");
    netfault_fini(&f);

    /* 1 ms at 10 us a frame: 100 in flight */
    netfault_init(&f, slow, 1, 0);
    n_out = 0;
    for (uint32_t i = 0; i < 200; i++) {
        uint8_t bytes[8] = {0};
        memcpy(bytes, &i, sizeof i);
        netfault_put(&f, i + 1, (uint16_t)i, bytes, 4 + i % 5, 10000ull * i);
        netfault_drain(&f, 10000ull * i, take, NULL);
        CHECK(n_out == (i < 100 ? 0 : (int)i - 99), "%d came out after %u", n_out, i);
    }
    CHECK(netfault_due(&f) == 1000000ull + 10000 * 100, "due at %llu",
          (unsigned long long)netfault_due(&f));
    netfault_fini(&f);

    netfault_init(&f, slow, 1, 0);
    for (int i = 0; i <= NETFAULT_WAITING; i++)
        netfault_put(&f, 1, 0, (const uint8_t[4]){0}, 4, 1);
    CHECK(f.full == 1, "%llu frames had no room", (unsigned long long)f.full);
    netfault_fini(&f);

    const struct netfault_rates last = {0, 0, 1, 0}; /* no later frame comes */
    netfault_init(&f, last, 1, 0);
    n_out = 0;
    netfault_put(&f, 1, 0, (const uint8_t[4]){0}, 4, 1);
    netfault_drain(&f, NETFAULT_HOLD_NS, take, NULL);
    CHECK(n_out == 0 && netfault_due(&f) == 1 + NETFAULT_HOLD_NS, "%d came out", n_out);
    netfault_drain(&f, 1 + NETFAULT_HOLD_NS, take, NULL);
    CHECK(n_out == 1 && netfault_due(&f) == UINT64_MAX, "the last frame is kept");
    netfault_fini(&f);
    DONE();
}
