#!/bin/sh
# test_synth.sh : compares rtl/check/sta.py with hand-computed paths; tests/synth.sh passes and
# fails where it should. With `long` also a module of rtl/check/synth.list.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$B/synth_test
for tool in yosys python3; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "skip: no $tool"
        exit 77
    fi
done
mkdir -p "$dir" || exit 1
make -s B="$B" "$B/rtl/nc_pkg.sv" || exit 1
bad=0

library=xilinx/cells_sim.v n_paths=0
# path NAME WANTED VERILOG: WANTED is LUT FF CARRY URAM BRAM LUTRAM ns; VERILOG uses cells of
# $library
path() {
    n_paths=$((n_paths + 1))
    echo "module t(input clk, input a, input b, output [16:0] y); $3 endmodule" >"$dir/$n_paths.v"
    echo "$n_paths|$2|$1" >>"$dir/wanted"
}
# paths: compares the paths so far; one yosys reads $library once
paths() {
    echo "read_verilog -lib +/$library; design -save cells" >"$dir/paths.ys"
    while IFS="|" read -r i _; do
        echo "design -load cells; read_verilog $dir/$i.v; hierarchy -top t; blackbox =A:whitebox; write_json $dir/$i.json"
    done <"$dir/wanted" >>"$dir/paths.ys"
    yosys -q "$dir/paths.ys" || exit 1
    while IFS="|" read -r i wanted name; do
        got=$(python3 rtl/check/sta.py "$dir/$i.json" t 2>&1)
        [ "$got" = "$wanted" ] || { echo "$name: '$got', not '$wanted'" && bad=$((bad + 1)); }
    done <"$dir/wanted"
    rm "$dir/wanted"
}
rm -f "$dir/wanted"
ff() { echo "FDRE $1(.C(clk), .CE(1'b1), .R(1'b0), .D($2), .Q($3));"; }
# register 0.08, net 0.25, LUT 0.10, net 0.25, setup 0.04
path 'one LUT' '1 2 0 0 0 0 0.72' "wire q, d; $(ff f a q) LUT1 #(.INIT(2'b01)) l(.I0(q), .O(d)); $(ff g d 'y[0]')"
# the same, and one doubling of 16 loads on the second net
path '17 loads' '1 18 0 0 0 0 0.77' "wire q, d; $(ff f a q) LUT1 #(.INIT(2'b01)) l(.I0(q), .O(d));
    $(for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do ff "g$i" d "y[$i]"; done)"
# register and LUT 0.43, into the chain 0.05, four bits 0.06, out of it 0.06, net and setup 0.29
path 'two CARRY4' '1 2 2 0 0 0 0.89' "wire q, s; wire [3:0] c, o; $(ff f a q) LUT1 #(.INIT(2'b01)) l(.I0(q), .O(s));
    CARRY4 k(.CI(1'b0), .CYINIT(1'b0), .DI(4'd0), .S({3'd0, s}), .CO(c));
    CARRY4 m(.CI(c[3]), .CYINIT(1'b0), .DI(4'd0), .S(4'd0), .O(o)); $(ff g 'o[0]' 'y[0]')"
# stored data 0.60, net and setup 0.29; the path to the write address (0.43) does not count
path 'LUT RAM' '3 2 0 0 0 2 0.89' "wire q, w, d; $(ff f a q) LUT1 #(.INIT(2'b01)) l(.I0(q), .O(w));
    RAM64X1D r(.WCLK(clk), .WE(1'b1), .D(1'b0), .A0(w), .A1(1'b0), .A2(1'b0), .A3(1'b0), .A4(1'b0), .A5(1'b0),
        .DPRA0(q), .DPRA1(1'b0), .DPRA2(1'b0), .DPRA3(1'b0), .DPRA4(1'b0), .DPRA5(1'b0), .DPO(d)); $(ff g d 'y[0]')"
path 'two LUT6' '2 2 0 0 0 0 1.07' "wire q, d, e; $(ff f a q) LUT6 #(.INIT(64'd6)) l(.I0(q), .I1(a), .I2(b), .I3(a), .I4(b), .I5(q), .O(d));
    LUT6 #(.INIT(64'd6)) m(.I0(b), .I1(q), .I2(a), .I3(b), .I4(d), .I5(a), .O(e)); $(ff g e 'y[0]')"
# ports are registers outside: 0.08 + 0.25 + 0.10 + 0.25 + 0.04
path 'ports' '1 0 0 0 0 0 0.72' 'LUT2 #(.INIT(4'"'"'h6)) l(.I0(a), .I1(b), .O(y[0]));'
path 'a loop' 'sta.py: the logic has a loop' "wire c, d; LUT1 #(.INIT(2'b01)) l(.I0(c), .O(d)); LUT1 #(.INIT(2'b10)) m(.I0(d), .O(c)); assign y[0] = c;"
paths
# the same for an ECP5: register 0.31, net 0.50, LUT 0.14, in the slice 0.11
library='ecp5/cells_sim.v +/ecp5/cells_bb.v'
e5() { echo "TRELLIS_FF $1(.CLK(clk), .LSR(1'b0), .CE(1'b1), .DI($2), .Q($3));"; }
path 'ECP5: one LUT' '1 2 0 0 0 0 1.06' "wire q, d; $(e5 f a q) LUT4 l(.A(q), .B(1'b0), .C(1'b0), .D(1'b0), .Z(d)); $(e5 g d 'y[0]')"
# register and net 0.81, LUT and chain 0.28, one bit of the next 0.02, out of it 0.26, net 0.50
# (the port is a second load)
path 'ECP5: two CCU2C' '4 2 2 0 0 0 1.87' "wire q, c; $(e5 f a q)
    CCU2C k(.CIN(1'b0), .A0(1'b0), .B0(1'b0), .C0(1'b0), .D0(1'b0), .A1(q), .B1(1'b0), .C1(1'b0), .D1(1'b0), .COUT(c));
    CCU2C m(.CIN(c), .A0(1'b0), .B0(1'b0), .C0(1'b0), .D0(1'b0), .A1(1'b0), .B1(1'b0), .C1(1'b0), .D1(1'b0), .S1(y[1]));
    $(e5 g 'y[1]' 'y[0]')"
# register and net 0.81, read 0.14, net 0.50
path 'ECP5: LUT RAM' '4 2 0 0 0 4 1.45' "wire q; wire [3:0] d; $(e5 f a q)
    TRELLIS_DPR16X4 r(.WCK(clk), .WRE(1'b1), .DI(4'd0), .WAD({3'd0, a}), .RAD({3'd0, q}), .DO(d)); $(e5 g 'd[0]' 'y[0]')"

paths

synth() {
    wanted=$1 what=$2
    shift 2
    printf '%s\n' "$@" >"$dir/list"
    SYNTH_LIST=$dir/list B=$dir tests/synth.sh >"$dir/log" 2>&1
    rc=$?
    [ $rc -eq "$wanted" ] || { echo "$what: exit $rc, not $wanted" && sed 's/^/    /' "$dir/log" && bad=$((bad + 1)); }
}
mkdir -p "$dir/rtl" && cp "$B/rtl/nc_pkg.sv" "$dir/rtl/" || exit 1
synth 1 'no such module' 'no_such_module lut=1 ff=1 ns=1'
synth 0 'within all limits' '# a comment' 'skid W=4 lut=100 ff=100 ns=3.0 lut4=100'
grep -q '^skid W=4 .* 100$' "$dir/log" || { echo "no line of the table" && bad=$((bad + 1)); }
if [ "${1-}" = long ]; then
    B=$dir tests/synth.sh skid >"$dir/log" 2>&1 || { echo 'the list of rtl/check' && cat "$dir/log" && bad=$((bad + 1)); }
fi
# From here on the netlists of this run stand for yosys.
mkdir -p "$dir/bin" && mv "$dir/synth/skid-W-4.json" "$dir/bin/xilinx.json" && mv "$dir/synth/skid-W-4-ecp5.json" "$dir/bin/ecp5.json" || exit 1
cat >"$dir/bin/yosys" <<'END'
#!/bin/sh
case $3 in *synth_ecp5*) family=ecp5 ;; *) family=xilinx ;; esac
cp "$(dirname "$0")/$family.json" "$(echo "$3" | sed -n 's/.*write_json \([^ ]*\).*/\1/p')"
END
chmod +x "$dir/bin/yosys"
PATH=$(realpath "$dir/bin"):$PATH
synth 0 'without an ECP5' 'skid W=4 lut=100 ff=100 ns=3.0'
grep -q '^skid W=4 .* -$' "$dir/log" || { echo "LUT4s without a limit for them" && bad=$((bad + 1)); }
synth 1 'too many LUTs' 'skid W=4 lut=3 ff=100 ns=3.0'
synth 1 'too many FFs' 'skid W=4 lut=100 ff=9 ns=3.0'
synth 1 'too slow' 'skid W=4 lut=100 ff=100 ns=0.6'
synth 1 'too many LUT4s' 'skid W=4 lut=100 ff=100 ns=3.0 lut4=3'
synth 1 'a limit left out' 'skid lut=100 ff=100'
synth 1 'an unknown word' 'skid W=4 fast lut=100 ff=100 ns=3.0'
synth 1 'nothing to do' '# nothing'
[ "$bad" -eq 0 ]
