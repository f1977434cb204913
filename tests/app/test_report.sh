#!/bin/bash
# test_report.sh : tests the page of `narrowcast report`: self-contained, with a command that
# reproduces the run.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
report() { "$n" report "$@"; }
echo old >page.html

# look FILE FIGURES DRAWN: fails if the page needs another file; prints its text
cat >look.py <<'EOF2'
import sys, xml.etree.ElementTree as tree
page = tree.parse(sys.argv[1]).getroot() # one root, all closed, UTF-8
def of(name): return [e for e in page.iter() if e.tag.split('}')[-1] == name]
ids = [e.get('id') for e in page.iter() if e.get('id')]
assert len(ids) == len(set(ids)), 'an id twice'
for bad in ('script', 'img', 'link', 'iframe', 'object', 'image', 'b'):
    assert not of(bad), bad
for e in page.iter():
    for key, value in e.attrib.items():
        key = key.split('}')[-1]
        assert not key.startswith('on'), key
        if key in ('href', 'src'):
            assert value[0] == '#' and value[1:] in ids, value
assert len(of('figure')) == int(sys.argv[2]), '%d figures' % len(of('figure'))
assert len(of('svg')) == int(sys.argv[3]), '%d charts' % len(of('svg'))
for figure in of('figure'):
    assert figure.find('h2').text and len(list(figure.iter('pre'))) == 1, 'a figure without headline or numbers'
for row in of('tr'):
    assert len(row) == len(of('tr')[0]), 'a row of another length'
print('\n'.join(''.join(e.itertext()) for e in page.iter() if e.tag in ('h1', 'h2', 'th', 'td', 'pre', 'p')))
EOF2
look() {
    python3 look.py "$@" >text 2>why || fail "page $1: $(tail -n 1 why)"
}
has() { grep -qF -- "$1" text || fail "the page has no '$1': $(head -c 3000 text)"; }

drawn() { echo 0; }
[ -z "$(command -v gnuplot)" ] || drawn() { echo "$1"; }
[ -n "$(command -v gnuplot)" ] || echo 'skip  charts: no gnuplot'
python=$(command -v python3)
[ -n "$python" ] || { echo 'skip  no python3 to read pages'; exit 77; }

small='--data synthetic:240,1 --model mlp --batch 60'
# shellcheck disable=SC2086 # several words
mpirun -np 2 "$n" train $small --epochs 2 --format e5m2 --nesterov --seed 7 --log "it's.jsonl" --trace t.json --stats stats.jsonl --stats-every 2 >out 2>said || fail "train: $(cat said)"
# shellcheck disable=SC2086
"$n" emulate --ranks 2 $small --steps 3 --codec qsgd:4 --log two.jsonl >/dev/null 2>said || fail "emulate: $(cat said)"
report "it's.jsonl" two.jsonl stats.jsonl -o page.html --title 'a < b & c' 2>said || fail "report: $(cat said)"
look page.html 10 "$(drawn 10)"
for words in 'a < b & c' 'Bytes of a step against fp32' 'Time of a step by phase' 'Exponents by layer' "it's: e5m2 aps" 'two: qsgd:4' 'mlp, ' '2 ranks in one process, 60 images' \
    '8 of 8' '3 of 3' 't.json, which ui.perfetto.dev shows' "$(sum_of out)" 'narrowcast emulate --ranks 2 --data synthetic:240,1 --model mlp --steps 3 --batch 60 --codec qsgd:4 --log two.jsonl'; do
    has "$words"
done
# shellcheck disable=SC2016 # what `eval` expands
command=$(sed -n 's/^mpirun -np 2 narrowcast train/"$n" emulate --ranks 2/; s/ --trace t.json$//p' text | head -n 1)
want="\"\$n\" emulate --ranks 2 --data synthetic:240,1 --model mlp --epochs 2 --batch 60 --nesterov --seed 7 --format e5m2 --log 'it'\\''s.jsonl' --stats stats.jsonl --stats-every 2"
[ "$command" = "$want" ] || fail "the command: $command"
eval "$command" >again 2>said || fail "the page's command: $(cat said)"
[ "$(grep checksum out)" = "$(grep checksum again)" ] || fail "the page's command makes other weights"

bad_words='<script>alert(1)</script>'
{
    printf '{"kind":"run","version":"%s","ranks":4,"first_step":10,"steps_in_all":50,"fp32_sent_bytes":400,"data":"]]>%s \\"q\\" \\u0041\\u00e9",' "$bad_words" "$bad_words"
    printf '"model":"%s&amp;","batch":10,"codec":"<img src=x onerror=alert(3)>","offload":"<b>","seed":18446744073709551615,"log":"\xff\xc3\x28\xed\xa0\x80x"}\n' "$bad_words"
    for i in $(seq 11 23); do
        echo "{\"kind\":\"step\",\"step\":$i,\"loss\":$((60 - i)).5,\"samples_per_s\":100,\"sent_bytes\":100,\"comm_s\":0.01,\"codec_s\":0.002,\"skipped\":true,\"offload\":false,\"redone\":2}"
    done
    echo "{\"kind\":\"stats\",\"step\":20,\"index\":0,\"layer\":\"$bad_words\",\"first\":-3,\"bins_all\":[1,0,97,2],\"l2\":0.5}"
    printf '{"kind":"epoch","epoch":1,"st'
} >'<script>&"<b>.jsonl'
printf '{"kind":"run","format":"\xc3\x1b"}\n{"kind":"step","step":1,"loss":1}\n' >$'caf\xc3\x01.jsonl'
report '<script>&"<b>.jsonl' $'caf\xc3\x01.jsonl' --out page.html 2>said || fail "what others have made: $(cat said)"
look page.html 6 "$(drawn 6)"
for words in "]]>$bad_words \"q\" A?" "$bad_words&amp;" '<script>&"<b>.jsonl' '23 of 50, from step 11 on' '13: steps 11, 12, 13, 14, 15, 16, 17, 18, ...' '<b>: 0 of 13 steps through cards; 26 buckets' \
    '100 a step from rank 0, 0.250 of fp32' "mpirun -np 4 narrowcast train --data ']]>$bad_words \"q\" A?'" '--seed 18446744073709551615' "$(printf '\xef\xbf\xbd')"; do
    has "$words"
done
awk 'BEGIN { print "{\"kind\":\"run\"}"; for (i = 1; i <= 100000; i++) printf "{\"kind\":\"step\",\"step\":%d,\"loss\":%d}\n", i, i % 200 }' >many
report many -o many.html 2>said || fail "many steps: $(cat said)"
[ "$(wc -c <many.html)" -lt 100000 ] || fail "many steps: $(wc -c <many.html) bytes"
look many.html 1 "$(drawn 1)"
has 'Points are means of up to 200 neighbours.'
grep -q '^100.5  *99.5' text || fail "means of steps: $(grep -A 3 '^step' text)"

mkdir empty cut bad
PATH=$dir/empty report name.jsonl two.jsonl --out page.html 2>/dev/null && fail 'a file that is not there'
PATH=$dir/empty "$n" report two.jsonl --out plain.html 2>said || fail "no gnuplot: $(cat said)"
grep -q 'warning: no gnuplot in PATH' said || fail "no gnuplot: $(cat said)"
look plain.html 5 0
printf '#!/bin/sh\necho "<svg "\necho "<g>"\n' >cut/gnuplot
printf '#!/bin/sh\nexit 3\n' >bad/gnuplot
chmod +x cut/gnuplot bad/gnuplot
undrawn() {
    "$n" report "$4" --out page.html 2>said || fail "$4: no page: $(cat said)"
    look page.html "$2" "$3"
    has "This chart could not be drawn: $1"
    [ "$(grep -c "^narrowcast: warning: the page lacks the chart '.*': $1" said) $(wc -l <said)" = "$(($2 - $3)) $(($2 - $3))" ] || fail "$4: said: $(cat said)"
}
PATH=$dir/cut:$PATH refused 'cannot draw: gnuplot stopped midway' report two.jsonl --out page.html
PATH=$dir/bad:$PATH undrawn 'gnuplot did not make the chart: it gave no reason' 5 0 two.jsonl
printf '{"kind":"run"}\n{"kind":"epoch","epoch":%d,"loss":%s,"test_accuracy":1e99}\n' 1 1e308 >far
printf '{"kind":"epoch","epoch":%d,"loss":%s,"test_accuracy":0.5}\n' 2 -1e308 >>far
[ -z "$(command -v gnuplot)" ] || undrawn 'gnuplot did not make the chart: all points y value undefined!' 2 1 far

report two.jsonl -o two.html 2>said || fail "report: $(cat said)"
{ echo first; report two.jsonl -o -; } >both 2>said || fail "report -o -: $(cat said)"
{ echo first; cat two.html; } | cmp -s - both || fail "report -o - writes another page: $(head -c 300 both)"
[ ! -e ./- ] || fail 'a file of the name -'
if "$n" report two.jsonl -o - >/dev/full 2>said; then fail 'report -o - to a full disk was taken'; fi
grep -qx 'narrowcast: cannot write to standard output: No space left on device' said || fail "a full disk: $(cat said)"

refused 'report needs a file for the page: --out FILE.html' report two.jsonl
refused 'too few arguments' report -o page.html
refused '-o' report two.jsonl -o
refused "cannot open 'nowhere'" report two.jsonl nowhere -o page.html
: >nothing
refused "cannot report on 'nothing': need a file of narrowcast train --log or --stats" report nothing -o page.html
head -n 1 two.jsonl >begun
refused "cannot report on 'begun'" report two.jsonl begun -o page.html
head -c 100000 "$n" >binary
refused "cannot read 'binary', line 1: " report binary -o page.html
sed '3s/}$//' two.jsonl >broken
refused "cannot read 'broken', line 3: need a JSON object" report two.jsonl broken -o page.html
refused "cannot read '.': Is a directory" report . -o page.html
cp two.jsonl page.copy
refused "the page would overwrite one of its input files" report two.jsonl -o ./two.jsonl
cmp -s two.jsonl page.copy || fail 'a log was replaced'
refused 'nowhere/page.html' report two.jsonl -o nowhere/page.html
[ "$(drawn 1)" = 0 ] || refused "/dev/full" report two.jsonl -o /dev/full
refused "unknown option '-x'" report two.jsonl -x page.html
# shellcheck disable=SC2046 # words
refused 'is one argument too many' report $(yes two.jsonl | head -n 65) -o page.html

if [ -n "$(command -v chromium)" ]; then
    report "it's.jsonl" two.jsonl '<script>&"<b>.jsonl' stats.jsonl -o page.html 2>said || fail "report: $(cat said)"
    timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/chromium" --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --window-size=1000,6000 \
        --screenshot="$dir/page.png" "file://$dir/page.html" >seen 2>&1 || fail "chromium: $(tail -n 3 seen)"
    grep CONSOLE seen && fail 'the console is not empty'
    [ "$(wc -c <page.png 2>/dev/null || echo 0)" -gt 100000 ] || fail 'nothing to see'
else
    echo 'skip  in a browser: no chromium'
fi
exit $bad
