#!/bin/bash
# test_card.sh : narrowcast.card drives simulated cards, in C and Verilated, over TCP and by leases. Sums,
# packets and rules are those of the Python of tests/conformance. Runs the example of host/python/README.md.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$(dirname "$here")
need_plain "$B/libnarrowcast.so"
python=$(for p in python3 /usr/bin/python3 "${NARROWCAST_TORCH_PYTHON-}"; do "$p" -c 'import numpy' 2>/dev/null && echo "$p" && break; done)
[ "$python" ] || { echo 'skip: no python3 with numpy'; exit 77; }
export PYTHONPATH=$tree/host/python:$tree/tests/conformance/python NARROWCAST_LIBRARY=$B/libnarrowcast.so.0 PYTHONDONTWRITEBYTECODE=1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT

# card OPTION...: start a card, whose address is $at
card() {
    rm -f out
    "$n" sim --listen 127.0.0.1:0 "$@" >out 2>err &
    card=$!
    while ! grep -qs '^listening on ' out && kill -0 $card 2>/dev/null; do sleep 0.1; done
    at=$(sed -n 's/^listening on //p' out)
    [ "$at" ] || { cat err; fail "no card with $*"; exit 1; }
}
end_card() {
    kill -INT "$card"
    wait "$card" || fail "the card ended with $?"
}
checks() { timeout 60 "$python" "$tree/tests/python/card_checks.py" "$@" >said 2>&1 || fail "$*: $(tail -n 4 said)"; }

checks rules
card --engine c
for part in sums errors; do checks $part "$at"; done
# the example prints what its remarks say
awk '/^## A card from a notebook/ { on = 1 } on && /^```$/ { exit } code { print } on && /^```python/ { code = 1 }' "$tree/host/python/README.md" >example.py
sed -n 's/.*print(.*)  *# //p' example.py >wanted
sed -i "s/127\.0\.0\.1:4711/$at/" example.py
timeout 60 "$python" example.py >printed 2>&1
[ "$(wc -l <wanted)" -ge 4 ] || fail 'host/python/README.md has no example of narrowcast.card'
diff wanted printed >said || fail "the example: $(cat said)"
"$n" sim --counters "$at" --json | tr -d ' ' >counters
"$python" -c 'import narrowcast.card, sys; print(*(f"{k}:{v}" for k, v in narrowcast.card.Card(sys.argv[1]).counters().items()))' "$at" |
    tr ' ' '\n' | while IFS=: read -r name count; do grep -qF "\"$name\":$count" counters || echo "$name is not $count"; done >said
[ ! -s said ] || fail "counters: $(cat said)"
# a card that ends
"$python" - "$at" $card >said 2>&1 <<'END' || fail "a card that ended: $(tail -n 3 said)"
import os, sys, time
import narrowcast.card as nc
job = nc.Card(sys.argv[1]).job(1)
os.kill(int(sys.argv[2]), 15)
try:
    for _ in range(100):
        job.sum([[1.0]])
        time.sleep(0.1)
except nc.CardError as e:
    assert "its process has ended" in str(e), e
else:
    raise AssertionError("a sum without a card")
END
wait "$card"
card --engine c --drop 0.1 --dup 0.1 --reorder 0.1 --seed 3
checks losses "$at"
end_card
if grep -q 'built without Verilator' "$B/narrowcast-sim"; then
    echo 'not run: a Verilated card (no Verilator)'
else
    card
    checks sums "$at"
    end_card
    card --engine narrow
    checks narrow "$at"
    end_card
    for network in '' '--drop 0.1 --dup 0.1 --seed 5'; do
        # shellcheck disable=SC2086 # words
        card --engine c --control 0 $network
        at=eth://$(sed -n 's/^listening on .*, controlled at //p' out)
        if [ "$network" ]; then
            timeout 60 "$python" "$tree/tests/python/card_checks.py" renewal "$at" >renewed 2>&1 &
            renewal=$!
            checks losses "$at"
            wait $renewal || fail "renewal: $(tail -n 4 renewed)"
        else
            checks sums "$at"
            checks lease "$at"
        fi
        end_card
    done
fi
# without the generated file
cp "$NARROWCAST_LIBRARY" .
NARROWCAST_LIBRARY=$dir/libnarrowcast.so.0 "$python" -c 'import narrowcast.card' >said 2>&1 && fail 'loads without layouts'
# shellcheck disable=SC2016 # a message's backticks
grep -q '_card_layout.py.: build it with `make`' said || fail "without layouts: $(tail -n 1 said)"
exit $bad
