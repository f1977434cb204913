#!/bin/bash
# test_reduce_xrt.sh : compares `reduce --on xrt` on a simulated XRT card with `ref`, byte for byte.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
[ -e "$B/xrt/lib/libxrt_core.so.2" ] || { echo 'skip  no simulated XRT device in this build' && exit 77; }
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin" NARROWCAST_SIM_ENGINE=c
export TMPDIR="$dir" # holds the lock file of simulated devices

# part FILE BYTES: the program's bytes from another offset for each file
seed=1
part() {
    seed=$((seed * 7 % 65521 + 1))
    tail -c +$((seed * 13 % 300000 + 1)) "$n" | tr '\000\377' '\165\212' | head -c "$2" >"$1"
    [ "$(wc -c <"$1")" -eq "$2" ] || fail "cannot make $2 bytes"
}

files() {
    rm -f in??
    i=10
    while [ $i -lt $((10 + $1)) ]; do
        part in$i "$2"
        i=$((i + 1))
    done
}

same() {
    "$n" reduce --on ref "$@" in?? ref
    if "$n" reduce --on xrt "$@" in?? xrt 2>said; then
        cmp -s ref xrt || fail "--on xrt differs: $* of $(echo in??)"
    else
        fail "--on xrt $*: $(cat said)"
    fi
}

for f in e1m2 e2m1 e3m0 e1m6 e2m5 e3m4 e4m3 e5m2 e4m3fn fp16; do
    files 3 17002
    same --format $f --out-format $f
    case $f in e2m1 | e5m2 | fp16) same --format $f --out-format $f --overflow inf --out-shift 2 ;; esac
done
files 2 5632
for f in e3m0:e5m2 e3m0:fp16 e4m3:e2m1 e4m3:fp16 fp16:e2m1 fp16:e4m3fn; do same --format ${f%:*} --out-format ${f#*:}; done
grep -qE '^xrt[^ ]*: 1 runs, 0\.0 MB to the card, 0\.0 MB back, [0-9.]+ MB/s$' said || fail "said: $(cat said)"

for bytes in 0 2 2050; do
    files 1 $bytes
    same --format e4m3
    files 9 $bytes
    same --format fp16 --out-shift 3
    same --format e3m0
done
for k in 8 16 64; do
    files $k 4098
    same --format e4m3
done
same --format e2m1 --out-format fp16
files 32 4098
same --format fp16
files 3 1000
same --format e2m1 --out-format e2m1 --count 1999
same --format e2m1 --out-format fp16 --count 1999

files 2 1300000
same --format e4m3
grep -q ': 2 runs, ' said || fail "not two runs: $(cat said)"
same --format e2m1 --count 2599999

if ! grep -q 'built without Verilator' "$B/narrowcast-sim"; then
    files 3 5000
    NARROWCAST_SIM_ENGINE=rtl same --format e4m3
    NARROWCAST_SIM_ENGINE=rtl same --format e2m1 --out-format fp16 --count 9999
    NARROWCAST_SIM_ENGINE=rtl same --format fp16 --out-format e5m2 --out-shift 1 --overflow inf
fi

# shellcheck disable=SC2317 # refused calls it
add_up() { "$n" reduce "$@" in?? out; }
files 2 1200
refused 'cannot add e3m2' add_up --on xrt --format e3m2
refused 'cannot add bf16' add_up --on xrt --format bf16
refused 'cannot make fp32' add_up --on xrt --format e4m3 --out-format fp32
refused '--out-shift must be from 0 to 6' add_up --on xrt --format e4m3 --out-shift 7
refused '--sum nearest' add_up --on xrt --format e4m3 --sum nearest
refused "--card 'xrt:1' needs --on xrt" add_up --on cpu --card xrt:1 --format e4m3
refused "--xclbin 'x.xclbin' needs --on xrt" add_up --on hls --xclbin x.xclbin --format e4m3
refused "'nowhere.xclbin'" add_up --on xrt --xclbin nowhere.xclbin --format e4m3
refused "'in10'" add_up --on xrt --xclbin in10 --format e4m3
refused 'xrt:7' add_up --on xrt --card xrt:7 --format e4m3
refused "'udp://127.0.0.1:9'" add_up --on xrt --card udp://127.0.0.1:9 --format e4m3
head -c 1000 in10 >in11
refused 'differ in length' add_up --on xrt --format e4m3
files 33 64
refused '33 files of fp16: its sums have room for at most 32' add_up --on xrt --format fp16
exit $bad
