/* tx_ports.h : binds the ports of the Verilated rtl/tx.sv. */
#ifndef TX_PORTS_H
#define TX_PORTS_H
#include "sim/rtl/verilated_model.h"
#include <string.h>

static struct dut {
    struct model *m;
    uint8_t *rst, *send_valid, *send_ready, *send_slot, *send_job, *send_status, *send_beats, *busy,
        *busy_slot, *kr_valid, *send_group, *addr_group;
    uint8_t *kr_slot, *kr_beat, *ans_valid, *ans_ready, *ans_pong, *ans_status, *ans_job, *ans_rank,
        *ans_beats, *addr_job;
    uint8_t *addr_rank, *tx_last, *tx_valid, *tx_ready;
    uint16_t *ans_slot, *addr_port, *tx_port;
    uint32_t *send_chunk, *send_desc, *send_crc, *kr_data, *ans_chunk, *ans_tag, *addr_ip, *tx_data,
        *tx_ip, *drop_out, *random;
    uint32_t *count;
    uint64_t *send_mask, *send_key, *ans_key, *ans_echo, *ans_bitmap;
} d;

static void open_dut(int argc, char **argv)
{
    d.m = model_open(argc, argv);
    struct {
        const char *name;
        void *at;
    } ports[] = {
        {"rst_i", &d.rst},
        {"send_valid_i", &d.send_valid},
        {"send_ready_o", &d.send_ready},
        {"send_group_i", &d.send_group},
        {"addr_group_o", &d.addr_group},
        {"send_slot_i", &d.send_slot},
        {"send_job_i", &d.send_job},
        {"send_status_i", &d.send_status},
        {"send_beats_i", &d.send_beats},
        {"send_mask_i", &d.send_mask},
        {"send_key_i", &d.send_key},
        {"send_chunk_i", &d.send_chunk},
        {"send_desc_i", &d.send_desc},
        {"send_crc_i", &d.send_crc},
        {"busy_o", &d.busy},
        {"busy_slot_o", &d.busy_slot},
        {"kr_valid_o", &d.kr_valid},
        {"kr_slot_o", &d.kr_slot},
        {"kr_beat_o", &d.kr_beat},
        {"kr_data_i", &d.kr_data},
        {"ans_valid_i", &d.ans_valid},
        {"ans_ready_o", &d.ans_ready},
        {"ans_pong_i", &d.ans_pong},
        {"ans_status_i", &d.ans_status},
        {"ans_job_i", &d.ans_job},
        {"ans_rank_i", &d.ans_rank},
        {"ans_slot_i", &d.ans_slot},
        {"ans_chunk_i", &d.ans_chunk},
        {"ans_key_i", &d.ans_key},
        {"ans_tag_i", &d.ans_tag},
        {"ans_echo_i", &d.ans_echo},
        {"ans_bitmap_i", &d.ans_bitmap},
        {"ans_beats_i", &d.ans_beats},
        {"addr_job_o", &d.addr_job},
        {"addr_rank_o", &d.addr_rank},
        {"addr_ip_i", &d.addr_ip},
        {"addr_port_i", &d.addr_port},
        {"tx_data_o", &d.tx_data},
        {"tx_last_o", &d.tx_last},
        {"tx_ip_o", &d.tx_ip},
        {"tx_port_o", &d.tx_port},
        {"tx_valid_o", &d.tx_valid},
        {"tx_ready_i", &d.tx_ready},
        {"drop_out_i", &d.drop_out},
        {"random_i", &d.random},
        {"count_o", &d.count},
    };
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        void *at = model_port(d.m, ports[i].name, NULL);
        memcpy(ports[i].at, &at, sizeof at);
    }
}

#endif
