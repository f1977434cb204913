/* wire_fabric.c : implements libnarrowcast_fabric.so: a wire over a datagram endpoint of libfabric.
 * No other file uses libfabric. Short frames are sent with fi_inject(), longer ones from a send
 * buffer. A frame that cannot leave is lost; the window sends it again. */
#include "offload/wire/wire_library.h"
#include "offload/wire/wire_local.h"
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSTED = 256, SENDING = 128, AT_ONCE = 32 };

struct fabric {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *rx, *tx;
    struct fid_ep *ep;
    struct fid_mr *mr;
    void *desc; /* of `buffers`, if wanted */
    fi_addr_t card;
    struct sockaddr_in name;
    /* bytes: provider's prefix, buffer with prefix, longest datagram */
    size_t prefix, room, most;
    uint8_t *buffers; /* [POSTED + SENDING][room] */
    struct fi_context2 contexts[POSTED + SENDING];
    int idle[SENDING], n_idle; /* free send buffers */
    struct fi_cq_msg_entry come[AT_ONCE];
    /* reading: the receive that the caller reads, posted again later; -1: none */
    int n_come, next_come, reading;
};

static uint8_t *buffer(const struct fabric *f, int i)
{
    return f->buffers + (size_t)i * f->room;
}

static int post(struct fabric *f, int i)
{
    return (int)fi_recv(f->ep, buffer(f, i), f->room, f->desc, FI_ADDR_UNSPEC, &f->contexts[i]);
}

static void reap_sends(struct fabric *f)
{
    struct fi_cq_msg_entry done[AT_ONCE];
    struct fi_cq_err_entry failed;
    ssize_t n;
    while ((n = fi_cq_read(f->tx, done, AT_ONCE)) != -FI_EAGAIN) {
        if (n == -FI_EAVAIL) {
            failed = (struct fi_cq_err_entry){0};
            if (fi_cq_readerr(f->tx, &failed, 0) != 1)
                return;
            done[0].op_context = failed.op_context;
            n = 1;
        }
        if (n < 0)
            return;
        for (ssize_t i = 0; i < n; i++)
            if (done[i].op_context)
                f->idle[f->n_idle++] =
                    (int)((struct fi_context2 *)done[i].op_context - f->contexts);
    }
}

static ssize_t send_buffered(struct fabric *f, const uint8_t *bytes, size_t n)
{
    if (!f->n_idle)
        reap_sends(f);
    if (!f->n_idle)
        return -FI_EAGAIN;
    const int i = f->idle[f->n_idle - 1];
    memcpy(buffer(f, i) + f->prefix, bytes, n);
    ssize_t rc = fi_send(f->ep, buffer(f, i), n + f->prefix, f->desc, f->card, &f->contexts[i]);
    f->n_idle -= rc == 0;
    return rc;
}

static int fabric_send(void *wire, const uint8_t *bytes, size_t n)
{
    struct fabric *f = wire;
    const bool inject = !f->prefix && n <= f->info->tx_attr->inject_size;
    ssize_t rc = inject ? fi_inject(f->ep, bytes, n, f->card) : send_buffered(f, bytes, n);
    return rc == -FI_EAGAIN || rc == -ENOBUFS ? -EAGAIN : 0;
}

static int fabric_flush(void *wire)
{
    (void)wire; /* nothing is queued */
    return 0;
}

static int read_more(struct fabric *f)
{
    ssize_t n = fi_cq_read(f->rx, f->come, AT_ONCE);
    f->next_come = 0;
    f->n_come = n > 0 ? (int)n : 0;
    /* a receive failed, perhaps of too long a datagram: post it again */
    if (n == -FI_EAVAIL) {
        struct fi_cq_err_entry failed = {0};
        if (fi_cq_readerr(f->rx, &failed, 0) != 1 || !failed.op_context)
            return 0;
        f->come[0] = (struct fi_cq_msg_entry){.op_context = failed.op_context};
        f->n_come = 1;
        return 1;
    }
    return n > 0 ? 1 : n == -FI_EAGAIN || n == -FI_EINTR ? 0 : (int)n;
}

static int fabric_receive(void *wire, const uint8_t **bytes, size_t *n)
{
    struct fabric *f = wire;
    if (f->reading >= 0) {
        int rc = post(f, f->reading);
        if (rc == -FI_EAGAIN)
            return 0;
        if (rc)
            return rc;
        f->reading = -1;
    }
    if (f->next_come == f->n_come) {
        int rc = read_more(f);
        if (rc <= 0)
            return rc;
    }
    const struct fi_cq_msg_entry *e = &f->come[f->next_come++];
    f->reading = (int)((struct fi_context2 *)e->op_context - f->contexts);
    *bytes = buffer(f, f->reading) + f->prefix;
    *n = e->len > f->prefix ? e->len - f->prefix : 0;
    return 1;
}

static size_t fabric_longest(const void *wire)
{
    return ((const struct fabric *)wire)->most;
}

static void close_fid(void *fid)
{
    if (fid)
        fi_close(fid);
}

static void fabric_close(void *wire)
{
    struct fabric *f = wire;
    close_fid(f->ep ? &f->ep->fid : NULL);
    close_fid(f->mr ? &f->mr->fid : NULL);
    close_fid(f->rx ? &f->rx->fid : NULL);
    close_fid(f->tx ? &f->tx->fid : NULL);
    close_fid(f->av ? &f->av->fid : NULL);
    close_fid(f->domain ? &f->domain->fid : NULL);
    close_fid(f->fabric ? &f->fabric->fid : NULL);
    if (f->info)
        fi_freeinfo(f->info);
    free(f->buffers);
    free(f);
}

static const struct wire_ops ops = {
    .send = fabric_send,
    .flush = fabric_flush,
    .receive = fabric_receive,
    .most = fabric_longest,
    .close = fabric_close,
};

static int failed(char *why, const char *what, int rc)
{
    snprintf(why, WIRE_WHY_BYTES, "libfabric cannot %s: %s", what, fi_strerror(-rc));
    return rc;
}

static struct fi_info *hints_for(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();
    if (!hints)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = FI_MSG_PREFIX | FI_CONTEXT | FI_CONTEXT2;
    hints->addr_format = FI_SOCKADDR_IN;
    hints->ep_attr->type = FI_EP_DGRAM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider);
    return hints;
}

/* local NULL: any address. */
static struct fi_info *find(const char *provider, const char *local)
{
    struct fi_info *hints = hints_for(provider), *all = NULL, *found = NULL;
    const uint64_t flags = local ? FI_SOURCE : 0;
    int rc = hints ? fi_getinfo(FI_VERSION(1, 14), local, local ? "0" : NULL, flags, hints, &all)
                   : -FI_ENOMEM;
    for (struct fi_info *i = all; i && !rc && !found; i = i->next)
        if (!strcmp(i->fabric_attr->prov_name, provider) && i->addr_format == FI_SOCKADDR_IN)
            found = fi_dupinfo(i);
    if (hints)
        fi_freeinfo(hints);
    if (all)
        fi_freeinfo(all);
    return found;
}

static int fabric_check(const char *provider, char *why)
{
    struct fi_info *found = find(provider, NULL);
    if (!found) {
        snprintf(why, WIRE_WHY_BYTES,
                 "libfabric has no provider '%.32s' with datagrams over IPv4; --fabric socket "
                 "needs none",
                 provider);
        return -ENODATA;
    }
    fi_freeinfo(found);
    return 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int make_buffers(struct fabric *f, const struct wire_options *o, char *why)
{
    f->prefix = f->info->mode & FI_MSG_PREFIX ? f->info->ep_attr->msg_prefix_size : 0;
    f->most = smaller(smaller(o->frame_bytes, f->info->ep_attr->max_msg_size - f->prefix),
                      /* longer ones would be fragmented */
                      wire_most_to(o->card_ip, o->card_port));
    /* larger than the longest frame, to recognise longer datagrams */
    f->room = (f->prefix + o->frame_bytes + 64 + 63) / 64 * 64;
    const size_t bytes = (POSTED + SENDING) * f->room;
    f->buffers = aligned_alloc(64, bytes);
    if (!f->buffers)
        return failed(why, "allocate buffers", -FI_ENOMEM);
    for (int i = 0; i < SENDING; i++)
        f->idle[f->n_idle++] = POSTED + i;
    if (f->info->domain_attr->mr_mode & FI_MR_LOCAL) {
        int rc = fi_mr_reg(f->domain, f->buffers, bytes, FI_SEND | FI_RECV, 0, 0, 0, &f->mr, NULL);
        if (rc)
            return failed(why, "register memory", rc);
        f->desc = fi_mr_desc(f->mr);
    }
    return 0;
}

static int make_endpoint(struct fabric *f, char *why)
{
    struct fi_av_attr av = {.type = f->info->domain_attr->av_type, .count = 1};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE, .size = 1024};
    int rc = fi_fabric(f->info->fabric_attr, &f->fabric, NULL);
    if (!rc)
        rc = fi_domain(f->fabric, f->info, &f->domain, NULL);
    if (!rc)
        rc = fi_av_open(f->domain, &av, &f->av, NULL);
    if (!rc)
        rc = fi_cq_open(f->domain, &cq, &f->rx, NULL);
    if (!rc)
        rc = fi_cq_open(f->domain, &cq, &f->tx, NULL);
    if (!rc)
        rc = fi_endpoint(f->domain, f->info, &f->ep, NULL);
    if (!rc)
        rc = fi_ep_bind(f->ep, &f->av->fid, 0);
    if (!rc)
        rc = fi_ep_bind(f->ep, &f->rx->fid, FI_RECV);
    if (!rc)
        rc = fi_ep_bind(f->ep, &f->tx->fid, FI_TRANSMIT);
    if (!rc)
        rc = fi_enable(f->ep);
    return rc ? failed(why, "create an endpoint", rc) : 0;
}

static int settle(struct fabric *f, const struct wire_options *o, char *why)
{
    const struct sockaddr_in card = wire_name(o->card_ip, o->card_port);
    size_t size = sizeof f->name;
    if (fi_av_insert(f->av, &card, 1, &f->card, 0, NULL) != 1)
        return failed(why, "register the card's address", -FI_EADDRNOTAVAIL);
    int rc = fi_getname(&f->ep->fid, &f->name, &size);
    if (rc || !f->name.sin_port || !f->name.sin_addr.s_addr)
        return failed(why, "report its own address", rc ? rc : -FI_EADDRNOTAVAIL);
    f->reading = -1;
    for (int i = 0; i < POSTED && !rc; i++)
        rc = post(f, i);
    return rc ? failed(why, "receive", rc) : 0;
}

static int fabric_open(const struct wire_options *o, struct wire *out, char *why)
{
    char local[INET_ADDRSTRLEN] = "";
    uint32_t ip;
    int rc = wire_local(o->local, o->card_ip, o->card_port, &ip);
    if (rc)
        return wire_unbound(o, rc, why);
    const struct in_addr address = {htonl(ip)};
    struct fabric *f = calloc(1, sizeof *f);
    if (!f || !inet_ntop(AF_INET, &address, local, sizeof local)) {
        free(f);
        return failed(why, "allocate memory", -FI_ENOMEM);
    }
    f->info = find(o->provider, local);
    if (!f->info) {
        snprintf(why, WIRE_WHY_BYTES, "libfabric's provider '%s' has no datagrams over IPv4 at %s",
                 o->provider, local);
        rc = -ENODATA;
    }
    if (!rc)
        rc = make_endpoint(f, why);
    if (!rc)
        rc = make_buffers(f, o, why);
    if (!rc)
        rc = settle(f, o, why);
    if (rc) {
        fabric_close(f);
        return rc;
    }
    *out = wire_at(&ops, f, &f->name);
    return 0;
}

extern __attribute__((visibility("default"))) const struct wire_library narrowcast_fabric;
const struct wire_library narrowcast_fabric = {
    .version = WIRE_LIBRARY_VERSION,
    .open = fabric_open,
    .check = fabric_check,
};
