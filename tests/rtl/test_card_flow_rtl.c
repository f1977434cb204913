/* test_card_flow_rtl.c : compares the Verilated card under load with the card in C. */
#include "card_pair.h"

enum { SEED = 21, BASE = 3, SLOTS = 40, BEATS = 32, MTU_BEATS = 22 };
static const uint64_t job_key = 0x0badcafe12345678u;

static struct frame_job job_of(uint32_t index, uint32_t ranks)
{
    return (struct frame_job){index, ranks, BASE + index * 30, SLOTS / 2, 0, job_key + index};
}

static void contribute(struct frame_job job, uint32_t rank, uint32_t slot, uint32_t chunk,
                       uint8_t fmt, uint32_t beats)
{
    static uint8_t payload[BEATS * 64], frame[64 * (BEATS + 1)];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.job = (uint16_t)job.index;
    h.key = job.key;
    h.rank = (uint16_t)rank;
    h.slot = (uint16_t)(job.base + slot);
    h.chunk = chunk;
    h.op = fmt ? PKT_OP_SUM : PKT_OP_MAX;
    h.beats = (uint8_t)beats;
    h.in_fmt = h.out_fmt = fmt;
    h.count = beats * 64;
    for (size_t i = 0; i < beats * 64; i += 4)
        pkt_put_uint(payload + i, philox_u32(SEED + 5, pair_drawn++) & 0xbbbbbbbb, 4);
    size_t n = frame_put(h, payload, beats, frame);
    queue_both((struct queued_frame){frame_ip(job.index, rank), 0, frame_port(rank), n, 0}, frame);
}

static void all_in(struct shell_run run, uint64_t n_frames, uint64_t before)
{
    uint64_t added = counter_of(&rtl, CNT_IN_ADDED) - before;
    CHECK(run.beats_in && added == n_frames, "%llu of %llu contributions were added",
          (unsigned long long)added, (unsigned long long)n_frames);
    same_frames();
    same_counters();
}

static void beat_a_clock(uint32_t ranks, uint32_t beats, uint8_t fmt)
{
    struct frame_job job = job_of(1, ranks);
    pair_register(job);
    uint64_t n_frames = 0, before = counter_of(&rtl, CNT_IN_ADDED);
    for (uint32_t chunk = 0; n_frames * (beats + 1) < 100000; chunk++)
        for (uint32_t slot = 0; slot < job.slots; slot++)
            for (uint32_t rank = 0; rank < ranks; rank++, n_frames++)
                contribute(job, rank, slot, chunk, fmt, beats);
    struct shell_run run = pair_run();
    double ratio = (double)run.clocks / (double)run.flits_in;
    printf("%u ranks, frames of %u beats: %llu beats in, %llu out, %.4f clocks a %s in\n", ranks,
           beats, (unsigned long long)run.beats_in, (unsigned long long)run.beats_out, ratio,
           run.flits_in == run.beats_in ? "beat" : "flit");
    CHECK(ratio <= 1.02, "%.4f clocks a flit", ratio);
    all_in(run, n_frames, before);
}

/* Clocks in which a payload enters the card. turns: flits of a beat, or 0 if a flit has two: then
 * the header takes half of the first, and a last half takes a clock of its own. */
static long payload_clocks(long turns, long beats)
{
    return turns ? turns * beats : beats / 2 + 2 * (beats % 2);
}

static void latency(void)
{
    struct frame_job job = job_of(1, 1);
    pair_register(job);
    long least = 0;
    /* the card also clears slots after reset */
    contribute(job, 0, 0, 0, 0x43, 1);
    pair_run();
    for (uint32_t beats = 1; beats <= BEATS; beats++) {
        contribute(job, 0, 0, beats, 0x43, beats);
        struct shell_run run = pair_run();
        /* as many flits in as out, without a pause */
        const long flits = (long)run.flits_in, turns = flits / (beats + 1),
                   payload = payload_clocks(turns, beats),
                   clocks = (long)run.clocks - 2 * flits + 1;
        same_frames();
        if (beats == 1)
            least = clocks - payload;
        CHECK(clocks == least + payload, "%u beats: %ld clocks, not %ld + %ld", beats, clocks,
              least, payload);
        if (beats == MTU_BEATS)
            CHECK(clocks <= 22 + !turns + payload, "%ld clocks", clocks);
        if (beats == BEATS)
            printf("latency, last flit in to first flit out: %ld clocks + the payload's flits; %ld "
                   "for "
                   "%d beats\n",
                   least, least + payload_clocks(turns, MTU_BEATS), MTU_BEATS);
    }
}

static void stalls(unsigned of_256, int rounds)
{
    static const uint8_t formats[] = {0, 0x12, 0x21, 0x30, 0x43, 0x52, 0xc3, 0xa5};
    const struct frame_job jobs[] = {job_of(0, 3), job_of(1, 2), job_of(3, 5)};
    uint32_t chunk[SLOTS] = {0};
    for (int j = 0; j < 3; j++)
        pair_register(jobs[j]);
    rtl.ops->stall(rtl.shell, of_256);
    for (int round = 0; round < rounds; round++) {
        uint64_t n_frames = 0, n_beats = 0, before = counter_of(&rtl, CNT_IN_ADDED);
        for (uint32_t slot = 0; slot < jobs[0].slots && n_beats < 200; slot++, chunk[slot - 1]++)
            for (int j = 0; j < 3; j++) {
                uint32_t beats = 1 + draw(5);
                uint8_t fmt = formats[draw(8)];
                for (uint32_t rank = 0; rank < jobs[j].ranks; rank++, n_frames++, n_beats += beats)
                    contribute(jobs[j], rank, slot, chunk[slot], fmt, beats);
            }
        all_in(pair_run(), n_frames, before);
    }
    rtl.ops->stall(rtl.shell, 0);
}

static void ping(struct frame_job job, int times)
{
    uint8_t frame[64];
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.job = (uint16_t)job.index;
    h.key = job.key;
    h.slot = (uint16_t)job.base;
    h.op = PKT_OP_PING;
    size_t n = frame_put(h, frame, 0, frame);
    for (int i = 0; i < times; i++)
        if (frame_queue_put(&rtl.in,
                            (struct queued_frame){frame_ip(job.index, 0), 10, frame_port(0), n, 0},
                            frame))
            exit(1);
    rtl.n_out = 0;
    rtl.ops->run(rtl.shell, &rtl.in, 1 << 26);
}

/* Half of the PINGs in and a quarter of the pongs out are lost, within 5 sigma. */
static void losses(void)
{
    enum { PINGS = 4000 };
    struct frame_job job = job_of(1, 1);
    uint64_t lost_in[2], lost_out[2];
    pair_register(job);
    rtl.ops->control.write(rtl.shell, REG_DROP_IN, 1u << 31);
    rtl.ops->control.write(rtl.shell, REG_DROP_OUT, 1u << 30);
    for (int i = 0; i < 2; i++) {
        uint64_t before[2] = {counter_of(&rtl, CNT_DROP_TEST_IN),
                              counter_of(&rtl, CNT_LOST_TEST_OUT)};
        rtl.ops->control.write(rtl.shell, REG_DROP_SEED, 1234);
        ping(job, PINGS);
        lost_in[i] = counter_of(&rtl, CNT_DROP_TEST_IN) - before[0];
        lost_out[i] = counter_of(&rtl, CNT_LOST_TEST_OUT) - before[1];
        CHECK(PINGS - (int)lost_in[i] - (int)lost_out[i] == rtl.n_out, "%d pongs", rtl.n_out);
    }
    double in = (double)lost_in[0] - PINGS / 2,
           out = (double)lost_out[0] - (PINGS - (double)lost_in[0]) / 4;
    CHECK(in * in < 25 * PINGS / 4, "%llu of %d lost on the way in", (unsigned long long)lost_in[0],
          PINGS);
    CHECK(out * out < 25 * PINGS / 2 * 3 / 16, "%llu lost on the way out",
          (unsigned long long)lost_out[0]);
    CHECK(lost_in[0] == lost_in[1] && lost_out[0] == lost_out[1], "the same seed, other losses");
}

int main(void)
{
    if (!pair_open(SEED))
        return 1;
    latency();
    beat_a_clock(4, MTU_BEATS, 0x43);
    beat_a_clock(64, BEATS, 0x52);
    stalls(0, 4);
    stalls(64, 4);
    stalls(200, 2);
    losses();
    pair_close();
    DONE();
}
