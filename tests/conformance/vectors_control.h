/* vectors_control.h : vectors of registration: registers, leases (datagrams), streams. */
#ifndef VECTORS_CONTROL_H
#define VECTORS_CONTROL_H
#include "control/control.h"
#include "control_oracle.h"
#include "vectors_card.h"

/* ---- registers, between frames ---- */

static void script_write(uint32_t at, uint32_t value)
{
    fprintf(line_to, "%s{\"write\":[\"%03x\",\"%08x\"]", script.n_events++ ? "," : "", at, value);
    if (card_write(script.card, at, value))
        line_int("refused", 1);
    fputc('}', line_to);
}

static void script_read(uint32_t at)
{
    uint32_t value;
    const int rc = card_read(script.card, at, &value);
    fprintf(line_to, "%s{\"read\":[\"%03x\",\"%08x\"]", script.n_events++ ? "," : "", at, value);
    if (rc)
        line_int("refused", 1);
    fputc('}', line_to);
}

static void script_start(uint32_t index, uint32_t ranks, uint32_t base, uint32_t slots)
{
    script_write(REG_JOB_INDEX, index);
    script_write(REG_JOB_RANKS, ranks);
    script_write(REG_JOB_KEY_LO, 77);
    script_write(REG_JOB_SLOT_BASE, base);
    script_write(REG_JOB_SLOTS, slots);
    script_write(REG_JOB_COMMIT, REG_JOB_COMMIT_START);
    script_read(REG_STATUS);
}

static void register_scripts(void)
{
    static const uint32_t caps[] = {REG_CAP_SLOTS, REG_CAP_JOBS, REG_CAP_BEATS, REG_CAP_FORMATS};
    static const uint32_t read[] = {REG_ID,      REG_VERSION,    REG_JOB_RANKS, REG_JOB_KEY_LO,
                                    REG_RANK_IP, REG_JOB_COMMIT, REG_JOB_INDEX, 0x05c};
    script_open("registers", "R113", usual_job, 0);
    script_write(REG_JOB_KEY_LO, 5);
    script_write(REG_RANK_IP, 5);
    script_write(REG_JOB_INDEX, 3);
    script_write(REG_ID, 5);
    script_write(0x05c, 5);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        script_read(read[i]);
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        script_read(caps[i]);
    script_close();
    script_open("start", "R114 R115", usual_job, 0);
    script_start(1, 2, 32, 4); /* the index is in use */
    script_write(REG_JOB_INDEX, 3);
    script_write(REG_JOB_COMMIT, REG_JOB_COMMIT_START); /* that cleared the staged values, too */
    script_read(REG_STATUS);
    script_start(2, 2, 11, 4); /* slots of job 1 */
    script_start(2, 2, 0, 9);
    script_start(2, 0, 32, 4);
    script_start(2, 65, 32, 4);
    script_start(2, 2, 32, 0);
    script_start(2, 2, 0xfffffffe, 4);
    script_start(0xffff, 2, 32, 4);
    script_write(REG_JOB_INDEX, 2);
    script_write(REG_JOB_COMMIT, 0); /* not running */
    script_read(REG_STATUS);
    script_start(2, 64, 12, 8);
    script_write(REG_JOB_INDEX, 3);
    script_write(REG_JOB_COMMIT, REG_JOB_COMMIT_START); /* staged values were cleared */
    script_read(REG_STATUS);
    script_close();
}

static void job_scripts(void)
{
    struct frame_job again = usual_job;
    struct pkt_header h = sum_of(usual_job, 0, 1, 0x43, 0x43, 1);
    uint8_t frame[CARD_FRAME_BYTES];
    script_open("stop", "R100 R103 R115", usual_job, 0);
    give_sum(0, 0);
    give_sum(1, 0);
    give_sum(1, 1);
    script_write(REG_JOB_INDEX, 1);
    script_write(REG_JOB_COMMIT, 0);
    script_read(REG_STATUS);
    give_sum(0, 1);
    again.key = 77;
    script_start(1, 2, 8, 4);
    give_sum(0, 1); /* the old key */
    script.job = again;
    script_give(ping_of(again, 0, 9), NULL, 0);
    give_sum(0, 0);
    give_sum(1, 0);
    script_close();
    script_open("move", "R105 R116", usual_job, 0);
    give_sum(0, 0);
    script_write(REG_JOB_INDEX, 1);
    script_write(REG_RANK_INDEX, 0);
    script_write(REG_RANK_IP, 0x0a0000fe);
    script_write(REG_RANK_PORT, 4000);
    script_write(REG_RANK_COMMIT, 1);
    give_sum(0, 1);
    give_sum(1, 0);
    script_write(REG_RANK_COMMIT, 1); /* nothing is staged: rank 0 has the address 0 */
    script_give_from(0x0a0000fe, 4000, frame, frame_put(h, payload_of(0, 1, true), 1, frame));
    script_close();
    script_open("no-group", "R114", usual_job, 0); /* an address of no multicast group */
    script_write(REG_JOB_INDEX, 1);
    script_write(REG_JOB_COMMIT, 0);
    script_write(REG_JOB_GROUP_IP, 0x0a010203);
    script_write(REG_JOB_GROUP_PORT, 6000);
    script_start(1, 2, 8, 4);
    script.job = again;
    give_sum(0, 0);
    give_sum(1, 0);
    script_close();
    script_open("counters", "R98 R117", usual_job, 0);
    give_sum(0, 0);
    script_write(REG_COUNTER_INDEX, CNT_IN_ADDED);
    script_read(REG_COUNTER_LO); /* not latched yet */
    script_write(REG_CTRL, REG_CTRL_ENABLE | REG_CTRL_LATCH);
    script_read(REG_CTRL);
    script_read(REG_COUNTER_LO);
    script_read(REG_COUNTER_HI);
    give_sum(1, 0);
    script_write(REG_CTRL, REG_CTRL_ENABLE); /* no latch */
    script_read(REG_COUNTER_LO);
    script_write(REG_COUNTER_INDEX, CNT_OUT_RESULT);
    script_write(REG_CTRL, REG_CTRL_ENABLE | REG_CTRL_LATCH);
    script_read(REG_COUNTER_LO);
    script_close();
    frame_put(sum_of(usual_job, 1, 0, 0x43, 0x43, 1), payload_of(1, 0, true), 1, frame);
    script_open("seen", "R100 R118", usual_job, 0);
    script_read(REG_SEEN_RANK);
    script_give_from(0x0a0000fe, 4000, frame, 128);
    script_read(REG_SEEN_RANK);
    script_read(REG_SEEN_IP);
    script_read(REG_SEEN_PORT);
    h.chunk = 0;
    script_give_from(0x0a0000fe, 4000, frame, frame_put(h, payload_of(0, 0, true), 1, frame));
    script_read(REG_SEEN_RANK);
    script_close();
    script_open("disabled", "R98 R99 R112", usual_job, 0);
    script_write(REG_CTRL, 0);
    give_sum(0, 0);
    frame[0] ^= 1; /* no frame either */
    script_give_from(frame_ip(1, 0), frame_port(0), frame, 128);
    script_write(REG_CTRL, REG_CTRL_ENABLE);
    give_sum(0, 0);
    script_close();
}

/* ---- leases ---- */

static int lease_events;

static void lease_bytes(const uint8_t *request, size_t n)
{
    uint8_t answer[LEASE_BYTES];
    const size_t n_answer = expect(request, n, answer);
    fprintf(line_to, "%s{\"request\":", lease_events++ ? "," : "");
    line_bare_bytes(request, n);
    line_bytes("answer", answer, n_answer);
    fputc('}', line_to);
}

/* ops: offset and value, LEASE_READ in reads */
static void lease_give(uint8_t kind, uint32_t sequence, uint64_t secret,
                       const uint32_t (*ops_of)[2], uint8_t n)
{
    struct lease_message m = {
        .version = LEASE_VERSION, .kind = kind, .n = n, .sequence = sequence, .secret = secret};
    uint8_t bytes[LEASE_BYTES];
    for (int i = 0; i < n; i++) {
        m.at[i] = ops_of[i][0];
        m.value[i] = ops_of[i][1];
    }
    lease_bytes(bytes, lease_put(&m, bytes));
}

static void lease_ticks(int ticks)
{
    fprintf(line_to, "%s{\"ticks\":%d}", lease_events++ ? "," : "", ticks);
    for (int i = 0; i < LEASE_MAX; i++)
        if (lease[i].live && (lease[i].left -= ticks) <= 0) {
            end_lease(i);
            expired++;
        }
}

static void lease_script_open(const char *id, const char *rules)
{
    model = real; /* zeros */
    model.card = card_open(card_says, NULL);
    memset(lease, 0, sizeof lease);
    malformed = expired = 0;
    lease_events = 0;
    if (!model.card || control_jobs_init(&jobs, &ops, &model, true) != 0)
        abort();
    line_open(id, "lease", rules);
    fputs(",\"events\":[", line_to);
}

static void lease_script_close(void)
{
    fputc(']', line_to);
    line_close();
    card_close(model.card);
}

static const uint32_t lease_job[][2] = {
    {REG_JOB_INDEX, 1}, {REG_JOB_RANKS, 2},  {REG_JOB_KEY_LO, 7},         {REG_JOB_SLOT_BASE, 8},
    {REG_JOB_SLOTS, 8}, {REG_JOB_COMMIT, 1}, {REG_STATUS | LEASE_READ, 0}};
static const uint32_t lease_large[][2] = {
    {REG_JOB_INDEX, 2},  {REG_JOB_RANKS, 2},  {REG_JOB_KEY_LO, 8},         {REG_JOB_SLOT_BASE, 16},
    {REG_JOB_SLOTS, 61}, {REG_JOB_COMMIT, 1}, {REG_STATUS | LEASE_READ, 0}};
static const uint32_t lease_most[][2] = {
    {REG_JOB_INDEX, 2},  {REG_JOB_RANKS, 2},  {REG_JOB_KEY_LO, 8},         {REG_JOB_SLOT_BASE, 16},
    {REG_JOB_SLOTS, 61}, {REG_JOB_COMMIT, 3}, {REG_STATUS | LEASE_READ, 0}};
static const uint32_t lease_rank[][2] = {{REG_JOB_INDEX, 1},
                                         {REG_RANK_INDEX, 0},
                                         {REG_RANK_IP, 0x0a000001},
                                         {REG_RANK_PORT, 1000},
                                         {REG_RANK_COMMIT, 1}};
static const uint32_t lease_stop[][2] = {{REG_JOB_INDEX, 1}, {REG_JOB_COMMIT, 0}};
static const uint32_t lease_reads[][2] = {{REG_ID | LEASE_READ, 0},
                                          {REG_DROP_IN, 1}, /* refused */
                                          {REG_VERSION | LEASE_READ, 0}};
static const uint32_t lease_live[][2] = {{LEASE_REG_LIVE | LEASE_READ, 0},
                                         {LEASE_REG_SILENCE | LEASE_READ, 0},
                                         {LEASE_REG_MALFORMED | LEASE_READ, 0},
                                         {LEASE_REG_EXPIRED | LEASE_READ, 0}};

/* Shared by hosts: half of the free slots, the last job, the sources that the card has seen. */
static void lease_sharing(uint64_t a, uint64_t b)
{
    static const uint32_t control[][2] = {{REG_CTRL, 1}, {REG_CTRL, 0}, {REG_CTRL | LEASE_READ, 0}};
    static const uint32_t half[][2] = {{REG_JOB_INDEX, 2},          {REG_JOB_RANKS, 2},
                                       {REG_JOB_KEY_LO, 8},         {REG_JOB_SLOT_BASE, 16},
                                       {REG_JOB_SLOTS, 60},         {REG_JOB_COMMIT, 1},
                                       {REG_STATUS | LEASE_READ, 0}};
    static const uint32_t small[][2] = {{REG_JOB_INDEX, 3},          {REG_JOB_RANKS, 2},
                                        {REG_JOB_KEY_LO, 9},         {REG_JOB_SLOT_BASE, 76},
                                        {REG_JOB_SLOTS, 1},          {REG_JOB_COMMIT, 1},
                                        {REG_STATUS | LEASE_READ, 0}};
    static const uint32_t last[][2] = {{REG_JOB_INDEX, 0},          {REG_JOB_RANKS, 2},
                                       {REG_JOB_KEY_LO, 9},         {REG_JOB_SLOT_BASE, 88},
                                       {REG_JOB_SLOTS, 40},         {REG_JOB_COMMIT, 1},
                                       {REG_STATUS | LEASE_READ, 0}};
    static const uint32_t none_free[][2] = {{REG_JOB_INDEX, 9},      {REG_JOB_RANKS, 2},
                                            {REG_JOB_SLOT_BASE, 77}, {REG_JOB_SLOTS, 11},
                                            {REG_JOB_COMMIT, 1},     {REG_STATUS | LEASE_READ, 0}};
    static const uint32_t seen[][2] = {{REG_SEEN_RANK | LEASE_READ, 0},
                                       {REG_SEEN_IP | LEASE_READ, 0},
                                       {REG_SEEN_PORT | LEASE_READ, 0}};
    const struct frame_job job = {1, 2, 8, 8, 0, 7};
    uint8_t frame[CARD_FRAME_BYTES];
    lease_script_open("lease/sharing", "R114 R119");
    lease_give(LEASE_OPEN, 1, a, NULL, 0);
    lease_give(LEASE_DO, 2, a, control, 3);
    lease_give(LEASE_DO, 3, a, lease_job, 7);
    lease_give(LEASE_OPEN, 1, b, NULL, 0);
    lease_give(LEASE_DO, 2, b, seen, 3); /* nothing is seen */
    lease_give(LEASE_DO, 3, b, half, 7);
    lease_give(LEASE_DO, 4, b, small, 7);
    lease_give(LEASE_DO, 5, b, last, 7); /* up to the card's last slot */
    const size_t n = frame_put(sum_of(job, 0, 0, 0x43, 0x43, 1), payload_of(0, 0, true), 1, frame);
    card_frame(model.card, 0x0a0000fe, 4000, frame, n);
    fputs(",{\"from\":[\"0a0000fe\",4000],\"frame\":", line_to);
    line_bare_bytes(frame, n);
    fputc('}', line_to);
    lease_give(LEASE_DO, 4, a, seen, 3);
    lease_give(LEASE_DO, 6, b, seen, 3);
    lease_give(LEASE_DO, 7, b, none_free, 6); /* refused like any other, not as an operation */
    lease_script_close();
}

/* Nothing of a request remains in the next one, not even an accepted commit's STATUS. */
static void lease_clean(uint64_t a)
{
    static const uint32_t reads[][2] = {{REG_JOB_INDEX | LEASE_READ, 0},
                                        {REG_STATUS | LEASE_READ, 0}};
    lease_script_open("lease/clean", "R125");
    lease_give(LEASE_OPEN, 1, a, NULL, 0);
    lease_give(LEASE_DO, 2, a, reads, 2);
    lease_give(LEASE_DO, 3, a, lease_job + 1, 6); /* without JOB_INDEX: no job */
    lease_give(LEASE_DO, 4, a, lease_job, 7);
    lease_give(LEASE_DO, 5, a, reads, 2);
    lease_script_close();
}

/* Another version, with n bytes. */
static void lease_other(uint8_t *bytes, size_t n)
{
    const struct lease_message m = {.version = 2, .kind = LEASE_KEEP, .sequence = 3, .secret = 5};
    memset(bytes + lease_put(&m, bytes) - 4, 0, n - 20);
    lease_put_word(crc32c(bytes, n - 4), bytes + n - 4);
    lease_bytes(bytes, n);
}

static void lease_lines(void)
{
    const uint64_t a = 0x1122334455667788u, b = 99;
    uint8_t bytes[LEASE_BYTES + 8];
    lease_script_open("lease/job", "R119 R122 R123 R124 R125");
    lease_give(LEASE_DO, 1, a, lease_live, 1); /* no lease yet */
    lease_give(LEASE_OPEN, 5, a, NULL, 0);
    lease_give(LEASE_OPEN, 5, a, NULL, 0); /* again */
    lease_give(LEASE_OPEN, 6, a, NULL, 0);
    lease_give(LEASE_DO, 6, a, lease_job, 7);
    lease_give(LEASE_DO, 6, a, lease_job, 7);  /* again: done once */
    lease_give(LEASE_DO, 6, a, lease_rank, 5); /* the last number, but another request */
    lease_give(LEASE_DO, 8, a, lease_rank, 5);
    lease_give(LEASE_DO, 7, a, lease_rank, 5);
    lease_give(LEASE_DO, 8, a, lease_reads, 3);
    lease_give(LEASE_OPEN, 1, b, NULL, 0);
    lease_give(LEASE_DO, 2, b, lease_stop, 2); /* another lease's job */
    lease_give(LEASE_DO, 3, b, lease_rank, 5);
    lease_give(LEASE_DO, 4, b, lease_large, 7); /* more than half of the free slots */
    lease_give(LEASE_DO, 5, b, lease_most, 7);
    lease_give(LEASE_KEEP, 0, a, NULL, 0);
    lease_give(LEASE_DO, 9, a, lease_stop, 2);
    lease_give(LEASE_CLOSE, 0, a, NULL, 0);
    lease_give(LEASE_KEEP, 0, a, NULL, 0);
    lease_give(LEASE_OPEN, 0xffffffff, a, NULL, 0);
    lease_give(LEASE_DO, 0, a, lease_job, 5); /* stages values, which the next request clears */
    lease_give(LEASE_DO, 1, a, lease_job + 5, 2);
    lease_script_close();
    lease_sharing(a, b);
    lease_clean(a);
    lease_script_open("lease/silence", "R119 R126");
    lease_give(LEASE_OPEN, 1, a, NULL, 0);
    lease_give(LEASE_DO, 2, a, lease_job, 7);
    lease_ticks(19);
    lease_give(LEASE_KEEP, 9, a, NULL, 0);
    lease_ticks(19);
    lease_give(LEASE_DO, 3, a, lease_live, 4);
    lease_ticks(19);
    lease_give(LEASE_KEEP, 9, a, NULL, 0);
    lease_ticks(20);
    lease_give(LEASE_KEEP, 9, a, NULL, 0);
    lease_give(LEASE_OPEN, 1, b, NULL, 0);
    lease_give(LEASE_DO, 2, b, lease_job, 7); /* the slots are free again */
    lease_give(LEASE_DO, 3, b, lease_live, 4);
    lease_script_close();
    lease_script_open("lease/full", "R123");
    for (uint64_t s = 1; s <= LEASE_MAX + 1; s++)
        lease_give(LEASE_OPEN, 1, s, NULL, 0);
    lease_script_close();
    lease_script_open("lease/malformed", "R122");
    struct lease_message m = {.version = 2, .kind = LEASE_KEEP, .sequence = 3, .secret = a};
    lease_bytes(bytes, lease_put(&m, bytes)); /* another version is answered */
    lease_other(bytes, LEASE_BYTES);
    lease_other(bytes, LEASE_BYTES + 4);
    m.version = LEASE_VERSION;
    m.kind = 5;
    lease_bytes(bytes, lease_put(&m, bytes));
    m.kind = LEASE_OPEN;
    lease_bytes(bytes, lease_put(&m, bytes) - 4);
    (void)lease_put(&m, bytes);
    bytes[9] ^= 1;
    lease_bytes(bytes, 24);
    m.done = 1; /* byte 3 of word 1 */
    lease_bytes(bytes, lease_put(&m, bytes));
    m.done = 0;
    lease_bytes(bytes, lease_put(&m, bytes));
    lease_give(LEASE_KEEP, 4, a, lease_reads, 1); /* an operation in another request than DO */
    m = (struct lease_message){.version = LEASE_VERSION,
                               .kind = LEASE_DO,
                               .n = LEASE_OPERATIONS,
                               .sequence = 4,
                               .secret = a};
    for (int i = 0; i < LEASE_OPERATIONS; i++)
        m.at[i] = REG_ID | LEASE_READ;
    size_t n = lease_put(&m, bytes); /* one operation too many */
    bytes[6]++;
    memcpy(bytes + n - 4, bytes + n - 12, 8);
    lease_put_word(crc32c(bytes, n + 4), bytes + n + 4);
    lease_bytes(bytes, n + 8);
    lease_give(LEASE_DO, 4, a, lease_live, 4);
    lease_script_close();
}

/* ---- streams ---- */

static void stream_event(struct control *control, int peer, struct simlink m, const uint8_t *body)
{
    static uint8_t bytes[SIMLINK_BYTES + SIMLINK_MAX];
    size_t n;
    const uint8_t *said = control_to_send(control, peer, &n);
    if (n) {
        fputs("{\"card\":", line_to);
        line_bare_bytes(said, n);
        fputs("},", line_to);
        control_sent(control, peer, n);
    }
    simlink_put(m, bytes);
    if (m.bytes)
        memcpy(bytes + SIMLINK_BYTES, body, m.bytes);
    fputs("{\"host\":", line_to);
    line_bare_bytes(bytes, SIMLINK_BYTES + m.bytes);
    fputs("},", line_to);
    if (control_take(control, peer, bytes, SIMLINK_BYTES + m.bytes) != 0)
        abort();
}

static void stream_batch(struct control *control, int peer, const uint32_t (*batch)[2], uint32_t n)
{
    uint8_t body[256];
    for (uint32_t i = 0; i < n; i++) {
        pkt_put_uint(body + 8 * (size_t)i, batch[i][0], 4);
        pkt_put_uint(body + 8 * (size_t)i + 4, batch[i][1], 4);
    }
    stream_event(control, peer, (struct simlink){.kind = SIMLINK_BATCH, .bytes = 8 * n}, body);
}

static void stream_lines(void)
{
    struct control *control;
    size_t n;
    model = real;
    model.card = card_open(card_says, NULL);
    if (!model.card || control_open(&ops, &model, true, NULL, NULL, &control) != 0)
        abort();
    const int peer = control_join(control, "a", 0x0a000001, 4000);
    line_open("stream/job", "stream", "R119 R120 R121");
    fputs(",\"events\":[", line_to);
    stream_event(control, peer, (struct simlink){.kind = SIMLINK_READ, .a = REG_ID}, NULL);
    stream_event(control, peer, (struct simlink){.kind = SIMLINK_ADDRESS}, NULL);
    stream_event(control, peer, (struct simlink){.kind = SIMLINK_WRITE, .a = 0x05c, .b = 1}, NULL);
    stream_batch(control, peer, lease_job, 7);
    stream_batch(control, peer, lease_reads, 3);
    stream_event(control, peer,
                 (struct simlink){.kind = SIMLINK_WRITE, .a = REG_JOB_COMMIT, .b = 0}, NULL);
    const uint8_t *said = control_to_send(control, peer, &n);
    fputs("{\"card\":", line_to);
    line_bare_bytes(said, n);
    fputs("}]", line_to);
    line_close();
    control_close(control);
    card_close(model.card);
}

static void control_lines(void)
{
    register_scripts();
    job_scripts();
    lease_lines();
    stream_lines();
}

#endif
