/* test_card_stop_rtl.c : stops a job while contributions arrive and restarts it with a new key; no
 * old contribution may be added. */
#include "card_pair.h"

enum { SEED = 41, SLOTS = 8, RANKS = 3, ROUNDS = 60 };
static uint8_t frame[64 * 9];

static struct frame_job job_of(uint32_t index, uint64_t key)
{
    return (struct frame_job){index, RANKS, index * SLOTS, SLOTS, 0, key};
}

static size_t contribution(struct frame_job job, uint32_t rank, uint32_t slot, uint32_t chunk)
{
    struct pkt_header h;
    memset(&h, 0, sizeof h);
    h.job = (uint16_t)job.index;
    h.key = job.key;
    h.rank = (uint16_t)rank;
    h.slot = (uint16_t)(job.base + slot);
    h.chunk = chunk;
    h.op = PKT_OP_SUM;
    h.beats = (uint8_t)(1 + slot);
    h.in_fmt = h.out_fmt = 0x43;
    for (size_t i = 64; i < sizeof frame; i += 4)
        pkt_put_uint(frame + i, philox_u32(SEED + 1, pair_drawn++), 4);
    return frame_put(h, frame + 64, h.beats, frame);
}

static struct queued_frame from(struct frame_job job, uint32_t rank, size_t n)
{
    return (struct queued_frame){frame_ip(job.index, rank), 0, frame_port(rank), n, 0};
}

/* Queues a chunk in all slots of a job, of the ranks below n_ranks, on both cards. */
static void chunk_of(struct frame_job job, uint32_t chunk, uint32_t n_ranks)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            size_t n = contribution(job, rank, slot, chunk);
            queue_both(from(job, rank, n), frame);
        }
    pair_run();
    same_frames();
}

int main(void)
{
    struct frame_job calm = job_of(1, 77);
    uint64_t old_frames = 0;
    if (!pair_open(SEED))
        return 1;
    pair_register(calm);
    for (uint32_t round = 0; round < ROUNDS && !check_bad; round++) {
        struct frame_job job = job_of(2, 1000 + round), next = job_of(2, 2000 + round);
        pair_register(job);
        chunk_of(calm, round, RANKS - 1);
        chunk_of(job, 0, RANKS);
        /* RTL only: the C model cannot stop between beats */
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            for (uint32_t rank = 0; rank < RANKS; rank++) {
                size_t n = contribution(job, rank, slot, 1);
                if (frame_queue_put(&rtl.in, from(job, rank, n), frame))
                    return 1;
            }
        rtl.n_out = 0;
        rtl.ops->run(rtl.shell, &rtl.in, 1 + draw(200));
        pair_register(next);
        uint64_t added = counter_of(&rtl, CNT_IN_ADDED);
        int sent = rtl.n_out;
        rtl.ops->run(rtl.shell, &rtl.in, 1 << 20);
        old_frames += counter_of(&rtl, CNT_DROP_KEY);
        CHECK(counter_of(&rtl, CNT_IN_ADDED) == added && rtl.n_out == sent,
              "the old job goes on after its end");
        for (uint32_t chunk = 0; chunk < 2; chunk++)
            chunk_of(next, chunk, RANKS);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            size_t n = contribution(calm, RANKS - 1, slot, round);
            queue_both(from(calm, RANKS - 1, n), frame);
        }
        pair_run();
        CHECK(c.n_out == RANKS * SLOTS, "%d results of the other job", c.n_out);
        same_frames();
    }
    CHECK(old_frames > 0, "no frame came too late");
    pair_close();
    DONE();
}
