/* wire_filter.c : writes the filter as BPF instructions, so that builds need no BPF compiler. */
#include "offload/wire/wire_filter.h"
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stddef.h>

static struct bpf_insn step(int op, int to, int from, int offset, int32_t value)
{
    return (struct bpf_insn){.code = (uint8_t)op,
                             .dst_reg = (uint8_t)(to & 15),
                             .src_reg = (uint8_t)(from & 15),
                             .off = (int16_t)offset,
                             .imm = value};
}

/* r1: struct xdp_md; r2, r3: packet and its end; r5: a field. */
int wire_filter_load(int map, const struct wire_headers *sent)
{
    enum { LOAD = BPF_LDX | BPF_MEM, IP = 14, UDP = IP + 20, N_FIELDS = 7, AT = 5 };
    enum { FOUND = AT + 3 * N_FIELDS, PASS = FOUND + 6, N = PASS + 2 };
    const uint32_t ports = (uint32_t)ntohs(sent->udp.dest) << 16 | ntohs(sent->udp.source);
    const struct {
        int size, at;
        uint32_t mask, value; /* in network order */
    } fields[N_FIELDS] = {
        {BPF_H, 12, UINT32_MAX, htons(ETHERTYPE_IP)},  {BPF_B, IP, UINT32_MAX, 0x45},
        {BPF_H, IP + 6, htons(IP_MF | IP_OFFMASK), 0}, {BPF_B, IP + 9, UINT32_MAX, IPPROTO_UDP},
        {BPF_W, IP + 12, UINT32_MAX, sent->ip.daddr},  {BPF_W, IP + 16, UINT32_MAX, sent->ip.saddr},
        {BPF_W, UDP, UINT32_MAX, htonl(ports)},
    };
    struct bpf_insn steps[N];
    steps[0] = step(LOAD | BPF_W, 2, 1, offsetof(struct xdp_md, data), 0);
    steps[1] = step(LOAD | BPF_W, 3, 1, offsetof(struct xdp_md, data_end), 0);
    steps[2] = step(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0);
    steps[3] = step(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, sizeof *sent);
    steps[4] = step(BPF_JMP | BPF_JGT | BPF_X, 4, 3, PASS - 5, 0);
    for (int i = 0, at = AT; i < N_FIELDS; i++, at += 3) {
        steps[at] = step(LOAD | fields[i].size, 5, 2, fields[i].at, 0);
        steps[at + 1] = step(BPF_ALU | BPF_AND | BPF_K, 5, 0, 0, (int32_t)fields[i].mask);
        steps[at + 2] =
            step(BPF_JMP32 | BPF_JNE | BPF_K, 5, 0, PASS - (at + 3), (int32_t)fields[i].value);
    }
    steps[FOUND] = step(LOAD | BPF_W, 2, 1, offsetof(struct xdp_md, rx_queue_index), 0);
    steps[FOUND + 1] = step(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map);
    steps[FOUND + 2] = step(0, 0, 0, 0, 0); /* upper half of the constant */
    steps[FOUND + 3] = step(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, XDP_PASS); /* no socket */
    steps[FOUND + 4] = step(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map);
    steps[FOUND + 5] = step(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    steps[PASS] = step(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS);
    steps[PASS + 1] = step(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return bpf_prog_load(BPF_PROG_TYPE_XDP, "narrowcast", "GPL", steps, N, NULL);
}
