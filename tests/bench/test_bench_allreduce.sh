#!/bin/bash
# test_bench_allreduce.sh : tests bench_allreduce.
set -eu
. "$(dirname "$0")/../../host/ranks.sh"
. "$(dirname "$0")/../lib/script.sh"
trap 'code=$?; [ $code -eq 0 ] || tail -n 20 "$dir/said" >&2; rm -rf "$dir"' EXIT
cd "$dir"
: >said
bench() {
    ranks=$1
    shift
    mpirun -np "$ranks" "$B/bench_allreduce" --reps 2 --warmup 1 "$@" 2>>said
}
rows() { grep '"kind":"allreduce"' "$1" | grep -cF -- "$2" || true; }

bench 2 --json --sizes 1k:64k --factor 8 --algo direct,ring,gather --format e5m2,e3m0/e3m0 --label here >json
[ "$(rows json '"label":"here"')" -eq 21 ] || fail "not 3 sizes x (1 + 6) rows: $(cat json)"
for size in 1024 8192 65536; do
    [ "$(rows json "\"size\":$size,")" -eq 7 ] || fail "not 7 rows of $size bytes"
    [ "$(rows json "\"algo\":\"direct\",\"type\":\"e5m2\",\"redop\":\"mean\",\"ranks\":2,\"size\":$size,")" -eq 1 ] ||
        fail "not one row of direct e5m2, $size bytes"
done
[ "$(rows json '"algo":"mpi:')" -eq 3 ] || fail "not one row of MPI's a size"
[ "$(rows json '"wrong":0,')" -eq 21 ] || fail "wrong sums: $(grep -v '"wrong":0,' json)"
# half of the codes, half of the sums, one exponent
[ "$(grep '"algo":"direct","type":"e5m2"' json | grep '"size":65536,' | grep -c '"wire_bytes":16385,')" -eq 1 ] ||
    fail "direct e5m2 does not send 16384 + 1 bytes"
if [ -n "$(command -v python3)" ]; then
    python3 -c 'import json, sys
for line in open("json"):
    row = json.loads(line)
    assert row["kind"] in ("mpi", "allreduce")
    if row["kind"] == "allreduce":
        assert row["time_us"] > 0 and row["p99_us"] >= row["time_us"] and row["ratio"] > 0
        assert abs(row["algbw"] * row["time_us"] * 1e3 / row["size"] - 1) < 1e-3' || fail "the JSON is not as it should be"
else
    echo 'skip  reading the JSON: no python3'
fi

bench 3 --json --sizes 1004 --algo direct,ring --scale aps --format e4m3,fp32 >odd
if [ "$(rows odd '"count":251,')" -ne 5 ] || [ "$(rows odd '"wrong":0,')" -ne 5 ]; then fail "3 ranks: $(cat odd)"; fi
bench 1 --json --sizes 4k --algo self >one
[ "$(rows one '"wrong":0,')" -eq 2 ] || fail "1 rank: $(cat one)"

! bench 2 --json --sizes 4k --algo direct --format e3m0 --scale const:0.0009765625 >lost || fail 'wrong sums end with 0'
grep -q 'sums are wrong: rows with #wrong above 0 must not be used' said || fail "does not say that sums are wrong: $(cat said)"
[ "$(rows lost '"wrong":0,')" -eq 1 ] || fail "sums that are lost are not seen: $(cat lost)"

bench 2 --sizes 4k --algo direct >table
grep -q '^# algo  *size  *count  *type  *redop  *root  *time  *p99  *algbw  *busbw  *#wrong .* ratio' table ||
    fail "no headline: $(cat table)"
grep -q '^direct  *4096  *1024  *e5m2  *mean  *-1 ' table || fail "no row: $(cat table)"

# MPI's default takes 1 ms (4 KiB) and 100 (64 KiB), the others 60 and 300: they are not tried again
# at 64 KiB, and their 60 ms must not make them the fastest there
cat >slow.c <<'END'
#include <mpi.h>
#include <unistd.h>
int MPI_Allreduce(const void *x, void *sum, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static MPI_Comm first = MPI_COMM_NULL;
    const int rc = PMPI_Allreduce(x, sum, n, type, op, comm);
    if (type != MPI_FLOAT || comm == MPI_COMM_WORLD)
        return rc;
    first = first == MPI_COMM_NULL ? comm : first;
    usleep(comm == first ? (n < 2000 ? 1000 : 100000) : (n < 2000 ? 60000 : 300000));
    return rc;
}
END
mpicc -shared -fPIC -o slow.so slow.c 2>>said
LD_PRELOAD=$dir/slow.so bench 2 --json --sizes 4k:64k --factor 16 --algo direct >slow
[ "$(rows slow '"algo":"mpi:default"')" -eq 2 ] || fail "a slow algorithm is the fastest: $(cat slow)"

# --- layers, one by one and fused; exponents count separately ---
bench 2 --json --layers 1000,24000 --fused --algo direct,ring --format e5m2 >layers
[ "$(grep -c '"kind":"phase"' layers)" -eq 12 ] || fail "not 3 x (2 layers, one by one, fused): $(cat layers)"
[ "$(grep -c '"wrong":0,' layers)" -eq 12 ] || fail "layers: wrong sums: $(cat layers)"
[ "$(grep -c '"algo":"native","type":"fp16"' layers)" -eq 4 ] || fail "not 4 rows of fp16: $(cat layers)"
! bench 2 --layers 1000 --format e3m0 --scale const:0.0009765625 >lost || fail "layers: wrong sums end with 0: $(cat lost)"
phase() {
    grep "\"layer\":\"$1\",\"algo\":\"$2\",\"type\":\"$3\"" layers || fail "no $1 $2 $3"
}
says() {
    case $1 in *"$2"*) ;; *) fail "not $2: $1" ;; esac
}
says "$(phase 24000 ring e5m2)" '"exponent_bytes":1,"code_bytes":24000,"rounds":2,'
says "$(phase fused ring e5m2)" '"exponent_bytes":2,"code_bytes":25000,"rounds":2,'
says "$(phase 'one by one' ring e5m2)" '"exponent_bytes":2,"code_bytes":25000,"rounds":4,'
phase fused direct e5m2 | sed 's/.*"exponents_us":\([^,]*\),"codes_us":\([^,]*\),"casts_us":\([^,]*\),"time_us":\([^,]*\),.*/\1 \2 \3 \4/' |
    awk '{ if (NF != 4 || $1 <= 0 || $2 <= 0 || $3 <= 0 || $4 < 0.9 * ($1 + $2 + $3)) exit 1 }' || fail "phases are not parts of the whole: $(cat layers)"
# --- blocks: half of the 51,200 elements, each 20 bits of a sum and 8 of a result ---
mpirun -np 2 "$B/bench_blocks" --blocks 8 --size 204800 --reps 2 e4m3 >blocks 2>>said || fail "bench_blocks: $(cat blocks said)"
grep -q '^8 blocks in 2 processes, 0.2 MiB each, median of 2$' blocks || fail "bench_blocks: $(cat blocks)"
grep -q '^e4m3 .* times as fast, 0.1 MB sent, by group-scatter:4$' blocks || fail "bench_blocks: $(cat blocks)"
! mpirun -np 2 "$B/bench_blocks" --blocks 1 >blocks 2>&1 || fail 'bench_blocks took 1 block for 2 processes'
for words in 'bench_nc --layers 5x' 'bench_nc --elements 4611686018427387904' 'bench_blocks --blocks 4.9' 'bench_blocks --reps 1.9'; do
    # shellcheck disable=SC2086
    ! "$B"/$words >taken 2>said || fail "was taken: $words"
    [ "$(wc -l <said)" -eq 1 ] || fail "$words: $(cat said)"
done
for words in 'bench_nc --layers 2 --elements 1000 --ms 1' 'bench_blocks --blocks 1 --size 4k --reps 1 e5m2'; do
    # shellcheck disable=SC2086
    ! "$B"/$words >/dev/full 2>said || fail "does not miss its output: $words"
done

# a virtual ring of 8 sends 7 eighths twice
"$B/bench_allreduce" --json --layers 640,24000 --fused --virtual-ranks 8 --algo ring >layers 2>>said
[ "$(grep -c '"ranks":8,"virtual":true' layers)" -eq 8 ] || fail "not 2 x 4 rows of 8 virtual ranks: $(cat layers)"
says "$(phase 24000 ring fp16)" '"code_bytes":84000,"rounds":14}'
says "$(phase fused ring e5m2)" '"exponent_bytes":2,"code_bytes":43120,"rounds":14}'
says "$(phase 'one by one' ring e5m2)" '"exponent_bytes":2,"code_bytes":43120,"rounds":28}'

for words in '--algo nothing' '--format e9m9' '--sizes 12monkeys' '--mpi nothing' '--factor 1' '--layers 5,x' '--layers 0' '--layers 5,' '--layers 8 --algo nothing'; do
    # shellcheck disable=SC2086
    if bench 2 $words >/dev/null; then fail "was taken: $words"; fi
done

# --- the network's ports carry the messages plus headers ---
code=0
# shellcheck disable=SC2016
"$here/../bench/netlab.sh" -n 2 -r none -- sh -c 'mpirun $NETLAB_MPI -np 2 "$@"' sh "$B/bench_allreduce" \
    --json --reps 2 --sizes 1M --algo direct >net 2>net.said || code=$?
if [ $code -eq 77 ]; then
    grep '^skip' net.said
elif [ $code -ne 0 ]; then
    fail "over netlab.sh: $(cat net.said)"
else
    port=$(sed -n 's/.*"algo":"direct".*"wrong":0,.*"port_bytes":\([0-9]*\),.*/\1/p' net)
    # Open MPI's segments of two networks can have the same name
    outside=$(mktemp -p /dev/shm)
    [ -z "$("$here/../bench/netlab.sh" -n 2 -r none -- ls -A /dev/shm)" ] || fail 'netlab.sh shares /dev/shm with others'
    rm "$outside"
    if [ "${port:-0}" -lt 262145 ] || [ "$port" -gt 300000 ]; then fail "262145 bytes sent, '$port' passed a port"; fi
fi

if [ $code -ne 0 ]; then
    echo 'skip  bytes through a card: no network'
else
    # shellcheck disable=SC2016
    "$here/../bench/netlab.sh" -n 4 -r none -- bash -c '
        "$0/narrowcast" sim --listen 10.77.0.254:4000 --engine c >listens & card=$! && trap "kill $card" EXIT
        while kill -0 $card && ! grep -qs "^listening on" listens; do sleep 0.02; done
        mpirun $NETLAB_MPI -np 4 "$0/bench_allreduce" --offload udp://10.77.0.254:4000 --json --reps 2 \
            --sizes 4M --algo offload --format e5m2,e3m0/e3m0' "$B" >card 2>card.said || fail "through a card: $(cat card.said)"
    # through TYPE CODES: 1048576 elements in 745 packets and one of exponents, each with a 64-byte
    # header; pings and repetitions. The port adds UDP, IP and Ethernet headers and the vote over
    # MPI.
    through() {
        line=$(grep "\"algo\":\"offload\",\"type\":\"$1\"" card | grep '"wrong":0,') || fail "$1: no row of right sums: $(cat card card.said)"
        wire=${line#*'"wire_bytes":'} port=${line#*'"port_bytes":'}
        wire=${wire%%,*} port=${port%%,*}
        if [ "$wire" -lt $(($2 * 1045 / 1000)) ] || [ "$wire" -gt $(($2 * 12 / 10)) ]; then fail "$1: $2 bytes of codes, $wire sent"; fi
        if [ "$port" -lt "$wire" ] || [ "$port" -gt $((wire * 11 / 10)) ]; then fail "$1: $wire bytes sent, $port through the port"; fi
    }
    through e5m2 1048576
    through e3m0/e3m0 524288
fi
exit $bad
