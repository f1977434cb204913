#!/bin/bash
# test_overlap.sh : `train --overlap on` gives the weights, dumps and checkpoints of off; silent
# ranks are named.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

on() {
    ranks=$1
    shift
    timeout 120 mpirun -np "$ranks" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --steps 8 --bucket-bytes 8k "$@" 2>>stderr
}

same() {
    rm -f off.ck on.ck
    ranks=$1
    shift
    on "$ranks" --overlap off --save off.ck "$@" >off.txt || fail "off: $ranks ranks $*"
    on "$ranks" --overlap on --save on.ck "$@" >on.txt || fail "on: $ranks ranks $*"
    same_state off.ck on.ck || fail "$ranks ranks $*: other bits with overlap"
    grep -q '^hidden  *[0-9.]* % of the all-reduce' on.txt || fail "$*: the share that was hidden is not said"
    grep -q '^hidden' off.txt && fail "$*: a share is said to be hidden without overlap"
}
same 1 --model lenet5
same 2 --model resnet8 --fp32-last-layer
same 4 --model resnet8 --format e5m2 --round stochastic --algo ring --sum nearest
same 2 --model resnet8 --optimizer lars --augment crop+flip
same 3 --model lenet5 --format e3m0 --scale aps-tight --algo gather --first-epochs-fp32 1 --data synthetic:120,3

on 2 --model mlp --lr 1e4 --warmup 0 --format fp32 --scale none --overlap off --log off.jsonl --save off.ck >/dev/null
on 2 --model mlp --lr 1e4 --warmup 0 --format fp32 --scale none --overlap on --log on.jsonl --save on.ck >/dev/null
for log in off on; do sed -n 's/.*"kind":"step".*\("loss":[^,]*\).*\("skipped":[a-z]*\).*/\1 \2/p' $log.jsonl >$log.steps; done
grep -q true on.steps || fail "no step was skipped: this tests too little"
cmp off.steps on.steps || fail "other losses or skipped steps: $(paste off.steps on.steps)"
same_state off.ck on.ck || fail "other bits after skipped steps"

on 2 --model resnet8 --overlap off --dump-gradients dump.off --dump-steps 3 >/dev/null
on 2 --model resnet8 --overlap on --dump-gradients dump.on --dump-steps 3 >/dev/null
diff -r dump.off dump.on >/dev/null || fail "other gradients are dumped with overlap"
dumped=$(cd dump.on && echo ./*.rank*.f32)
[ "$(echo "$dumped" | wc -w)" -eq 6 ] || fail "dumped: $dumped"

# a card: exponents and sums of every bucket, one vote per step
on 4 --model lenet5 --format e5m2 --overlap off --save off.ck >/dev/null || fail "without a card"
on 4 --model lenet5 --format e5m2 --overlap on --save on.ck --offload sim:c --log card.jsonl >/dev/null || fail "through a card"
same_state off.ck on.ck || fail "other bits through a card with overlap"
[ "$(grep -c '"kind":"step".*"offload":true' card.jsonl)" -eq 8 ] || fail "not all steps came through the card: $(tail -n 3 stderr)"

# --- the timeline; batches are long, so that other load cannot hide overlaps ---
on 2 --model resnet8 --batch 192 --overlap on --trace on.json --save x.ck --save-every 4 >/dev/null || fail "--trace"
on 2 --model resnet8 --batch 192 --overlap off --trace off.json --save x.ck >/dev/null || fail "--trace without overlap"
if command -v python3 >/dev/null; then
    python3 - <<'END' || fail "the timeline is not what it should be"
import json
from collections import Counter

def events(path):
    with open(path) as f:
        return json.load(f)["traceEvents"]

def spans(path):
    all_events = events(path)
    names = {e["args"]["name"] for e in all_events if e["name"] == "process_name"}
    assert names == {"rank 0", "rank 1"}, names
    assert [e["args"] for e in all_events if e["name"] == "trace"] == [{"ranks": 2, "lost_spans": 0}]
    found = [e for e in all_events if e["ph"] == "X"]
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in found)
    return found

def crossing(a, b):
    return a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"]

def nested(found):
    """Spans of one row contain each other or are apart, to the nanosecond that is written."""
    for pid in (0, 1):
        for tid in (0, 1):
            open_until = []
            for e in sorted((e for e in found if (e["pid"], e["tid"]) == (pid, tid)), key=lambda e: (e["ts"], -e["dur"])):
                end = e["ts"] + e["dur"]
                while open_until and open_until[-1] <= e["ts"] + 0.002:
                    open_until.pop()
                assert not open_until or end <= open_until[-1] + 0.002, e
                open_until.append(end)

for path, overlap in (("on.json", True), ("off.json", False)):
    found = spans(path)
    nested(found)
    for pid in (0, 1):
        main = [e for e in found if e["pid"] == pid and e["tid"] == 0]
        thread = [e for e in found if e["pid"] == pid and e["tid"] == 1]
        n = Counter(e["name"] for e in main)
        assert n["step"] == n["compute"] == n["meet"] == 8 and n["input"] >= 8, n
        assert 8 <= n["update"] <= 16 if overlap else n["update"] == 8, n # all buckets except the last, then that one
        assert n["eval"] >= 1 and n["checkpoint"] == (2 if overlap else 1), n
        reduce = Counter(e["name"] for e in (thread if overlap else main))
        assert reduce["all-reduce"] >= 8 * 4 and reduce["encode"] and reduce["decode"] and reduce["scan"] and reduce["exponents"], reduce
        assert all(e["args"]["bytes"] > 0 for e in (thread if overlap else main) if e["name"] == "all-reduce")
        sent = [e["args"]["bytes"] for e in events(path) if e["ph"] == "C" and e["pid"] == pid]
        assert sent == [e["args"]["bytes"] for e in main if e["name"] == "step"] and min(sent) > 0, sent
        for name in ("conv s0b0.conv1 forward", "conv s0b0.conv1 backward", "linear classifier forward", "loss"):
            assert n[name] >= 8, (name, n)
        assert bool(thread) == overlap
        if overlap: # not in every step: a rank may wait for another one's first bucket
            computing = [e for e in main if e["name"] == "compute"]
            assert any(crossing(c, e) for c in computing for e in thread if e["name"] == "all-reduce"), pid
END
else
    echo "skip: no python3: the timeline is not read"
fi
if on 2 --model mlp --trace no/folder/trace >/dev/null; then fail "a trace into nowhere"; fi
grep -q "cannot write 'no/folder/trace'" stderr || fail "did not say that the trace cannot be written"

# --- a rank falls silent while buckets travel: the thread's deadline names it ---
# silent: stops rank 1 after an epoch
silent() {
    timeout -k 2 60 mpirun -np 2 "$n" train --data synthetic:240,3 --batch 24 --model resnet8 --overlap on --deadline 2 --epochs 1000 \
        >/dev/null 2>said &
    run=$!
    rank1=
    while kill -0 $run 2>/dev/null; do
        mpirun=$(pgrep -P $run | head -n 1)
        [ -z "$mpirun" ] || rank1=$(pgrep -P "$mpirun" -f 'narrowcast train' | sed -n 2p)
        if [ -n "$rank1" ] && grep -q 'epoch 1 done' said; then break; fi
        sleep 0.1
    done
    if [ -z "$rank1" ]; then
        fail "the ranks of a run were not found: $(cat said)"
        kill $run
        return
    fi
    grep -q 'epoch 1 done' said || fail "the run ended before its first epoch did: $(cat said)"
    if ! kill -STOP "$rank1" || grep -q '^State:.*zombie' "/proc/$rank1/status"; then
        fail "rank 1 had ended before it was stopped: $(grep -v epoch said)"
    fi
    wait $run
    code=$?
    if [ $code -eq 0 ] || [ $code -eq 124 ]; then fail "a silent rank: status $code"; fi
    grep -q '^narrowcast: rank [01] of 2 did not answer for 2 s' said || fail "a silent rank: said '$(grep -v epoch said)'"
    kill -KILL "$rank1" 2>/dev/null
}
if command -v pgrep >/dev/null; then silent; else echo "skip: no pgrep: no rank falls silent"; fi
[ $bad -eq 0 ] || tail -n 5 stderr >&2
# bench_overlap.sh: means of the steps after the fifth, and of no other row of the log
mkdir build
ln -s "$n" build/narrowcast
B=$PWD/build STEPS=8 "$here/../bench/allreduce/bench_overlap.sh" 2 --model mlp --data synthetic:240,3 --batch 24 >out 2>>stderr || fail "bench_overlap.sh: $(cat out)"
for overlap in off on; do
    mean=$(sed -n 's/.*"kind":"step","step":[6-8],.*"hidden_s":\([^,]*\),"exposed_s":\([^,]*\),"waited_s":\([^,]*\).*/\1 \2 \3/p' build/bench_overlap.$overlap.jsonl |
        awk '{ reduce += $1 + $2; waited += $3 } END { if (NR == 3) printf "%.2f %.2f", 1e3 * reduce / 3, 1e3 * waited / 3 }')
    [ "$mean" = "$(awk -v row=$overlap '$1 == row { print $3, $5 }' out)" ] || fail "bench_overlap.sh, $overlap: not $mean: $(cat out)"
done
exit $bad
