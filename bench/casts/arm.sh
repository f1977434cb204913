#!/bin/bash
# arm.sh : counts the instructions that casts and sums execute for an element on 64-bit ARM, by plain
# C (which gcc vectorises) and by NEON, in qemu's user mode. It measures no time.
# usage: bench/casts/arm.sh
# Prints a table. Needs gcc-aarch64-linux-gnu and a qemu-aarch64 with plugins (Debian 12: qemu-user).
set -eu
. "$(dirname "$0")/../usage.sh"
[ $# = 0 ] || refuse "'$1': takes no argument"
cc=aarch64-linux-gnu-gcc
command -v $cc >/dev/null || refuse "no $cc (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
qemu-aarch64 --help 2>/dev/null | grep -q -e -plugin || refuse "no qemu-aarch64 with plugins (Debian 12: qemu-user; Debian 13 builds it without)"
out=$B/arm
mkdir -p "$out"

# Declares what it uses of qemu-plugin.h, which Debian does not install.
cat >"$out/count.c" <<'END'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef uint64_t id;
void qemu_plugin_register_vcpu_tb_trans_cb(id, void (*)(id, void *));
void qemu_plugin_register_vcpu_tb_exec_inline(void *, int add, void *, uint64_t);
void qemu_plugin_register_atexit_cb(id, void (*)(id, void *), void *);
size_t qemu_plugin_tb_n_insns(const void *);
int qemu_plugin_version = 1;
static uint64_t count;
static void block(id i, void *tb)
{
    (void)i;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, 0, &count, qemu_plugin_tb_n_insns(tb));
}
static void end(id i, void *nothing)
{
    (void)i, (void)nothing;
    fprintf(stderr, "%llu\n", (unsigned long long)count);
}
int qemu_plugin_install(id i, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(i, block);
    qemu_plugin_register_atexit_cb(i, end, NULL);
    return 0;
}
END
${CC:-cc} -O2 -fPIC -shared "$out/count.c" -o "$out/count.so"

# run.c KIND FORMAT N CALLS: calls for N elements
cat >"$out/run.c" <<'END'
#include "vec/vec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    const char *kind = argc == 5 ? argv[1] : "";
    unsigned e = 0, m = 0;
    if (argc != 5 || sscanf(argv[2], "e%um%u", &e, &m) != 2)
        return 2;
    const size_t n = strtoul(argv[3], NULL, 10);
    const struct mf_fmt fmt = {(uint8_t)e, (uint8_t)m, 0};
    const struct vec_ops *ops = vec_best();
    const struct vec_cast cast = {.fmt = fmt, .round = strcmp(kind, "stochastic") ? MF_NEAREST : MF_STOCHASTIC};
    struct vec_sum sum = {.rule = strcmp(kind, "trunc") ? VEC_NEAREST : VEC_TRUNC, .in = fmt, .out = fmt, .n_ranks = 8};
    float *x = ops->alloc_floats(n * sizeof *x);
    uint8_t *codes[8];
    uint32_t seed = 1;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int32_t)(seed = seed * 1664525 + 1013904223) >> 8) * 0x1p-28f;
    for (int r = 0; r < 8; r++)
        ops->encode(&cast, x, n, 0, 0, codes[r] = ops->alloc(vec_bytes(fmt, n)));
    for (long calls = strtol(argv[4], NULL, 10); calls > 0; calls--)
        if (!strcmp(kind, "exact")) {
            sum.rule = VEC_EXACT;
            ops->sum(&sum, (const uint8_t *const *)codes, 8, n, fmt, 0, codes[0]);
        } else if (!strcmp(kind, "decode")) {
            ops->decode(fmt, codes[0], n, 0, 1, x);
        } else if (!strcmp(kind, "add") || !strcmp(kind, "trunc")) {
            ops->add(&sum, codes[0], codes[1], n);
        } else {
            ops->encode(&cast, x, n, 0, 0, codes[0]);
        }
    return 0;
}
END
flags=(-O3 -std=c11 -D_GNU_SOURCE -I. -Ihost -Ihost/include -ffp-contract=off -fno-math-errno)
objects=()
echo 'building for aarch64' >&2
for file in host/base/*.c host/base/*/*.c host/vec/*.c host/vec/*/*.c; do
    objects+=("$out/$(basename "$file" .c).o")
    $cc "${flags[@]}" -c "$file" -o "${objects[-1]}"
done
$cc "${flags[@]}" -static "$out/run.c" "${objects[@]}" -lm -o "$out/run"

n=65536
# executed SET KIND FORMAT CALLS: print the number of executed instructions
executed() {
    local count
    NARROWCAST_ISA=$1 qemu-aarch64 -plugin "$out/count.so" "$out/run" "$2" "$3" $n "$4" 2>"$out/said" || refuse "$1, $2 $3 failed: $(tail -n 1 "$out/said")"
    count=$(tail -n 1 "$out/said")
    case $count in '' | *[!0-9]*) refuse "qemu-aarch64 counted nothing: $count" ;; esac
    echo "$count"
}
echo '| | plain C | NEON | plain C / NEON |'
echo '|---|---|---|---|'
while IFS='|' read -r name kind format; do
    row="| $name |" per=()
    for set in scalar neon; do
        once=$(executed $set "$kind" "$format" 1)
        twice=$(executed $set "$kind" "$format" 2)
        per+=("$(awk -v more=$((twice - once)) -v n=$n 'BEGIN { printf "%.2f", more / n }')")
        row+=" ${per[-1]} |"
    done
    awk -v row="$row" -v c="${per[0]}" -v neon="${per[1]}" 'BEGIN { printf "%s %.1f |\n", row, c / neon }'
done <<'END'
fp32 -> e5m2|cast|e5m2
fp32 -> e3m0|cast|e3m0
fp32 -> e5m10|cast|e5m10
fp32 -> e8m7|cast|e8m7
fp32 -> e3m2|cast|e3m2
fp32 -> e5m2 stochastic|stochastic|e5m2
e5m2 -> fp32|decode|e5m2
e3m0 -> fp32|decode|e3m0
e5m10 -> fp32|decode|e5m10
e3m2 -> fp32|decode|e3m2
e5m2 += e5m2|add|e5m2
e5m2 += e5m2 trunc|trunc|e5m2
e4m3 += e4m3|add|e4m3
e3m0 += e3m0|add|e3m0
e5m10 += e5m10|add|e5m10
8 ranks e5m2, exact -> e5m2|exact|e5m2
8 ranks e4m3, exact -> e4m3|exact|e4m3
8 ranks e3m0, exact -> e3m0|exact|e3m0
8 ranks e5m10, exact -> e5m10|exact|e5m10
END
