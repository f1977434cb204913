# formal.tcl : proves modules of this core with Yosys in FuseSoC's target formal, as tests/formal.sh
# does. MODULES, in the environment, names them. Their lines of formal.list are proven, except those
# marked `long`.
set modules [expr {[info exists env(MODULES)] ? $env(MODULES) : "skid fifo frame_fifo"}]
set package [glob src/*/nc_pkg.sv]
set folder [file dirname [glob src/*/nic_core.sv]]
set proven 0
foreach line [split [read [open formal.list]] \n] {
    set options [lassign [regsub {#.*} $line {}] module engine depth]
    if {$module ni $modules || "long" in $options} continue
    yosys design -reset
    yosys read_verilog -sv $package
    yosys read_verilog -sv -formal -D FORMAL $folder/$module.sv
    foreach option [lsearch -all -inline -not $options cut=*] {
        yosys chparam -set {*}[split $option =] $module
    }
    yosys hierarchy -libdir $folder -top $module
    yosys proc
    foreach option [lsearch -all -inline $options cut=*] {
        yosys cutpoint "*/t:*[string range $option 4 end]*"
    }
    yosys prep -flatten
    yosys async2sync
    yosys memory_map
    set last [expr {$depth - 1}]
    if {$engine eq "any"} {
        yosys opt -full
        yosys sat {*}[expr {$depth ? "-seq $depth -prove-skip $last" : ""}] -prove-asserts -set-assumes -verify
    } else {
        yosys sat -prove-asserts -set-assumes -tempinduct -seq 1 -initsteps $last -maxsteps $depth -verify
    }
    incr proven
}
if {!$proven} { error "formal.list has no line of: $modules" }
puts "$proven proven"
