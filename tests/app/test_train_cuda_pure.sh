#!/bin/bash
# test_train_cuda_pure.sh : trains with `--device cuda --precision fp16-pure`, on a GPU or the
# emulator. With `long` more optimisers and codecs.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
program=$n
. "$here/lib/cuda_train.sh"

small="--precision fp16-pure --data synthetic:160,3 --model lenet5 --batch 8 --lr 0.05 --warmup 0 --steps 4 --schedule const"
on() {
    local ranks=$1 label=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 120 mpirun -np "$ranks" "$program" train $small --device cuda "$@" >"$dir/$label.out" 2>"$dir/$label.err" ||
        fail "$ranks ranks, $*: $(tail -n 1 "$dir/$label.err")"
}
emulated() {
    local ranks=$1 label=$2
    shift 2
    # shellcheck disable=SC2086
    timeout 120 "$program" emulate --ranks "$ranks" $small --device cuda "$@" >"$dir/$label.out" 2>"$dir/$label.err" ||
        fail "$ranks emulated ranks, $*: $(tail -n 1 "$dir/$label.err")"
}
on 1 gpu --stats "$dir/gpu.stats"
on 1 cpu --device cpu --stats "$dir/cpu.stats"
near "$(loss cpu)" "$(loss gpu)" 0.01 'loss on the CPU and on the GPU'
[ "$(sum cpu)" != "$(sum gpu)" ] || fail 'the GPU adds as the CPU does'
near "$(network cpu updates_lost)" "$(network gpu updates_lost)" 0.05 'updates lost'
on 1 fp16 --precision fp16 --loss-scale none
[ "$(sum fp16)" != "$(sum gpu)" ] || fail 'fp16-pure is fp16'

# --- resumed after step 2: the scales found in steps 0 and 3 must be saved ---
narrow='--model resnet8 --width 0.25 --block swap:0.0005 --data synthetic:40,3 --batch 8'
for options in '--micro 2 --optimizer lars --trust 0.02 --lr 2' '--nesterov --momentum 0.9 --loss-scale dynamic' '--optimizer adamw --lr 0.002 --eps 1e-6' "$narrow --loss-scale adaptive:1e-3,3" \
    "$narrow --precision fp16 --loss-scale adaptive:1e-3,3"; do
    case ${1-}/$options in /--nesterov* | /--optimizer\ adamw*) continue ;; esac
    # shellcheck disable=SC2086
    on 2 whole $options --save "$dir/whole.ck" && on 2 first $options --steps 2 --save "$dir/first.ck" && on 2 rest $options --resume "$dir/first.ck" --save "$dir/rest.ck"
    same whole rest "$options, resumed"
    same_state "$dir/whole.ck" "$dir/rest.ck" || fail "$options: another checkpoint when resumed"
done
# in fp16, the last options: in fp16-pure these scales change no bit in 4 steps
# shellcheck disable=SC2086
emulated 2 virtual $options --save "$dir/virtual.ck" && same whole virtual "$options: emulated ranks"
same_state "$dir/whole.ck" "$dir/virtual.ck" || fail "$options: another checkpoint of emulated ranks"
for scale in none adaptive:1e-3,1; do
    # shellcheck disable=SC2086
    emulated 2 virtual $options --loss-scale $scale
    [ "$(sum virtual)" != "$(sum whole)" ] || fail "$options: ends as by $scale"
done

on 4 direct --algo direct
on 4 gather --algo gather --overlap off && same direct gather gather
NARROWCAST_GPU_TRANSPORT=pinned on 4 pinned --algo group-scatter:2 --bucket-bytes 4k && same direct pinned 'group-scatter through pinned memory'
emulated 4 virtual && same direct virtual 'emulated ranks'
[ "$(sum direct)" != "$(sum gpu)" ] || fail '1 rank ends as 4 do'

for device in cpu cuda; do
    on 2 means-$device --format fp32 --scale none --reduce-in fp32 --stats "$dir/means-$device.stats" --device $device
done
on 2 rounded --format fp32 --scale none
near "$(loss means-cpu)" "$(loss means-cuda)" 0.05 '--reduce-in fp32: loss on the CPU and on the GPU'
[ "$(network means-cuda l2)" = 0 ] || fail "--reduce-in fp32: means of two halves are off by $(network means-cuda l2)"
[ "$(sum rounded)" != "$(sum means-cuda)" ] || fail '--reduce-in fp32 changes nothing'
emulated 2 virtual --format fp32 --scale none --reduce-in fp32 && same means-cuda virtual '--reduce-in fp32: emulated ranks'
emulated 2 low --memory low --algo gather --format fp32 --scale none --reduce-in fp32 && same means-cuda low '--reduce-in fp32: --memory low'

for options in '--codec qsgd:8' '--codec onebit --loss-scale adaptive' '--codec relgrad' '--codec ternary --quantise all --lr 0.01' '--format e4m3 --loss-scale adaptive'; do
    case ${1-}/$options in /*qsgd* | /*onebit* | /*ternary*) continue ;; esac
    # shellcheck disable=SC2086
    emulated 2 virtual $options && emulated 2 rounded $options --device cpu
    near "$(loss rounded)" "$(loss virtual)" 0.03 "$options: loss on the CPU and on the GPU"
done
on 2 real --format e4m3 --loss-scale adaptive && same real virtual 'scales of layers of emulated ranks'

# --- no allocation of GPU memory holds a float per weight ---
if [ "$NARROWCAST_CUDA" = "$B/emu/libnarrowcast_cuda.so" ]; then
    EMU_LOG=$dir/log on 1 log --micro 2
    n=$(sed -n 's/^model .* \([0-9]*\) weights.*/\1/p' "$dir/log.out")
    awk -v n="$n" '$1 == "alloc" { halves += $3 == 2 * n; floats += $3 == 4 * n }
        $1 == "conv" && $3 != "half" || $1 == "gemm" && $2 != "half" { wide++ } END { exit !(n > 0 && halves == 4 && floats == 0 && wide == 0) }' "$dir/log" ||
        fail "weights, gradients, their sums and velocities of $n: $(grep -c "^alloc .* $((2 * n))$" "$dir/log") of halves, $(grep -c "^alloc .* $((4 * n))$" "$dir/log") of floats"
fi
on 1 auto --device auto && same gpu auto 'auto'

# shellcheck disable=SC2086
refused '--gemm e5m10 rounds fp32 products' "$program" train $small --device cuda --gemm e5m10
# shellcheck disable=SC2086
refused '--quant act=e4m3 rounds fp32 activations' "$program" train $small --device cuda --quant act=e4m3
exit $bad
