#!/bin/bash
# test_fsdp.sh : tests narrowcast.fsdp on CPU processes over gloo, and the examples of FSDP2 and DDP: they must learn as with
# PyTorch's own communication.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
B=$(realpath "${B:-build}")
. "$here/lib/torch_python.sh" 'from torch.distributed.fsdp import FSDPModule; FSDPModule.set_custom_reduce_scatter'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAIL $*" && bad=1; }

timeout 120 "$python" "$here/python/fsdp_checks.py" "$dir" >"$dir/said" 2>&1 || fail "$(tail -n 20 "$dir/said")"
[ "$(grep -c '^fsdp is checked' "$dir/said")" = 2 ] || fail "$(tail -n 20 "$dir/said")"
for transport in nccl ipc; do
    [ -e "$B/emu/libnarrowcast_cuda.so" ] || break
    rm -f "$dir/fsdp"
    NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so EMU_DEVICES=3 NARROWCAST_GPU_TRANSPORT=$transport \
        timeout 120 "$python" "$here/python/fsdp_checks.py" "$dir" gpu >"$dir/said" 2>&1 || fail "$transport: $(tail -n 20 "$dir/said")"
    [ "$(grep -c '^fsdp is checked' "$dir/said")" = 3 ] || fail "$transport: $(tail -n 20 "$dir/said")"
done

if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && [ -e "$B/libnarrowcast_cuda.so" ]; then
    rm -f "$dir/fsdp"
    NARROWCAST_CUDA=$B/libnarrowcast_cuda.so timeout 120 "$python" "$here/python/fsdp_checks.py" "$dir" cuda >"$dir/said" 2>&1 ||
        fail "a GPU: $(tail -n 20 "$dir/said")"
    [ "$(grep -c '^fsdp is checked' "$dir/said")" = 3 ] || fail "a GPU: $(tail -n 20 "$dir/said")"
fi

timeout 120 "$python" "$here/python/torch_features.py" fsdp "$dir" >"$dir/said" 2>&1 || fail "features: $(tail -n 20 "$dir/said")"
[ "$(grep -c '^ok fsdp ' "$dir/said")" = 11 ] || fail "features: $(tail -n 20 "$dir/said")"

text=${NARROWCAST_DATA-}/tinyshakespeare/input.txt
[ -e "$text" ] || echo 'not run: tiny Shakespeare (NARROWCAST_DATA is not set): narrowcast.h instead'
[ -e "$text" ] || text=$here/../host/include/narrowcast.h
export PYTHONPATH=$here/../host/python
# loss_of EXAMPLE OPTION...: prints the loss, in 1/10000, and the example's line to stderr
loss_of() {
    timeout 120 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$here/examples/$1" --text "$text" --steps 60 \
        "${@:2}" >"$dir/out" 2>"$dir/err" || fail "$*: $(tail -n 5 "$dir/err")" >&2
    tail -n 1 "$dir/out" >&2
    sed -n 's/.*: loss \([0-9]*\)\.\([0-9]*\).*/\1\2/p' "$dir/out"
}
base=$(loss_of fsdp_train.py --format none)
[ "${base:-99999}" -lt 28000 ] || fail "FSDP does not learn: loss $base"
for run in fsdp_train.py 'fsdp_train.py --gather delta:e4m3' ddp_train.py; do
    read -r -a words <<<"$run"
    loss=$(loss_of "${words[@]}")
    [ "$((${loss:-99999} - base))" -lt 300 ] || fail "$run: loss $loss, FSDP's is $base"
done
exit $bad
