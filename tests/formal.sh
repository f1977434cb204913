#!/bin/sh
# formal.sh : proves the properties of rtl/ (`ifdef FORMAL`) with yosys; prints one line per proof.
# Exit 0: all proven, 1: one is not, 2: no such module, 77: no yosys.
# usage: formal.sh [quick] [MODULE...]   all lines of rtl/check/formal.list, or these modules';
#                                        quick: without the lines marked `long`
# A line: MODULE sat|any DEPTH [PARAM=VALUE...] [cut=MODULE...] [long]
#   sat    k-induction by yosys' own solver; DEPTH: clocks of an induction step
#   any    no induction: properties hold in clock DEPTH after any state in clock 1; DEPTH 0: no
#          clocks
#   cut    outputs of these submodules may have any value in every clock
# Other modules come from rtl/, rtl/memory/ and rtl/shell/; FORMAL is defined only for the module
# itself, which must have assertions. Needs $B/rtl/nc_pkg.sv. A proof has 600 seconds.
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
limit=600
if ! command -v yosys >/dev/null 2>&1; then
    echo "skip: no yosys"
    exit 77
fi
mkdir -p "$B/formal" || exit 1

steps() {
    [ "$1" -eq 0 ] || echo "-seq $1 -prove-skip $(($1 - 1))"
}

# prove MODULE ENGINE DEPTH OPTIONS...
prove() {
    module=$1 engine=$2 depth=$3 params='' cuts=''
    shift 3
    for option; do
        case $option in
        cut=*) cuts="$cuts cutpoint */t:*${option#cut=}*;" ;;
        long) ;;
        *=*) params="$params chparam -set $(echo "$option" | tr '=' ' ') $module;" ;;
        *) echo "formal.list: $module: what is '$option'?" && return 1 ;;
        esac
    done
    for source in "rtl/$module.sv" "rtl/memory/$module.sv" "rtl/shell/$module.sv" "rtl/check/$module.sv"; do [ ! -e "$source" ] || break; done
    read="read_verilog -sv $B/rtl/nc_pkg.sv; read_verilog -sv -formal -D FORMAL $source;
        $params hierarchy -libdir rtl -libdir rtl/memory -libdir rtl/shell -top $module; proc; $cuts prep -flatten; async2sync;
        select -assert-min 1 t:\$assert; select -clear"
    case $engine in
    any)
        timeout "$limit" yosys -q -p "$read; memory_map; opt -full; sat $(steps "$depth") -prove-asserts -set-assumes -verify" 2>&1
        ;;
    sat)
        timeout "$limit" yosys -q -p "$read; memory_map; opt -full; sat -prove-asserts -set-assumes -tempinduct -seq 1 -initsteps $((depth - 1)) -maxsteps $depth -verify" 2>&1
        ;;
    *) echo "formal.list: $module: no engine '$engine'" && return 1 ;;
    esac
}

quick=
[ "${1-}" = quick ] && quick=quick && shift
proven=0 bad=0
sed 's/ *#.*//; /^$/d' rtl/check/formal.list >"$B/formal/lines"
for module; do
    grep -q "^$module " "$B/formal/lines" || { echo "formal.sh: '$module': must be a module of rtl/check/formal.list" >&2 && exit 2; }
done
while read -r module options; do
    case " $* " in "  " | *" $module "*) ;; *) continue ;; esac
    case $quick/$options/ in quick/*' long/'*) continue ;; esac
    label=$(echo "$module $options" | tr -c 'A-Za-z0-9\n' '-')
    start=$(date +%s)
    # shellcheck disable=SC2086  # a list of words
    if prove "$module" $options >"$B/formal/$label.log" </dev/null; then
        proven=$((proven + 1)) && echo "proven $module ($options), $(($(date +%s) - start)) s"
    else
        bad=$((bad + 1)) && echo "NOT PROVEN $module ($options): see $B/formal/$label.log"
    fi
done <"$B/formal/lines"
echo "$proven proven, $bad not"
[ "$bad" -eq 0 ] && [ "$proven" -gt 0 ]
