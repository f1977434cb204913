#!/bin/sh
# test_lint_rtl.sh : checks every module of rtl/ as a top with verilator -Wall and Icarus
# Verilog. Mistakes planted in a copy must be found. usage: test_lint_rtl.sh [long] [RTL-FOLDER]
# long: also the card with 16, 32 and 128 bytes a clock and every kernel
# prove_*.sv are left out: only Yosys reads them. A missing tool prints one line; exit 77
# without both.
cd "$(dirname "$0")/../.." || exit 1
long=''
[ "${1-}" != long ] || { long=long && shift; }
B=${B:-build}
dir=$B/lint_rtl
mkdir -p "$dir" || exit 1
have_v=${VERILATOR-$(command -v verilator)} have_i=$(command -v iverilog)
[ -n "$have_v" ] || echo "skip: no verilator"
[ -n "$have_i" ] || echo "skip: no iverilog"
[ -n "$have_v$have_i" ] || exit 77
make -s B="$B" "$B/rtl/nc_pkg.sv" || exit 1

# find_source: sets $source to the file of $module in $folder
find_source() {
    for source in "$folder/$module.sv" "$folder/memory/$module.sv" "$folder/shell/$module.sv"; do [ ! -e "$source" ] || break; done
}

lint() {
    folder=$1 module=$2 v_params='' i_params='' liteeth='' liteeth_i=''
    shift 2
    find_source
    # LiteEth's Verilog inside the card's shell is not checked.
    [ "$module" != card_sim ] || liteeth="rtl/shell/liteeth.vlt $B/shell/eth_sim.v" liteeth_i=$B/shell/eth_sim.v
    for param; do
        v_params="$v_params -G$param" i_params="$i_params -P$module.$param"
    done
    rc=0
    # shellcheck disable=SC2086  # lists of words
    {
        # No module uses the whole package: unused parameters are no fault.
        if [ -n "$have_v" ] && ! verilator --lint-only -Wall -Wno-UNUSEDPARAM -y "$folder" -y "$folder/memory" -y "$folder/shell" --top-module "$module" $v_params \
            "$B/rtl/nc_pkg.sv" $liteeth "$source" >"$dir/log" 2>&1; then
            echo "$module $*: verilator says"
            grep '^%' "$dir/log" | head -5 | sed 's/^/    /'
            rc=1
        fi
        # Icarus 11 prints a harmless `sorry` for constant selects in processes.
        if [ -n "$have_i" ] && ! iverilog -g2012 -t null -y "$folder" -y "$folder/memory" -y "$folder/shell" -Y .sv -s "$module" $i_params \
            "$B/rtl/nc_pkg.sv" $liteeth_i "$source" >"$dir/log" 2>&1; then
            echo "$module $*: iverilog says"
            grep -v 'sorry: constant selects' "$dir/log" | head -5 | sed 's/^/    /'
            rc=1
        fi
    }
    return $rc
}

bad=0 n=0
for file in "${1:-rtl}"/*.sv "${1:-rtl}"/memory/*.sv "${1:-rtl}"/shell/*.sv; do
    [ -e "$file" ] || continue
    module=$(basename "$file" .sv)
    case $module in
    prove_*) continue ;;
    card_sim) [ -e "$B/shell/eth_sim.v" ] || { echo 'skip: no LiteEth (make shell): card_sim' && continue; } ;;
    card_rgmii) continue ;; # contains ECP5 cells
    esac
    n=$((n + 1))
    lint "${1:-rtl}" "$module" || bad=$((bad + 1))
done
lint "${1:-rtl}" tile Wide=0 || bad=$((bad + 1))
lint "${1:-rtl}" nic_core Ultra=0 || bad=$((bad + 1))
lint "${1:-rtl}" nic_core Narrow=1 || bad=$((bad + 1))
for bytes in 8 ${long:+16 32 128}; do
    lint "${1:-rtl}" nic_core "LaneBytes=$bytes" || bad=$((bad + 1))
done
lint "${1:-rtl}" tile Wide=0 LaneBytes=8 || bad=$((bad + 1))
for kernel in 3 ${long:+2 4}; do
    lint "${1:-rtl}" mm_kernel "Kernel=$kernel" || bad=$((bad + 1))
done
have_y=$(command -v yosys)
[ -n "$have_y" ] || echo "skip: no yosys"
size() {
    lint "$folder" "$2" "$3=$4" >"$dir/said"
    if [ -n "$have_y" ] && ! yosys -q -p "read_verilog -sv $B/rtl/nc_pkg.sv $source; chparam -set $3 $4 $2;
        hierarchy -check -libdir $folder -libdir $folder/memory -top $2" >"$dir/log" 2>&1; then
        { echo "$2 $3=$4: yosys says" && tail -1 "$dir/log"; } >>"$dir/said"
    fi
    tools=0
    [ "$1" = taken ] || tools=$((0${have_v:+1} + 0${have_i:+1} + 0${have_y:+1}))
    [ "$(grep -c 'says$' "$dir/said")" = $tools ] && return
    echo "$2 $3=$4 must be $1 by every tool:" && cat "$dir/said"
    bad=$((bad + 1))
}
folder=${1:-rtl}
for what in 'kept_mem Rows' 'reduce_mm Rows' 'frame_fifo Depth' 'sockets N' 'job_table Ranks' 'expmax Lanes' 'tile LaneBytes'; do
    # shellcheck disable=SC2086  # two words
    size refused $what 12
done
size taken kept_mem Rows 16
size refused tile LaneBytes 4
size refused tile LaneBytes 256
size taken tile LaneBytes 16
size refused sum_room Ranks 256
size taken sum_room Ranks 128
size refused sum_room Sum4 12
size refused sum_room Sum4 22
size refused sum_room Sum 40
size refused sum_room Narrow 14
size taken sum_room Narrow 15
size taken sum_room Sum 47
echo "$n modules, $bad not clean"

plant() {
    mkdir -p "$dir/planted"
    sed "$1" rtl/skid.sv >"$dir/planted/skid.sv"
    if cmp -s rtl/skid.sv "$dir/planted/skid.sv"; then
        echo "nothing to plant with: $1" && bad=$((bad + 1))
    elif lint "$dir/planted" skid >/dev/null; then
        echo "not found: $1" && bad=$((bad + 1))
    fi
}
have_i='' && [ -n "$have_v" ] && plant "s/1'b1;/2'b11;/"  # wrong width: only Verilator finds it
have_v='' have_i=$(command -v iverilog)
[ -n "$have_i" ] && plant 's/out_q, spare_q;/out_q;/'  # undeclared signal: Icarus finds it
[ "$bad" -eq 0 ]
