#!/bin/bash
# test_bench_grad64.sh : compares dumped gradients with fp64. fp32's are equal up to rounding,
# which proves equal weights, images and order; pure fp16's differ more.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

data='--data synthetic:60,4 --batch 24 --block swap'
run() {
    name=$1 ranks=$2
    shift 2
    # shellcheck disable=SC2086
    "$n" emulate --ranks "$ranks" --device cpu $data --steps 4 --lr 0.02 --dump-gradients "$name" --dump-first 1 --dump-steps 3 "$@" >out 2>said || fail "$name: $(cat said)"
    # shellcheck disable=SC2086
    "$B/bench_grad64" "$name" $data >"$name.md" 2>said || fail "$name: $(cat said)"
}
all() { sed -n 's/^| all | 75002 | \([0-9.]*\) |$/\1/p' "$1.md"; }
run fp32 2 --precision fp32
run pure 2 --precision fp16-pure
run gemm 1 --precision fp16-pure --gemm e5m10 --dump-steps 1 --steps 2
awk -v a="$(all fp32)" -v b="$(all pure)" -v c="$(all gemm)" 'BEGIN { exit !(a != "" && a < 0.02 && b > 10 * a && b > 0.1 && b < 10 && c > b && c < 20) }' ||
    fail "L2: fp32 $(all fp32), pure $(all pure), sums too $(all gemm)"
[ "$(grep -c '^| s[012]b0' gemm.md)" = 18 ] || fail "layers: $(cat gemm.md)"
if "$B/bench_grad64" fp32 --data synthetic:60,4 --batch 25 >out 2>said; then fail "--batch 25 for 2 ranks was taken"; fi
grep -q 'ranks, at most 60 images' said || fail "--batch 25: $(cat said)"
for wrong in 'synthetic:60,4 --batch 22' 'synthetic:60,5 --batch 24' 'synthetic:60,4 --batch 24 --seed 2'; do
    # shellcheck disable=SC2086
    if "$B/bench_grad64" fp32 --block swap --data $wrong >out 2>said; then fail "another run's options were taken: $wrong: $(tail -n 1 out)"; fi
    grep -q 'the options must be those of the run' said || fail "$wrong: $(cat said)"
done
if "$B/bench_grad64" fp32 --data synthetic:60,4 --batch 24 --model resnet20 >out 2>said; then fail "another model was taken"; fi
grep -q 'it has 75002 weights' said || fail "another model: $(cat said)"
exit $bad
