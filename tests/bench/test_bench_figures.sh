#!/bin/bash
# test_bench_figures.sh : tests bench/papers/gradient_ranges.sh, fused_layers.sh and by_nodes.sh with
# fakes. With a real training, gradient_ranges.sh must find the program's own losses.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
real=$B tree=$here/..
export B=$dir/build TABLES=$dir/tables PATH="$dir/bin:$PATH"
mkdir build bin
gradient_ranges() { "$tree/bench/papers/gradient_ranges.sh" "$@" >out 2>said; }
fused_layers() { "$tree/bench/papers/fused_layers.sh" "$@" >out 2>said; }
has() { grep -qxF -- "$1" out || fail "no line '$1': $(cat out)"; }
runs() { [ "$(grep -c . build/ran 2>/dev/null)" = "$1" ] || fail "$2: not $1 runs: $(cat build/ran)"; }

# --- gradient_ranges.sh: a network of two layers ---
# A file "crash" makes lenet5 crash, a file "nan" gives it a nan.
mkdir cifar10
for i in 1 2 3 4 5; do head -c 4000 /dev/zero >cifar10/data_batch_$i.bin; done
head -c 400000 /dev/zero >cifar10/test_batch.bin
cat >build/narrowcast <<'END'
#!/bin/bash
here=$(dirname "$0") nan=0
[ "$1" != plot ] || [ "$(command -v gnuplot)" ] || { echo 'no gnuplot' >&2 && exit 1; }
[ "$1" != plot ] || { while [ $# -gt 0 ]; do [ "$1" != --out ] || echo "<svg" >"$2"; shift; done; exit; }
echo "$*" >>"$here/ran"
while [ $# -gt 0 ]; do
    case $1 in --stats) to=$2 ;; --model) model=$2 ;; --data) data=${2#cifar10:} ;; esac
    shift
done
[ "$(cat "$data"/* | wc -c)" = $((5 * 4000 + 307300)) ] || exit 1
if [ "$model" = lenet5 ]; then
    echo '{"kind":"stats","step":1' >"$to"
    [ ! -e "$here/crash" ] || { echo 'no memory' && kill -SEGV $$; }
    [ ! -e "$here/nan" ] || nan=0.01
fi
layer() { # layer STEP NAME N FIRST BINS ZERO
    echo "{\"kind\":\"stats\",\"step\":$1,\"index\":0,\"layer\":\"$2\",\"n\":$3,\"first\":$4,\"bins\":[0],\"bins_all\":[$5],\"zero\":0,\"zero_all\":$6,\"not_finite\":0,\"not_finite_all\":$nan,\"l2\":0}"
}
{
    echo '{"kind":"run","ranks":4,"model":"'"$model"'"}'
    layer 1 a.weight 1000 3 4000 0
    case $model in
    lenet5) layer 11 a.weight 1000 -20 380,0,0,20,0,0,0,0,0,0,600,3000 0 && layer 11 b.bias 100 8 300 0.25 ;;
    *) layer 11 a.weight 1000 -30 4000 0 && layer 11 b.weight 250 -2 1000 0 ;;
    esac
    echo '{"kind":"stats_network","step":11,"n":1100}'
} >"$to"
END
printf '#!/bin/sh\n' >bin/gnuplot
chmod +x build/narrowcast bin/gnuplot
export NETWORKS='mlp lenet5' DEEP=mlp LAYERS='b.weight'
NARROWCAST_DATA=$dir gradient_ranges fig3 && fail 'fig3 was taken'
grep -q "^gradient_ranges.sh: 'fig3': must be a figure: fig1 or fig2" said || fail "fig3: $(cat said)"
gradient_ranges --table fig1 || fail "--table of nothing: $(cat said)"
[ ! -s out ] || fail "--table of nothing prints something"
(unset NARROWCAST_DATA && gradient_ranges fig1) && fail 'without data'
grep -q 'NARROWCAST_DATA is not set: must be' said || fail "without data: $(cat said)"
NARROWCAST_DATA=nowhere gradient_ranges fig2 && fail 'data that is not there'
[ "$(tail -n +2 said)" = "gradient_ranges.sh: no cifar10/test_batch.bin in 'nowhere': NARROWCAST_DATA must be the folder that holds it" ] || fail "nowhere: $(cat said)"
export NARROWCAST_DATA=$dir
touch build/crash
gradient_ranges fig1 && fail 'a crash did not end it'
grep -q '^gradient_ranges.sh: lenet5 failed' said || fail "does not say what failed: $(cat said)"
rm build/crash && touch build/nan
gradient_ranges fig1 && fail 'gradients that are not finite are no figure'
grep -q 'gradient_ranges.sh: gradients of a.weight are not finite in lenet5.jsonl' said || fail "nan: $(cat said)"
[ ! -e tables/fig1.tsv ] || fail 'a figure of half the networks'
rm build/nan tables/seen/lenet5.jsonl
gradient_ranges fig1 || fail "fig1: $(cat said)"
runs 4 fig1
# of 4300 that are not 0: 380 at 2^-20, too small for both; 20 at 2^-17, which e5m2 holds; 300 at
# 2^8; 100 zeros
has '| lenet5 | -20 .. 8 | 8 | 2.27 | 8.84 | 9.30 | 6.98 | 2^3 .. 2^7 | none |'
has '| mlp | -30 .. -2 | -2 | 0.00 | 80.00 | 80.00 | 0.00 | 2^13 .. 2^17 | none |'
has '| one for all 2 | -30 .. 8 | 8 | | up to 80.00 | up to 80.00 | up to 6.98 | none | none |'
has '| one for steps 1 and 11 | -30 .. 8 | 8 | | up to 80.00 | up to 80.00 | up to 6.98 | none | none |'
[ "$(tr -cd '|\n' <out | sort -u | wc -l)" = 1 ] || fail "a row of another width: $(cat out)"
cp out first
if ! gradient_ranges fig1 || ! cmp -s out first; then fail 'fig1 again is something else'; fi
runs 4 'fig1 again'
if ! gradient_ranges --table fig1 || ! cmp -s out first; then fail '--table prints something else'; fi
[ -s tables/fig1.svg ] || fail 'no chart'
mkdir tools
for tool in awk bash cat dirname head ln mkdir mv readlink rm tail wc; do ln -s "$(command -v $tool)" tools; done
rm tables/fig1.*
PATH=$dir/tools gradient_ranges fig1 || fail "without gnuplot: $(cat said)"
if ! cmp -s out first || [ -e tables/fig1.svg ]; then fail "a table alone without gnuplot: $(cat out)"; fi
gradient_ranges fig2 || fail "fig2: $(cat said)"
runs 4 'fig2, of statistics that are there'
has '| b.weight | -2 .. -2 | -2 | 0.00 | 0.00 | 0.00 | 0.00 | 2^-15 .. 2^17 | 2^-8 .. 2^9 |'
has '| one for all 2 | -30 .. -2 | -2 | | up to 100.00 | up to 100.00 | up to 0.00 | 2^13 .. 2^17 | none |'
has '| one for steps 1 and 11 | -30 .. 3 | 3 | | up to 100.00 | up to 100.00 | up to 0.00 | none | none |'
[ "$(wc -l <out)" = 5 ] || fail "layers that were not asked for: $(cat out)"
[ ! -e tables/seen/cifar10 ] || fail 'images were left behind'

# --- fused_layers.sh: run i takes i ms more ---
# With a file "crash" it crashes; with "wrong" sums are wrong; with "short" rows are missing.
cat >bin/mpirun <<'END'
#!/bin/sh
while [ "$1" != -np ]; do shift; done
shift 2
exec "$@"
END
cat >build/bench_allreduce <<'END'
#!/bin/bash
here=$(dirname "$0") wrong=0
echo "$*" >>"$here/ran"
run=$(grep -c . "$here/ran")
[ ! -e "$here/wrong" ] || wrong=1
row() {
    echo "{\"kind\":\"phase\",\"layer\":\"$1\",\"algo\":\"${2% *}\",\"type\":\"${2#* }\",\"exponents_us\":$3,\"codes_us\":1000,\"casts_us\":500,\"time_us\":$4,\"wrong\":$wrong}"
}
for type in 'native fp16' 'ring e5m2' 'direct e5m2'; do
    us=$((1000 * run + 9000))
    [ "$type" = 'native fp16' ] || us=$((us / 2))
    row 1048576 "$type" 100 $us
    [ ! -e "$here/crash" ] || exit 3
    [ ! -e "$here/short" ] || exit 0
    row 2359296 "$type" 200 $((2 * us))
    row 1048576 "$type" 300 $us
    row 'one by one' "$type" 600 $((4 * us))
    row fused "$type" $((us / 4)) $((2 * us))
done
END
chmod +x bin/mpirun build/bench_allreduce
export NETLAB_MPI=--lab RUNS=3
rm build/ran
fused_layers fig1 && fail 'fig1 was taken'
touch build/crash
fused_layers fig11 && fail 'a crash did not end it'
rm build/crash && touch build/wrong
fused_layers fig11 && fail 'wrong sums are no figure'
grep -q '^fused_layers.sh: wrong sums' said || fail "wrong sums: $(cat said)"
rm build/wrong && touch build/short
fused_layers fig11 && fail 'one row is no figure'
grep -q '^fused_layers.sh: 1 rows, not 15' said || fail "one row: $(cat said)"
rm build/short
[ ! -s tables/fig11.tsv ] || fail "what failed was kept: $(cat tables/fig11.tsv)"
: >build/ran
RUNS=1 fused_layers fig11 || fail "$(cat said)"
fused_layers fig11 || fail "$(cat said)"
runs 3 fig11
[ "$(wc -l <tables/fig11.tsv)" = 45 ] || fail "not 45 rows: $(cat tables/fig11.tsv)"
has '| res5c_2a | native | fp16 | 0.1 | 1.0 | 0.5 | 11.0 (10.0 .. 12.0) | 1 | |'
has '| res5c_2b | native | fp16 | 0.2 | 1.0 | 0.5 | 22.0 (20.0 .. 24.0) | 1 | |'
has '| res5c_2c | ring | e5m2 | 0.3 | 1.0 | 0.5 | 5.5 (5.0 .. 6.0) | 5 | 2.00 (2.00 .. 2.00) |'
has '| fused | direct | e5m2 | 1.4 | 1.0 | 0.5 | 11.0 (10.0 .. 12.0) | 12 | 2.00 (2.00 .. 2.00) |'
has '| ring e5m2 | 2.00 (2.00 .. 2.00) |'
cp out first
if ! fused_layers --table fig11 || ! cmp -s out first; then fail '--table prints something else'; fi
runs 3 'a table'

rm bin/gnuplot
[ -x "$real/narrowcast" ] || { echo 'skip  a real training: narrowcast is not built' && exit $bad; }
for i in 0 1 2 3 4 5 6 7 8 9; do
    printf '%b' "\\x0$i"
    tail -c +$((3072 * i + 1)) "$real/narrowcast" | head -c 3072
done >cifar10/data_batch_1.bin
for i in 2 3 4 5; do cp cifar10/data_batch_1.bin cifar10/data_batch_$i.bin; done
for i in 1 2 3 4 5 6 7 8 9 10; do cat cifar10/data_batch_1.bin; done >cifar10/test_batch.bin
rm -r tables
mkdir real && ln -s "$real/narrowcast" real/narrowcast
export B=$dir/real NETWORKS=lenet5
gradient_ranges fig1 || fail "a real training: $(cat said)"
for format in e5m2 e4m3; do
    "$real/narrowcast" emulate --ranks 4 --batch 32 --model lenet5 --data cifar10:cifar10 --format $format --scale none --overflow inf --first-steps-fp32 10 \
        --lr 0.01 --schedule const --warmup 0 --steps 11 --stats $format.jsonl --stats-every 10 >/dev/null 2>said || fail "$format: $(cat said)"
    sed -n 's/.*"step":11,.*"n":\([0-9]*\),.*"zero_all":\([^,]*\),.*"underflow_all":\([^,]*\),.*/\1 \2 \3/p' $format.jsonl |
        awk '{ n += $1 * (1 - $2); lost += $1 * $3 } END { printf "%.2f\n", 100 * lost / n }'
done >counted
[ "$(awk -F ' *[|] *' '$2 == "lenet5" { print $6; print $7 }' out)" = "$(cat counted)" ] || fail "losses are not what casts count, $(tr '\n' ' ' <counted): $(cat out)"
awk '$1 > 0 { n++ } END { exit n != 2 }' counted || fail "nothing is lost: $(cat counted)"

# --- by_nodes.sh: run i takes i ms; with "crash" it crashes, with "short" it prints no row ---
by_nodes() { B=$dir/build "$tree/bench/papers/by_nodes.sh" "$@" >out 2>said; }
cat >build/bench_allreduce <<'END'
#!/bin/bash
here=$(dirname "$0")
echo "$*" >>"$here/ran"
while [ $# -gt 0 ]; do
    case $1 in --label) label=$2 ;; --format) type=$2 ;; esac
    shift
done
[ ! -e "$here/short" ] || exit 0
echo "{\"kind\":\"allreduce\",\"label\":\"$label\",\"algo\":\"direct\",\"type\":\"$type\",\"size\":4096,\"time_us\":$(grep -c . "$here/ran")000,\"wrong\":0,\"ratio\":2}"
[ ! -e "$here/crash" ] || exit 3
END
: >build/ran
touch build/crash
by_nodes oyama3 && fail 'oyama3: a crash did not end it'
grep -q '4 nodes, fp16: bench_allreduce ended with 3' said || fail "oyama3 crashed: $(cat said)"
rm build/crash && touch build/short
by_nodes oyama3 && fail 'oyama3: a run without rows did not end it'
[ ! -s tables/oyama3.jsonl ] || fail "oyama3: what failed was kept: $(cat tables/oyama3.jsonl)"
rm build/short
: >build/ran
RUNS=1 by_nodes oyama3 || fail "$(cat said)"
by_nodes oyama3 || fail "$(cat said)"
runs 6 'oyama3, 3 runs in 2 formats'
has '4 nodes direct fp16 4096                 3.00 ms       2.00      2.00 .. 2.00        3'
: >build/ran
by_nodes oyama4 || fail "$(cat said)"
runs 18 'oyama4, 3 runs in 2 formats on 2, 4 and 8 nodes'
TABLES=none by_nodes --table oyama4 || fail "$(cat said)"
[ ! -e none ] || fail '--table made a folder'
for codec in fp32 relgrad; do
    printf '%s\n' '{"kind":"run"}' '{"kind":"epoch","train_s":5,"test_accuracy":0.3}' >tables/oyama13-$codec.jsonl
done
by_nodes --table oyama13 || fail "$(cat said)"
has '| 20 | 2 | 2 | 1.00 |'
[ ! -e tables/fig13.svg ] || fail '--table oyama13 writes beside the tables'
if command -v gnuplot >/dev/null && [ ! -s build/fig13.svg ]; then fail "oyama13: no chart: $(cat said)"; fi
by_nodes oyama6 && fail 'oyama6 was taken'
exit $bad
