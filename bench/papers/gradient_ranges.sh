#!/bin/bash
# gradient_ranges.sh : measures the APS paper's Fig. 1 and 2: gradients' exponents, and the losses of
# 8 bits without a scale.
# usage: NARROWCAST_DATA=DIR bench/papers/gradient_ranges.sh [--table] fig1|fig2
# DIR/cifar10 holds the binary batches. fig1 is by network, fig2 by layer of resnet50 (weights of
# convolutions and of the last layer), at steps 1 and 11. $TABLES/FIGURE.tsv (bench/data) has name,
# step, number of zeros on all ranks, first exponent that occurs, and numbers of values with this
# and each next one; FIGURE.svg the last step. Statistics are in $B/papers/seen, or $TABLES/seen;
# --table prints the results.
set -eu
. "$(dirname "$0")/../usage.sh"
. bench/json.sh
TABLES=${TABLES:-bench/data}
networks=${NETWORKS:-mlp lenet5 resnet8 resnet20 davidnet resnet18 resnet50 caffenet}
deep=${DEEP:-resnet50}
layers=${LAYERS:-stem.conv1.weight s0b0.conv2.weight s1b0.conv2.weight s2b0.conv2.weight s2b5.conv3.weight s3b0.conv2.weight s3b2.conv3.weight classifier.weight}
seen=$B/papers/seen
[ "$TABLES" = bench/data ] || seen=$TABLES/seen
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
figure=${1-}
case $figure in fig1 | fig2) ;; *) echo "gradient_ranges.sh: '$figure': must be a figure: fig1 or fig2" >&2 && exit 2 ;; esac
tsv=$TABLES/$figure.tsv svg=$TABLES/$figure.svg

# Link the training images, and few test images.
images() {
    [ -f "$NARROWCAST_DATA/cifar10/test_batch.bin" ] ||
        { echo "gradient_ranges.sh: no cifar10/test_batch.bin in '$NARROWCAST_DATA': NARROWCAST_DATA must be the folder that holds it" >&2 && exit 1; }
    rm -rf "$seen/cifar10" && mkdir -p "$seen/cifar10"
    local file
    for file in "$NARROWCAST_DATA"/cifar10/data_batch_*.bin; do ln -s "$(readlink -f "$file")" "$seen/cifar10/"; done
    head -c $((100 * 3073)) "$NARROWCAST_DATA/cifar10/test_batch.bin" >"$seen/cifar10/test_batch.bin"
}

# statistics NETWORK: write $seen/NETWORK.jsonl
statistics() {
    local to=$seen/$1.jsonl image=0
    [ ! -s "$to" ] || return 0
    need_data 'cifar10/'
    [ "$1" != caffenet ] || image=64 # minimum: 39
    echo "gradient_ranges.sh: $1" >&2
    mkdir -p "$seen" && images
    "$B/narrowcast" emulate --ranks 4 --batch 32 --model "$1" --image $image --data "cifar10:$seen/cifar10" --format fp32 --scale none \
        --lr 0.01 --schedule const --warmup 0 --steps 11 --stats "$to.new" --stats-every 10 >"$seen/$1.out" 2>&1 ||
        { tail -n 5 "$seen/$1.out" >&2; echo "gradient_ranges.sh: $1 failed, see $seen/$1.out" >&2; exit 1; }
    rm -r "$seen/cifar10"
    mv "$to.new" "$to"
}

# counts [NAME] FILE: print a line per step for all layers as NAME, or one per step and weight
counts() {
    local file=${2:-$1}
    awk -v OFMT=%.0f -v CONVFMT=%.0f -v name="${2:+$1}" -v file="${file##*/}" "$json"'
        function of(key) { if (!has(key)) fail("no " key); return value(key) }
        function fail(why) { print "gradient_ranges.sh: " why " in " file >"/dev/stderr"; bad = 1; exit 1 }
        index($0, "{\"kind\":\"run\"") == 1 { ranks = of("ranks") }
        index($0, "{\"kind\":\"stats\"") == 1 {
            to = (name != "" ? name : of("layer")) "\t" of("step")
            if (of("not_finite_all") + 0 > 0) fail("gradients of " of("layer") " are not finite")
            if (name == "" && of("layer") !~ /\.weight$/) next
            if (!(to in zeros)) list[++n_lists] = to
            k = split(of("bins_all"), bins, ",")
            for (i = 1; i <= k; i++) n[to, of("first") + i - 1] += bins[i]
            zeros[to] += int(of("zero_all") * of("n") * ranks + 0.5)
        }
        END {
            if (bad) exit 1
            if (!n_lists) fail("no statistics")
            for (i = 1; i <= n_lists; i++) {
                to = list[i]
                for (first = -149; first < 127 && !n[to, first]; first++) { }
                for (last = 127; last > first && !n[to, last]; last--) { }
                line = to "\t" zeros[to] "\t" first "\t"
                for (e = first; e <= last; e++) line = line (e > first ? "," : "") n[to, e] + 0
                print line
            }
        }' "$file"
}

draw() { # draw KIND WORDS...: if gnuplot is installed
    command -v gnuplot >/dev/null || return 0
    "$B/narrowcast" plot "$@" --out "$seen/chart.svg"
    mv "$seen/chart.svg" "$svg"
}

measure() {
    local network files=()
    [ ! -s "$tsv" ] || return 0
    if [ "$figure" = fig1 ]; then
        for network in $networks; do statistics "$network" && files+=("$seen/$network.jsonl"); done
        for network in $networks; do counts "$network" "$seen/$network.jsonl"; done >"$tsv.new"
        draw model-exponents "${files[@]}" --title "APS paper, Fig. 1: exponents of gradients by network"
    else
        statistics "$deep"
        counts "$seen/$deep.jsonl" >"$tsv.new"
        draw exponents "$seen/$deep.jsonl" --layers "${layers// /,}" --title "APS paper, Fig. 2: exponents of gradients by layer"
    fi
    mv "$tsv.new" "$tsv"
}

# table WHAT NAMES: print a row for each of NAMES (none: for all) at the last step, and two for a
# constant for all, at this step and at both. An 8-bit float with smallest number 2^s (e5m2: -16,
# e4m3: -9) makes values below 2^(s-1) 0; those from 2^t on (16, 8) are too large.
table() {
    awk -F '\t' -v what="$1" -v listed="$2" '
        function percent(part) { return 100 * part / sum }
        function constants(low, high) { return low > high ? "none" : "2^" low " .. 2^" high }
        function both(low, at) { return constants(-17 - low, 15 - at) " | " constants(-10 - low, 7 - at) }
        function widen(of, low, high, at, lost5, lost4, over) {
            if (!(of in lows) || low < lows[of]) lows[of] = low
            if (!(of in highs) || high > highs[of]) highs[of] = high
            if (!(of in ats) || at > ats[of]) ats[of] = at
            if (lost5 > all5[of]) all5[of] = lost5
            if (lost4 > all4[of]) all4[of] = lost4
            if (over > overs[of]) overs[of] = over
        }
        function one_for_all(title, of) {
            printf "| %s | %d .. %d | %d | | up to %.2f | up to %.2f | up to %.2f | %s |\n", title, lows[of], highs[of], ats[of], all5[of], all4[of], overs[of],
                both(lows[of], ats[of])
        }
        BEGIN { n_listed = split(listed, words, " "); for (i = 1; i <= n_listed; i++) shown[words[i]] = 1 }
        {
            n = split($5, bins, ",")
            sum = part = lost5 = lost4 = over = 0
            for (i = 1; i <= n; i++) {
                e = $4 + i - 1
                sum += bins[i]; lost5 += e < -17 ? bins[i] : 0; lost4 += e < -10 ? bins[i] : 0; over += e >= 8 ? bins[i] : 0
            }
            if (!sum) next
            for (i = 1; (part += bins[i]) < 0.01 * sum; i++) { }
            low = $4 + i - 1; part = 0
            for (i = n; (part += bins[i]) < 0.01 * sum; i--) { }
            high = $4 + i - 1; at = $4 + n - 1
            widen("all", low, high, at, percent(lost5), percent(lost4), percent(over))
            if ($2 == 1) next
            widen("last", low, high, at, percent(lost5), percent(lost4), percent(over))
            step = $2; n_names++
            if (!n_listed || $1 in shown)
                rows = rows sprintf("| %s | %d .. %d | %d | %.2f | %.2f | %.2f | %.2f | %s |\n", $1, low, high, at, 100 * $3 / ($3 + sum), percent(lost5), percent(lost4),
                    percent(over), both(low, at))
        }
        END {
            if (!n_names) exit 1
            print "| " what ", step " step " | exponents of 98 % | largest | 0, % | e5m2 makes 0, % | e4m3 makes 0, % | too large for e4m3, % | constants for e5m2 | for e4m3 |"
            print "|---|---|---|---|---|---|---|---|---|"
            printf "%s", rows
            one_for_all("one for all " n_names, "last")
            one_for_all("one for steps 1 and " step, "all")
        }' "$tsv"
}

mkdir -p "$TABLES"
[ "$only" ] || measure
[ -s "$tsv" ] || exit 0 # no results yet
if [ "$figure" = fig1 ]; then table network ''; else table "layer of $deep" "$layers"; fi
