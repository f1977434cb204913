#!/bin/sh
# test_lint_rtl.sh : checks every module of rtl/ as a top with verilator -Wall and Icarus
# Verilog. Mistakes planted in a copy must be found. usage: test_lint_rtl.sh [long] [RTL-FOLDER]
# long: also modules with other parameters, all sizes that must be refused or taken, and verilator
# for modules that the build of sim/rtl/models has read with -Wall
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
    rc=0 by_v=$have_v
    built=$(sed -nE "s/^([a-z0-9_]+) $module( -D[^ ]*| --[^ ]*| rtl\/.*)*$/\1/p" sim/rtl/models | head -n 1)
    [ "$long$folder$*" != rtl ] || [ ! -e "$B/rtl/${built:-none}/ports.inc" ] || by_v=''
    # shellcheck disable=SC2086  # lists of words
    {
        # No module uses the whole package: unused parameters are no fault.
        if [ -n "$by_v" ] && ! verilator --lint-only -Wall -Wno-UNUSEDPARAM -y "$folder" -y "$folder/memory" -y "$folder/shell" --top-module "$module" $v_params \
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
if [ "$long" ]; then
    for params in 'tile Wide=0' 'tile Wide=0 LaneBytes=8' 'nic_core Ultra=0' 'nic_core Narrow=1' 'nic_core LaneBytes=8' 'nic_core LaneBytes=16' \
        'nic_core LaneBytes=32' 'nic_core LaneBytes=128' 'mm_kernel Kernel=2' 'mm_kernel Kernel=3' 'mm_kernel Kernel=4'; do
        # shellcheck disable=SC2086  # words
        lint "${1:-rtl}" $params || bad=$((bad + 1))
    done
fi
have_y=$(command -v yosys)
[ -n "$have_y" ] || echo "skip: no yosys"
size() {
    lint "$folder" "$2" "$3=$4" ${5:+"$5=$6"} >"$dir/said"
    if [ -n "$have_y" ] && ! yosys -q -p "read_verilog -sv $B/rtl/nc_pkg.sv $source; chparam -set $3 $4 ${5:+-set $5 $6} $2;
        hierarchy -check -libdir $folder -libdir $folder/memory -top $2" >"$dir/log" 2>&1; then
        { echo "${*:2}: yosys says" && tail -1 "$dir/log"; } >>"$dir/said"
    fi
    tools=0
    [ "$1" = taken ] || tools=$((0${have_v:+1} + 0${have_i:+1} + 0${have_y:+1}))
    [ "$(grep -c 'says$' "$dir/said")" = $tools ] && return
    echo "${*:2} must be $1 by every tool:" && cat "$dir/said"
    bad=$((bad + 1))
}
folder=${1:-rtl}
while read -r verdict size; do
    # shellcheck disable=SC2086  # three or five words
    case $long$size in long* | kept_mem* | core_sizes\ Slots* | core_sizes\ Narrow* | sum_room\ Ranks*) size "$verdict" $size ;; esac
done <<'END'
refused kept_mem Rows 12
taken kept_mem Rows 16
refused core_sizes LaneBytes 4
refused core_sizes LaneBytes 96
refused core_sizes LaneBytes 256
refused core_sizes Slots 1
taken core_sizes Slots 2
taken core_sizes Slots 32768
refused core_sizes Slots 32769
refused core_sizes Jobs 1
taken core_sizes Jobs 3
refused core_sizes Jobs 32768
refused core_sizes Rows 1
refused core_sizes Rows 12
taken core_sizes Rows 128
refused core_sizes Rows 256
refused core_sizes Rows 2 LaneBytes 128
taken core_sizes Rows 4 LaneBytes 128
refused core_sizes FifoBeats 16
refused core_sizes FifoBeats 48
taken core_sizes FifoBeats 32
refused core_sizes Descs 1
refused core_sizes Answers 1
taken core_sizes Answers 2
refused core_sizes Narrow 1
refused core_sizes Wide 2
refused core_sizes Group 2
refused core_sizes Ultra 2
refused nic_core Group 2
refused sockets N 1
taken sockets N 2
refused fifo Depth 1
refused frame_fifo Depth 1
refused mm_kernel Kernel 0
refused mm_kernel Kernel 5
refused cast_mm Kernel 1
refused reduce_mm Rows 1
taken reduce_mm Rows 2
refused arp_table Rows 12
refused arp_table Banks 3
refused arp_table Banks 1
refused reduce_mm Rows 12
refused frame_fifo Depth 12
refused sockets N 12
refused job_table Ranks 12
refused expmax Lanes 12
refused tile LaneBytes 12
refused tile LaneBytes 4
refused tile LaneBytes 256
refused beat_words LaneBytes 128
taken tile LaneBytes 16
refused sum_room Ranks 256
taken sum_room Ranks 128
refused sum_room Sum4 12
refused sum_room Sum4 22
refused sum_room Sum 40
refused sum_room Narrow 14
taken sum_room Narrow 15
taken sum_room Sum 47
END
echo "$n modules, $bad not clean"

# Icarus 11 computes some legal expressions wrong, which compiling cannot show.
if [ -n "$have_i" ]; then
    said=$(iverilog -g2012 -y "$folder" -y "$folder/memory" -Y .sv -s cast_mm_icarus -o "$dir/cast_mm" "$B/rtl/nc_pkg.sv" \
        tests/rtl/cast_mm_icarus.sv >"$dir/log" 2>&1 && timeout 60 vvp "$dir/cast_mm" | tr '\n' ' ')
    [ "$said" = 'status 00000001 interrupt 1 ' ] || { echo "cast_mm in Icarus: $said" && bad=$((bad + 1)); }
fi

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
