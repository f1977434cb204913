#!/bin/bash
# test_fusesoc.sh : card_bench.py's job passes in FuseSoC, and fails with a fault planted in the card.
# Needs fusesoc, cocotb 2.1 and Icarus Verilog. `long`: also FuseSoC's target lint.
set -u
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.." || exit 1
for tool in iverilog fusesoc cocotb-config; do
    command -v $tool >/dev/null || { echo "skip: no $tool (README.md)" && exit 77; }
done
"$(cocotb-config --python-bin)" -c 'import numpy' 2>/dev/null || { echo 'skip: no numpy for cocotb' && exit 77; }
GPI_USERS="$(cocotb-config --libpython);$(cocotb-config --pygpi-entry-point)" || { echo 'skip: cocotb is older than 2.1' && exit 77; }
export GPI_USERS HOME=$dir
says=$dir/log

# run TREE TARGET: runs a target of the card in TREE
run() { fusesoc --cores-root "$1/rtl" --cores-root "$1/tests" run --build-root "$dir/build/$1" --target="$2" narrowcast::card >"$says" 2>&1; }
run . sim || fail sim
grep 'TESTS=1 PASS=1 FAIL=0' "$says" || fail 'the job'

tree=$dir/tree
mkdir -p "$tree/tests/conformance" && cp -r rtl hls "$tree" && cp -r tests/*.core tests/cocotb "$tree/tests" &&
    cp -r tests/conformance/python "$tree/tests/conformance" || exit 1
sed "s/.out_shift_i(t_shift)/.out_shift_i(3'd0)/" rtl/nic_core.sv >"$tree/rtl/nic_core.sv"
cmp -s rtl/nic_core.sv "$tree/rtl/nic_core.sv" && fail 'nothing to plant'
run "$tree" sim
grep -q 'TESTS=1 PASS=0 FAIL=1' "$says" || fail 'the planted fault was not found'

if [ "${1-}" = long ] && command -v verilator >/dev/null; then
    run . lint || fail lint
fi
exit $bad
