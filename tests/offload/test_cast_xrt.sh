#!/bin/bash
# test_cast_xrt.sh : compares `cast` and `uncast` on a simulated XRT card with the CPU, byte for
# byte.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
need_xrt
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin" NARROWCAST_SIM_ENGINE=c
export TMPDIR="$dir" # holds the lock file of simulated devices

# values FILE N: N fp32 values of all magnitudes, from the program's bytes read as fp16
values() {
    tail -c +30001 "$n" | tr '\174-\177\374-\377' '\064-\067\264-\267' | head -c $((2 * $2)) >half
    "$n" uncast --format fp16 half "$1"
    [ "$(wc -c <"$1")" -eq $((4 * $2)) ] || fail "cannot make $2 values"
}

same() {
    "$n" cast "$@" x cpu >said_cpu
    if "$n" cast --on xrt "$@" x xrt >said 2>&1; then
        cmp -s cpu xrt || fail "cast --on xrt differs: $*"
        cmp -s said_cpu said || fail "cast --on xrt $* said: $(cat said)"
    else
        fail "cast --on xrt $*: $(cat said)"
    fi
}

back() {
    "$n" uncast "$@" cpu back_cpu
    "$n" uncast --on xrt "$@" cpu back_xrt 2>said || fail "uncast --on xrt $*: $(cat said)"
    cmp -s back_cpu back_xrt || fail "uncast --on xrt differs: $*"
}

values x 5003
for f in e1m2 e2m1 e3m0 e1m6 e2m5 e3m4 e4m3 e5m2 e4m3fn fp16; do
    same --format $f --scale aps
    case $f in e2m1 | e3m0 | e3m4 | e4m3fn | fp16) back --format $f --shift 3 --count 5003 ;; esac
done
same --format e5m2 --scale none --overflow inf
same --format e4m3 --scale aps-tight
same --format e3m0 --scale const:1024
same --format e4m3 --scale const:0.125 --overflow inf
back --format e4m3 --shift -140

for count in 0 1 17 129; do
    values x $count
    same --format e4m3 --scale aps
    same --format e2m1
    back --format e2m1 --count $count
done

values x 100
printf '\000\000\200\177\001\000\200\377\000\000\300\177\001\000\000\000\001\000\000\200' >>x
same --format e4m3
same --format e5m2 --overflow inf
back --format e5m2

values x 300000
{ printf '\377\377\377\107' && cat x x x x; } >four
mv four x
same --format e5m2 --scale aps
back --format e5m2

if ! grep -q 'built without Verilator' "$B/narrowcast-sim"; then
    export NARROWCAST_SIM_ENGINE=rtl
    values x 5003
    for f in e1m2 e2m1 e3m0 e1m6 e2m5 e3m4 e4m3 e5m2 e4m3fn fp16; do
        same --format $f --scale aps
        back --format $f --shift 3 --count 5003
    done
    printf '\000\000\200\177\001\000\200\377\000\000\300\177\001\000\000\000\001\000\000\200' >>x
    same --format e5m2 --overflow inf
    back --format e5m2 --shift -140
    export NARROWCAST_SIM_ENGINE=c
fi

# shellcheck disable=SC2317 # refused calls it
to_out() { "$n" "$@" x out; }
values x 100
refused 'it only rounds to nearest' to_out cast --on xrt --round stochastic
refused 'it only rounds to nearest' to_out cast --on xrt --round zero
refused 'a card cannot cast to bf16' to_out cast --on xrt --format bf16
refused 'a card cannot cast to e3m2' to_out cast --on xrt --format e3m2
refused 'a card cannot cast to fp32' to_out cast --on xrt --format fp32
refused 'a card cannot read fp32' to_out uncast --on xrt --format fp32
refused 'needs --on xrt' to_out cast --card xrt
refused 'needs --on xrt' to_out uncast --xclbin "$NARROWCAST_XCLBIN"
refused "'nowhere.xclbin'" to_out cast --on xrt --xclbin nowhere.xclbin
refused "unknown --card 'sim'" to_out uncast --on xrt --card sim
printf '\000\000\200\177' >>x
refused "'x': it holds inf or nan" to_out cast --on xrt --scale aps
for words in 'e2m5f --scale none' 'e3m0f --scale const:2' 'e2m1f --scale aps'; do
    # shellcheck disable=SC2086 # words
    refused "cannot cast 'x' to ${words%% *}, which has no inf and no nan" to_out cast --on xrt --format $words
done
printf 'a' >>x
refused '405 bytes are not a whole number' to_out cast --on xrt
refused 'is truncated: 405 bytes' to_out uncast --on xrt --format fp16
exit $bad
