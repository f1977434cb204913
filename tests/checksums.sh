#!/bin/bash
# checksums.sh : runs one short training of each kind and prints checksums of the weights, to show
# that a change has no effect on results.
# usage: checksums.sh                   prints this machine's key, then a line per training
#        checksums.sh TABLE [NAME...]   compares all, or the named ones, with this machine's column;
#                                       exit 77 if TABLE has no such column
#        checksums.sh --add TABLE       runs all and adds or replaces this machine's column in TABLE
# The key names the causes of a matrix product's rounding: the CBLAS and CPU features of
# `narrowcast info`. A training that this build cannot run has the checksum '-', which is not
# compared.
set -eu
table='' add=''
[ "${1-}" != --add ] || { add=1 && shift; }
[ $# -eq 0 ] || { table=$(realpath "$1") && shift; }
wanted=" $* "
. "$(dirname "$0")/lib/card_net.sh"

export CUDA_VISIBLE_DEVICES='' NARROWCAST_CONV=first
unset NARROWCAST_OFFLOAD
kind=$(machine_kind) key=$(machine_key)
column=''
if [ -n "$table" ] && [ -z "$add" ]; then
    column=$(awk -v key="$key" '$1 == "name" { for (i = 2; i <= NF; i++) if ($i == key) print i }' "$table")
    [ -n "$column" ] || { echo "skip: $(basename "$table") has no column $key, of a machine with $kind (checksums.sh --add)"; exit 77; }
else
    printf '# %s: %s\nname\t%s\n' "$key" "$kind" "$key" | tee "$dir/table"
fi

ended() {
    printf '%s\t%s\n' "$1" "$2" | tee -a "$dir/table"
    [ -n "$column" ] && [ "$2" != - ] || return 0
    want=$(awk -v name="$1" -v i="$column" '$1 == name { print $i }' "$table")
    [ "$want" = - ] || [ "$2" = "$want" ] || fail "$1: checksum $2, $(basename "$table") has '$want': $(tail -n 2 "$dir/stderr")"
}

asked() { [ "$wanted" = '  ' ] || [[ $wanted == *" $1 "* ]]; }

# train NAME RANKS OPTIONS...: trains, if asked for; an epoch is 10 steps. $conv selects the CPU's
# convolution.
conv='--conv gemm'
train() {
    asked "$1" || return 0
    # shellcheck disable=SC2086  # options are words
    mpirun -np "$2" "$n" train --device cpu $conv --data synthetic:240,3 --batch 24 --lr 0.05 --steps 12 "${@:3}" >out 2>>stderr ||
        fail "$1: exit $?: $(tail -n 2 stderr)"
    ended "$1" "$(sum_of out)"
}

train fp32-direct 4 --format fp32 --scale none --algo direct
train e5m2-aps-ring 4 --format e5m2 --scale aps --algo ring --sum nearest --bucket-bytes 8k
train e4m3-tight-scatter 4 --format e4m3 --scale aps-tight --algo group-scatter:2
train e5m2-trunc-master 4 --format e5m2 --scale none --algo group-master:2 --sum trunc
train e3m0-stochastic-gather 3 --format e3m0 --scale const:8 --round stochastic --algo gather
train fp16-kahan-direct 3 --format fp16 --sum kahan --overflow inf --round zero --scale none --algo direct
train e5m2-native 2 --format e5m2 --scale aps --algo native
train fp16-alone 1 --format fp16 --algo self --fp32-last-layer --model lenet5 --lr 0.01

train qsgd 3 --codec qsgd:4 --algo direct
train onebit-columns 3 --codec onebit:column --algo gather
train ternary-scatter 4 --codec ternary --algo group-scatter:2
train relgrad-scatter 4 --codec relgrad:every=5 --algo group-scatter:2

train overlap 2 --overlap on --bucket-bytes 8k
train hybrid 2 --first-epochs-fp32 1 --format e3m0 --scale aps-tight
train lars 2 --optimizer lars --lr 1 --schedule linear --augment crop+flip
train gemm 2 --gemm e5m10+kahan --model lenet5 --lr 0.01 --steps 4
if asked resume; then
    resumed=(--model lenet5 --lr 0.01 --schedule const --round stochastic)
    # shellcheck disable=SC2086
    mpirun -np 3 "$n" train --device cpu $conv --data synthetic:240,3 --batch 24 "${resumed[@]}" --steps 7 --save ckpt >out 2>>stderr ||
        fail "resume: nothing to resume: exit $?"
    train resume 3 "${resumed[@]}" --resume ckpt
fi

# --- cards: started by the run, Verilated, in C; a bad network ---
through=(--model lenet5 --lr 0.01 --format e5m2 --scale aps-tight)
if [ -n "$rtl" ]; then train sim 2 "${through[@]}" --offload sim --steps 4; else ended sim -; fi
train sim-c 4 "${through[@]}" --offload sim:c
if asked sim-losses; then
    card lossy --engine c --drop 0.05 --dup 0.05 --reorder 0.1 --seed 1
    train sim-losses 3 "${through[@]}" --format e3m0 --scale none --round stochastic --offload "$(at lossy)"
    [ "$(counter lossy IN_RESENT)" -gt 0 ] || fail "sim-losses: nothing was lost"
fi

export NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so
unset CUDA_VISIBLE_DEVICES
if [ -f "$NARROWCAST_CUDA" ]; then
    conv=''
    train cuda 2 --device cuda --steps 3
    train cuda-bf16-cards 2 --device cuda --precision bf16 "${through[@]}" --offload sim:c --steps 6
else
    ended cuda - && ended cuda-bf16-cards -
fi

if [ -n "$add" ] && [ $bad = 0 ]; then
    touch "$table"
    awk -v key="$key" -v OFS='\t' '
        FILENAME == ARGV[1] && $1 == "#" { if ($2 != key ":") print; next }
        FILENAME == ARGV[1] { for (i = 2; i <= NF; i++) old[$1, i] = $i; if (NF > width) width = NF; next }
        $1 == "#" { print; next }
        { line = $1
          for (i = 2; i <= width; i++) if (old["name", i] != key) line = line OFS (($1, i) in old ? old[$1, i] : "-")
          print line, $2 }' "$table" "$dir/table" >"$dir/new"
    cp "$dir/new" "$table"
fi
exit $bad
