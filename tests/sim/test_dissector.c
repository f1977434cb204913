/* test_dissector.c : tests narrowcast.lua with tshark on a capture of frames to and from a card.
 * All fields are as in hls/card/packet.h, damaged frames are marked, other protocols left alone. */
#include "card_fixture.h"
#include "codec/codec.h"
#include "hls/arith/philox.h"
#include "hls/core/beat.h"
#include "sim/pcap.h"

enum { SEED = 61, RANKS = 3, FRAMES = 512 };
/* OTHER_PORT: of RIP */
enum { CARD_IP = 0x0a000109, CARD_PORT = 4711, RANK_PORT = 40000, OTHER_PORT = 520 };

static struct pcap pcap;
static struct shown {
    const char *mark; /* of a damaged frame; NULL: another protocol's */
    size_t n;
    uint8_t bytes[CARD_FRAME_BYTES];
} shown[FRAMES];
static int n_shown;

static void show(const char *mark, struct pcap_ends ends, const uint8_t *bytes, size_t n)
{
    if (n_shown == FRAMES)
        exit(1);
    shown[n_shown].mark = mark;
    shown[n_shown].n = n;
    memcpy(shown[n_shown++].bytes, bytes, n);
    pcap_udp(&pcap, ends, bytes, n);
}

/* A frame of h.rank with random codes, then the card's answers. */
static void play(struct pkt_header h, size_t beats)
{
    static uint64_t drawn;
    uint8_t payload[CARD_BEATS * BEAT_SIZE], frame[CARD_FRAME_BYTES];
    for (size_t i = 0; i < beats * BEAT_SIZE; i++)
        payload[i] = h.op == PKT_OP_PING ? 0 : (uint8_t)philox_u32(SEED, drawn++);
    const size_t n = frame_put(h, payload, beats, frame);
    show("", (struct pcap_ends){frame_ip(1, h.rank), CARD_IP, RANK_PORT, CARD_PORT}, frame, n);
    give(h, payload, beats);
    for (int i = 0; i < n_out; i++)
        show("", (struct pcap_ends){CARD_IP, sent[i].ip, CARD_PORT, RANK_PORT}, sent[i].bytes,
             sent[i].n);
}

static void ping(struct pkt_header h, size_t beats)
{
    h.op = PKT_OP_PING;
    h.echo = 0xfedcba9876543210;
    play(h, beats);
}

static void job(void)
{
    struct pkt_header h = sum_header(0, 0, 2);
    open_job(RANKS, 0);
    h.flags = PKT_FLAG_SATURATE;
    h.tag = 0x89abcdef;
    ping(h, 0);
    for (uint32_t format = 0; format < 256; format++) { /* 0: MAX */
        const struct beat_fmt f = beat_format(format);
        if (!f.width && format)
            continue;
        h.op = f.width ? PKT_OP_SUM : PKT_OP_MAX;
        h.in_fmt = h.out_fmt = (uint8_t)format;
        h.count = f.width ? 2 * BEAT_SIZE * 8 / f.width - 1 : 100;
        for (h.rank = 0; h.rank < RANKS; h.rank++) {
            play(h, 2);
            if (h.rank == 1)
                ping(h, 1);
        }
        h.rank = 0;
        h.flags = 0;
        h.chunk++;
    }
    ping(h, 0);
    struct pkt_header bad = h;
    bad.op = 9;
    play(bad, 2);
    bad.op = PKT_OP_SUM;
    bad.in_fmt = 0x77;
    play(bad, 2);
    h.op = PKT_OP_SUM;
    h.in_fmt = h.out_fmt = 0x43;
    play(h, 2);
    bad = h;
    bad.rank = 1;
    bad.tag = 1;
    play(bad, 2);
    bad.slot = 0;
    play(bad, 2);
}

/* Results with any status to a group, one at a port of another protocol; then damaged frames, and
 * frames of other protocols. */
static void others(void)
{
    uint8_t payload[BEAT_SIZE] = {1}, frame[CARD_FRAME_BYTES];
    struct pkt_header h = sum_header(0x43, 0x52, 1);
    struct pcap_ends ends = {CARD_IP, 0xefff0001, CARD_PORT, PKT_GROUP_PORT};
    size_t n = 0;
    h.op = PKT_OP_RESULT;
    h.rank = PKT_TO_GROUP;
    h.key = 0;
    for (h.status = 0; h.status < 8; h.status++) {
        n = frame_put(h, payload, 1, frame);
        show("", ends, frame, n);
    }
    ends.to_port = OTHER_PORT;
    show("", ends, frame, n);
    ends.to_port = CARD_PORT;
    for (size_t byte = PKT_LEN_AT; byte < n; byte++) {
        frame[byte] ^= 0x10;
        show("wrong CRC32C", ends, frame, n);
        frame[byte] ^= 0x10;
    }
    show("not the length of the datagram", ends, frame, PKT_HEADER_BYTES);
    show(NULL, ends, frame, PKT_HEADER_BYTES - 1);
    frame[PKT_LEN_AT - 1]++;
    show(NULL, ends, frame, n);
}

/* Returns the next field of a line of tshark. */
static const char *next(char **line)
{
    const char *word = strsep(line, "|\n");
    return word ? word : "";
}

/* True or 1: 1; False, 0: 0; no field: -1. */
static int64_t number(const char *word)
{
    return !*word ? -1 : *word == 'T' ? 1 : *word == 'F' ? 0 : (int64_t)strtoull(word, NULL, 0);
}

static void fields(int i, char *line)
{
    const struct shown *s = &shown[i];
    const struct pkt_header h = pkt_get(s->bytes);
    const int64_t nak = h.op == PKT_OP_NAK ? (int64_t)h.status : -1,
                  pong = h.op == PKT_OP_PONG ? (int64_t)h.status : -1;
    const char *layers = next(&line), *said = next(&line), *payload, *word;
    if (!s->mark) {
        CHECK(!strstr(layers, "narrowcast"), "frame %d, of another protocol: %s", i, layers);
        return;
    }
    CHECK(!strcmp(layers, "raw:ip:udp:narrowcast"), "frame %d: %s", i, layers);
    CHECK(*s->mark ? strstr(said, s->mark) != NULL : !*said, "frame %d: '%s', not '%s'", i, said,
          s->mark);
#define PKT_FIELD(NAME, name, at, n_bytes, what)                                              \
    CHECK(number(word = next(&line)) == (int64_t)h.name, "frame %d: %s is '%s', not %llx", i, \
          #name, word, (unsigned long long)h.name);
#include "hls/card/packet.def"
#define PKT_STATUS(NAME, bit, what)                                                                \
    CHECK(number(word = next(&line)) == (h.op == PKT_OP_RESULT ? (int)(h.status >> bit & 1) : -1), \
          "frame %d: %s %s", i, #NAME, word);
#include "hls/card/packet.def"
    CHECK(number(word = next(&line)) == (h.flags & PKT_FLAG_SATURATE), "frame %d: flags %s", i,
          word);
    CHECK(number(word = next(&line)) == nak, "frame %d: nak %s", i, word);
    CHECK(number(word = next(&line)) == pong, "frame %d: pong %s", i, word);
    CHECK(number(word = next(&line)) == (pong < 0 ? -1 : (int64_t)pkt_get_bitmap(h)),
          "frame %d: bitmap %s", i, word);
    payload = next(&line);
    CHECK(strlen(payload) == 2 * (s->n - PKT_HEADER_BYTES), "frame %d: payload %s", i, payload);
    for (size_t at = PKT_HEADER_BYTES; at < s->n; at++, payload += 2) {
        char byte[3];
        snprintf(byte, sizeof byte, "%02x", s->bytes[at]);
        if (strncmp(byte, payload, 2)) {
            CHECK(0, "frame %d: byte %zu: not %s but %s", i, at, byte, payload);
            return;
        }
    }
}

static const char *format(uint32_t byte, char name[CODEC_NAME_BYTES])
{
    const struct beat_fmt f = beat_format(byte);
    return f.width ? codec_format_name(f.fmt, name) : byte ? "?" : "-";
}

/* The text of the column Info. */
static void info(int i, const char *line)
{
    static const char *const ops[256] = {
#define PKT_OP(NAME, value, what) [value] = #NAME,
#include "hls/card/packet.def"
    };
    static const char *const naks[16] = {
#define PKT_NAK(NAME, value, what) [value] = #NAME,
#include "hls/card/packet.def"
    };
    static const char *const pongs[16] = {
#define PKT_PONG(NAME, value, what) [value] = #NAME,
#include "hls/card/packet.def"
    };
    const struct pkt_header h = pkt_get(shown[i].bytes);
    char text[256], rank[8] = "all", in[CODEC_NAME_BYTES], out[CODEC_NAME_BYTES];
    if (!shown[i].mark || *shown[i].mark)
        return;
    if (h.rank != PKT_TO_GROUP)
        snprintf(rank, sizeof rank, "%u", h.rank);
    const int n = snprintf(text, sizeof text, " %s rank %s job %u slot %u chunk %u",
                           ops[h.op] ? ops[h.op] : "?", rank, h.job, h.slot, h.chunk);
    char *more = text + n;
    const size_t room = sizeof text - (size_t)n;
    if (h.op == PKT_OP_NAK || h.op == PKT_OP_PONG)
        snprintf(more, room, ": %s\n", (h.op == PKT_OP_NAK ? naks : pongs)[h.status & 15]);
    else if (h.op == PKT_OP_PING)
        snprintf(more, room, "\n");
    else
        snprintf(more, room, ": %s to %s, %u elements%s%s%s\n", format(h.in_fmt, in),
                 format(h.out_fmt, out), h.count, h.status & PKT_STATUS_PINF ? ", PINF" : "",
                 h.status & PKT_STATUS_NINF ? ", NINF" : "",
                 h.status & PKT_STATUS_OVERFLOW ? ", OVERFLOW" : "");
    CHECK(strstr(line, text), "frame %d: '%s' does not end in '%s'", i, line, text);
}

/* Runs tshark with these options and gives each line to check(). */
static void tshark(const char *dir, const char *options, int with_fields)
{
    static char line[16384];
    char command[4096], *b = getenv("B");
    int n = 0;
    snprintf(command, sizeof command,
             "HOME=%s XDG_CONFIG_HOME=%s tshark -n -X lua_script:'%s/narrowcast.lua' -o "
             "narrowcast.ports:%d -r %s/pcap %s",
             dir, dir, b ? b : "build", OTHER_PORT, dir, options);
    FILE *p = popen(command, "r");
    for (; p && fgets(line, sizeof line, p); n++)
        if (n < n_shown && with_fields)
            fields(n, line);
        else if (n < n_shown)
            info(n, line);
    CHECK(p && pclose(p) == 0 && n == n_shown, "%d of %d frames: %s", n, n_shown, command);
}

int main(void)
{
    char dir[] = "/tmp/test_dissector_XXXXXX", path[sizeof dir + 8], remove[sizeof dir + 16];
    if (system("command -v tshark >/dev/null"))
        SKIP("no tshark");
    if (!system("ls /usr/lib/*/wireshark/plugins/narrowcast.lua >/dev/null 2>&1"))
        SKIP("Wireshark has an installed narrowcast.lua, which tshark would load, too");
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/pcap", dir);
    card = card_open(take, NULL);
    if (!card || pcap_open(&pcap, path, false))
        return 1;
    job();
    others();
    books_balance();
    CHECK(card_counter(card, CNT_OUT_NAK) == 4, "not all reasons of NAK");
    card_close(card);
    pcap_close(&pcap);
    tshark(dir,
           "-T fields -E separator='|' -e frame.protocols -e _ws.expert.message"
#define PKT_FIELD(NAME, name, at, n_bytes, what) " -e narrowcast." #name
#include "hls/card/packet.def"
           " -e narrowcast.status.pinf -e narrowcast.status.ninf -e narrowcast.status.overflow"
           " -e narrowcast.flags.saturate -e narrowcast.nak -e narrowcast.pong"
           " -e narrowcast.bitmap -e narrowcast.payload",
           1);
    tshark(dir, "", 0);
    printf("%d frames\n", n_shown);
    snprintf(remove, sizeof remove, "rm -rf %s", dir);
    if (system(remove))
        return 1;
    DONE();
}
