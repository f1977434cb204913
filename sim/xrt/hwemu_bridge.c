/* hwemu_bridge.c : forwards calls of XRT's libxrt_hwemu to narrowcast-sim. This program is the
 * simulator in a container for hardware emulation, started by the container's simulate.sh.
 *
 *     libxrt_hwemu <--socket, protocol buffers--> this <--hls/card/simlink.h--> narrowcast-sim
 *
 * The socket is /tmp/$USER/$EMULATION_SOCKETID. A call has 9 bytes with its length, 5 bytes with
 * its number, and the fields of a message. Answers have no number.
 * usage: hwemu NARROWCAST-SIM [ITS OPTION...] */
#include "base/buf.h"
#include "base/err.h"
#include "base/inet.h"
#include "sim/xrt/card_link.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_BYTES = 14, /* tag, u64 length, tag, u32 number */
    ANSWER_BYTES = 9,
    FIELDS = 8,
    MAX_BYTES = 1 << 28,
    CALL_CLOSE = 1,
    CALL_ALLOC = 4,
    CALL_FREE = 5,
    CALL_PUT = 6,
    CALL_GET = 7,
    CALL_WRITE = 9, /* of registers */
    CALL_READ = 11,
    CALL_MESSAGES = 19,
    CALL_ENVIRONMENT = 20
};

/* fields by number; each is a number, or bytes in the message */
struct fields {
    uint64_t number[FIELDS];
    const uint8_t *bytes[FIELDS];
    size_t n[FIELDS];
};

static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool parse(const uint8_t *at, size_t n, struct fields *f)
{
    const uint8_t *end = at + n;
    *f = (struct fields){{0}, {NULL}, {0}};
    while (at < end) {
        uint64_t tag, value;
        if (!take_number(&at, end, &tag) || (tag & 7) % 2 || (tag & 7) > 2 ||
            !take_number(&at, end, &value))
            return false;
        if (tag >> 3 < FIELDS)
            f->number[tag >> 3] = value;
        if ((tag & 7) == 0)
            continue;
        if (value > (uint64_t)(end - at))
            return false;
        if (tag >> 3 < FIELDS) {
            f->bytes[tag >> 3] = at;
            f->n[tag >> 3] = (size_t)value;
        }
        at += value;
    }
    return true;
}

/* bytes: data after room for the header */
struct answer {
    uint8_t *bytes;
    size_t n;
};

static void add_number(struct answer *a, uint64_t value)
{
    for (; value > 127; value >>= 7)
        a->bytes[a->n++] = (uint8_t)(value | 128);
    a->bytes[a->n++] = (uint8_t)value;
}

static void add_field(struct answer *a, unsigned field, uint64_t value)
{
    add_number(a, field << 3);
    add_number(a, value);
}

static uint8_t *add_bytes(struct answer *a, unsigned field, size_t n)
{
    add_number(a, field << 3 | 2);
    add_number(a, n);
    a->n += n;
    return a->bytes + a->n - n;
}

static int write_registers(struct card_link *card, const struct fields *f)
{
    for (size_t i = 0; i + 4 <= f->n[4]; i += 4) {
        uint32_t value;
        memcpy(&value, f->bytes[4] + i, 4);
        TRY(card_link_write(card, f->number[2] + i, value));
    }
    return 0;
}

static int read_registers(struct card_link *card, uint64_t address, uint8_t *to, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i += 4) {
        uint32_t value;
        TRY(card_link_read(card, address + i, &value));
        memcpy(to + i, &value, 4);
    }
    return 0;
}

/* Numbers of f: PUT 3 address, 4 bytes, 5 size; GET 4 address, 5 size; WRITE 2 address, 4 bytes;
 * READ 2 address, 3 size. a: has room. Returns 0, 1 at the end, or a negative errno. */
static int obey(struct card_link *card, uint32_t number, const struct fields *f, struct answer *a)
{
    int rc = 0;
    switch (number) {
    case CALL_PUT:
        rc = card_link_put(card, f->number[3], f->bytes[4], f->n[4]);
        add_field(a, 1, f->number[5]);
        return rc;
    case CALL_GET:
        add_field(a, 1, f->number[5]);
        return card_link_get(card, f->number[4], add_bytes(a, 2, f->number[5]), f->number[5]);
    case CALL_WRITE:
        rc = write_registers(card, f);
        add_field(a, 1, 1);
        return rc;
    case CALL_READ:
        add_field(a, 1, 1);
        return read_registers(card, f->number[2], add_bytes(a, 2, f->number[3]), f->number[3]);
    case CALL_MESSAGES:
        return 0;
    case CALL_CLOSE:
    case CALL_ALLOC:
    case CALL_FREE:
    case CALL_ENVIRONMENT:
        add_field(a, 1, 1);
        return number == CALL_CLOSE;
    default:
        return ERR(-ENOSYS, "libxrt_hwemu makes call %u, which this bridge does not know", number);
    }
}

/* Returns a result of obey(), or an errno of the socket. */
static int serve(int fd, struct card_link *card)
{
    uint8_t header[CALL_BYTES];
    uint64_t n;
    uint32_t number;
    struct fields f;
    struct answer a = {.n = ANSWER_BYTES};
    TRY(sock_recv(fd, header, sizeof header));
    memcpy(&n, header + 1, sizeof n);
    memcpy(&number, header + 10, sizeof number);
    if (header[0] != 0x09 || header[9] != 0x15 || n > MAX_BYTES)
        return ERR(-EPROTO, "libxrt_hwemu starts with an unexpected call");
    uint8_t *body = buf_alloc((size_t)n + 1);
    int rc = body ? sock_recv(fd, body, (size_t)n) : -ENOMEM;
    if (!rc &&
        (!parse(body, (size_t)n, &f) || f.number[5] > MAX_BYTES || f.number[3] > UINT64_MAX / 2))
        rc = ERR(-EPROTO, "cannot read call %u of libxrt_hwemu", number);
    const uint64_t more = rc ? 0 : number == CALL_GET ? f.number[5] : f.number[3];
    if (!rc && number == CALL_READ && more > MAX_BYTES)
        rc = ERR(-EPROTO, "cannot read call %u of libxrt_hwemu", number);
    if (!rc && !(a.bytes = buf_alloc((number == CALL_GET || number == CALL_READ ? more : 0) + 64)))
        rc = -ENOMEM;
    if (!rc)
        rc = obey(card, number, &f, &a);
    if (rc == -EFAULT) { /* no register: a bus would answer any value */
        err_warn("%s", card_link_why(card));
        rc = 0;
    }
    if (rc >= 0) {
        const uint64_t size = a.n - ANSWER_BYTES;
        a.bytes[0] = 0x09;
        memcpy(a.bytes + 1, &size, sizeof size);
        const int sent = sock_send(fd, a.bytes, a.n);
        rc = sent ? sent : rc;
    }
    free(a.bytes);
    free(body);
    return rc;
}

/* Connects to a socket at which libxrt_hwemu already listens, or will soon. */
static int dial(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const char *user = getenv("USER"), *id = getenv("EMULATION_SOCKETID");
    snprintf(at.sun_path, sizeof at.sun_path, "/tmp/%s/%s%s", user ? user : "", name, id ? id : "");
    for (int i = 0; i < 1000; i++) {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return ERR(-ECONNREFUSED, "no process listens at '%s'", at.sun_path);
}

int main(int argc, char **argv)
{
    char why[CARD_LINK_WHY];
    struct card_link *card = NULL;
    if (argc < 2)
        return ERR(1, "usage: hwemu NARROWCAST-SIM [ITS OPTION...]");
    signal(SIGPIPE, SIG_IGN);
    const int fd = dial("");
    if (fd < 0)
        return 1;
    const int second = dial("D2X_unix_sock_"); /* for calls of the card */
    int rc = card_link_open(argv[1], (const char *const *)argv + 2, 0, &card, why);
    if (rc)
        (void)ERR(rc, "%s", why);
    while (!rc)
        rc = serve(fd, card);
    if (rc == -EIO)
        (void)ERR(rc, "%s", card_link_why(card));
    card_link_close(card);
    if (second >= 0) {
        static const uint8_t close_it[CALL_BYTES] = {0x09, 0, 0, 0,    0,         0,
                                                     0,    0, 0, 0x15, CALL_CLOSE};
        /* ends the thread of libxrt_hwemu that reads the socket */
        (void)!sock_send(second, close_it, sizeof close_it);
        close(second);
    }
    close(fd);
    return rc < 0 && rc != -EPIPE;
}
