#!/bin/bash
# test_reduce_on.sh : `reduce --on` rtl, c (the card in C), xrt (a simulated XRT card), hls, ref and cpu
# give the same bytes.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
rtl=rtl
! grep -q 'built without Verilator' "$B/narrowcast-sim" || { rtl='' && echo 'skip: built without Verilator: --on rtl'; }
xrt=xrt
[ -e "$B/xrt/lib/libxrt_core.so.2" ] || { xrt='' && echo 'skip: no simulated XRT device in this build: --on xrt'; }
export XILINX_XRT="$B/xrt" NARROWCAST_XCLBIN="$B/narrowcast.sim.xclbin" NARROWCAST_SIM_ENGINE=c
export TMPDIR="$dir" # holds the lock file of simulated devices

# part FILE BYTES: the program's bytes from another offset for each file
seed=1
part() {
    seed=$((seed * 7 % 65521 + 1))
    tail -c +$((seed * 13 % 300000 + 1)) "$n" | tr '\000\377' '\165\212' | head -c "$2" >"$1"
    [ "$(wc -c <"$1")" -eq "$2" ] || fail "cannot make $2 bytes"
}

same() {
    local on
    "$n" reduce --on ref "$@" in?? ref
    for on in ${only-cpu hls c $xrt $rtl}; do
        if "$n" reduce --on "$on" "$@" in?? "$on" 2>said; then
            cmp -s ref "$on" || fail "--on $on differs: $* of $(echo in??)"
        else
            fail "--on $on $*: $(cat said)"
        fi
        case $on:$(stat -c %s in10) in
        *:0) ;;
        rtl:*)
            grep -qE '^rtl: [0-9]+ cycles, [0-9]+ beats in, [0-9]+ beats out: [0-9.]+ beats a cycle; [0-9.]+ us at' said ||
                fail "rtl said: $(cat said)"
            ;;
        xrt:*)
            grep -qE "^xrt[^ ]*: ${runs-1} runs, [0-9.]+ MB to the card, [0-9.]+ MB back, [0-9.]+ MB/s\$" said ||
                fail "xrt said: $(cat said)"
            ;;
        esac
    done
    cat said >last
}

# files K BYTES
files() {
    local i
    rm -f in??
    for ((i = 10; i < 10 + $1; i++)); do part in$i "$2"; done
}

for f in e1m2 e2m1 e3m0 e1m6 e2m5 e3m4 e4m3 e5m2 e4m3fn fp16; do
    files 3 30002
    same --format $f --out-format $f
    same --format $f --out-format $f --overflow inf --out-shift 2
done
for f in e3m0 e4m3 e5m2 fp16; do
    for to in e2m1 e4m3fn e5m2 fp16; do
        files 2 5632
        same --format $f --out-format $to
    done
done

for bytes in 0 2 64 1408 1410 2050; do
    files 1 $bytes
    same --format e4m3
    files 9 $bytes
    same --format e5m2
    same --format fp16 --out-shift 3
    same --format e3m0
done
files 2 1000
same --format e2m1 --out-format e2m1 --count 1999
same --format e2m1 --out-format fp16 --count 1999
files 4 400000 # more than the card has slots for
same --format e4m3
cat last

if [ -n "$xrt" ]; then # more files than a card in the network has ranks, in runs of a kernel
    only=xrt
    for k in 8 16 64; do
        files $k 4098
        same --format e4m3
    done
    same --format e2m1 --out-format fp16
    files 32 4098
    same --format fp16
    files 2 1300000
    runs=2
    same --format e4m3
    same --format e2m1 --count 2599999
    runs=1
    if [ -n "$rtl" ]; then
        files 3 5000
        NARROWCAST_SIM_ENGINE=rtl
        same --format e4m3
        same --format e2m1 --out-format fp16 --count 9999
        same --format fp16 --out-format e5m2 --out-shift 1 --overflow inf
        NARROWCAST_SIM_ENGINE=c
    fi
    unset only
fi

# shellcheck disable=SC2317 # refused calls it
add_up() { "$n" reduce "$@" in?? out; }
files 2 1200
for on in $rtl $xrt c hls; do
    refused 'cannot add e3m2' add_up --on "$on" --format e3m2
    refused 'cannot add bf16' add_up --on "$on" --format bf16
    refused 'cannot make fp32' add_up --on "$on" --format e4m3 --out-format fp32
    refused '--out-shift must be from 0 to 6' add_up --on "$on" --format e4m3 --out-shift 7
    refused '--sum nearest' add_up --on "$on" --format e4m3 --sum nearest
done
refused "--card 'xrt:1' needs --on xrt" add_up --on cpu --card xrt:1 --format e4m3
refused "--xclbin 'x.xclbin' needs --on xrt" add_up --on hls --xclbin x.xclbin --format e4m3
if [ -n "$xrt" ]; then
    refused "'nowhere.xclbin'" add_up --on xrt --xclbin nowhere.xclbin --format e4m3
    refused "'in10'" add_up --on xrt --xclbin in10 --format e4m3
    refused 'xrt:7' add_up --on xrt --card xrt:7 --format e4m3
    refused "'udp://127.0.0.1:9'" add_up --on xrt --card udp://127.0.0.1:9 --format e4m3
fi
refused 'needs --on rtl' add_up --on c --format e4m3 --wave x.fst
if [ -n "$rtl" ]; then
    refused "'nowhere/x.fst'" add_up --on rtl --format e4m3 --wave nowhere/x.fst
    "$n" reduce --on rtl --format e4m3 --wave x.fst in?? out 2>said || fail "--wave: $(cat said)"
    [ -s x.fst ] || fail 'no wave was written'
    refused 'also an input or OUT' add_up --on rtl --format e4m3 --wave in10
    refused 'also an input or OUT' add_up --on rtl --format e4m3 --wave ./out
    ln -s x.fst link
    refused 'need a regular file' add_up --on rtl --format e4m3 --wave link
    mkdir small
    if unshare --mount mount -t tmpfs none small 2>/dev/null; then
        for words in '64k cannot write the waves' '128k the waves are cut'; do
            # shellcheck disable=SC2016 # of the inner shell
            refused "${words#* }" unshare --mount bash -c 'mount -t tmpfs -o size="$1" none small &&
                "$0" reduce --on rtl --format e4m3 --wave small/x.fst in?? sum' "$n" "${words%% *}"
        done
    else
        echo 'skip: no mounts here: waves on a full disk'
    fi
else
    refused 'built without Verilator' add_up --on rtl --format e4m3
fi
head -c 1000 in10 >in11
for on in $rtl $xrt c; do refused 'differ in length' add_up --on "$on" --format e4m3; done
if [ -n "$xrt" ]; then
    files 33 64
    refused '33 files of fp16: its sums have room for at most 32' add_up --on xrt --format fp16
fi

mkdir alone
cp "$n" alone/narrowcast
lonely() {
    if PATH=/usr/bin:/bin alone/narrowcast reduce --on rtl --format e4m3 in10 in10 out 2>said; then
        fail "$1: something was added"
    fi
    [ "$(wc -l <said)" -eq 1 ] || fail "did not say one line: $(cat said)"
    grep -qF "$1" said || fail "did not say '$1': $(cat said)"
}
lonely 'make sim'
printf '#!/bin/sh\nkill -9 $$\n' >alone/narrowcast-sim
chmod +x alone/narrowcast-sim
lonely 'signal 9'
printf '#!/bin/sh\nexit 3\n' >alone/narrowcast-sim
lonely 'status 3'
exit $bad
