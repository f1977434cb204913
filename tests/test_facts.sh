#!/bin/bash
# test_facts.sh : READMEs say the numbers of hls/*.def, and no list has a line beyond 100 columns.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0

# fact LIST NAME: its value
fact() { sed -n "s/^[A-Z_]*($2, *\([^,]*\), .*/\1/p" "hls/$1.def"; }

# says FILE LIST NAME TEXT: the file has the text, % being the value
says() {
    local value
    value=$(fact "$2" "$3")
    [ -n "$value" ] || { echo "hls/$2.def: no $3" && bad=1 && return; }
    tr '\n' ' ' <"$1" | grep -qF -- "${4/\%/$value}" || { echo "$1: does not say '${4/\%/$value}' (hls/$2.def, $3)" && bad=1; }
}
says README.md card MHZ 'ms at % MHz, the estimate'
says rtl/README.md card MHZ '3.09 ns, % MHz'
says rtl/README.md card SUM_BITS 'added to % bits and two flags'
says rtl/README.md card SUM_BITS '| % bits to a code'
says rtl/README.md packet MAX_RANKS 'any that % ranks can make'
says rtl/README.md packet USUAL_BEATS 'for the % beats of an MTU of 1500'
says host/offload/README.md card BEATS 'as the cards take (%)'
says sim/README.md regs COUNTERS 'all % counters'

awk 'length > 100 {print FILENAME ":" FNR ": " length " columns"; bad = 1} END {exit bad}' hls/*.def || bad=1
[ "$(grep -c '^COUNTER(' hls/regs.def)" = "$(fact regs COUNTERS)" ] || { echo "hls/regs.def: not $(fact regs COUNTERS) counters" && bad=1; }
exit $bad
