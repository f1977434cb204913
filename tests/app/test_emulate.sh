#!/bin/bash
# test_emulate.sh : compares checkpoints of `emulate --ranks P` with those of P real ranks. `long`:
# 50 steps with every algorithm, sum, scale and codec on 1, 4, 6 and 8 ranks.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
compared=0
steps=5
[ "${1-}" = long ] && steps=50

# an epoch is 5 steps
common="--data synthetic:240,3 --batch 48 --lr 0.05"
# shellcheck disable=SC2086
real() { ranks=$1 && shift && mpirun -np "$ranks" "$n" train $common "$@"; }
# shellcheck disable=SC2086
virtual() { ranks=$1 && shift && "$n" emulate --ranks "$ranks" $common "$@"; }

same() {
    ranks=$1 && shift
    rm -f real.ck virtual.ck
    real "$ranks" --steps "$steps" --save real.ck "$@" >out 2>&1 || fail "$ranks ranks $*: $(tail -n 3 out)"
    virtual "$ranks" --steps "$steps" --save virtual.ck "$@" >out 2>&1 || fail "$ranks emulated ranks $*: $(tail -n 3 out)"
    same_state real.ck virtual.ck || fail "$ranks ranks and as many emulated ones end in other checkpoints: $*"
    compared=$((compared + 1))
}

if [ "${1-}" = long ]; then
    for ranks in 1 4 6 8; do
        for algo in direct gather gather-sum ring group-master:2 group-scatter:2; do
            [ "$ranks" -eq 1 ] && case $algo in ring | group*) continue ;; esac
            for sum in nearest trunc kahan fp32 exact; do
                case $algo:$sum in ring:[kfe]* | group-master:2:[kfe]* | group-scatter:2:[kf]*) continue ;; esac
                for scale in aps const:4 aps-tight; do
                    [ $scale = aps-tight ] && [ $sum != exact ] && continue
                    same "$ranks" --model mlp --algo $algo --format e5m2 --sum $sum --scale $scale
                done
            done
        done
        for codec in qsgd:4 onebit onebit:column ternary relgrad nvfp4 "minifloat --scale quantile" "minifloat --format e3m0 --round stochastic"; do
            # shellcheck disable=SC2086
            same "$ranks" --model mlp --codec $codec
        done
        same "$ranks" --model resnet8 --first-epochs-fp32 1 --format e3m0 --scale aps
        same "$ranks" --model resnet8 --fp32-last-layer --format e4m3 --scale aps-tight --augment crop+flip --optimizer lars
        same "$ranks" --model resnet8 --overlap on --bucket-bytes 8k --codec onebit
        [ "$ranks" -eq 4 ] && steps=3 same 4 --model caffenet --image 40 --lr 0.01 --bias-lr 2
    done
else
    same 4 --model resnet8 --format e3m0 --scale aps --round stochastic --first-steps-fp32 2 --fp32-last-layer --augment crop-reflect+flip+cutout
    same 6 --model mlp --algo group-scatter:2 --format e5m2 --scale aps-tight --bucket-bytes 4k
    same 4 --model mlp --algo group-scatter:2 --format e2m5f --scale aps
    same 4 --model mlp --algo ring --format e2m1f --sum nearest --scale aps
    same 6 --model resnet8 --algo direct --format e2m5f --scale aps-tight:32 --round stochastic --overlap on --bucket-bytes 8k
    same 4 --model mlp --algo group-scatter:2 --format e2m1f --scale aps:16
    same 8 --model mlp --algo group-master:2 --format e5m2 --sum nearest --scale const:4
    same 6 --model mlp --algo gather --format e5m2 --sum kahan
    same 4 --model mlp --codec onebit:column
    same 3 --model mlp --codec onebit --algo gather # each rank keeps the error of its sums
    same 3 --model mlp --codec nvfp4
    same 1 --model lenet5 --codec relgrad --optimizer lars --momentum 0.5
fi

# shellcheck disable=SC2086
{
    model="--model resnet8 --schedule const --codec qsgd:4"
    virtual 4 $model --steps 7 --save whole.ck
    real 4 $model --steps 3 --save three.ck
    virtual 4 $model --steps 7 --resume three.ck --save on.ck
    same_state whole.ck on.ck || fail "emulated ranks that resume a checkpoint of real ones"
    virtual 4 $model --steps 3 --save three.ck
    real 4 $model --steps 7 --resume three.ck --save on.ck
    same_state whole.ck on.ck || fail "real ranks that resume a checkpoint of emulated ones"
} >out 2>&1

many="--data synthetic:1280,3 --batch 256 --model mlp --steps 2 --format e5m2 --sum exact"
# shellcheck disable=SC2086
for algo in direct group-scatter:16; do
    "$n" emulate --ranks 256 $many --algo $algo --log log >out 2>said || fail "256 ranks, $algo: $(tail -n 2 said)"
    crc=$(sum_of out)
    if [ -z "$crc" ] || [ "${first:=$crc}" != "$crc" ]; then fail "256 ranks, $algo: checksum '$crc', not '$first'"; fi
    grep -q '^emulated: 256 ranks in one process, [0-9.]* [KM]iB each, ' said || fail "256 ranks: $(cat said)"
    grep -q '"peak_rss_bytes":[1-9]' log || fail "256 ranks: no peak in the log"
done

# low RANKS OPTIONS...: like same, with gradients computed twice and added at once
low() {
    ranks=$1 && shift
    virtual "$ranks" --steps "$steps" --save full.ck "$@" >out 2>&1 || fail "$ranks emulated ranks $*: $(tail -n 3 out)"
    virtual "$ranks" --steps "$steps" --save low.ck --memory low "$@" >out 2>&1 || fail "--memory low $*: $(tail -n 3 out)"
    same_state full.ck low.ck || fail "--memory low: $ranks emulated ranks end in another checkpoint: $*"
    compared=$((compared + 1))
}
low 6 --model resnet8 --format e5m2 --sum kahan --micro 2 --round stochastic --fp32-last-layer --first-steps-fp32 1
low 8 --model mlp --format e4m3 --scale aps-tight --algo group-scatter:2
low 4 --model mlp --codec relgrad
low 4 --model mlp --format e2m3f --scale aps-tight:64
if [ "${1-}" = long ]; then
    for sum in nearest trunc fp32 exact; do low 6 --model mlp --algo gather --format e5m2 --sum $sum --scale const:4; done
    low 4 --model mlp --codec ternary
    low 4 --model mlp --scale quantile --bucket-bytes 4k
    low 1 --model resnet8
    steps=3 low 4 --model caffenet --image 40 --lr 0.01
fi

# shellcheck disable=SC2086
[ "$(virtual 8 --model mlp --steps 2 --algo offload --offload udp://192.0.2.1:4000 2>said | tail -n 1)" = "$(virtual 8 --model mlp --steps 2 2>>said | tail -n 1)" ] ||
    fail "as a card adds: $(cat said)"

# shellcheck disable=SC2086
env --default-signal=INT "$n" emulate --ranks 4 $common --model mlp --schedule const --steps 1000000 --save ck --log log2 >out 2>said &
job=$!
touch log2
for ((i = 0; i < 600; i++)); do
    [ "$(grep -sc '"kind":"step"' log2)" -gt 2 ] && break
    sleep 0.1
done
kill -INT $job
wait $job
code=$?
step=$(sed -n "s/^stopped by SIGINT after step \([0-9]*\) of 1000000; --resume 'ck' continues from there\$/\1/p" said)
if [ $code -ne 130 ] || [ -z "$step" ]; then fail "stopped: status $code, $(cat said)"; fi
virtual 4 --model mlp --schedule const --steps $((step + 2)) --resume ck >resumed 2>said
virtual 4 --model mlp --schedule const --steps $((step + 2)) >whole 2>said
[ "$(tail -n 1 whole)" = "$(tail -n 1 resumed)" ] || fail "stopped after step $step: $(tail -n 1 resumed), not $(tail -n 1 whole)"

refused "MPI chooses its order of additions" timeout 60 "$n" emulate --ranks 4 --algo native --format fp32
refused "must be a multiple of 7" timeout 60 "$n" emulate --ranks 7
refused "--deadline has no effect on emulated ranks" timeout 60 "$n" emulate --ranks 4 --deadline 5
refused "--fabric has no effect on emulated ranks" timeout 60 "$n" emulate --ranks 4 --fabric udp
refused "a card cannot add by --sum kahan" timeout 60 "$n" emulate --ranks 4 --offload sim --sum kahan
refused "--ranks '0'" timeout 60 "$n" emulate --ranks 0
refused '"ring" does not add in rank order' timeout 60 "$n" emulate --ranks 4 --memory low --algo ring --sum nearest
refused "exact sums of all layers" timeout 60 "$n" emulate --ranks 4 --memory low --algo group-scatter:2 --fp32-last-layer
refused "does not add the first steps' fp32 in rank order" timeout 60 "$n" emulate --ranks 4 --memory low --algo group-scatter:2 --first-steps-fp32 2
refused 'codec "qsgd" adds those of all ranks at once' timeout 60 "$n" emulate --ranks 4 --memory low --codec qsgd:4
refused "ranks; or use --memory low" timeout 60 "$n" emulate --ranks 4096 --model resnet18 --batch 4096 --data synthetic:5120,3
if timeout 60 "$n" emulate --ranks 3 --lr 1e6 --warmup 0 --steps 80 --format fp32 --scale none --model mlp --data synthetic:240,3 --batch 48 >out 2>said; then fail 'a run that diverges ends well'; fi
grep -q '^narrowcast: training has diverged' said || fail "diverged: $(cat said)"
timeout 60 "$n" train --ranks 4 >out 2>said && fail "train took --ranks"
grep -qF "unknown option '--ranks'" said || fail "train --ranks: $(cat said)"

mpirun -np 3 "$n" emulate --ranks 3 >out 2>said && fail "3 processes emulated"
[ "$(tr -d '\0' <said | grep '^narrowcast: ')" = "narrowcast: emulate runs all ranks in one process, but 3 processes were started: leave mpirun out" ] || fail "3 processes: $(cat said)"

[ $bad -eq 0 ] && echo "$compared runs were the same"
exit $bad
