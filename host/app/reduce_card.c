/* reduce_card.c : files of codes added by a simulated card, as packets of a job of as many ranks as
 * there are files.
 *
 *     packet n of the job: codes n*per_packet.., slot n mod S, chunk n / S; every rank sends it,
 *         every rank gets the sum
 *
 * A batch of at most S packets goes in at once, rank after rank for each slot, and the next one
 * follows when all have come back: as hosts do, which send a slot's next chunk only when they have
 * the result of the one before. */
#include "app/reduce_card.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/codec.h"
#include "hls/packet.h"
#include "hls/regs.h"
#include "offload/card_fits.h"
#include "offload/fpga_process.h"
#include <stdlib.h>
#include <string.h>

enum { PACKET_BEATS = 22, TRIES = 8, FIRST_PORT = 49152 };
static const uint64_t key = 0x6e6172726f776361u; /* any: nobody else can reach this card */

struct card_job {
    struct fpga_process card;
    struct fpga_process_time time;
    const struct vec_sum *sum;
    struct card_fit fit;
    uint32_t n_ranks;
    uint32_t slots, beats, gap;  /* of the card; of a whole packet; idle clocks behind a frame */
    size_t per_packet, n_blocks; /* codes; blocks of a batch */
    uint64_t n;                  /* packets before this batch */
    size_t n_codes, n_packets;   /* of this batch */
    uint8_t **parts, *result;    /* [n_ranks] of packed codes of the batch; their sums */
    uint8_t *got;                /* [slots] ranks that a packet's result has come to */
};

int reduce_card_check(const struct vec_sum *sum, int n_ranks)
{
    struct card_fit fit;
    return card_fits(sum, n_ranks, "files", &fit);
}

static uint32_t rank_ip(uint32_t rank)
{
    return 0x0a000001u + rank;
}
static uint16_t rank_port(uint32_t rank)
{
    return (uint16_t)(FIRST_PORT + rank);
}

/* ---- the job on the card ---- */

/* Frames come no faster than sums and results can leave: clocks of one slot, for all ranks
 * together. */
static uint32_t gap_of(const struct card_job *j)
{
    uint32_t in = j->beats * j->fit.in_width / j->fit.wider,
             out = j->beats * j->fit.out_width / j->fit.wider;
    uint32_t passes =
        j->fit.in_width == 4 && j->fit.out_width == 16                                         ? 4
        : j->fit.in_width < 16 && (j->fit.out_width > j->fit.in_width || j->fit.in_width == 4) ? 2
                                                                                               : 1;
    uint32_t comes = j->n_ranks * (in + 1), adds = (j->n_ranks - 1 + passes) * in,
             leaves = j->n_ranks * (out + 1);
    uint32_t most = adds > leaves ? adds : leaves;
    return most > comes ? (most - comes + j->n_ranks - 1) / j->n_ranks : 0;
}

static int settle_card(struct card_job *j)
{
    uint32_t id, version, beats, status;
    TRY(fpga_process_read(&j->card, REG_ID, &id));
    TRY(fpga_process_read(&j->card, REG_VERSION, &version));
    if (id != REG_ID_VALUE || version != REG_VERSION_VALUE)
        return ERR(-EPROTO, "the simulated card is none of this version: id %08x, version %u", id,
                   version);
    TRY(fpga_process_read(&j->card, REG_CAP_SLOTS, &j->slots));
    TRY(fpga_process_read(&j->card, REG_CAP_BEATS, &beats));
    j->beats = card_fit_most(&j->fit, beats < PACKET_BEATS ? beats : PACKET_BEATS);
    j->per_packet = (size_t)j->beats * 512 / j->fit.wider;
    j->n_blocks = j->slots * j->per_packet / CODES_IN_BLOCK;
    if (!j->n_blocks)
        return ERR(-EINVAL, "the simulated card is too small: %u slots of %u beats", j->slots,
                   beats);
    j->gap = gap_of(j);

    const uint32_t words[][2] = {
        {REG_JOB_INDEX, 0},
        {REG_JOB_RANKS, j->n_ranks},
        {REG_JOB_KEY_LO, (uint32_t)key},
        {REG_JOB_KEY_HI, (uint32_t)(key >> 32)},
        {REG_JOB_SLOT_BASE, 0},
        {REG_JOB_SLOTS, j->slots},
        {REG_JOB_FORMATS, j->fit.in_fmt | j->fit.out_fmt << 8},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        TRY(fpga_process_write(&j->card, words[i][0], words[i][1]));
    for (uint32_t r = 0; r < j->n_ranks; r++) {
        TRY(fpga_process_write(&j->card, REG_RANK_INDEX, r));
        TRY(fpga_process_write(&j->card, REG_RANK_IP, rank_ip(r)));
        TRY(fpga_process_write(&j->card, REG_RANK_PORT, rank_port(r)));
        TRY(fpga_process_write(&j->card, REG_RANK_COMMIT, 1));
    }
    TRY(fpga_process_write(&j->card, REG_JOB_COMMIT, 1));
    TRY(fpga_process_read(&j->card, REG_STATUS, &status));
    if (status & 2)
        return ERR(-EBUSY, "the simulated card refuses a job of %u ranks and %u slots", j->n_ranks,
                   j->slots);
    return fpga_process_write(&j->card, REG_CTRL, 1);
}

/* ---- packets ---- */

static size_t codes_of(const struct card_job *j, size_t packet)
{
    size_t left = j->n_codes - packet * j->per_packet;
    return left < j->per_packet ? left : j->per_packet;
}

static uint32_t beats_of(const struct card_job *j, size_t packet)
{
    return card_fit_beats(&j->fit, codes_of(j, packet));
}

static int send_part(struct card_job *j, size_t packet, uint32_t rank)
{
    const uint64_t n = j->n + packet;
    const size_t n_codes = codes_of(j, packet), held = vec_bytes(j->sum->in, n_codes);
    const size_t bytes =
        (size_t)beats_of(j, packet) * j->fit.in_width / j->fit.wider * PKT_BEAT_BYTES;
    uint8_t frame[PKT_HEADER_BYTES + PACKET_BEATS * PKT_BEAT_BYTES] = {0},
                                                    *payload = frame + PKT_HEADER_BYTES;
    memcpy(payload, j->parts[rank] + packet * j->per_packet * j->fit.in_width / 8, held);
    if (n_codes * j->fit.in_width % 8)
        payload[held - 1] &= 15; /* a file may hold anything where no code is */
    struct pkt_header h = {
        .magic = PKT_MAGIC_VALUE,
        .len = (uint16_t)(PKT_HEADER_BYTES + bytes),
        .rank = (uint16_t)rank,
        .key = key,
        .slot = (uint16_t)(n % j->slots),
        .chunk = (uint32_t)(n / j->slots),
        .op = PKT_OP_SUM,
        .flags = j->sum->overflow == MF_SATURATE ? PKT_FLAG_SATURATE : 0,
        .beats = (uint8_t)beats_of(j, packet),
        .in_fmt = (uint8_t)j->fit.in_fmt,
        .out_fmt = (uint8_t)j->fit.out_fmt,
        .out_shift = (uint8_t)j->sum->out_shift,
        .tag = (uint32_t)n,
        .count = (uint32_t)n_codes,
        .payload_crc = crc32c(payload, bytes),
    };
    pkt_put(h, frame);
    return fpga_process_send(&j->card, rank_ip(rank), rank_port(rank), frame,
                             PKT_HEADER_BYTES + bytes, j->gap);
}

static int wrong(const char *what, struct pkt_header h)
{
    return ERR(-EIO, "the simulated card sent %s: op %u, rank %u, slot %u, chunk %u, status %u",
               what, h.op, h.rank, h.slot, h.chunk, h.status);
}

/* A frame has left the card. */
static int take_result(void *arg, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct card_job *j = arg;
    struct pkt_header h = {0};
    if (n < PKT_HEADER_BYTES || !pkt_good(bytes) || (h = pkt_get(bytes)).len != n ||
        crc32c(bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES) != h.payload_crc)
        return wrong("a damaged frame", h);
    uint64_t packet = (uint64_t)h.chunk * j->slots + h.slot - j->n;
    if (h.op != PKT_OP_RESULT)
        return wrong("what is no result", h);
    if (h.key != key || h.rank >= j->n_ranks || ip != rank_ip(h.rank) ||
        port != rank_port(h.rank) || h.slot >= j->slots || packet >= j->n_packets ||
        h.tag != (uint32_t)(j->n + packet) ||
        n - PKT_HEADER_BYTES !=
            (size_t)beats_of(j, packet) * j->fit.out_width / j->fit.wider * PKT_BEAT_BYTES)
        return wrong("a result that nobody waits for", h);
    uint8_t *at = j->result + packet * j->per_packet * j->fit.out_width / 8;
    if (j->got[packet] && memcmp(at, bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES))
        return wrong("two ranks two results", h);
    memcpy(at, bytes + PKT_HEADER_BYTES, n - PKT_HEADER_BYTES);
    j->got[packet] = (uint8_t)(j->got[packet] < 255 ? j->got[packet] + 1 : 255);
    return 0;
}

/* Everything of the batch that has not come back to every rank is sent, until nothing is left. */
static int add_batch(struct card_job *j)
{
    size_t left = j->n_packets;
    memset(j->got, 0, j->slots);
    for (int t = 0; left && t < TRIES; t++) {
        for (size_t p = 0; p < j->n_packets; p++)
            for (uint32_t r = 0; j->got[p] < j->n_ranks && r < j->n_ranks; r++)
                TRY(send_part(j, p, r));
        TRY(fpga_process_run(&j->card, take_result, j, &j->time));
        left = 0;
        for (size_t p = 0; p < j->n_packets; p++)
            left += j->got[p] < j->n_ranks;
    }
    return left ? ERR(-ETIMEDOUT, "the simulated card did not answer %zu of %zu packets", left,
                      j->n_packets)
                : 0;
}

static int open_buffers(struct card_job *j)
{
    const size_t n = j->n_blocks * CODES_IN_BLOCK, slack = 4096; /* the last packet is whole */
    j->parts = buf_alloc(j->n_ranks * sizeof *j->parts);
    j->result = buf_alloc(vec_bytes(j->sum->out, n) + slack);
    j->got = buf_alloc(j->slots);
    if (!j->parts || !j->result || !j->got)
        return -ENOMEM;
    for (uint32_t r = 0; r < j->n_ranks; r++)
        if (!(j->parts[r] = buf_alloc(vec_bytes(j->sum->in, n))))
            return -ENOMEM;
    return 0;
}

static void close_buffers(struct card_job *j)
{
    for (uint32_t r = 0; j->parts && r < j->n_ranks; r++)
        free(j->parts[r]);
    free(j->parts);
    free(j->result);
    free(j->got);
}

static int add_all(struct card_job *j, struct codes_in *in, struct file_out *out)
{
    for (;;) {
        TRY(reduce_read(in, (int)j->n_ranks, j->n_blocks, j->parts, &j->n_codes));
        if (!j->n_codes)
            return 0;
        j->n_packets = (j->n_codes + j->per_packet - 1) / j->per_packet;
        TRY(add_batch(j));
        TRY(file_out_write(out, j->result, vec_bytes(j->sum->out, j->n_codes)));
        j->n += j->n_packets;
    }
}

/* What the card did, and at what speed it was simulated; MB: of frames in. */
static void report(const char *model, struct fpga_process_time t)
{
    double mb = (double)t.beats_in * 64e-6, seconds = t.seconds > 0 ? t.seconds : 1e-9;
    if (!t.clocks) {
        fprintf(stderr, "%s: %llu beats in, %llu beats out; no clock; %.1f MB/s\n", model,
                (unsigned long long)t.beats_in, (unsigned long long)t.beats_out, mb / seconds);
        return;
    }
    fprintf(stderr,
            "%s: %llu cycles, %llu beats in, %llu beats out: %.3f beats a cycle; %.1f us at %d "
            "MHz, the estimate; "
            "simulated at %.0f kHz, %.1f MB/s\n",
            model, (unsigned long long)t.clocks, (unsigned long long)t.beats_in,
            (unsigned long long)t.beats_out, (double)t.beats_in / (double)t.clocks,
            (double)t.clocks / REDUCE_CARD_MHZ, REDUCE_CARD_MHZ, (double)t.clocks * 1e-3 / seconds,
            mb / seconds);
}

int reduce_card(const struct vec_sum *sum, struct codes_in *in, int n_in, struct file_out *out,
                const char *model, const char *wave)
{
    struct card_job j = {.sum = sum, .n_ranks = (uint32_t)n_in};
    TRY(card_fits(sum, n_in, "files", &j.fit));
    int rc = fpga_process_open(&j.card, model, wave);
    if (!rc)
        rc = settle_card(&j);
    if (!rc)
        rc = open_buffers(&j);
    if (!rc)
        rc = add_all(&j, in, out);
    if (!rc)
        report(strcmp(model, "c") ? model : "model", j.time);
    close_buffers(&j);
    fpga_process_close(&j.card);
    return rc;
}
