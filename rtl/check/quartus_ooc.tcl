# quartus_ooc.tcl : area and timing of one module by Quartus Prime Pro, its ports without pins. It
# was not run here.
# usage: make build/rtl/nc_pkg.sv && quartus_sh -t rtl/check/quartus_ooc.tcl MODULE [FAMILY [NS]]
# NS: the clock's period. The project and its reports are build/synth/MODULE-quartus.
package require ::quartus::project
package require ::quartus::flow
set argv $quartus(args)
lassign [concat $argv [lrange {tile {Agilex 7} 3.1} [llength $argv] 2]] module family ns
set top [pwd]
file mkdir build/synth/$module-quartus
cd build/synth/$module-quartus
set constraints [open clock.sdc w]
puts $constraints "create_clock -name clk -period $ns \[get_ports {clk_i}\]"
close $constraints
project_new -overwrite $module
set_global_assignment -name FAMILY $family
set_global_assignment -name TOP_LEVEL_ENTITY $module
foreach source [concat $top/build/rtl/nc_pkg.sv [lsort [glob $top/rtl/*.sv $top/rtl/memory/*.sv]]] {
    set_global_assignment -name SYSTEMVERILOG_FILE $source
}
set_global_assignment -name SDC_FILE clock.sdc
set_instance_assignment -name VIRTUAL_PIN ON -to *
set_instance_assignment -name VIRTUAL_PIN OFF -to clk_i
execute_flow -compile
project_close
