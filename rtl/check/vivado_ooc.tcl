# vivado_ooc.tcl : area and timing of one module by Vivado, out of context. It was not run here.
# usage: make build/rtl/nc_pkg.sv && vivado -mode batch -source rtl/check/vivado_ooc.tcl -tclargs MODULE [PART [NS]]
# NS: the clock's period. Reports go to build/synth/MODULE.*.rpt.
lassign [concat $argv [lrange {tile xcu280-fsvh2892-2L-e 3.1} [llength $argv] 2]] module part ns
file mkdir build/synth
read_verilog -sv [concat build/rtl/nc_pkg.sv [lsort [glob rtl/*.sv rtl/memory/*.sv]]]
synth_design -mode out_of_context -top $module -part $part
create_clock -name clk -period $ns [get_ports -quiet {clk_i ap_clk}]
opt_design
place_design
route_design
report_utilization -file build/synth/$module.utilization.rpt
report_timing_summary -file build/synth/$module.timing.rpt
