#!/bin/bash
# test_train_stats.sh : checks the lines of `narrowcast train --stats`, which must not change the
# weights.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

on() {
    local launch=(mpirun -np "$1")
    [ "$1" != 1 ] || launch=()
    shift
    "${launch[@]}" "$B/narrowcast" train --data synthetic:400,3 --batch 24 --lr 0.02 --warmup 0 --model lenet5 --schedule const "$@"
}
value() { sed -n "s/.*[{,]\"$2\":\\([^],}]*\\).*/\\1/p" <<<"$1"; }
line() { grep "^{\"kind\":\"stats\",\"step\":$2,\"index\":$3," "$1"; }
near() {
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a > 0 && d <= 1e-6 * a) }' || fail "$1: $2 and $3"
}

slopes=''
run="--steps 5 --format e4m3 --scale aps"
# shellcheck disable=SC2086
plain=$(on 4 $run 2>/dev/null | tail -n 1)
# shellcheck disable=SC2086
[ "$(on 4 $run --stats s --stats-every 4 --dump-gradients d --dump-first 4 --dump-steps 1 2>said | tail -n 1)" = "$plain" ] ||
    fail "another end than '$plain': $(cat said)"
[ -n "$plain" ] || fail "no checksum: $(cat said)"
[ "$(grep -c '^{"kind":"stats","step":1,' s) $(grep -c '^{"kind":"stats","step":5,' s) $(grep -c '^{"kind":"stats_output","step":5,' s) $(wc -l <s)" = "10 10 11 53" ] || fail "lines: $(cut -c1-50 s)"
judge=$("$B/bench_error" d --json | grep '"format":"e4m3","scale":"aps","sum":"exact"')
all=$(grep '^{"kind":"stats_network","step":5,' s)
near "L2" "$(value "$judge" l2)" "$(value "$all" l2)"
near "eq. 5" "$(value "$judge" mean)" "$(value "$all" round_off)"
near "median" "$(value "$judge" median)" "$(value "$all" round_off_median)"
awk -v c="$(value "$all" cosine)" 'BEGIN { exit !(c > 0.99 && c < 1) }' || fail "cosine of $all"
awk -v c="$(value "$all" slope)" 'BEGIN { exit !(c > 0.99 && c < 1.01) }' || fail "slope of $all"
# trunc rounds every addition toward zero, which shortens the mean; nearest does not
for sum in trunc nearest; do
    on 4 --codec relgrad --sum $sum --steps 1 --stats short >/dev/null 2>said || fail "relgrad, $sum: $(cat said)"
    slopes+=" $(value "$(grep '"stats_network"' short)" slope)"
done
read -r of_trunc of_nearest <<<"$slopes"
awk -v t="$of_trunc" -v n="$of_nearest" 'BEGIN { exit !(t > 0.5 && t < n - 0.1 && n < 1.05) }' || fail "slopes:$slopes"

# shellcheck disable=SC2086
on 4 $run --stats early --stats-every 4 --overlap on --bucket-bytes 1k >/dev/null 2>&1
cmp -s <(tail -n +2 s) <(tail -n +2 early) || fail "--overlap on: other lines"

# --- each value is in a bin or zero; the shift of aps is bias minus exponent ---
awk '/"kind":"stats",/ {
    split("bins bins_all", lists, " "); split("zero zero_all", zeros, " ")
    match($0, /"n":[0-9]+/); n = substr($0, RSTART + 4, RLENGTH - 4)
    for (l = 1; l <= 2; l++) {
        match($0, "\"" lists[l] "\":\\[[0-9,]*"); k = split(substr($0, RSTART + length(lists[l]) + 4, RLENGTH - length(lists[l]) - 4), bin, ","); sum[l] = 0
        for (i = 1; i <= k; i++) sum[l] += bin[i]
        width[l] = k
        match($0, "\"" zeros[l] "\":[0-9.e-]+"); zero = substr($0, RSTART + length(zeros[l]) + 3, RLENGTH - length(zeros[l]) - 3)
        lost = sum[l] + zero * n * (l == 1 ? 1 : 4) - n * (l == 1 ? 1 : 4)
        if (lost > 0.01 || lost < -0.01 || width[1] != width[l]) { print "counts: " $0; exit 1 }
    }
    lines++
} END { exit lines != 20 }' s || bad=1
while read -r l; do
    [ "$(value "$l" shift)" = $((7 - $(value "$l" exponent))) ] || fail "shift: $l"
    # the largest value of all ranks, times 4 ranks and rounded up, is in the last bin
    count=${l#*'"bins_all":['} count=${count%%]*} count=${count//[0-9]/} count=$((${#count} + 1))
    above=$(($(value "$l" exponent) - $(value "$l" first) - count - 1))
    [ $above = 0 ] || [ $above = 1 ] || fail "exponent: $l"
    [ "$(value "$l" first_scaled)" = $(($(value "$l" first) + $(value "$l" shift))) ] || fail "first_scaled: $l"
    [ "$(value "$l" saturate_all)" = 0 ] || fail "aps saturates: $l"
done < <(grep '"kind":"stats"' s)
on 2 --steps 1 --format e4m3 --scale const:0.0078125 --stats small >/dev/null 2>&1
on 2 --steps 1 --format e4m3 --scale const:65536 --stats large >/dev/null 2>&1
awk -v u="$(value "$(line small 1 0)" underflow_all)" -v s="$(value "$(line large 1 0)" saturate_all)" -v l="$(value "$(line large 1 0)" l2)" \
    'BEGIN { exit !(u > 0.1 && s > 0.1 && l > 0.1) }' || fail "const: $(line small 1 0) $(line large 1 0)"

on 1 --steps 1 --lr 1e-12 --stats tiny >/dev/null 2>&1
lost=$(value "$(grep stats_network tiny)" updates_lost) usual=$(value "$(grep '"stats_network","step":1,' s)" updates_lost)
awk -v a="$lost" -v b="$usual" 'BEGIN { exit !(a > 0.9 && a <= 1 && b < 0.01 && b != "") }' || fail "lost updates: $lost, $usual"

# --- pure fp16: half an ulp is 2^13 times larger; small variances ---
for precision in fp32 fp16-pure; do
    on 1 --model resnet8 --steps 1 --lr 1e-4 --precision "$precision" --device cpu --stats "$precision" >said 2>&1 || fail "$precision: $(cat said)"
done
lost=$(value "$(grep stats_network fp16-pure)" updates_lost) usual=$(value "$(grep stats_network fp32)" updates_lost)
awk -v a="$lost" -v b="$usual" 'BEGIN { exit !(a > 0.5 && a <= 1 && b < 0.1) }' || fail "lost updates: $lost in fp16, $usual in fp32"
for at in '0 stem.conv conv' '1 stem.norm norm' '9 shortcut9 shortcut' '17 classifier linear'; do
    read -r index name type <<<"$at"
    a=$(grep "^{\"kind\":\"stats_output\",\"step\":1,\"index\":$index,\"node\":\"$name\",\"type\":\"$type\"," fp32)
    b=$(grep "\"stats_output\",\"step\":1,\"index\":$index," fp16-pure)
    awk -v a="$(value "$a" largest)" -v b="$(value "$b" largest)" 'BEGIN { exit !(a > 0 && a / b < 1.02 && b / a < 1.02) }' || fail "$name: $a $b"
    [ "$type" != norm ] || [ "$(value "$a" variances_underflow)" = 0 ] || fail "variances: $a"
done
# a factor of 1e-4 after each norm of a block brings the next convolution's variances below 2^-14;
# running variances approach them by a tenth per step
on 1 --model resnet8 --block plain:0.0001 --steps 110 --batch 4 --lr 0 --device cpu --stats low --stats-every 109 >said 2>&1 || fail "plain:0.0001: $(cat said)"
a=$(grep '"step":110,.*"s0b0.norm2"' low)
awk -v u="$(value "$a" variances_underflow)" -v v="$(value "$a" variance_least)" 'BEGIN { exit !(u == 1 && v > 0 && v < 2 ^ -14) }' || fail "low variances: $a"

on 2 --steps 1 --fp32-last-layer --stats last >/dev/null 2>&1
[ "$(value "$(line last 1 0)" format) $(value "$(line last 1 9)" format)" = '"e4m3" "fp32"' ] || fail "formats: $(cut -c1-50 last)"
on 2 --steps 1 --codec qsgd:8 --stats qsgd >said 2>&1 || fail "qsgd: $(cat said)"
narrow=$(line qsgd 1 4) # the largest layer, as small ones travel in fp32
[ -n "$(value "$narrow" l2)" ] || fail "qsgd: $narrow"
grep -q '"shift"\|"underflow"\|"format"' <<<"$narrow" && fail "qsgd has no shift: $narrow"
on 2 --steps 6 --lr 1e6 --stats nan --stats-every 1 >/dev/null 2>&1
grep '"kind":"stats"' nan | tail -n 1 | grep -q '"skipped":true,"round_off":null,"round_off_median":null,"l2":null,"cosine":null,"slope":null,"updates_lost":null}$' ||
    fail "skipped: $(tail -n 1 nan)"
# each value is in a bin, zero or not finite
lost=0
while read -r l; do
    for all in '' _all; do
        counts=${l#*"\"bins$all\":["} counts=${counts%%]*}
        awk -v bins="$counts" -v n="$(value "$l" n)" -v ranks="${all:+2}" -v zero="$(value "$l" zero$all)" -v odd="$(value "$l" not_finite$all)" 'BEGIN {
            k = split(bins, bin, ","); n *= ranks ? ranks : 1
            for (i = 1; i <= k; i++) sum += bin[i]
            d = sum + (zero + odd) * n - n; exit !(odd != "" && d < 0.01 && d > -0.01) }' || fail "counts$all: $l"
    done
    [ "$(value "$l" not_finite_all)" = 0 ] || lost=$((lost + 1))
done < <(grep '"kind":"stats",' nan)
[ "$lost" -gt 0 ] || fail 'no values that are not finite'

on 1 --steps 3 --stats go --stats-every 2 --save ck >/dev/null 2>&1
printf '{"kind":"stats","step":3' >>go
on 1 --steps 5 --stats go --stats-every 2 --resume ck >/dev/null 2>&1
on 1 --steps 5 --stats go --stats-every 2 --resume ck >/dev/null 2>&1
steps=$(sed -n 's/^{"kind":"stats_network","step":\([0-9]*\),.*}$/\1/p' go | tr '\n' ' ')
[ "$steps" = "1 3 5 " ] || fail "steps of a run that went on: $steps"
[ "$(grep -c '^{"kind":"stats","step":5,' go)" = 10 ] || fail "layers of a run that went on: $(cut -c1-40 go)"
grep -qv '^{.*}$' go && fail "a torn line"

refused "cannot open 'no/s'" on 1 --steps 1 --stats no/s
refused "cannot write '/dev/full': No space left on device" on 1 --steps 3 --stats /dev/full
refused "--stats-every needs --stats FILE" on 1 --steps 1 --stats-every 2
refused "--log and --stats both name 'x': need two files" on 1 --steps 1 --log x --stats x
exit $bad
