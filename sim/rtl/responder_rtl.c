/* responder_rtl.c : runs the Verilated rtl/shell/control on the registers of any card. */
#define MODEL_PREFIX control_
#include "base/err.h"
#include "hls/card/lease.h"
#include "sim/rtl/responder.h"
#include "sim/rtl/verilated_model.h"
#include <stdlib.h>
#include <string.h>

enum {
    /* far more than any request needs, even one that waits for a job to stop */
    MAX_CLOCKS = 1 << 20,
    RESET_CLOCKS = 4
};

struct responder {
    struct model *model;
    const struct control_ops *ops;
    void *card;
    responder_out *out;
    void *arg;
    uint8_t *rst, *tick, *busy, *in_valid, *in_last, *in_last_be, *out_valid, *out_ready, *out_last;
    uint8_t *awvalid, *awready, *wvalid, *wready, *bvalid, *bready, *bresp, *arvalid, *arready,
        *rvalid, *rready, *rresp;
    uint16_t *in_port, *in_length, *out_port, *out_length, *frame_port, *awaddr, *araddr;
    uint32_t *in_data, *in_ip, *out_data, *out_ip, *wdata, *rdata;
    bool have_at, have_data; /* parts of a write that have come */
    uint8_t answer[LEASE_BYTES];
    size_t answer_bytes;
};

static void bind(struct responder *r)
{
    struct model *m = r->model;
    r->rst = model_port(m, "rst_i", NULL);
    r->tick = model_port(m, "tick_i", NULL);
    r->busy = model_port(m, "busy_o", NULL);
    r->frame_port = model_port(m, "frame_port_i", NULL);
    r->in_valid = model_port(m, "in_valid_i", NULL);
    r->in_last = model_port(m, "in_last_i", NULL);
    r->in_data = model_port(m, "in_data_i", NULL);
    r->in_last_be = model_port(m, "in_last_be_i", NULL);
    r->in_ip = model_port(m, "in_src_ip_i", NULL);
    r->in_port = model_port(m, "in_src_port_i", NULL);
    r->in_length = model_port(m, "in_length_i", NULL);
    r->out_valid = model_port(m, "out_valid_o", NULL);
    r->out_ready = model_port(m, "out_ready_i", NULL);
    r->out_last = model_port(m, "out_last_o", NULL);
    r->out_data = model_port(m, "out_data_o", NULL);
    r->out_ip = model_port(m, "out_ip_o", NULL);
    r->out_port = model_port(m, "out_port_o", NULL);
    r->out_length = model_port(m, "out_length_o", NULL);
    r->awaddr = model_port(m, "m_awaddr_o", NULL);
    r->awvalid = model_port(m, "m_awvalid_o", NULL);
    r->awready = model_port(m, "m_awready_i", NULL);
    r->wdata = model_port(m, "m_wdata_o", NULL);
    r->wvalid = model_port(m, "m_wvalid_o", NULL);
    r->wready = model_port(m, "m_wready_i", NULL);
    r->bvalid = model_port(m, "m_bvalid_i", NULL);
    r->bready = model_port(m, "m_bready_o", NULL);
    r->bresp = model_port(m, "m_bresp_i", NULL);
    r->araddr = model_port(m, "m_araddr_o", NULL);
    r->arvalid = model_port(m, "m_arvalid_o", NULL);
    r->arready = model_port(m, "m_arready_i", NULL);
    r->rdata = model_port(m, "m_rdata_i", NULL);
    r->rvalid = model_port(m, "m_rvalid_i", NULL);
    r->rready = model_port(m, "m_rready_o", NULL);
    r->rresp = model_port(m, "m_rresp_i", NULL);
}

/* The card accepts a request at once, and answers in the next clock. */
static int tick(struct responder *r)
{
    const uint8_t slverr = 2;
    model_eval(r->model);
    const bool at = *r->awvalid && *r->awready, data = *r->wvalid && *r->wready,
               ask = *r->arvalid && *r->arready, told = *r->rvalid && *r->rready,
               done = *r->bvalid && *r->bready;
    const uint16_t write_at = *r->awaddr, read_at = *r->araddr;
    const uint32_t value = *r->wdata;
    if (*r->out_valid && r->answer_bytes < sizeof r->answer) {
        lease_put_word(*r->out_data, r->answer + r->answer_bytes);
        r->answer_bytes += 4;
        if (*r->out_last) {
            const size_t n = r->answer_bytes;
            r->answer_bytes = 0;
            if (n != *r->out_length)
                return ERR(-EIO, "an answer of %zu bytes claims to have %u", n, *r->out_length);
            r->out(r->arg, *r->out_ip, *r->out_port, r->answer, n);
        }
    }
    model_tick(r->model);
    if (done)
        *r->bvalid = 0;
    if (told)
        *r->rvalid = 0;
    r->have_at = r->have_at || at;
    r->have_data = r->have_data || data;
    if (ask) {
        uint32_t read = 0;
        const int rc = r->ops->read(r->card, read_at, &read);
        TRY(rc);
        *r->rdata = read;
        *r->rresp = rc ? slverr : 0;
        *r->rvalid = 1;
    }
    if (r->have_at && r->have_data) {
        const int rc = r->ops->write(r->card, write_at, value);
        TRY(rc);
        *r->bresp = rc ? slverr : 0;
        *r->bvalid = 1;
        r->have_at = r->have_data = false;
    }
    return 0;
}

static int settle(struct responder *r)
{
    for (int i = 0; i < MAX_CLOCKS; i++) {
        model_eval(r->model);
        if (!*r->busy)
            return 0;
        TRY(tick(r));
    }
    return ERR(-EIO, "the card's control does not finish");
}

int responder_take(struct responder *r, uint32_t ip, uint16_t port, const uint8_t *bytes, size_t n)
{
    *r->in_ip = ip;
    *r->in_port = port;
    *r->in_length = (uint16_t)n;
    for (size_t at = 0; at < n; at += 4) {
        uint8_t word[4] = {0};
        const size_t left = n - at, part = left < 4 ? left : 4;
        memcpy(word, bytes + at, part);
        *r->in_data = lease_word(word);
        *r->in_last = left <= 4;
        *r->in_last_be = (uint8_t)(*r->in_last ? 1u << (part - 1) : 0u);
        *r->in_valid = 1;
        TRY(tick(r));
    }
    *r->in_valid = *r->in_last = 0;
    return settle(r);
}

int responder_tick(struct responder *r)
{
    *r->tick = 1;
    TRY(tick(r));
    *r->tick = 0;
    return settle(r);
}

int responder_open(const struct control_ops *ops, void *card, uint16_t frame_port,
                   responder_out *out, void *arg, struct responder **responder)
{
    static char name[] = "narrowcast-sim";
    char *argv[] = {name, NULL};
    struct responder *r = calloc(1, sizeof *r);
    if (!r)
        return ERR(-ENOMEM, "cannot make a card's control: no memory");
    *r = (struct responder){.ops = ops, .card = card, .out = out, .arg = arg};
    r->model = model_open(1, argv);
    bind(r);
    *r->frame_port = frame_port;
    *r->awready = *r->wready = *r->arready = *r->out_ready = 1;
    *r->rst = 1;
    for (int i = 0; i < RESET_CLOCKS; i++)
        model_tick(r->model);
    *r->rst = 0;
    const int rc = settle(r);
    if (rc) {
        responder_close(r);
        return rc;
    }
    *responder = r;
    return 0;
}

void responder_close(struct responder *r)
{
    if (r)
        model_close(r->model);
    free(r);
}
