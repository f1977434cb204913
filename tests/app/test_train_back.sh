#!/bin/bash
# test_train_back.sh : checks stats_back of `train --stats`.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

seq 1 3000 >text
common=(--device cpu --batch 8 --lr 0.02 --warmup 0 --schedule const --steps 3 --stats-every 2)
emulated() { "$n" emulate --ranks 2 "${common[@]}" "${@:2}" --stats "$1" >out 2>said || fail "${*:2}: $(tail -n 1 said)"; }

# wrong FILE LEAST LAYERS: prints the first inconsistency. LEAST: exponent of the format's smallest
# number. Expects, last to first, the layers with a watched output and a sum to pass back, except
# LAYERS, which read the input.
wrong() {
    awk -v least="$2" -v inputs="$3" '
        function value(key) { return match($0, "\"" key "\":[^],}]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "no " key }
        function word(key) { return match($0, "\"" key "\":\"[^\"]*") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "no " key }
        function number(key, v) { v = value(key); if (v !~ /^[0-9.e+-]+$/) odd(key " is " v); return v + 0 }
        function odd(why) { if (!n_odd++) print why ": " $0 }
        function far(a, b) { return a - b > 1e-7 * b || b - a > 1e-7 * b }
        /"kind":"stats_back"/ {
            step = value("step")
            if (number("index") != n_layers[step]++) odd("not the next index")
            layer = word("layer"); sub(/(\.in)?\.weight$/, "", layer); order[step] = order[step] " " layer
            n = number("n"); first = number("first"); given = number("given"); own = number("own"); carried = number("carried")
            for (lifted = 0; 2 ^ lifted < carried; lifted++); for (; 2 ^ lifted > carried; lifted--);
            if (2 ^ lifted != carried || given * own != carried) odd("scales")
            if (!match($0, /"bins":\[[0-9,]*/)) odd("no bins")
            n_bins = split(substr($0, RSTART + 8, RLENGTH - 8), bin, ",")
            all = lost = lost_unscaled = 0; small = ""
            for (i = 1; i <= n_bins; i++) {
                all += bin[i]
                if (first + i - 1 < least) lost_unscaled += bin[i]
                if (first + i - 1 + lifted < least) lost += bin[i]
            }
            for (i = below = 0; below * 100 < all; ) below += bin[++i]
            if (n < 1 || far(all + n * (number("zero") + number("not_finite")), n)) odd("bins add up to " all)
            if (all > 0) {
                if (far(number("underflow_unscaled") * all, lost_unscaled)) odd("underflow without scales is " lost_unscaled / all)
                if (far(number("underflow") * all, lost)) odd("underflow is " lost / all)
                if (carried >= 1 && number("underflow") > number("underflow_unscaled")) odd("a scale that loses more")
                if (number("wanted") != 2 ^ -(first + i - 1)) odd("wanted is " 2 ^ -(first + i - 1))
            }
        }
        /"kind":"stats_output"/ && / *"type":"(conv|linear|lstm)"/ {
            step = value("step"); node = word("node")
            if (index(" " inputs " ", " " node " ") == 0) want[step] = " " node want[step]
        }
        END {
            $0 = "of " FILENAME
            for (step in want) { steps++; if (order[step] != want[step]) odd("layers of step " step ":" order[step] ", wanted" want[step]) }
            if (steps != 2) odd(steps + 0 " steps")
        }' "$1"
}
told() {
    [ -z "$(wrong "$1" "$2" "$3")" ] || fail "$4: $(wrong "$1" "$2" "$3")"
}
largest() { sed -n "s/.*stats_back.*\"$2\":\\([0-9.e-]*\\).*/\\1/p" "$1" | sort -g | tail -n 1; }

images='--data synthetic:80,3'
small="$images --model resnet8 --width 0.25 --block swap:0.003" # gradients of its branches underflow
pure="--precision fp16-pure --loss-scale"
# shellcheck disable=SC2086
{
    emulated adaptive $small $pure adaptive
    emulated none $small $pure none
    emulated constant $small $pure 64
    emulated quant $small --quant error=e4m7,overflow=inf --loss-scale adaptive
    emulated plain $small
    emulated chain $images --model lenet5 $pure adaptive:1e-6
    emulated heads $images --model googlenet --width 0.05 --batch 4 $pure adaptive
    emulated lstm --data text:text --model charlstm --width 0.1 $pure adaptive:1e-6
    emulated lstm32 --data text:text --model charlstm --width 0.1
}
for file in adaptive none constant plain; do told $file -24 stem.conv "$file"; done
told quant -13 stem.conv 'e4m7'
told chain -24 conv1 'a chain'
told heads -24 conv1.3x3 'many heads'
for file in lstm lstm32; do told $file -24 lstm1 "$file"; done

[ "$(largest adaptive own)" -gt 1 ] || fail "adaptive scales stay 1"
awk -v a="$(largest adaptive underflow)" -v b="$(largest adaptive underflow_unscaled)" 'BEGIN { exit !(b > 0.01 && a < b / 4) }' ||
    fail "adaptive scales leave $(largest adaptive underflow) of $(largest adaptive underflow_unscaled)"
grep stats_back constant | grep -v '"given":64,"own":1,"carried":64,' && fail "one scale of 64 is not what all carry"
grep -h stats_back none plain | grep -v '"given":1,"own":1,"carried":1,' && fail "without scales some are carried"
# in a chain, each layer gets its successor's scale
awk '/stats_back/ { match($0, /"given":[0-9.e+-]*/); g = substr($0, RSTART + 8, RLENGTH - 8); match($0, /"carried":[0-9.e+-]*/)
        if (/"index":0,/) c = 1; if (g != c) exit odd = 1; c = substr($0, RSTART + 10, RLENGTH - 10); n += c > 1 } END { exit odd || n < 4 }' chain ||
    fail "a chain: $(grep stats_back chain)"

# shellcheck disable=SC2086
mpirun -np 2 "$n" train "${common[@]}" $small $pure adaptive --stats real >out 2>said || fail "real ranks: $(tail -n 1 said)"
cmp <(tail -n +2 real) <(tail -n +2 adaptive) || fail "real ranks say something else"

for kind in underflow-back scale-back; do
    "$n" plot $kind real >table 2>said || fail "$kind: $(cat said)"
    [ "$(tail -n +2 table | awk '{ printf " %s", $1 }')" = "$(sed -n '/"step":1,/s/.*stats_back.*"layer":"\([^"]*\).*/\1/p' real | awk '{ printf " %s", $1 }')" ] ||
        fail "$kind: the layers of $(cat table)"
    [ -z "$(command -v gnuplot)" ] || { "$n" plot $kind real --out $kind.svg 2>said && [ ! -s said ] && grep -q '<svg' $kind.svg; } || fail "$kind: $(cat said)"
done
"$n" plot underflow-back real >table
awk -v a="$(largest real underflow_unscaled)" 'NR > 1 { for (i = 2; i <= NF; i++) if ($i > most) most = $i } END { exit !(most > 99.9 * a && most < 100.1 * a) }' table ||
    fail "the largest underflow is $(largest real underflow_unscaled): $(cat table)"

plant() {
    sed "$2" real >planted
    cmp -s real planted && fail "nothing is planted by $2"
    wrong planted -24 stem.conv | grep -q "^$1" || fail "planted by $2: said '$(wrong planted -24 stem.conv)'"
}
plant 'scales' '/stats_back.*"index":2,/s/"own":[0-9]*/"own":2048/'
plant 'bins add up' '/stats_back.*"index":1,/s/"bins":\[[0-9]*/&1/'
plant 'underflow is' '/stats_back.*"index":3,/s/"underflow":[0-9.e-]*/"underflow":0.5/'
plant 'wanted is' '/stats_back.*"index":0,/s/"wanted":/&2/'
plant 'not the next index' '/stats_back.*"index":4,/d'
plant 'layers of step' '/stats_back/s/s1b0.conv2/s1b0.conv1/'
exit $bad
