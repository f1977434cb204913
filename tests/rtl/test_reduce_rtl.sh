#!/bin/bash
# test_reduce_rtl.sh : `reduce --on` rtl, c (the card in C), hls, ref and cpu give the same bytes.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
rtl=rtl
! grep -q 'built without Verilator' "$B/narrowcast-sim" || { rtl='' && echo 'skip: built without Verilator: --on rtl'; }

seed=1
part() {
    seed=$((seed * 7 % 65521 + 1))
    tail -c +$((seed * 13 % 300000 + 1)) "$n" | tr '\000\377' '\165\212' | head -c "$2" >"$1"
    [ "$(wc -c <"$1")" -eq "$2" ] || fail "cannot make $2 bytes"
}

same() {
    "$n" reduce --on ref "$@" in? ref
    for on in cpu hls c $rtl; do
        if "$n" reduce --on "$on" "$@" in? "$on" 2>said; then
            cmp -s ref "$on" || fail "--on $on differs: $* of $(echo in?)"
        else
            fail "--on $on $*: $(cat said)"
        fi
        if [ "$on" != rtl ] || [ ! -s in0 ]; then
            continue
        fi
        grep -qE '^rtl: [0-9]+ cycles, [0-9]+ beats in, [0-9]+ beats out: [0-9.]+ beats a cycle; [0-9.]+ us at' said ||
            fail "rtl said: $(cat said)"
    done
    cat said >last
}

files() {
    rm -f in?
    for i in 0 1 2 3 4 5 6 7 8; do
        [ "$i" -lt "$1" ] && part in$i "$2"
    done
    return 0
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

for bytes in 0 2 64 1408 1410; do
    files 1 $bytes
    same --format e4m3
    files 9 $bytes
    same --format e5m2
    same --format fp16 --out-shift 3
    same --format e3m0
done
files 2 1000
same --format e2m1 --out-format e2m1 --count 1999
files 4 400000 # more than the card has slots for
same --format e4m3
cat last

# shellcheck disable=SC2317 # refused calls it
add_up() { "$n" reduce "$@" in? out; }
files 2 1200
for on in $rtl c hls; do
    refused 'cannot add e3m2' add_up --on "$on" --format e3m2
    refused 'cannot add bf16' add_up --on "$on" --format bf16
    refused 'cannot make fp32' add_up --on "$on" --format e4m3 --out-format fp32
    refused '--out-shift must be from 0 to 6' add_up --on "$on" --format e4m3 --out-shift 7
    refused '--sum nearest' add_up --on "$on" --format e4m3 --sum nearest
done
refused 'needs --on rtl' add_up --on c --format e4m3 --wave x.fst
if [ -n "$rtl" ]; then
    refused "'nowhere/x.fst'" add_up --on rtl --format e4m3 --wave nowhere/x.fst
    "$n" reduce --on rtl --format e4m3 --wave x.fst in? out 2>said || fail "--wave: $(cat said)"
    [ -s x.fst ] || fail 'no wave was written'
    refused 'also an input or OUT' add_up --on rtl --format e4m3 --wave in0
    refused 'also an input or OUT' add_up --on rtl --format e4m3 --wave ./out
    ln -s x.fst link
    refused 'need a regular file' add_up --on rtl --format e4m3 --wave link
    mkdir small
    if unshare --mount mount -t tmpfs none small 2>/dev/null; then
        for words in '64k cannot write the waves' '128k the waves are cut'; do
            # shellcheck disable=SC2016 # of the inner shell
            refused "${words#* }" unshare --mount bash -c 'mount -t tmpfs -o size="$1" none small &&
                "$0" reduce --on rtl --format e4m3 --wave small/x.fst in? sum' "$n" "${words%% *}"
        done
    else
        echo 'skip: no mounts here: waves on a full disk'
    fi
else
    refused 'built without Verilator' add_up --on rtl --format e4m3
fi
head -c 1000 in0 >in1
for on in $rtl c; do refused 'differ in length' add_up --on "$on" --format e4m3; done

mkdir alone
cp "$n" alone/narrowcast
lonely() {
    if PATH=/usr/bin:/bin alone/narrowcast reduce --on rtl --format e4m3 in0 in0 out 2>said; then
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
