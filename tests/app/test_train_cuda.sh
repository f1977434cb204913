#!/bin/bash
# test_train_cuda.sh : tests `narrowcast train --device cuda`, on a GPU or the emulator.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
emu=$B/emu/libnarrowcast_cuda.so
. "$here/lib/cuda_train.sh"

small="--data synthetic:160,1 --model lenet5 --batch 12 --steps 4 --lr 0.05 --warmup 0"
train() {
    local label=$1 ranks=$2
    shift 2
    # shellcheck disable=SC2086  # options are words
    mpirun -np "$ranks" "$n" train $small "$@" >"$dir/$label.out" 2>"$dir/$label.err"
}
trained() { train "$@" || fail "$1: exit $?: $(tail -n 1 "$dir/$1.err")"; }

trained cpu 2 --device cpu --stats "$dir/cpu.stats"
trained gpu 2 --device cuda
grep -q '^device: ' "$dir/gpu.err" || fail "no line says which GPU"
near "$(loss cpu)" "$(loss gpu)" 0.02 'loss on the CPU and on the GPU'

trained again 2 --device cuda
same gpu again "the same run"
trained plain 2 --device cuda --overlap off
same gpu plain "overlap off"
for transport in pinned ipc; do
    NARROWCAST_GPU_TRANSPORT=$transport trained $transport 2 --device cuda
    same gpu $transport "transport $transport"
done
trained scatter 2 --device cuda --algo group-scatter:2
same gpu scatter group-scatter
trained card 2 --device cuda --offload sim:c
same gpu card "a card"
grep -q '^all-reduce: offload' "$dir/card.err" || fail "no gradients went through the card"

trained first 2 --device cuda --steps 2 --schedule const --save "$dir/ckpt"
trained rest 2 --device cuda --schedule const --resume "$dir/ckpt"
trained whole 2 --device cuda --schedule const
same whole rest "a resumed run"
train other 2 --device cpu --schedule const --resume "$dir/ckpt" && fail "a checkpoint of a GPU went on on a CPU"
grep -q "made with device.* 'cuda', this run has 'cpu'" "$dir/other.err" || fail "on a CPU: $(cat "$dir/other.err")"

for precision in tf32 fp16 bf16; do
    trained $precision 1 --device cuda --precision $precision --stats "$dir/$precision.stats"
    near "$(loss cpu)" "$(loss $precision)" 0.2 "loss on the CPU and in $precision"
done

trained swap-cpu 1 --device cpu --model resnet8 --block swap --steps 3
trained swap 1 --device cuda --model resnet8 --block swap --steps 3
near "$(loss swap-cpu)" "$(loss swap)" 0.001 '--block swap: loss on the CPU and on the GPU'

trained stats 2 --device cuda --stats "$dir/gpu.stats"
same gpu stats "--stats"
for key in l2 round_off_median cosine; do
    near "$(network cpu $key)" "$(network gpu $key)" 0.1 "statistics, $key on the CPU and on the GPU"
done
trained one-stats 1 --device cpu --stats "$dir/one.stats"
output() { sed -n "s/.*stats_output\",\"step\":1,\"index\":$2,.*\"largest\":\([^,}]*\).*/\1/p" "$dir/$1.stats"; }
for precision in fp16 bf16; do
    near "$(output one 2)" "$(output $precision 2)" 0.05 "statistics: largest value on the CPU and in $precision"
done
trained wide 2 --device cuda --quant act=e8m23,weight=e8m23,error=e8m23
same gpu wide "--quant e8m23"
trained narrow 2 --device cuda --quant act=e4m3,weight=e4m3,error=e5m2 --loss-scale 1024
trained narrow-cpu 2 --device cpu --quant act=e4m3,weight=e4m3,error=e5m2 --loss-scale 1024
[ "$(sum narrow)" != "$(sum gpu)" ] || fail "--quant changes no bit"
near "$(loss narrow-cpu)" "$(loss narrow)" 0.05 '--quant: loss on the CPU and on the GPU'

refused_gpu() {
    local words=$1
    shift
    train refused 2 "$@" && fail "not refused: $*"
    [ "$(grep -c '^narrowcast:' "$dir/refused.err")" = 1 ] || fail "$*: not one line: $(cat "$dir/refused.err")"
    grep -q "$words" "$dir/refused.err" || fail "$*: $(cat "$dir/refused.err")"
}
if [ "$NARROWCAST_CUDA" = "$emu" ]; then
    EMU_DEVICES=0 refused_gpu 'needs a GPU' --device auto --precision fp16
    EMU_DEVICES=0 trained auto 2 --device auto
    same cpu auto "auto without a GPU"
    EMU_MEMORY=1000000 refused_gpu memory --device cuda --data synthetic:400,1 --batch 200
    EMU_DEVICES=2 EMU_NCCL_FAILS=3 train nccl 2 --device cuda --algo direct && fail 'a failed send is not seen'
    grep -q '^narrowcast: gpu: sending codes failed: NCCL says: invalid argument' "$dir/nccl.err" || fail "a failed send: $(cat "$dir/nccl.err")"
    ! grep '^emu:' "$dir/nccl.err" || fail 'a group of NCCL is left open'
    EMU_CC=120 trained jit 1 --device cuda --steps 1
    grep -q '^device: this build has no machine code for it: build with GPU_ARCHS=sm_120$' "$dir/jit.err" ||
        fail "a GPU of another generation: $(cat "$dir/jit.err")"
    turns='^device: ranks share a GPU and take turns on it .*NARROWCAST_MPS=1'
    EMU_DEVICES=1 trained turns 2 --device cuda --steps 1 --log "$dir/turns.log"
    grep -q '"used_bucket_bytes":8388608' "$dir/turns.log" || fail "buckets on a GPU: $(head -n 1 "$dir/turns.log")"
    EMU_DEVICES=1 EMU_MPS=1 trained mps 2 --device cuda --steps 1
    EMU_DEVICES=2 trained apart 2 --device cuda --steps 1
    [ "$(grep -c "$turns" "$dir/turns.err" "$dir/mps.err" "$dir/apart.err" | cut -d: -f2 | paste -sd ' ')" = '1 0 0' ] ||
        fail "a shared GPU, one with MPS, two GPUs: $(grep -c "$turns" "$dir/turns.err" "$dir/mps.err" "$dir/apart.err")"
    EMU_DEAD=100 train dead 1 --device cuda && fail 'an illegal address is not seen'
    [ "$(grep -c '^narrowcast: gpu: .* can no longer use the GPU$' "$dir/dead.err")" = 1 ] || fail "an illegal address: $(cat "$dir/dead.err")"
    [ "$(grep -c '^narrowcast:' "$dir/dead.err")" -le 2 ] || fail "lines after an illegal address: $(cat "$dir/dead.err")"
fi
# --- a library without layers, as without cuDNN, still reduces gradients ---
if [ "$NARROWCAST_CUDA" = "$emu" ]; then
    read -ra compile <"$B/emu/o/flags"
    objects=()
    for o in "$B"/emu/o/*.o; do
        f=$(basename "$o" .o)
        [ -e "$here/../device/nn/$f" ] || [ "$f" = library.cu ] || objects+=("$o")
    done
    sed 's/HAVE_NN/NO_LAYERS/' "$here/../device/run/library.cu" >"$dir/library.cpp"
    "${compile[@]}" "-I$B/emu/o/copies" "-I$here/emu" "-I$here/.." -shared "$dir/library.cpp" "${objects[@]}" -lpthread -o "$dir/reduces.so" ||
        fail 'a library without layers does not link'
    NARROWCAST_CUDA=$dir/reduces.so refused_gpu 'without cuDNN or cuBLAS' --device cuda
    NARROWCAST_CUDA=$dir/reduces.so trained plain-auto 2 --device auto
    same cpu plain-auto 'auto without layers'
    NARROWCAST_CUDA=$dir/reduces.so "$n" info >"$dir/info" 2>&1 || fail "info without layers: $(cat "$dir/info")"
    NARROWCAST_CUDA=$dir/reduces.so mpirun -np 2 "$B/tests/test_gpu_nc_mpi" >"$dir/nc" 2>&1 || fail "sums without layers: $(tail -n 3 "$dir/nc")"
fi
refused_gpu 'needs --device cuda' --device cpu --precision tf32
refused_gpu 'loss-scale' --device cuda --precision fp16 --loss-scale 3
exit $bad
