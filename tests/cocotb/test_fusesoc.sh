#!/bin/bash
# test_fusesoc.sh : the targets of rtl/narrowcast.core run in FuseSoC; card_bench.py's job and a
# proof fail with a fault planted in the card. Needs `make cocotb`, Icarus Verilog and Yosys.
# usage: test_fusesoc.sh [long]    long: also the job on Verilator, which takes a minute
set -u
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.." || exit 1
PATH=$B/cocotb/venv/bin:$PATH
for tool in fusesoc cocotb-config verilator; do
    command -v $tool >/dev/null || { echo "skip: no $tool (make cocotb)" && exit 77; }
done
for tool in iverilog yosys; do
    command -v $tool >/dev/null || { echo "skip: no $tool (make tools)" && exit 77; }
done
"$(cocotb-config --python-bin)" -c 'import numpy' 2>/dev/null || { echo 'skip: no numpy for cocotb (make cocotb)' && exit 77; }
GPI_USERS="$(cocotb-config --libpython);$(cocotb-config --pygpi-entry-point)" || { echo 'skip: cocotb is older than 2.1 (make cocotb)' && exit 77; }
export GPI_USERS HOME=$dir
says=$dir/log

# run TREE TARGET OPTION...: runs a target of the card in TREE
run() { fusesoc --cores-root "$1/rtl" --cores-root "$1/tests" run --build-root "$dir/build/$1" --target="$2" "${@:3}" narrowcast::card >"$says" 2>&1; }
run . sim || fail sim
grep 'TESTS=1 PASS=1 FAIL=0' "$says" || fail 'the job'
for target in synth synth_ecp5; do
    run . $target --flag skid || fail $target
    [ -s "$dir/build/./narrowcast__card_0.1.0/$target/narrowcast__card_0.1.0.json" ] || fail "$target: no netlist"
done
MODULES=skid run . formal || fail formal
grep '^1 proven' "$says" || fail 'formal: not one line'
run . lint || fail lint

tree=$dir/tree
mkdir -p "$tree/tests/conformance" && cp -r rtl hls "$tree" && cp -r tests/*.core tests/cocotb "$tree/tests" &&
    cp -r tests/conformance/python "$tree/tests/conformance" || exit 1
# plant FILE SED
plant() {
    sed "$2" "rtl/$1" >"$tree/rtl/$1"
    ! cmp -s "rtl/$1" "$tree/rtl/$1" || fail "nothing to plant in $1"
}
plant nic_core.sv "s/.out_shift_i(t_shift)/.out_shift_i(3'd0)/"
run "$tree" sim
grep -q 'TESTS=1 PASS=0 FAIL=1' "$says" || fail 'the planted fault was not found'
plant skid.sv 's/spare_full_q ? spare_q : in_data_i/in_data_i/'
! MODULES=skid run "$tree" formal || fail 'the planted fault was proven'
grep -q 'proof did fail' "$says" || fail 'formal fails for another reason'

if [ "${1-}" = long ]; then
    run . sim_verilator || fail sim_verilator
    grep 'TESTS=1 PASS=1 FAIL=0' "$says" || fail 'the job on Verilator'
fi
exit $bad
