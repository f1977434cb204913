#!/bin/bash
# test_ddp.sh : tests PyTorch's DDP with narrowcast.ddp's hook (host/python) on CPU processes over
# gloo: it must learn as without the hook, with narrowcast.h's bits over MPI. Faults are exceptions
# on every rank.
set -u
. "$(dirname "$0")/../../host/ranks.sh"
here=$(cd "$(dirname "$0")/.." && pwd)
B=$(realpath "${B:-build}")
. "$here/lib/torch_python.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
fail() { echo "FAIL $*" && bad=1; }

data=''
[ ! -d "${NARROWCAST_DATA-}/fashion-mnist" ] || data=$NARROWCAST_DATA/fashion-mnist
[ "$data" ] || echo 'not run: Fashion-MNIST (NARROWCAST_DATA is not set): planted images instead'
timeout 300 "$python" "$here/python/ddp_runs.py" train "$dir" ${data:+"$data"} >"$dir/said" 2>&1 || fail "training: $(tail -n 5 "$dir/said")"
cat "$dir/said"

timeout 120 "$python" "$here/python/ddp_runs.py" mean "$dir" 3 >"$dir/hook" 2>&1 || fail "means: $(tail -n 5 "$dir/hook")"
timeout 120 mpirun -np 3 "$python" "$here/python/ddp_runs.py" mean-c >"$dir/c" 2>&1 || fail "means of narrowcast.h: $(tail -n 5 "$dir/c")"
grep '^means' "$dir/hook" | sort -u >"$dir/one"
grep '^means' "$dir/c" | sort -u >"$dir/other"
if [ "$(wc -l <"$dir/one")" != 1 ] || ! cmp -s "$dir/one" "$dir/other"; then
    fail "the hook's means are others than narrowcast.h's: $(cat "$dir/one" "$dir/other")"
fi

# The emulator has NCCL and CUDA IPC between processes.
for transport in nccl ipc pinned; do
    [ -e "$B/emu/libnarrowcast_cuda.so" ] || break
    rm -f "$dir/mean"
    NARROWCAST_CUDA=$B/emu/libnarrowcast_cuda.so EMU_DEVICES=3 NARROWCAST_GPU_TRANSPORT=$transport \
        timeout 120 "$python" "$here/python/ddp_runs.py" mean-gpu "$dir" 3 >"$dir/gpu" 2>&1 || fail "$transport: $(tail -n 5 "$dir/gpu")"
    grep '^means' "$dir/gpu" | sort -u >"$dir/other"
    cmp -s "$dir/one" "$dir/other" || fail "the hook's means over $transport are others: $(cat "$dir/one" "$dir/other")"
done

if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && [ -e "$B/libnarrowcast_cuda.so" ]; then
    rm -f "$dir/mean"
    NARROWCAST_CUDA=$B/libnarrowcast_cuda.so DEVICE=cuda timeout 120 "$python" "$here/python/ddp_runs.py" mean "$dir" 3 >"$dir/gpu" 2>&1 ||
        fail "a GPU: $(tail -n 5 "$dir/gpu")"
    grep '^means' "$dir/gpu" | sort -u >"$dir/other"
    cmp -s "$dir/one" "$dir/other" || fail "the hook's means of gradients on a GPU are others: $(cat "$dir/one" "$dir/other")"
fi

for ranks in 1 2 3; do
    rm -f "$dir/mean"
    timeout 120 "$python" "$here/python/ddp_runs.py" mean "$dir" $ranks 3 >"$dir/blocks" 2>&1 || fail "3 blocks, $ranks ranks: $(tail -n 5 "$dir/blocks")"
    grep '^means' "$dir/blocks" | sort -u >"$dir/other"
    cmp -s "$dir/one" "$dir/other" || fail "3 blocks on $ranks ranks have other means than 3 ranks: $(cat "$dir/one" "$dir/other")"
done

timeout 120 "$python" "$here/python/ddp_kinds.py" "$dir" >"$dir/said" 2>&1 || fail "kinds: $(tail -n 20 "$dir/said")"
[ "$(grep -c '^kinds are averaged or refused' "$dir/said")" = 2 ] || fail "kinds: $(tail -n 20 "$dir/said")"

timeout 120 "$python" "$here/python/torch_features.py" ddp "$dir" >"$dir/said" 2>&1 || fail "features: $(tail -n 20 "$dir/said")"
[ "$(grep -c '^ok ddp ' "$dir/said")" -ge 8 ] || fail "features: $(tail -n 20 "$dir/said")"

timeout 120 "$python" "$here/python/ddp_runs.py" faults "$dir" >"$dir/said" 2>&1 || fail "faults: $(tail -n 20 "$dir/said")"
[ "$(grep -c '^faults are seen' "$dir/said")" = 2 ] || fail "faults: $(tail -n 20 "$dir/said")"
[ "$(grep -c 'is gone' "$dir/said")" = 1 ] || fail "who is gone is said other than once: $(tail -n 20 "$dir/said")"

# --- processes die: the others open a new group and end with the bits of an undisturbed run ---
survive() { PYTHONPATH=$here/../host/python timeout 120 "$python" "$here/examples/ddp_elastic.py" "$@" >"$dir/said" 2>&1; }
survive || fail "ddp_elastic.py: $(tail -n 5 "$dir/said")"
weights=$(grep -o 'weights .*' "$dir/said" | sort | uniq -c)
case $weights in *' 3 weights '*' after 8 steps') ;; *) fail "3 processes: $weights" ;; esac
survive --kill 1:3 || fail "ddp_elastic.py --kill: $(tail -n 5 "$dir/said")"
[ "$(grep -o 'weights .*' "$dir/said" | sort | uniq -c)" = "${weights/ 3 / 2 }" ] || fail "2 of 3 processes: $(cut -c 1-200 "$dir/said"), not $weights"
[ "$(grep -c '^narrowcast: rank 1 of 3 is gone' "$dir/said")" = 1 ] || fail "the lost rank is said other than once: $(cut -c 1-200 "$dir/said")"
exit $bad
