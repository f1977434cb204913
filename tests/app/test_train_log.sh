#!/bin/bash
# test_train_log.sh : checks the lines of `train --log` and `--stats`.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
[ -n "$(command -v python3)" ] || { echo 'skip  no python3 to read logs'; exit 77; }

cat >log.py <<'EOF2'
# log.py LOG OUT WANTED...: LOG must be of the run that printed OUT. WANTED: KEY=VALUE of the first
# line, as JSON
import json, math, re, socket, subprocess, sys, time
def unique(pairs):
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), 'a key twice: %s' % sorted(k for k in keys if keys.count(k) > 1)
    assert all(re.fullmatch('[a-z][a-z0-9]*(_[a-z0-9]+)*', key) for key in keys), 'keys: %s' % keys
    return dict(pairs)
lines = [json.loads(line, object_pairs_hook=unique) for line in open(sys.argv[1])]
table = open(sys.argv[2]).read()
def of(kind): return [line for line in lines if line['kind'] == kind]
def said(pattern):
    found = re.search(pattern, table, re.M)
    assert found, 'the table has no %s' % pattern
    return found.group(1)
def same(name, logged, printed): assert logged == printed, '%s: %r in the log, %r printed' % (name, logged, printed)
def near(name, logged, printed, by): assert abs(logged - float(printed)) <= by, '%s: %r in the log, %r printed' % (name, logged, printed)

run, = of('run')
assert lines[0] is run and run['schema'] == 2 and re.fullmatch('[0-9a-f]{16}', run['run_id']), run
info = dict(re.split('  +', line.strip(), maxsplit=1) for line in subprocess.check_output([sys.argv[3], 'info'], text=True).splitlines() if '  ' in line.strip())
same('host', run['host'], socket.gethostname())
for key, name in (('cpu', 'CPU'), ('commit', 'commit'), ('version', 'narrowcast')):
    same(key, run[key], info[name])
now = time.time()
for line in (run, *of('end')):
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', line['date']), line['date']
    import calendar
    assert -1 <= now - calendar.timegm(time.strptime(line['date'], '%Y-%m-%dT%H:%M:%SZ')) < 600, line['date']
for key, value in run.items():
    assert value != 'auto' or (not key.startswith('used_') and 'used_' + key in run), key
for words in sys.argv[4:]:
    key, value = words.split('=', 1)
    same(key, run[key], json.loads(value))
if not of('step'):
    sys.exit() # a file of --stats
for step in of('step'):
    near('step_s', step['step_s'] * step['samples_per_s'], run['batch'], 1e-6 * run['batch'])
same('codec and algorithm', '%s, all-reduce %s' % (run['used_codec'], of('end')[0]['added_by']), said('^gradients +(.*)'))
end, = of('end')
assert lines[-1] is end and end['reason'] == 'done' and end['step'] == end['steps'] == len(of('step')), end
near('seconds', end['train_s'], sum(step['step_s'] for step in of('step')), 1e-6)
same('checksum', end['checksum'], said('^weights checksum (.*)'))
near('accuracy', end['test_accuracy'], said('^accuracy ([0-9.]*)$'), 5.1e-5)
near('loss', end['test_loss'], said('^loss +([0-9.]+) on the test'), 5.1e-5)
near('training loss', end['loss'], said('^loss .*, ([0-9.]+) on the training'), 5.1e-5)
near('bytes', end['mean_sent_bytes'], said('^bytes +([0-9]+)'), 0.51)
near('fp32 bytes', end['mean_fp32_bytes'], said('^bytes .* against ([0-9]+)'), 0.51)
near('speed', end['samples_per_s'], said('^speed +([0-9]+)'), 0.51)
near('all-reduce', 100 * (end['comm_s'] + end['codec_s']) / end['train_s'], said('^all-reduce +([0-9.]+) %'), 0.051)
same('skipped', end['skipped'], int(said('^skipped steps +([0-9]+)')))
for key in 'loss', 'train_accuracy', 'test_loss', 'test_accuracy', 'test_top5', 'train_s', 'train_bytes', 'checksum':
    same(key, end[key], of('epoch')[-1][key])
cards = re.search('^offload +', table, re.M) is not None
for key in 'offload_steps', 'redone', 'packets', 'resent', 'rtt_s', 'card_clocks':
    assert (key in end) == cards, key
if cards:
    same('steps', end['offload_steps'], int(said('^offload +([0-9]+) of')))
    same('repeated', end['redone'], int(said('^offload .*; ([0-9]+) buckets')))
    same('packets', end['packets'], int(said('^packets +([0-9]+)')))
    same('sent again', end['resent'], int(said('^packets .*, ([0-9]+) sent again')))
    near('RTT', 1e6 * end['rtt_s'], said('answers in ([0-9]+) us'), 0.51)
    same('clocks', end['card_clocks'], [int(n) for n in re.findall('^card [0-9]+ +([0-9]+) clocks', table, re.M)] or [None] * len(end['card_clocks']))
EOF2

logged() {
    local name=$1 wanted=$2 ranks=$3
    shift 3
    mpirun -np "$ranks" "$n" train --data synthetic:240,1 --device cpu --model lenet5 --batch 24 --steps 4 "$@" --log "$name.jsonl" >"$name.out" 2>said || fail "$name: $(cat said)"
    # shellcheck disable=SC2086 # words without blanks
    python3 log.py "$name.jsonl" "$name.out" "$n" $wanted 2>why || fail "$name: $(tail -n 1 why)"
}
logged exact 'used_algo="direct" used_fallback=null used_sum="exact" used_acc_format=null used_out_format="e4m3" used_bucket_bytes=1048576 algo="direct" used_device="cpu" used_overlap="off" used_offload="off"' 2 \
    --format e3m0 --algo direct --stats stats.jsonl --stats-every 3
python3 log.py stats.jsonl exact.out "$n" 'used_sum="exact"' 2>why || fail "--stats: $(tail -n 1 why)"
logged nearest 'used_algo="ring" used_sum="nearest" used_acc_format="e5m2" used_out_format="e5m2" used_overlap="on"' 3 --format e5m2 --scale none --algo ring --overlap on
logged groups 'used_algo="group-scatter:2" used_quantise="all"' 4 --algo group-scatter:2 --train-samples 120
logged qsgd 'used_sum=null used_out_format=null used_quantise="large"' 2 --codec qsgd:4
logged fp32 'used_sum="fp32" used_out_format="fp32" used_loss_scale="none" used_conv="gemm"' 2 --format fp32 --scale none --conv gemm
logged alone 'used_algo="self"' 1
logged pure 'used_loss_scale="fixed"' 2 --precision fp16-pure --loss-scale 1024
logged card 'used_algo="offload" used_fallback="direct" offload="sim:c"' 2 --offload sim:c --algo auto
NARROWCAST_OFFLOAD=sim:c logged named 'used_algo="offload" offload="auto"' 2

"$n" report card.jsonl groups.jsonl --out page.html 2>said || fail "report: $(cat said)"
value() { sed -n "s/.*\"$2\":\"*\\([^\",}]*\\).*/\\1/p" "$1" | tail -n 1; }
for words in "$(value card.jsonl run_id)" "$(value card.jsonl host), $(value card.jsonl cpu)" "$(value card.jsonl date)</td>" \
    "commit $(value card.jsonl commit)" "$(value card.jsonl packets) from rank 0, $(value card.jsonl resent) of them sent again" "<td>offload</td><td>group-scatter:2</td>" \
    '<td>done</td><td>done</td>' "$(sed -n 's/^gradients *\(.*\), all-reduce.*/\1/p' groups.out)" "$(printf %.0f "$(value groups.jsonl mean_sent_bytes)") a step and rank" \
    'cards</th><td>1 card (sim:c), 64 slots each' '--algo group-scatter:2' '--train-samples 120'; do
    grep -qF -- "$words" page.html || fail "the page has no '$words'"
done
# each picture with each of 10 labels, to train and to test: any network knows a tenth, and half
# among the first 5
mkdir labels
python3 - <<'END'
import random, struct
random.seed(1)
pixels = b''.join(random.randbytes(784) * 10 for _ in range(4))
for part in 'train', 't10k':
    open(f'labels/{part}-images-idx3-ubyte', 'wb').write(struct.pack('>4I', 0x803, 40, 28, 28) + pixels)
    open(f'labels/{part}-labels-idx1-ubyte', 'wb').write(struct.pack('>2I', 0x801, 40) + bytes(range(10)) * 4)
END
mpirun -np 2 "$n" train --data idx:labels --device cpu --model lenet5 --batch 8 --lr 0 --epochs 1 --log labels.jsonl >out 2>said || fail "labels: $(cat said)"
for of in train_accuracy=0.1 test_accuracy=0.1 test_top5=0.5; do
    [ "$(value labels.jsonl "${of%=*}")" = "${of#*=}" ] || fail "not $of: $(tail -n 1 labels.jsonl)"
done

# a failed run has no last line; an older version's log lacks these fields
grep -v '"kind":"end"' card.jsonl >open.jsonl
sed 's/"run_id":.*"command"/"command"/; s/"used_[a-z_]*":\("[^"]*"\|[a-z]*\),//g; s/"train_samples"/"train-samples"/; s/"out_format"/"out-format"/' open.jsonl >old.jsonl
"$n" report open.jsonl old.jsonl --out page.html 2>said || fail "report: $(cat said)"
grep -q '>ended</th><td>unfinished or failed: the log has no end</td><td></td>' page.html || fail 'a log without its end'
grep -q '>gradients</th><td>e4m3, scale aps, exact sums in e4m3</td><td>e4m3, scale aps, sum auto' page.html || fail 'an old log: gradients'
exit $bad
