#!/bin/bash
# test_emulate_stats.sh : compares --stats, --quant and --until of emulated and real ranks.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

as_real() {
    local words=(--data 'synthetic:240,3' --batch 24 --lr 0.02 --epochs 2 --stats-every 4 "$@")
    mpirun -np 4 "$B/narrowcast" train "${words[@]}" --stats real >real.out 2>real.err || fail "real $*: $(cat real.err)"
    "$B/narrowcast" emulate --ranks 4 "${words[@]}" --stats emulated >emulated.out 2>emulated.err || fail "emulated $*: $(cat emulated.err)"
    [ "$(tail -n 1 real.out)" = "$(tail -n 1 emulated.out)" ] || fail "$*: $(tail -n 1 real.out), emulated $(tail -n 1 emulated.out)"
    [ "$(wc -l <real)" -gt 10 ] || fail "$*: $(wc -l <real) lines"
    cmp -s <(tail -n +2 real) <(tail -n +2 emulated) || fail "$*: other lines"
    for f in real emulated; do sed -n 's/^\(until.*steps\): .*/\1/p; s/, \(.* among the first 5\)/\1/p' $f.out >$f.said; done
    cmp -s real.said emulated.said || fail "$*: $(cat real.said emulated.said)"
}
as_real --model resnet8 --format e4m3 --until 0.01
as_real --model lenet5 --format e5m2 --algo ring --sum nearest --quant act=e4m3,weight=e4m3,error=e5m2 --loss-scale 1024
as_real --model mlp --codec qsgd:8 --micro 2
"$B/narrowcast" emulate --ranks 4 --data synthetic:240,3 --batch 24 --steps 1 --memory low --stats low >out 2>said && fail "--memory low was taken"
grep -q -- '--stats needs the gradients of all ranks, which --memory low does not keep' said || fail "--memory low: $(cat said)"
exit $bad
