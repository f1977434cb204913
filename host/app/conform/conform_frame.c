/* conform_frame.c : reads bytes of vectors, exchanges keys in frames, and names the first field in
 * which frames differ. */
#include "app/conform/conform.h"
#include "base/crc.h"
#include "base/err.h"
#include "base/text.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool conform_number(const char *text, uint64_t *to)
{
    char *end;
    const bool bits = text && *text == '"';
    if (!text || !isxdigit((unsigned char)text[bits]))
        return false;
    *to = strtoull(text + bits, &end, bits ? 16 : 10);
    return bits ? *end == '"' : end > text;
}

int conform_bytes(const char *text, uint8_t *to, size_t most)
{
    size_t n = 0;
    if (!text || *text != '"')
        return -1;
    for (const char *at = text + 1; *at != '"'; at += 2) {
        const int byte = text_hex_byte(at);
        if (n == most || byte < 0)
            return -1;
        to[n++] = (uint8_t)byte;
    }
    return (int)n;
}

size_t conform_words(const char *text, uint32_t *to, size_t most)
{
    size_t n = 0;
    char *end;
    if (!text || *text != '"')
        return 0;
    for (text++; *text != '"'; text = end + (*end == ' ')) {
        if (n == most || text_hex(*text) < 0)
            return 0;
        to[n++] = (uint32_t)strtoul(text, &end, 16);
    }
    return n;
}

int conform_malformed(const struct jsonl_in *in)
{
    return ERR(-EINVAL, "cannot use '%s', line %llu: not a vector of FORMAT.md", in->path,
               (unsigned long long)in->line_no);
}

void conform_rekey(uint8_t *frame, size_t n, uint32_t mask)
{
    uint32_t before = 0;
    if (n < PKT_KEY_AT + PKT_KEY_BYTES || !pkt_get_uint(frame + PKT_KEY_AT, PKT_KEY_BYTES))
        return; /* a result to a group has no key */
    if (n >= PKT_HEADER_BYTES)
        before = crc_of(frame, PKT_HEADER_CRC_AT);
    pkt_put_uint(frame + PKT_KEY_AT, pkt_get_uint(frame + PKT_KEY_AT, 4) ^ mask, 4);
    if (n < PKT_HEADER_BYTES)
        return;
    uint8_t *crc = frame + PKT_HEADER_CRC_AT;
    pkt_put_uint(crc, pkt_get_uint(crc, 4) ^ before ^ crc_of(frame, PKT_HEADER_CRC_AT), 4);
}

const char *conform_op(const uint8_t *frame, size_t n)
{
    switch (n > PKT_OP_AT ? frame[PKT_OP_AT] : 0) {
#define PKT_OP(NAME, value, what) \
    case value:                   \
        return #NAME;
#include "hls/card/packet.def"
    default:
        return "frame";
    }
}

static const struct field {
    const char *name;
    size_t at;
    int bytes;
} fields[] = {
#define PKT_FIELD(NAME, name, at, n_bytes, what) {#name, at, n_bytes},
#include "hls/card/packet.def"
};

static bool field_differs(const struct field *field, const uint8_t *got, const uint8_t *want,
                          struct conform_fault *f)
{
    const uint64_t a = pkt_get_uint(got + field->at, field->bytes),
                   b = pkt_get_uint(want + field->at, field->bytes);
    if (a == b)
        return false;
    snprintf(f->field, sizeof f->field, "%s", field->name);
    snprintf(f->received, sizeof f->received, "%0*" PRIx64, 2 * field->bytes, a);
    snprintf(f->wanted, sizeof f->wanted, "%0*" PRIx64, 2 * field->bytes, b);
    return true;
}

/* CRCs differ whenever anything does, and come last. */
static bool fields_differ(bool crcs, const uint8_t *got, const uint8_t *want,
                          struct conform_fault *f)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if ((fields[i].at >= PKT_PAYLOAD_CRC_AT) == crcs && field_differs(&fields[i], got, want, f))
            return true;
    return false;
}

bool conform_differs(const uint8_t *got, size_t n_got, const uint8_t *want, size_t n_want,
                     struct conform_fault *f)
{
    const bool whole = n_got >= PKT_HEADER_BYTES && n_want >= PKT_HEADER_BYTES;
    if (whole && fields_differ(false, got, want, f))
        return true;
    for (size_t i = PKT_HEADER_BYTES; i < n_got && i < n_want; i++)
        if (got[i] != want[i]) {
            snprintf(f->field, sizeof f->field, "payload byte %zu", i - PKT_HEADER_BYTES);
            snprintf(f->received, sizeof f->received, "%02x", got[i]);
            snprintf(f->wanted, sizeof f->wanted, "%02x", want[i]);
            return true;
        }
    if (n_got != n_want) {
        snprintf(f->field, sizeof f->field, "length");
        snprintf(f->received, sizeof f->received, "%zu bytes", n_got);
        snprintf(f->wanted, sizeof f->wanted, "%zu bytes", n_want);
        return true;
    }
    return whole && fields_differ(true, got, want, f);
}
