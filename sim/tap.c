/* tap.c : carries a card's frames over a TAP interface, at the card's own IP. In raw mode the card
 * itself handles ARP, IP and UDP. */
#include "base/buf.h"
#include "base/err.h"
#include "sim/ether.h"
#include "sim/frame_queue.h"
#include "sim/net.h"
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* MAX_WAITING: frames to send; AT_ONCE: frames read per call */
enum { MAX_WAITING = 8192, AT_ONCE = 64 };

struct tap {
    int fd;
    struct ether ether;
    struct frame_queue out;
    uint64_t came[ETHER_FATES], sent, asked, full;
};

static void out(struct tap *t, const uint8_t *frame, size_t n)
{
    const struct queued_frame f = {.n = n};
    if (frame_queue_waiting(&t->out) >= MAX_WAITING || frame_queue_put(&t->out, f, frame))
        t->full++;
}

static int tap_receive(void *net, net_take *take, void *arg)
{
    struct tap *t = net;
    int i = 0;
    for (; i < AT_ONCE; i++) {
        uint8_t frame[ETHER_MAX], reply[ETHER_MAX];
        struct ether_udp udp;
        size_t reply_n;
        const ssize_t n = read(t->fd, frame, sizeof frame);
        if (n <= 0)
            break;
        const enum ether_fate fate = ether_take(&t->ether, frame, (size_t)n, &udp, reply, &reply_n);
        t->came[fate]++;
        if (fate == ETHER_REPLY)
            out(t, reply, reply_n);
        if (fate == ETHER_PAYLOAD && udp.n)
            take(arg, udp.ip, udp.port, udp.payload,
                 udp.n < NET_FRAME_BYTES ? udp.n : NET_FRAME_BYTES);
    }
    return i;
}

static void tap_send(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    struct tap *t = net;
    uint8_t frame[ETHER_MAX];
    int asked;
    const size_t all = ether_put(&t->ether, ip, port, bytes, n, frame, &asked);
    t->asked += asked != 0;
    out(t, frame, all);
}

static int raw_receive(void *net, net_take *take, void *arg)
{
    struct tap *t = net;
    int i = 0;
    for (; i < AT_ONCE; i++) {
        uint8_t frame[ETHER_MAX];
        const ssize_t n = read(t->fd, frame, sizeof frame);
        if (n <= 0)
            break;
        take(arg, 0, 0, frame, (size_t)n);
    }
    return i;
}

static void raw_send(void *net, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    (void)ip, (void)port;
    out(net, bytes, n);
}

static int tap_flush(void *net)
{
    struct tap *t = net;
    for (const struct queued_frame *f; (f = frame_queue_first(&t->out));
         frame_queue_drop(&t->out)) {
        if (write(t->fd, t->out.bytes + f->at, f->n) >= 0)
            t->sent++;
        else if (errno == EAGAIN || errno == EINTR)
            return 1;
    }
    return 0;
}

static void tap_report(const void *net, struct text *to)
{
    static const char *const names[ETHER_FATES] = {"payload", "answered", "learnt",  "other",
                                                   "short",   "fragment", "checksum"};
    const struct tap *t = net;
    text_add(to, "tap_out %llu\ntap_asked %llu\ntap_full %llu\n", (unsigned long long)t->sent,
             (unsigned long long)t->asked, (unsigned long long)t->full);
    for (int i = 0; i < ETHER_FATES; i++)
        text_add(to, "tap_in_%s %llu\n", names[i], (unsigned long long)t->came[i]);
}

static void raw_report(const void *net, struct text *to)
{
    const struct tap *t = net;
    text_add(to, "tap_out %llu\ntap_full %llu\n", (unsigned long long)t->sent,
             (unsigned long long)t->full);
}

static int tap_fd(const void *net)
{
    return ((const struct tap *)net)->fd;
}

static void tap_close(void *net)
{
    struct tap *t = net;
    if (t->fd >= 0)
        close(t->fd);
    frame_queue_free(&t->out);
    free(t);
}

/* The interface exists while fd is open. */
static int attach(int fd, const char *name)
{
    struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &r))
        return -errno;
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = any < 0 || ioctl(any, SIOCGIFFLAGS, &r) ? -errno : 0;
    r.ifr_flags |= IFF_UP;
    if (!rc && ioctl(any, SIOCSIFFLAGS, &r))
        rc = -errno;
    if (any >= 0)
        close(any);
    return rc;
}

static int open_with(const char *name, const struct ether *ether, void **net)
{
    struct tap *t = buf_alloc(sizeof *t);
    if (!t)
        return -ENOMEM;
    t->ether = *ether;
    /* with an empty name or a %, the system would choose another name */
    int rc = strlen(name) >= IFNAMSIZ ? -ENAMETOOLONG : !*name || strchr(name, '%') ? -EINVAL : 0;
    t->fd = rc ? -1 : open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (!rc)
        rc = t->fd >= 0 ? attach(t->fd, name) : -errno;
    if (!rc) {
        *net = t;
        return 0;
    }
    tap_close(t);
    return ERR(rc, "cannot make TAP interface '%s': %s%s", name, strerror(-rc),
               rc == -EPERM || rc == -EACCES ? " (needs root or CAP_NET_ADMIN)" : "");
}

int tap_open(const char *name, const uint8_t mac[6], uint32_t ip, uint16_t port, void **net)
{
    struct ether e = {.ip = ip, .port = port};
    memcpy(e.mac, mac, 6);
    return open_with(name, &e, net);
}

int tap_open_raw(const char *name, void **net)
{
    return open_with(name, &(struct ether){.ip = 0}, net);
}

const struct net_ops net_tap = {
    .receive = tap_receive,
    .send = tap_send,
    .flush = tap_flush,
    .report = tap_report,
    .fd = tap_fd,
    .close = tap_close,
};

const struct net_ops net_tap_raw = {
    .receive = raw_receive,
    .send = raw_send,
    .flush = tap_flush,
    .report = raw_report,
    .fd = tap_fd,
    .close = tap_close,
};
