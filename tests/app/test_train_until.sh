#!/bin/bash
# test_train_until.sh : trains with `--until`, which ends after the first good enough epoch.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

on() {
    local launch=(mpirun -np "$1")
    [ "$1" != 1 ] || launch=()
    shift
    "${launch[@]}" "$B/narrowcast" train --data synthetic:400,3 --batch 20 --lr 0.02 --warmup 0 --model mlp --schedule const "$@"
}
epochs() { sed -n "s/^{\"kind\":\"epoch\",.*\"$2\":\\([^,}]*\\).*/\\1/p" "$1"; }

on 2 --epochs 5 --log whole >whole.out 2>whole.err || fail "5 epochs: $(cat whole.err)"
grep -q '^until' whole.out && fail "--until was not asked for: $(grep ^until whole.out)"
mapfile -t accuracy < <(epochs whole test_accuracy)
mapfile -t top < <(epochs whole test_top5)
[ "${#accuracy[@]} ${#top[@]}" = "5 5" ] || fail "epochs: $(cat whole.err)"
for e in 0 1 2 3 4; do
    awk -v a="${accuracy[e]}" -v t="${top[e]}" 'BEGIN { exit !(t >= a && t <= 1 && t > 0.4) }' || fail "epoch $e: top-1 ${accuracy[e]}, top-5 ${top[e]}"
done
printf -v share '%.2f %% among the first 5' "$(awk -v t="${top[4]}" 'BEGIN { print 100 * t }')"
grep -q "^accuracy .*, $share\$" whole.out || fail "the table does not say '$share': $(grep ^accuracy whole.out)"
tail -n 1 whole | grep -q '"kind":"end".*"reason":"done"' || fail "the end of a run without --until: $(tail -n 1 whole)"
[ "$(epochs whole train_bytes | sort -n | uniq | wc -l)" = 5 ] || fail "bytes do not grow: $(epochs whole train_bytes)"

want=${accuracy[2]} end=0
for e in 2 1 0; do awk -v a="${accuracy[e]}" -v w="$want" 'BEGIN { exit !(a >= w) }' && end=$((e + 1)); done
[ "$end" -lt 5 ] || fail "no epoch to end with: ${accuracy[*]}"
on 2 --epochs 5 --until "$want" --log part --save ck >part.out 2>part.err || fail "--until $want: $(cat part.err)"
[ "$(epochs part epoch | tail -n 1)" = "$end" ] || fail "--until $want: ended after epoch $(epochs part epoch | tail -n 1), not $end of ${accuracy[*]}"
[ "$(epochs part checksum | tail -n 1)" = "$(epochs whole checksum | sed -n "${end}p")" ] || fail "other weights than those of epoch $end"
steps=$((20 * end))
tail -n 1 part | grep -q "^{\"kind\":\"end\",\"step\":$steps,.*\"reason\":\"until\"" || fail "the log's end: $(tail -n 1 part)"
bytes=$(epochs part train_bytes | tail -n 1)
grep -qE "^until +accuracy [0-9.]+ after $steps steps: [0-9.]+ s of steps, [0-9.]+ MB sent by a rank\$" part.out || fail "says: $(grep ^until part.out)"
awk -v b="$bytes" '/^until/ { for (i = 1; i < NF; i++) if ($(i + 1) == "MB") d = $i * 1e6 / b - 1; exit !(d < 1e-3 && d > -1e-3) }' part.out ||
    fail "bytes: $bytes in the log, $(grep ^until part.out)"
grep -q "^run .* $steps steps" part.out || fail "the table counts other steps: $(grep ^run part.out)"

on 2 --epochs 5 --resume ck --log part >rest.out 2>rest.err || fail "the rest: $(cat rest.err)"
[ "$(tail -n 1 rest.out)" = "$(tail -n 1 whole.out)" ] || fail "the rest ends in $(tail -n 1 rest.out), the whole in $(tail -n 1 whole.out)"

on 2 --epochs 5 --until 1 --resume ck >rest.out 2>rest.err || fail "not reached: $(cat rest.err)"
grep -q "^until .*accuracy 1 was not reached in 100 steps, $((100 - steps)) of them in this run: " rest.out || fail "says: $(grep ^until rest.out)"
on 1 --epochs 1 --until 1.5 >out 2>said && fail "--until 1.5 was taken"
grep -q -- '--until' said || fail "--until 1.5: $(cat said)"
exit $bad
