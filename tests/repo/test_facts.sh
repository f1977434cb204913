#!/bin/bash
# test_facts.sh : compares numbers in READMEs with hls/*.def and the tables of bench; figures must
# name their settings.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

fact() { sed -n "s/^[A-Z_]*($2, *\([^,]*\), .*/\1/p" hls/*/"$1.def"; }

# says FILE LIST NAME TEXT: FILE must contain TEXT with the value for %
says() {
    local value
    value=$(fact "$2" "$3")
    [ -n "$value" ] || { echo "hls/$2.def: no $3" && bad=1 && return; }
    tr '\n' ' ' <"$1" | grep -qF -- "${4/\%/$value}" || { echo "$1: does not say '${4/\%/$value}' (hls/$2.def, $3)" && bad=1; }
}
says rtl/README.md card MHZ '3.09 ns, % MHz'
says rtl/README.md packet MAX_RANKS 'any that % ranks can make'
says rtl/README.md packet USUAL_BEATS 'for the % beats of an MTU of 1500'
says host/offload/README.md card BEATS 'as the cards take (%)'
says sim/README.md regs COUNTERS 'all % counters'

awk 'length > 100 {print FILENAME ":" FNR ": " length " columns"; bad = 1} END {exit bad}' hls/*/*.def || bad=1
[ "$(grep -c '^COUNTER(' hls/card/regs.def)" = "$(fact regs COUNTERS)" ] || { echo "hls/card/regs.def: not $(fact regs COUNTERS) counters" && bad=1; }

tags=$(sed -n 's/^enum { NC_TAGS = \([0-9]*\) };/\1/p' host/include/narrowcast.h)
grep -q "^N_TAGS = $tags  # NC_TAGS" host/python/narrowcast/_gloo.py || { echo "host/python/narrowcast/_gloo.py: N_TAGS must be $tags" && bad=1; }

# The host refuses GPU libraries with another interface.
interface=$(cat device/*/dev*.h hls/nn/{layer,optimisers,view}.h hls/nn/{layers,optimisers}.def hls/arith/{rules,level_lists,relative_lists}.h |
    sed '/DEV_VERSION = /d' | perl -0pe 's{/\*.*?\*/}{}gs' | tr -d ' \n' | cksum)
interface=$((${interface% *} % 1000000))
grep -q "DEV_VERSION = $interface }" device/run/dev.h || { echo "device/run/dev.h: the interface has changed: DEV_VERSION must be $interface" && bad=1; }

says_text() { tr '\n' ' ' <"$1" | grep -qF -- "$2" || { echo "$1: does not say '$2'" && bad=1; }; }

# settings FILE SECTION: items and rows with 4 bits must name the result format, those with a card
# its port's speed; for a row, also its table's heading may
settings() {
    awk -v section="$2" '
        function judge() {
            if (item ~ /e3m0|4 bits/ && item !~ /result/) { print "no format of results: " substr(item, 1, 90); bad = 1 }
            if (item ~ /through (a|the) (simulated )?card/ && item !~ /port has no limit|not rate-limited/) { print "no speed of the port of the card: " substr(item, 1, 90); bad = 1 }
            item = ""
        }
        /^#/ { judge(); on = index($0, section) > 0; found = found || on }
        /^- |^$|^\|/ { judge() }
        !/^\|/ { heading = "" }
        on { item = item " " heading " " $0 }
        /^\|/ && !heading { heading = $0 }
        END { judge(); if (!found) print "no such section"; exit bad || !found }' "$1" || { echo "$1: $2: figures without their setting" && bad=1; }
}
settings README.md 'Savings'
settings bench/README.md 'In short'
for said in 'those of e3m0 in e4m3' 'Sums of e3m0 and e1m2 travel back in e4m3'; do says_text bench/codec_accuracy/README.md "$said"; done
says_text bench/allreduce/README.md 'the card, in plain C, has a port without limit in all rows'
says_text bench/allreduce/README.md 'e3m0: sums travel back in e4m3'
says_text bench/pure_fp16/README.md 'with sums inside operations in fp32, is within 0.7 points of fp32'

[ -d bench/data ] || { echo 'skip  figures of raw results: no bench/data (make dist leaves it out)' && exit $bad; }
# lost ROW NAME: prints the share of the accuracy above chance that batches of 4096 lose, relative
# to 256
lost() { awk -v row="fp32,$1," '$1 == row 256 { small = 100 * $3 - 10 } $1 == row 4096 { large = 100 * $3 - 10 }
    END { printf "%s %.0f %% of its %.0f", "'"$2"'", 100 * (1 - large / small), small }' bench/data/pure-batches.tsv; }
says_text bench/pure_fp16/README.md "$(lost sgd 'by SGD has lost') points"
says_text bench/pure_fp16/README.md "$(lost lars 'by LARS')."

# gap TABLE ROW TIMES: prints the distance of the row's mean from fp32's
gap() { awk -v row="$2" -v times="$3" '$1 == "fp32" { base += $3; m++ } $1 == row { sum += $3; n++ }
    END { gap = times * (sum / n - base / m); printf "%.2f", gap < 0 ? -gap : gap }' "bench/data/$1.tsv"; }
says_text bench/sequences/README.md "qsgd:2 is $(gap an4 qsgd:2 100) points worse than fp32"
says_text bench/sequences/README.md "onebit is $(gap an4 onebit 100) points worse"
says_text bench/sequences/README.md "They lose $(gap text qsgd:2 1) and $(gap text onebit 1) bits"
says_text bench/codec_accuracy/README.md \
    "onebit:64 is $(gap resnet8 onebit:64 100) points below in resnet8 and $(gap resnet20 onebit:64 100) in resnet20"

exit $bad
