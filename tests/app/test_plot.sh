#!/bin/bash
# test_plot.sh : tests the tables and charts of `narrowcast plot`.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
plot() { "$B/narrowcast" plot "$@"; }
table() {
    plot "${@:2}" >out 2>said || fail "plot ${*:2}: $(cat said)"
    [ "$(sed 's/  */ /g; s/ $//' out)" = "$1" ] || fail "plot ${*:2}: $(cat out)"
}

cat >aps.jsonl <<'EOF'
{"kind":"run","version":"0.1.0","codec":"minifloat","format":"e3m0","scale":"aps"}
{"kind":"step","step":1,"epoch":1,"loss":2.5}
{"kind":"step","step":2,"epoch":1,"loss":1.25}
{"kind":"epoch","epoch":1,"step":2,"loss":1.875,"test_accuracy":0.25,"train_s":1.5}
{"kind":"epoch","epoch":2,"step":4,"loss":1e-05,"test_accuracy":0.5,"train_s":4}
{"kind":"epoch","epoch":3,"st
EOF
truncate -s -1 aps.jsonl
cat >none.jsonl <<'EOF'
{"kind":"run","codec":"qsgd:4","format":"e3m0","scale":"none"}
{"kind":"epoch","epoch":2,"step":2,"loss":null,"test_accuracy":0.0975}
{"kind":"epoch","epoch":2,"step":2,"loss":null,"test_accuracy":0.1}
EOF
table 'epoch aps: e3m0 aps none: qsgd:4 (test accuracy, %)
1 25
2 50 10' accuracy aps.jsonl none.jsonl
table 'training time, s aps: e3m0 aps (test accuracy, %)
1.5 25
4 50' accuracy-time aps.jsonl
# a resumed run's seconds go on
{ head -n 5 aps.jsonl && head -n 1 aps.jsonl && echo '{"kind":"epoch","epoch":3,"test_accuracy":0.75,"train_s":1.5}'; } >resumed.jsonl
table 'training time, s resumed: e3m0 aps (test accuracy, %)
1.5 25
4 50
5.5 75' accuracy-time resumed.jsonl
table 'epoch aps: e3m0 aps (loss)
1 1.875
2 1e-05' loss aps.jsonl
table 'step aps: e3m0 aps aps: e3m0 aps (2) (loss)
1 2.5 2.5
2 1.25 1.25' step-loss aps.jsonl ./aps.jsonl

# bytes relative to fp32; shares of a step's time
step() { echo "{\"kind\":\"step\",\"step\":$1,\"loss\":1,\"samples_per_s\":$2,\"input_s\":0.0625,\"sent_bytes\":$3,\"comm_s\":$4,\"codec_s\":0.125,\"hidden_s\":$5}"; }
{ echo '{"kind":"run","codec":"x","batch":8,"fp32_sent_bytes":200}' && step 1 8 50 0.25 0 && step 2 4 200 0.25 0; } >alone.jsonl
{ echo '{"kind":"run","codec":"x","batch":8,"fp32_sent_bytes":0}' && step 1 8 50 0.375 0.25; } >beside.jsonl
table 'step alone: x (bytes sent, % of fp32)
1 25
2 100' bytes alone.jsonl
refused "cannot plot bytes of 'beside.jsonl': need logs of narrowcast train --log of several ranks" plot bytes alone.jsonl beside.jsonl
table ' data forward, backward, update the same, beside the all-reduce casting sending, adding, waiting all-reduce, not hidden (time of a step, ms)
alone: x 62.5 1062.5 0 125 250 0
beside: x 62.5 437.5 250 0 0 250
beside: x (2) 62.5 437.5 250 0 0 250' time alone.jsonl beside.jsonl ./beside.jsonl

cat >phases <<'EOF'
{"kind":"phase","layer":"64","algo":"ring","type":"e5m2","exponents_us":1000,"codes_us":2500,"casts_us":500,"time_us":4100}
{"kind":"phase","layer":"64","algo":"ring","type":"e5m2","exponents_us":1500,"codes_us":2500,"time_us":4100}
{"kind":"phase","layer":"fused","algo":"ring","type":"e5m2","exponents_us":1,"codes_us":2,"casts_us":3,"time_us":6}
EOF
table ' exponents codes casts (time, ms)
64 e5m2 ring 1 2.5 0.5
64 (2) e5m2 ring 1.5 2.5 0
fused e5m2 ring 0.001 0.002 0.003' phases phases
row() { echo "{\"kind\":\"error\",\"format\":\"e5m2\",\"scale\":\"aps\",\"sum\":\"nearest\",\"out_format\":\"e5m2\",$1,\"l2\":$2,\"mean\":$3,\"median\":$4}"; }
{ row '"ranks":16' 0.25 0.5 0.125 && row '"ranks":8' 0.5 1 0.25; } >groups
table 'ranks e5m2 aps nearest, l2 e5m2 aps nearest, median e5m2 aps nearest, eq. 5 (error, %)
8 50 25 100
16 25 12.5 50' roundoff groups
"$B/narrowcast" predict --json --ranks 4,2 --size 64k --link 1G --algo ring --format e5m2 >predicted || fail predict
plot predict predicted >out || fail 'plot predict'
[ "$(sed 's/ .*//' out | tr '\n' ' ')" = 'ranks 2 4 ' ] || fail "ranks do not rise: $(cat out)"

stats() {
    echo "{\"kind\":\"stats\",\"step\":$1,\"index\":$2,\"layer\":\"layer$2\",\"first\":$3,\"bins\":[9],\"bins_all\":$4,\"underflow_all\":$5,\"shift\":$6,\"l2\":$(awk "BEGIN { print $5 / 2 }")}"
}
{
    echo '{"kind":"run","codec":"minifloat","format":"e4m3","scale":"aps"}'
    stats 1 0 -40 '[7]' 0.5 1
    stats 1 1 -40 '[7]' 0.5 1
    stats 11 0 -12 '[1,0,3]' 0.25 5
    stats 11 1 -11 '[4]' 0.0625 -3
    echo '{"kind":"stats_network","step":11,"l2":0.1}'
} >stats.jsonl
table 'exponent stats: layer0 stats: layer1 (share of nonzero gradients, %)
-12 25
-11 0 100
-10 75' exponents stats.jsonl
table 'exponent stats: e4m3 aps (share of nonzero gradients, %)
-12 12.5
-11 50
-10 37.5' model-exponents stats.jsonl
table 'exponent stats: layer1 (share of nonzero gradients, %)
-11 100' exponents stats.jsonl --layers layer1
sed 's/layer1"/s0b0.conv1.weight"/' stats.jsonl >parts.jsonl
table 'exponent parts: e4m3 aps (share of nonzero gradients, %)
-11 100' model-exponents parts.jsonl --layers s0b0
table 'layer parts: e4m3 aps (shift, binades)
layer0 5
s0b0.conv1.weight -3' shift parts.jsonl --layers layer0,s0b0.conv1
refused "--layers: no row has the name 's0b'" plot shift parts.jsonl --layers layer0,s0b
refused "--layers 'layer0': rows for loss have no layers" plot loss aps.jsonl --layers layer0
refused '--layers: at most 64 names' plot shift parts.jsonl --layers "$(printf '%064d' 0 | sed 's/0/layer0,/g')layer0"
table 'layer stats: e4m3 aps (shift, binades)
layer0 5
layer1 -3' shift stats.jsonl
table 'layer stats: e4m3 aps, 1 % stats: e4m3 aps, half stats: e4m3 aps, 99 % (exponent)
layer0 -12 -10 -10
layer1 -11 -11 -11' exponent-range stats.jsonl
table 'layer stats: e4m3 aps (underflow, %)
layer0 25
layer1 6.25' underflow stats.jsonl

table 'layer stats: e4m3 aps (L2 error, %)
layer0 12.5
layer1 3.125' error stats.jsonl

back() {
    echo "{\"kind\":\"stats_back\",\"step\":$1,\"index\":$2,\"layer\":\"l$2\",\"underflow\":$3,\"underflow_unscaled\":$4,\"wanted\":$5,\"carried\":$6}"
}
{ cat stats.jsonl && back 1 0 0.25 0.25 64 1 && back 1 1 0.125 0.5 128 8 && back 11 0 0 0 null 1; } >back.jsonl
table 'layer back: step 1 back: step 1, unscaled back: step 11 (underflow, %)
l0 25 0
l1 12.5 50' underflow-back back.jsonl
table 'layer back: step 1, wanted back: step 1, carried back: step 11, wanted back: step 11, carried (scale)
l0 64 1 1
l1 128 8' scale-back back.jsonl
refused 'cannot plot underflow-back of' plot underflow-back stats.jsonl

# --- charts; file names and contents are text, never commands ---
cp aps.jsonl "it's.jsonl"
sed -i "s/\"minifloat\"/\"x'; print \`touch hit\`; system('touch hit') #\"/" "it's.jsonl"
plot accuracy "it's.jsonl" --out chart.gp --title "it's" 2>said || fail "a program: $(cat said)"
grep -qF "set title 'it'.\"'\".'s' noenhanced" chart.gp || fail "the title: $(cat chart.gp)"
# program WORDS...: fails unless the kind's program has each of the lines of standard input
program() {
    plot "$@" --out rows.gp || fail "plot $*"
    while read -r line; do grep -qxFe "$line" rows.gp || fail "plot $*: no line \"$line\": $(cat rows.gp)"; done
}
# layers are rows, of which the first is on top; the title has what all names share
program underflow stats.jsonl --layers layer1 <<'EOF'
set title 'Gradients that underflow to 0, by layer (stats: e4m3 aps)' noenhanced
set yrange [0.5:-0.5]
set ytics scale 0 noenhanced ('layer1' 0)
6.25 0
unset key
EOF
program exponents stats.jsonl <<'EOF'
set title 'Exponents of gradients by layer (stats)' noenhanced
set yrange [1.5:-0.5]
set ytics scale 0 noenhanced ('layer0' 0, 'layer1' 1)
set xrange [-12.5:-9.5]
-11 1 100
EOF
program accuracy aps.jsonl none.jsonl <<'EOF'
set title 'Test accuracy' noenhanced
set xtics 1
EOF
# files of other layers, layers without a name, names that are formats
{ stats 1 0 0 '[1]' 0.5 1 | sed 's/layer0//' && stats 1 1 0 '[1]' 0.25 1; } >'50%s.jsonl'
program underflow '50%s.jsonl' stats.jsonl <<'EOF'
set ytics scale 0 noenhanced ('0' 0, 'layer1' 1, 'layer0' 2)
50 -0.15
25 2.15
EOF
printf '{"kind":"run","codec":"x"}\n{"kind":"epoch","epoch":100,"test_accuracy":1}\n' >late.jsonl
plot accuracy late.jsonl --out rows.gp || fail 'one late epoch'
grep -q '^set xtics 1$' rows.gp && fail 'a tick for each of 100 epochs'
{ echo '{"kind":"run","codec":"x","batch":1}' && echo '{"kind":"step","step":1,"samples_per_s":1e300,"comm_s":0,"codec_s":0}'; } >'0%s.jsonl'
plot time '0%s.jsonl' --out rows.gp || fail 'bars of no height'
if ! grep -q '^plot .series' rows.gp || ! grep -qF "'0%%s: x'" rows.gp; then fail "bars of no height: $(cat rows.gp)"; fi
program accuracy aps.jsonl --title '' </dev/null
grep -q 'set title' rows.gp && fail 'a title that was not wanted'
rm rows.gp
if [ -n "$(command -v gnuplot)" ]; then
    gnuplot -e 'set terminal dumb' chart.gp >dumb || fail 'gnuplot does not take the program'
    plot accuracy "it's.jsonl" aps.jsonl --out "it's.svg" --title "a & b" 2>said || fail "svg: $(cat said)"
    for words in '<svg' 'aps: e3m0 aps'; do grep -q "$words" "it's.svg" || fail "no '$words' in the svg"; done
    plot phases phases --out bars.png 2>said || fail "png: $(cat said)"
    [ "$(head -c 4 bars.png | tail -c 3)" = PNG ] || fail 'no png'
    plot exponents stats.jsonl --out map.pdf 2>said || fail "pdf: $(cat said)"
    [ "$(head -c 5 map.pdf)" = %PDF- ] || fail 'no pdf'
    plot time alone.jsonl beside.jsonl --out time.svg 2>said || fail "time: $(cat said)"
    [ ! -s said ] || fail "gnuplot said: $(cat said)"
    [ ! -e hit ] || fail 'a name was run'
    for kind in exponents model-exponents exponent-range shift underflow error; do plot $kind stats.jsonl --out $kind.svg 2>said || fail "$kind: $(cat said)"; done
    refused "cannot write 'nowhere/a.svg" plot accuracy aps.jsonl --out nowhere/a.svg
    [ -z "$(find . -name '*.gp' ! -name chart.gp -o -name '*.svg.*' -o -name '*.png.*')" ] || fail "left behind: $(ls)"
else
    echo 'skip  charts: no gnuplot'
fi
# --- file names: gnuplot runs those that begin with | and < ---
if [ -n "$(command -v gnuplot)" ]; then
    printf '{"kind":"run"}\n{"kind":"epoch","epoch":1,"loss":1e308}\n{"kind":"epoch","epoch":2,"loss":-1e308}\n' >far.jsonl
    refused 'narrowcast: gnuplot did not make the chart: all points y value undefined!' plot loss far.jsonl --out far.svg
    # user settings that would end gnuplot
    mkdir home
    echo 'exit status 3' >home/.gnuplot
    HOME=$dir/home plot accuracy aps.jsonl --out home.svg 2>said || fail "with a .gnuplot at home: $(cat said)"
    if ! plot accuracy aps.jsonl --out nohome.svg || ! cmp -s home.svg nohome.svg; then fail "a .gnuplot at home changes the chart"; fi
    mkdir names
    cd names || exit 1
    # shellcheck disable=SC2016,SC1003 # names, not commands
    for name in '|touch hit #' '| touch hit; cat >' "a'; system('touch hit') #" '`touch hit`' '$(touch hit)' '<touch hit' -e '@x' 'a\' "'s" "a''b" "'''"; do
        for end in svg png gp; do
            plot accuracy ../aps.jsonl --out="$name.$end" 2>said || fail "--out '$name.$end': $(cat said)"
            [ -s "./$name.$end" ] || fail "--out '$name.$end' is not there: $(ls)"
        done
        plot accuracy ../aps.jsonl --out title.svg --title="$name" 2>said || fail "--title '$name': $(cat said)"
        sed "s/\"e3m0\"/\"${name//[\\|]/}\"/" ../aps.jsonl >"./$name"
        plot accuracy "./$name" --out series.png 2>said || fail "a file '$name': $(cat said)"
    done
    [ -z "$(find .. -name hit)" ] || fail 'a name of a file was run'
    cd "$dir" || exit 1
    for loss in 1e10 -1e10 1e30 -1e300 0; do
        printf '{"kind":"run"}\n{"kind":"epoch","epoch":1,"loss":%s}\n' $loss >large
        plot loss large --out large.svg 2>said || fail "a loss of $loss: $(cat said)"
    done
    row() {
        echo "{\"name\":\"$1\",\"label\":\"$1\",\"algo\":\"$1\",\"type\":\"$1\",\"size\":1024,\"time_us\":1,\"algbw\":1,\"encode\":1,\"decode\":1,\"bytes\":1,\"ratio\":1,\"ratio_memcpy\":1,\"l2\":1,\"fastest\":true,\"end\":0}"
    }
    rows="it's \$(touch hit) \`touch hit\` <x | touch hit; a=b.json"
    { row plain && row "x'; touch hit; '" && row "\$(touch hit)" && row "\`touch hit\`" && row "|touch hit"; } >"$rows"
    for name in 1 none fp32 "x'; touch hit; '" "\$(touch hit)"; do
        printf '1\t%s\t1\n2\t%s\t2\n' "$name" "$name" >>"$rows.steps"
        printf '%s\tgflop\t1\n%s\tfp32\t1\t5\t1000000\t0.1\t0\n%s\t%s\t2\t5\t1000000\t0.1\t0.1\n' "$name" "$name" "$name" "$name"
    done >"$rows.tsv"
    for program in "$here"/../bench/*/*.gp; do
        case $program in */loss_scale.gp | */tradeoff.gp) file=$rows.tsv ;; *) file=$rows ;; esac
        [ "${program##*/}" != maps.gp ] || continue
        FILE=$file CHART=quantiles QUANTILES=$rows.steps gnuplot "$program" >bench.svg 2>said || fail "${program##*/}: $(cat said)"
        grep -q '</svg>' bench.svg || fail "${program##*/}: no chart"
    done
    mkdir -p "$rows.maps/fp32"
    for i in 1 2 3 4 5 6 7 8; do gnuplot -e 'set terminal pngcairo size 64,64; plot x' >"$rows.maps/fp32/$i.png"; done
    MAPS=$rows.maps ROWS=fp32 gnuplot "$here/../bench/segmentation/maps.gp" >maps.png 2>said || fail "maps.gp: $(cat said)"
    [ "$(head -c 4 maps.png | tail -c 3)" = PNG ] || fail "maps.gp: no picture: $(cat said)"
    [ -z "$(find . -name hit)" ] || fail 'what a bench had written was run'
fi
text=$(grep -rnE '(^|[^a-z_])(system|popen)\(' "$here"/../{host,device,sim} --include=*.[ch]* | grep -v 'clock_')
[ -z "$text" ] || fail "a shell reads a text: $text"

# gnuplot ignores a full disk, so it gets no file name. No file beside the chart can be replaced by
# a link.
mkdir cut
cat >cut/gnuplot <<'EOF'
#!/bin/sh
cat ${2+"$2"} >"$SEEN.program" # $1 is -d
ls >"$SEEN"
printf '<svg'
EOF
chmod +x cut/gnuplot
export SEEN=$dir/cut/seen
for chart in new.svg new.png new.pdf; do
    : >said
    ls >cut/before
    PATH=$dir/cut:$PATH plot accuracy aps.jsonl --out $chart 2>said
    diff cut/before cut/seen >said || fail "there is more while $chart is drawn: $(cat said)"
    ! grep -q 'set output' cut/seen.program || fail 'gnuplot is given a name'
done
for chart in cut.svg cut.png cut.pdf; do
    echo old >$chart
    busy=1 PATH=$dir/cut:$PATH refused "cannot write '$chart': gnuplot stopped midway: is the disk full?" plot accuracy aps.jsonl --out $chart
    [ "$(cat $chart)" = old ] || fail "a chart that was cut: $(cat $chart)"
done
mkdir empty
without() { PATH=$dir/empty "$B/narrowcast" "$@"; }
for chart in none.svg none.png; do
    refused "cannot draw '$chart': no gnuplot in PATH: install gnuplot-nox, leave out --out" without plot accuracy aps.jsonl --out $chart
done
[ -z "$(find . -name 'none.svg*' -o -name 'none.png*')" ] || fail "left behind without gnuplot: $(ls)"
without plot accuracy aps.jsonl >out 2>said || fail "a table without gnuplot: $(cat said)"
grep -q '^1  *25' out || fail "no table without gnuplot: $(cat out)"
if ! without plot accuracy aps.jsonl --out none.gp 2>said || [ ! -s none.gp ]; then fail "a program without gnuplot: $(cat said)"; fi

printf '{"kind":"run","codec":"\033[2Jx"}\n{"kind":"epoch","epoch":1,"test_accuracy":1}\n' >cursor
table 'epoch cursor: ?[2Jx (test accuracy, %)
1 100' accuracy cursor

refused "unknown kind 'acuracy': did you mean 'accuracy'?" plot acuracy aps.jsonl
refused "unknown kind 'x': need one of accuracy, accuracy-time, loss," plot x aps.jsonl
refused "cannot open 'nowhere'" plot loss nowhere
refused "cannot plot accuracy of 'phases': need logs of narrowcast train --log" plot accuracy aps.jsonl phases
refused "cannot plot shift of 'aps.jsonl': need files of narrowcast train --stats" plot shift aps.jsonl
: >nothing
refused "cannot plot phases of 'nothing'" plot phases nothing
refused "cannot plot loss of 'none.jsonl': it has no finite number" plot loss none.jsonl
head -c 100000 "$B/narrowcast" >binary
refused "cannot read 'binary', line 1: " plot loss binary
sed '3s/}$//' aps.jsonl >broken
refused "cannot read 'broken', line 3: need a JSON object" plot loss broken
head -c 2000000 /dev/zero | tr '\0' ' ' >long
refused "line 1: it is longer than 1 MiB" plot loss long
for i in $(seq 70); do echo "{\"kind\":\"stats\",\"step\":1,\"index\":$i,\"layer\":\"l$i\",\"first\":0,\"bins_all\":[1]}"; done >layers
refused 'cannot plot more than 64 lines: give fewer files, or --layers' plot exponents layers
[ "$(plot exponents layers --layers l7,l70 | wc -l)" = 2 ] || fail 'two layers of many'
refused "need a name that ends in .svg, .png, .pdf or .gp" plot loss aps.jsonl --out chart.eps
refused "cannot read '.': Is a directory" plot loss .
ln -s /dev/full full.gp
refused "cannot write 'full.gp': No space left on device" plot accuracy aps.jsonl --out full.gp
plot accuracy aps.jsonl --title $'a\nb' --out lines.gp || fail 'a title of two lines'
grep -q "^set title 'a b' noenhanced" lines.gp || fail "a title of two lines: $(grep -A 1 title lines.gp)"
plot accuracy aps.jsonl >/dev/full 2>said && fail 'a full disk'
refused "--title 'X' needs --out FILE" plot accuracy aps.jsonl --title X
awk 'BEGIN { print "{\"kind\":\"run\"}"; for (i = 1; i <= 300000; i++) printf "{\"kind\":\"step\",\"step\":%d,\"loss\":1}\n", i }' >many
[ "$(timeout 60 "$B/narrowcast" plot step-loss many | wc -l)" = 300001 ] || fail 'many steps'
awk 'BEGIN { for (i = 0; i < 900; i++) { printf "{\"kind\":\"stats\",\"step\":1,\"first\":%d,\"bins_all\":[1", 1000 * i
                                        for (k = 1; k < 1000; k++) printf ",1"; print "]}" } }' >many
[ "$(timeout 60 "$B/narrowcast" plot model-exponents many | wc -l)" = 900001 ] || fail 'many exponents'
exit $bad
