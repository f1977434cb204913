#!/bin/bash
# test_train_conv.sh : tests `train --conv`. `auto` is winograd where the CPU has it, but gemm
# with --gemm.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"

on() { "$B/narrowcast" train --device cpu --data synthetic:400,3 --batch 20 --lr 0.02 --warmup 0 --steps 6 --schedule const --model resnet8 "$@"; }
checksum() { on "$@" 2>said | sum_of; }

gemm=$(checksum --conv gemm --save ckpt --log one)
auto=$(checksum)
if [ -z "$gemm" ] || [ -z "$auto" ]; then fail "no checksum: $(cat said)"; fi
if grep -q '^flags.* avx2 .*' /proc/cpuinfo && grep -q '^flags.* fma ' /proc/cpuinfo; then
    equal "auto is not winograd: $auto" "$(checksum --conv winograd)" "$auto"
    [ "$gemm" != "$auto" ] || fail "winograd ends in the bits of gemm"
else
    [ "$gemm" = "$auto" ] || fail "auto is not gemm"
    refused 'needs a CPU with AVX2' on --conv winograd
fi
equal "--gemm takes something else than gemm" "$(checksum --gemm e8m23 --model lenet5)" "$(checksum --gemm e8m23 --conv gemm --model lenet5)"

# threads may change the last bits
on --conv gemm --threads 2 --log two >out 2>said || fail "2 threads: $(cat said)"
for log in one two; do sed -n 's/.*"kind":"step".*"loss":\([0-9.]*\).*/\1/p' $log >$log.txt; done
paste one.txt two.txt | awk '{ d = $1 - $2; n += d < 1e-3 && -d < 1e-3 } END { exit n != 6 }' || fail "1 and 2 threads: the losses are $(paste one.txt two.txt)"
refused "it was made with threads '1', this run has '2'" on --conv gemm --threads 2 --resume ckpt

refused 'conv' on --resume ckpt
refused 'auto|winograd|gemm' on --conv fft
refused '--gemm e5m10 rounds every product: it needs --conv gemm or auto' on --gemm e5m10 --conv winograd
refused '--conv gemm applies only to the CPU: use --device cpu' on --conv gemm --device cuda
exit $bad
