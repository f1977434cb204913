# package_kernel.tcl : packages a SystemVerilog kernel as a Vitis object (.xo). Called by vitis.sh:
#   vivado -mode batch -source package_kernel.tcl \
#       -tclargs PART TOP KERNEL KERNEL.XML OUT.XO WORK FILE...
# TOP is the module, KERNEL its name in Vitis and XRT, FILE... its sources. NOT RUN: no Vivado was
# available.
if {$argc < 7} {
    puts stderr "package_kernel.tcl: PART TOP KERNEL KERNEL.XML OUT.XO WORK FILE..."
    exit 1
}
lassign $argv part top kernel xml xo work
set sources [lrange $argv 6 end]

create_project -force $kernel $work/$kernel.project -part $part
add_files -norecurse $sources
set_property top $top [current_fileset]
update_compile_order -fileset sources_1

ipx::package_project -root_dir $work/$kernel.ip -vendor narrowcast -library kernel -taxonomy /KernelIP -import_files
set core [ipx::current_core]
set_property name $kernel $core
set_property version 1.0 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
# hls/card/card.def defines the sizes of the card: a block design must not change them.
foreach parameter [ipx::get_user_parameters -of_objects $core] {
    ipx::remove_user_parameter [get_property NAME $parameter] $core
}

# Vivado finds buses by the names of their ports. All buses use ap_clk.
ipx::infer_bus_interface ap_clk xilinx.com:signal:clock_rtl:1.0 $core
ipx::infer_bus_interface ap_rst_n xilinx.com:signal:reset_rtl:1.0 $core
foreach bus {s_axi_control m_axi_gmem S_AXIS M_AXIS} {
    if {[llength [ipx::get_bus_interfaces $bus -of_objects $core]]} {
        ipx::associate_bus_interfaces -busif $bus -clock ap_clk $core
    }
}
ipx::associate_bus_interfaces -clock ap_clk -reset ap_rst_n $core

set_property supported_families {} $core
set_property auto_family_support_level level_2 $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project

file delete -force $xo
package_xo -xo_path $xo -kernel_name $kernel -ip_directory $work/$kernel.ip -kernel_xml $xml
