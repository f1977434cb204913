/* test_regs_rtl.c : tests every register of regs.def in rtl/regs.sv over AXI-Lite. */
#include "check.h"
#include "hls/card/regs.h"
#include "rtl_rand.h"
#include "sim/rtl/verilated_model.h"

static uint64_t seed = 0x5e95;

enum access { RO, RW, WO };
static const struct reg {
    const char *name;
    uint32_t at;
    enum access access;
} list[] = {
#define REG(NAME, at, access, what) {#NAME, at, access},
#include "hls/card/regs.def"
};
enum { N_REGS = sizeof list / sizeof *list };

static struct model *m;
static uint8_t *awvalid, *awready, *wvalid, *wready, *wstrb, *bvalid, *bready, *bresp, *arvalid,
    *arready, *rvalid, *rready, *rresp, *snapshot, *snapshot_busy, *job_commit, *job_start,
    *rank_commit, *seed_write, *busy, *refused, *counter_index;
static uint16_t *awaddr, *araddr;
static uint32_t *wdata, *rdata;
static uint64_t *counter_value;
static uint32_t held[0x400];
static unsigned job_commits, job_starts, rank_commits, seed_writes, snapshots, want[5];
static int busy_for, stalls;

static uint64_t counter_at(uint32_t index)
{
    return (index + 1) * 0x123456789abcdef1u;
}

static void step(void)
{
    model_eval(m);
    int b_waits = *bvalid && !*bready, r_waits = *rvalid && !*rready;
    uint32_t b = *bresp, r = *rresp, data = *rdata, index = *counter_index;
    CHECK(!*snapshot_busy || !*bvalid, "answered before the snapshot is made");
    job_commits += *job_commit;
    job_starts += *job_commit && *job_start;
    rank_commits += *rank_commit;
    seed_writes += *seed_write;
    if (*snapshot) {
        snapshots++;
        busy_for = 1 + (int)(rtl_rand(&seed) % 40);
    }
    model_tick(m);
    *counter_value = counter_at(index);
    *snapshot_busy = busy_for > 0;
    busy_for -= busy_for > 0;
    model_eval(m);
    CHECK(!b_waits || (*bvalid && *bresp == b), "b does not wait");
    CHECK(!r_waits || (*rvalid && *rresp == r && *rdata == data), "r does not wait");
}

static unsigned wait_of(void)
{
    return stalls ? rtl_rand(&seed) % 4 * (rtl_rand(&seed) % 4) : 0;
}

static unsigned write_reg(uint32_t at, uint32_t value, unsigned strobes)
{
    unsigned aw_in = wait_of(), w_in = wait_of(), b_in = wait_of();
    int aw_done = 0, w_done = 0, early = stalls && rtl_rand(&seed) % 2;
    for (int t = 0; t < 200; t++) {
        *awvalid = !aw_done && aw_in == 0;
        *awaddr = (uint16_t)at;
        *wvalid = !w_done && w_in == 0;
        *wdata = value;
        *wstrb = (uint8_t)strobes;
        model_eval(m);
        *bready = *bvalid ? b_in == 0 : (uint8_t)early;
        b_in -= *bvalid && b_in;
        int aw = *awvalid && *awready, w = *wvalid && *wready, b = *bvalid && *bready;
        unsigned resp = *bresp;
        CHECK(!*bvalid || (aw_done && w_done), "answered too early");
        step();
        aw_in -= aw_in > 0;
        w_in -= w_in > 0;
        aw_done |= aw;
        w_done |= w;
        if (b) {
            *bready = 0;
            model_eval(m);
            CHECK(!*bvalid, "two answers to one write");
            return resp;
        }
    }
    CHECK(0, "no answer to a write of 0x%x", at);
    return 99;
}

static unsigned read_reg(uint32_t at, uint32_t *value)
{
    unsigned ar_in = wait_of(), r_in = wait_of();
    int done = 0, early = stalls && rtl_rand(&seed) % 2;
    for (int t = 0; t < 200; t++) {
        *arvalid = !done && ar_in == 0;
        *araddr = (uint16_t)at;
        model_eval(m);
        *rready = *rvalid ? r_in == 0 : (uint8_t)early;
        r_in -= *rvalid && r_in;
        int ar = *arvalid && *arready, r = *rvalid && *rready;
        unsigned resp = *rresp;
        *value = *rdata;
        CHECK(!*rvalid || done, "answered too early");
        step();
        ar_in -= ar_in > 0;
        done |= ar;
        if (r) {
            *rready = 0;
            model_eval(m);
            CHECK(!*rvalid, "two answers to one read");
            return resp;
        }
    }
    CHECK(0, "no answer to a read of 0x%x", at);
    return 99;
}

static const struct reg *find(uint32_t at)
{
    for (int i = 0; i < N_REGS; i++)
        if (list[i].at == at)
            return &list[i];
    return NULL;
}

static uint32_t seen[3], held_status;

static uint32_t expected(const struct reg *r)
{
    uint32_t index = held[REG_COUNTER_INDEX / 4];
    uint64_t counter = index < REG_COUNTERS ? counter_at(index) : 0;
    switch (r->at) {
    case REG_ID:
        return REG_ID_VALUE;
    case REG_VERSION:
        return REG_VERSION_VALUE;
    case REG_CAP_SLOTS:
        return 128;
    case REG_CAP_JOBS:
        return 4 | 64 << 16;
    case REG_CAP_BEATS:
        return 32;
    case REG_CAP_FORMATS:
        return 7 | 46 << 8 | REG_CAP_FORMATS_GROUP;
    case REG_STATUS:
        return held_status;
    case REG_COUNTER_LO:
        return (uint32_t)counter;
    case REG_COUNTER_HI:
        return (uint32_t)(counter >> 32);
    case REG_SEEN_RANK:
        return seen[0];
    case REG_SEEN_IP:
        return seen[1];
    case REG_SEEN_PORT:
        return seen[2];
    default:
        return r->access == WO ? 0 : held[r->at / 4];
    }
}

static void write_one(void)
{
    uint32_t at = rtl_rand(&seed) % 8 ? list[rtl_rand(&seed) % N_REGS].at : rtl_rand(&seed) & 0xfff;
    uint32_t value = rtl_rand(&seed) % 4 ? rtl_rand(&seed) : rtl_rand(&seed) % 64;
    unsigned strobes = rtl_rand(&seed) % 4 ? 15u : rtl_rand(&seed) & 15u;
    const struct reg *r = find(at);
    unsigned resp = write_reg(at, value, strobes);
    CHECK(resp == (r ? 0u : 2u), "write of 0x%x answers %u", at, resp);
    if (!r)
        return;
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= strobes >> i & 1 ? 0xffu << 8 * i : 0;
    if (at == REG_JOB_COMMIT && (strobes & 1))
        held[REG_JOB_GROUP_IP / 4] = held[REG_JOB_GROUP_PORT / 4] = 0;
    if (at == REG_JOB_COMMIT && (strobes & 1))
        for (uint32_t k = REG_JOB_RANKS; k < REG_JOB_COMMIT; k += 4)
            held[k / 4] = 0;
    if (at == REG_RANK_COMMIT && strobes)
        for (uint32_t k = REG_RANK_INDEX; k < REG_RANK_COMMIT; k += 4)
            held[k / 4] = 0;
    if (r->access != RO)
        held[at / 4] = (held[at / 4] & ~mask) | (value & mask);
    if (at == REG_CTRL)
        held[at / 4] &= 1;
    want[0] += at == REG_JOB_COMMIT && (strobes & 1);
    want[1] += at == REG_JOB_COMMIT && (strobes & 1) && (value & 1);
    want[2] += at == REG_RANK_COMMIT && strobes;
    want[3] += at == REG_DROP_SEED && strobes;
    want[4] += at == REG_CTRL && (strobes & 1) && (value & 2);
}

static void read_one(void)
{
    uint32_t at = rtl_rand(&seed) % 8 ? list[rtl_rand(&seed) % N_REGS].at : rtl_rand(&seed) & 0xfff,
             value;
    const struct reg *r = find(at);
    unsigned resp = read_reg(at, &value);
    CHECK(resp == (r ? 0u : 2u), "read of 0x%x answers %u", at, resp);
    CHECK(value == (r ? expected(r) : 0), "%s reads %08x, not %08x", r ? r->name : "no register",
          value, r ? expected(r) : 0);
}

/* All ones if the register's value is too large. */
static void check_port(const char *name, uint32_t at, unsigned port_bits, int saturates)
{
    unsigned bits;
    const void *port = model_port(m, name, &bits);
    uint32_t value = bits <= 8    ? *(const uint8_t *)port
                     : bits <= 16 ? *(const uint16_t *)port
                                  : *(const uint32_t *)port;
    uint64_t most = (1ull << port_bits) - 1;
    uint32_t is = saturates && held[at / 4] > most ? (uint32_t)most : held[at / 4] & (uint32_t)most;
    CHECK(bits == port_bits && value == is, "%s is %x, not %x", name, value, is);
}

static void check_ports(void)
{
    check_port("enable_o", REG_CTRL, 1, 0);
    check_port("job_index_o", REG_JOB_INDEX, 16, 1);
    check_port("job_ranks_o", REG_JOB_RANKS, 7, 1);
    check_port("job_base_o", REG_JOB_SLOT_BASE, 16, 1);
    check_port("job_slots_o", REG_JOB_SLOTS, 16, 1);
    check_port("job_formats_o", REG_JOB_FORMATS, 16, 0);
    check_port("job_group_ip_o", REG_JOB_GROUP_IP, 32, 0);
    check_port("job_group_port_o", REG_JOB_GROUP_PORT, 16, 0);
    check_port("rank_index_o", REG_RANK_INDEX, 16, 1);
    check_port("rank_ip_o", REG_RANK_IP, 32, 0);
    check_port("rank_port_o", REG_RANK_PORT, 16, 0);
    check_port("drop_in_o", REG_DROP_IN, 32, 0);
    check_port("drop_out_o", REG_DROP_OUT, 32, 0);
    check_port("drop_seed_o", REG_DROP_SEED, 32, 0);
    uint64_t key = *(uint64_t *)model_port(m, "job_key_o", NULL);
    CHECK(key == ((uint64_t)held[REG_JOB_KEY_HI / 4] << 32 | held[REG_JOB_KEY_LO / 4]), "key");
}

static void open_ports(int argc, char **argv)
{
    m = model_open(argc, argv);
    awvalid = model_port(m, "s_awvalid_i", NULL);
    awready = model_port(m, "s_awready_o", NULL);
    awaddr = model_port(m, "s_awaddr_i", NULL);
    wvalid = model_port(m, "s_wvalid_i", NULL);
    wready = model_port(m, "s_wready_o", NULL);
    wdata = model_port(m, "s_wdata_i", NULL);
    wstrb = model_port(m, "s_wstrb_i", NULL);
    bvalid = model_port(m, "s_bvalid_o", NULL);
    bready = model_port(m, "s_bready_i", NULL);
    bresp = model_port(m, "s_bresp_o", NULL);
    arvalid = model_port(m, "s_arvalid_i", NULL);
    arready = model_port(m, "s_arready_o", NULL);
    araddr = model_port(m, "s_araddr_i", NULL);
    rvalid = model_port(m, "s_rvalid_o", NULL);
    rready = model_port(m, "s_rready_i", NULL);
    rdata = model_port(m, "s_rdata_o", NULL);
    rresp = model_port(m, "s_rresp_o", NULL);
    snapshot = model_port(m, "snapshot_o", NULL);
    snapshot_busy = model_port(m, "snapshot_busy_i", NULL);
    job_commit = model_port(m, "job_commit_o", NULL);
    job_start = model_port(m, "job_start_o", NULL);
    rank_commit = model_port(m, "rank_commit_o", NULL);
    seed_write = model_port(m, "drop_seed_write_o", NULL);
    busy = model_port(m, "busy_i", NULL);
    refused = model_port(m, "refused_i", NULL);
    counter_index = model_port(m, "counter_index_o", NULL);
    counter_value = model_port(m, "counter_i", NULL);
}

int main(int argc, char **argv)
{
    printf("seed %llx\n", (unsigned long long)seed);
    open_ports(argc, argv);
    uint8_t *rst = model_port(m, "rst_i", NULL);
    *rst = 1;
    model_tick(m);
    model_tick(m);
    *rst = 0;
    for (stalls = 0; stalls < 2; stalls++)
        for (int i = 0; i < 20000; i++) {
            if (rtl_rand(&seed) % 50 == 0) {
                held_status = rtl_rand(&seed) & 3;
                *busy = held_status & 1;
                *refused = (uint8_t)(held_status >> 1);
                for (int s = 0; s < 3; s++)
                    seen[s] = s == 2 ? rtl_rand(&seed) & 0xffff : rtl_rand(&seed);
                *(uint32_t *)model_port(m, "seen_rank_i", NULL) = seen[0];
                *(uint32_t *)model_port(m, "seen_ip_i", NULL) = seen[1];
                *(uint16_t *)model_port(m, "seen_port_i", NULL) = (uint16_t)seen[2];
            }
            if (rtl_rand(&seed) & 1)
                write_one();
            else
                read_one();
            check_ports();
        }
    for (int i = 0; i < 5; i++)
        step();
    CHECK(job_commits == want[0] && job_starts == want[1] && rank_commits == want[2] &&
              seed_writes == want[3] && snapshots == want[4],
          "pulses %u %u %u %u %u, not %u %u %u %u %u", job_commits, job_starts, rank_commits,
          seed_writes, snapshots, want[0], want[1], want[2], want[3], want[4]);
    printf("%u commits, %u snapshots\n", job_commits, snapshots);
    model_close(m);
    DONE();
}
