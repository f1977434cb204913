#!/bin/sh
# synth.sh : compares area and delay of modules of rtl/ with the limits of a list, for an
# UltraScale+ FPGA, by a delay model (rtl/README.md), and for some modules an ECP5. yosys makes a
# flat netlist; rtl/check/sta.py counts its cells and finds the longest path. Exit 0: all within
# their limits; 1: one exceeds them or was not built; 77: no yosys.
# usage: synth.sh [MODULE...]   all lines of rtl/check/synth.list ($SYNTH_LIST), or these modules'
# A line of the list: MODULE [PARAM=VALUE...] lut=N ff=N ns=N [lut4=N]. The numbers are limits; lut4
# is for an ECP5. Needs $B/rtl/nc_pkg.sv; netlists and logs stay in $B/synth.
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
list=${SYNTH_LIST:-rtl/check/synth.list}
for tool in yosys python3; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "skip: no $tool"
        exit 77
    fi
done
mkdir -p "$B/synth" || exit 1

# synth MODULE OPTIONS...: sets $cost (output of sta.py), the limits $lut, $ff, $ns and $lut4, and
# $n_lut4 (LUTs of an ECP5)
synth() {
    module=$1 params='' lut='' ff='' ns='' lut4='' n_lut4=''
    shift
    for file in "rtl/$module.sv" "rtl/memory/$module.sv" "rtl/shell/$module.sv"; do [ ! -e "$file" ] || break; done
    for option; do
        case $option in
        lut=*) lut=${option#lut=} ;;
        ff=*) ff=${option#ff=} ;;
        ns=*) ns=${option#ns=} ;;
        lut4=*) lut4=${option#lut4=} ;;
        *=*) params="$params chparam -set $(echo "$option" | tr '=' ' ') $module;" ;;
        *) echo "synth.list: $module: what is '$option'?" >&2 && return 1 ;;
        esac
    done
    if [ -z "$lut" ] || [ -z "$ff" ] || [ -z "$ns" ]; then
        echo "synth.list: $module: needs lut=, ff= and ns=" >&2
        return 1
    fi
    yosys -q -p "read_verilog -sv $B/rtl/nc_pkg.sv $file; $params hierarchy -libdir rtl -libdir rtl/memory -libdir rtl/shell -top $module;
        synth_xilinx -family xcup -flatten -uram -noiopad -nowidelut; write_json $B/synth/$label.json" >"$B/synth/$label.log" 2>&1 &&
        cost=$(python3 rtl/check/sta.py "$B/synth/$label.json" "$module" 2>>"$B/synth/$label.log") || return 1
    [ -z "$lut4" ] && return
    yosys -q -p "read_verilog -sv $B/rtl/nc_pkg.sv $file; $params hierarchy -libdir rtl -libdir rtl/memory -libdir rtl/shell -top $module;
        synth_ecp5 -nowidelut -top $module; write_json $B/synth/$label-ecp5.json" >"$B/synth/$label-ecp5.log" 2>&1 &&
        n_lut4=$(python3 rtl/check/sta.py "$B/synth/$label-ecp5.json" "$module" 2>>"$B/synth/$label-ecp5.log") || return 1
    n_lut4=${n_lut4%% *}
}

printf '%-28s %6s %6s %6s %6s %5s %5s %5s %6s %5s %5s %6s %6s\n' \
    module LUT most FF most CARRY URAM BRAM LUTRAM ns most LUT4 most
within=0 bad=0
lines=$(sed 's/ *#.*//; /^$/d' "$list") || exit 1
while read -r module options; do
    case " $* " in "  " | *" $module "*) ;; *) continue ;; esac
    [ -n "$module" ] || continue
    name=$(echo "$module $options" | sed 's/ [a-z][a-z0-9]*=[^ ]*//g')
    label=$(echo "$name" | tr -c 'A-Za-z0-9_\n' '-')
    # shellcheck disable=SC2086  # a list of words
    if ! synth "$module" $options </dev/null; then
        bad=$((bad + 1))
        echo "NOT BUILT $name: see $B/synth/$label.log" >&2
        continue
    fi
    read -r n_lut n_ff n_carry n_uram n_bram n_lutram n_ns <<END
$cost
END
    over=$(echo "$n_lut $lut $n_ff $ff $n_ns $ns ${n_lut4:-0} ${lut4:-0}" | awk '$1 > $2 || $3 > $4 || $5 > $6 || $7 > $8 { print " OVER" }')
    if [ -z "$over" ]; then within=$((within + 1)); else bad=$((bad + 1)); fi
    printf '%-28s %6s %6s %6s %6s %5s %5s %5s %6s %5s %5s %6s %6s%s\n' \
        "$name" "$n_lut" "$lut" "$n_ff" "$ff" "$n_carry" "$n_uram" "$n_bram" "$n_lutram" "$n_ns" "$ns" "${n_lut4:--}" "${lut4:--}" "$over"
done <<LINES
$lines
LINES
echo "$within within their limits, $bad not"
[ "$bad" -eq 0 ] && [ "$within" -gt 0 ]
