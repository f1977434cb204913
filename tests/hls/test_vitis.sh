#!/bin/bash
# test_vitis.sh : runs hls/core/vitis with stand-ins for Vitis' tools. Names must agree in
# u55c.cfg, kernel.xml, the RTL, the pragmas and hls/card/kernels.def. The real tools may still
# reject the input.
# shellcheck disable=SC2016 # what stand-ins do is not for this shell
set -eu
. "$(dirname "$0")/../lib/script.sh"
cd "$here/.."
tree=$PWD
cfg=hls/core/vitis/u55c.cfg
make -s B="$B" "$B/rtl/nc_pkg.sv"

names=$(sed -n 's/^KERNEL([A-Z_]*, *\([a-z_]*\),.*/\1/p' hls/card/kernels.def)
[ "$(wc -w <<<"$names")" -eq 5 ] || fail "hls/card/kernels.def: kernels are $names"
for name in $names; do
    grep -qx "nk=$name:1:${name}_1" $cfg || fail "$cfg: no nk=$name:1:${name}_1"
done
sed -n 's/^nk=.*:1://p' $cfg | while read -r unit; do
    grep -q "^slr=$unit:SLR[012]$" $cfg || echo "$unit"
done | grep . && fail "$cfg: no slr of these"
for end in $(sed -n 's/^\(stream_connect\|sp\|slr\)=//p' $cfg | tr ':' '\n' | grep -v 'HBM\|^SLR\|^[01]\]'); do
    grep -q "^nk=.*:1:${end%%.*}$" $cfg || fail "$cfg: there is no unit ${end%%.*}"
done
for end in $(sed -n 's/^stream_connect=//p' $cfg | tr ':' '\n' | sed -n 's/^nic_core_1\.//p'); do
    grep -q " ${end}_tdest\b" rtl/nic_kernel.sv || fail "rtl/nic_kernel.sv has no stream $end"
done
# Exactly the bundles of each function's pragmas are connected.
for pair in expmax:expmax quant:quant quant:unquant; do
    function=${pair#*:}_kernel
    sed -n "/^void $function(/,/^}/p" "hls/core/${pair%:*}.c" | grep -o 'bundle = [a-z0-9]*' | sed "s/bundle = /sp=${function}_1.m_axi_/; s/\$/:HBM[0:1]/" | sort -u >"$dir/pragmas"
    grep "^sp=${function}_1\." $cfg | sort | cmp -s - "$dir/pragmas" || fail "$cfg: sp of $function is not: $(cat "$dir/pragmas")"
    { sed -n "/^void $function(/,/)/p" "hls/core/${pair%:*}.c" | tr '\n' ' ' | sed 's/).*//; s/.*(//; s/\[[^]]*\]//g' && echo; } | tr ',' '\n' |
        sed '/^$/d; s/.*[ *]\([a-z_]*\) *$/\1/' >"$dir/arguments"
    upper=$(tr '[:lower:]' '[:upper:]' <<<"${pair#*:}")
    sed -n "s/^KERNEL_ARG($upper, *[0-9]*, \([a-z_]*\),.*/\1/p" hls/card/kernels.def | cmp -s - "$dir/arguments" ||
        fail "hls/card/kernels.def: the arguments of $function are not: $(tr '\n' ' ' <"$dir/arguments")"
done
# Vitis HLS uses 12 bytes for an address and 8 for a value, from 0x10 on.
sed -n 's/^KERNEL_ARG(\([A-Z_]*\), *[0-9]*, [a-z_]*, *0x\([0-9a-f]*\), *\([A-Z]*\),.*/\1 \2 \3/p' hls/card/kernels.def >"$dir/offsets"
while read -r kernel offset kind; do
    [ "$kernel" = "${last-}" ] || at=16
    [ "$at" -eq $((16#$offset)) ] || fail "hls/card/kernels.def: an argument of $kernel is at 0x$offset, not at $at"
    last=$kernel
    if [ "$kind" = MEMORY ]; then at=$((at + 12)); else at=$((at + 8)); fi
done <"$dir/offsets"
for pair in nic_core:nic_kernel reduce_mm:memory/mm_kernel; do
    "$B/narrowcast" xclbin --kernel-xml "${pair%:*}" >"$dir/xml"
    [ "$(grep -c '<port ' "$dir/xml")" -ge 2 ] || fail "kernel.xml of ${pair%:*} has no ports"
    sed -n 's/.*<port name="\([^"]*\)".*/\1/p' "$dir/xml" >"$dir/ports"
    while read -r port; do
        grep -q " ${port}_[a-z]*ready" "rtl/${pair#*:}.sv" || fail "rtl/${pair#*:}.sv has no bus $port"
    done <"$dir/ports"
done
grep -q "^sockets=$(sed -n 's/.*int Sockets *= \([0-9]*\),.*/\1/p' rtl/nic_kernel.sv) " hls/core/vitis/vitis.sh || fail "vitis.sh: not the sockets of nic_kernel"
for list in "$cfg" hls/core/vitis/vitis.sh hls/core/vitis/package_kernel.tcl hls/core/vitis/README.md; do
    grep -q 'NOT RUN' "$list" || fail "$list does not say that it was not run"
done

# from a relative build folder
vitis() { PATH=$dir/bin:$PATH B=$(realpath --relative-to=. "$B") timeout 60 hls/core/vitis/vitis.sh "$@" >"$dir/said" 2>&1; }
refused() {
    words=$1
    shift
    if vitis "$@"; then fail "was taken: $*"; fi
    if [ "$(wc -l <"$dir/said")" -ne 1 ] || ! grep -qF -- "$words" "$dir/said"; then fail "'$words' is not what it says: $(cat "$dir/said")"; fi
}
vnx=$dir/vnx layers=$dir/vnx/NetLayers/100G-fpga-network-stack-core
refused 'which clone'
refused 'no clone of' "$dir"
mkdir -p "$vnx/Ethernet" "$layers/synthesis_results_HBM" "$dir/bin"
touch "$vnx/Ethernet/post_sys_link.tcl"
rmdir "$layers/synthesis_results_HBM"
refused 'is empty: git submodule' "$vnx"
mkdir "$layers/synthesis_results_HBM"
if ! command -v v++ >/dev/null; then refused 'v++ is not there' "$vnx"; fi
cat >"$dir/bin/stand_in" <<'END'
#!/bin/bash
set -eu
name=${0##*/}
echo "$name $*" >>"$CALLS"
for word; do case $word in *.sv | /*.tcl | /*.xml | /*.cfg) [ -f "$word" ] || { echo "no $word" >&2; exit 1; } ;; esac; done
case $name in
make) shift; x=_x.xilinx_u55c_gen3x16_xdma_3_202210_1
    cd "$1"; mkdir -p $x; case $1 in */Ethernet) touch $x/cmac_0.xo ;; */NetLayers) touch $x/networklayer.xo ;; esac ;;
vivado) for word; do case $word in *.xo) touch "$word" ;; esac; done ;;
v++) while [ $# -gt 0 ]; do
        case $1 in
        --config) [ -f "$2" ] || exit 1; top=$(sed -n 's/^syn.top=//p' "$2"); file=$(sed -n 's/^syn.file=//p' "$2")
            [ -z "$file" ] || [ -f "$file" ] || { echo "no $file" >&2; exit 1; }
            [ -z "$file" ] || [ -f "$(sed -n 's/^syn.cflags=.*-I//p' "$2")/hls/arith/mf.h" ] || { echo "$2: no headers" >&2; exit 1; } ;;
        --work_dir) mkdir -p "$2"; touch "$2/$top.xo" ;;
        -o) cp "$LINKED" "$2" ;;
        esac
        shift
    done ;;
esac
END
chmod +x "$dir/bin/stand_in"
for tool in v++ vivado make; do ln -s stand_in "$dir/bin/$tool"; done
export CALLS=$dir/calls LINKED=$B/narrowcast.sim.xclbin
vitis "$vnx" "$dir/work" || fail "did not go through: $(cat "$dir/said")"
grep -q '^check  *a card of this version' "$dir/said" || fail "did not check what was made"
[ "$(grep -c '^vivado .* \(nic_kernel nic_core\|mm_kernel reduce_mm\) ' "$dir/calls")" -eq 2 ] || fail "did not package both: $(cat "$dir/calls")"
link=$(grep '^v++ -l ' "$dir/calls")
for object in cmac_0 networklayer $names; do
    grep -q "/$object\.xo\b" <<<"$link" || fail "does not link $object: $link"
done
for module in nic_kernel memory/mm_kernel nic_core memory/reduce_mm sockets; do
    grep -q "^vivado .* $tree/rtl/$module\.sv" "$dir/calls" || fail "vivado is not given $module.sv"
done
sed 's/reduce_mm:/reduce_nn:/' "$LINKED" >"$dir/other.xclbin"
LINKED=$dir/other.xclbin
if vitis "$vnx" "$dir/work2"; then fail "takes a card without reduce_mm"; fi
grep -q "no kernel 'reduce_mm'" "$dir/said" || fail "does not say that reduce_mm is missing: $(cat "$dir/said")"

if command -v tclsh >/dev/null; then
    cat >"$dir/try.tcl" <<'END'
proc unknown {args} { puts $args; return some }
set argv {part nic_kernel nic_core a.xml a.xo work a.sv b.sv}
set argc [llength $argv]
source [lindex $::env(SCRIPT) 0]
END
    SCRIPT=hls/core/vitis/package_kernel.tcl tclsh "$dir/try.tcl" >"$dir/tcl" 2>&1 || fail "package_kernel.tcl: $(tail -2 "$dir/tcl")"
    tail -1 "$dir/tcl" | grep -q '^package_xo -xo_path a.xo -kernel_name nic_core .* -kernel_xml a.xml$' || fail "package_kernel.tcl: $(tail -1 "$dir/tcl")"
    grep -qx 'add_files -norecurse {a.sv b.sv}' "$dir/tcl" || fail "package_kernel.tcl: files are lost"
else
    echo "skip: no tclsh for package_kernel.tcl"
fi
exit $bad
