# card_net.sh : starts and ends simulated cards, runs trainings and reads their checksums. Source it
# first, under `set -eu`. Provides in_folder.sh's names, and rtl (empty without Verilator).
# shellcheck shell=bash disable=SC2034  # some names are for those who source this

# shellcheck source=tests/lib/in_folder.sh
. "$(dirname "${BASH_SOURCE[0]}")/in_folder.sh"
# shellcheck source=tests/lib/ranks_in.sh
. "$here/lib/ranks_in.sh"
[ -n "$(command -v pgrep)" ] || { echo "skip: no pgrep (Debian: procps)"; exit 77; }
rtl=rtl
! grep -q 'built without Verilator' "$B/narrowcast-sim" || { rtl='' && echo 'skip: built without Verilator: no Verilated card'; }
export CARD_NET_DIR="$dir" # for hidden_cards
: >stderr
code=0
trap 'code=$?; pkill -f "$dir/log" || true; end_cards; [ $code -eq 0 ] || tail -n 30 "$dir/stderr" >&2; rm -rf "$dir"' EXIT

cards=

# card NAME OPTIONS...: starts a card on a free loopback port; its address is in $NAME.at, its
# process id in $NAME.pid
card() {
    name=$1
    shift
    rm -f "$name.out"
    "$n" sim --listen 127.0.0.1:0 "$@" >"$name.out" 2>"$name.err" &
    echo $! >"$name.pid"
    cards="$cards $!"
    while ! grep -qs "^listening on " "$name.out" && kill -0 $! 2>/dev/null; do sleep 0.1; done
    sed -n 's/^listening on .*, controlled at /eth:\/\//p; t; s/^listening on /udp:\/\//p' "$name.out" >"$name.at"
    [ -s "$name.at" ] || fail "card $name did not come up: $(cat "$name.out" "$name.err")"
}

uncard() {
    kill "-${2-TERM}" "$(cat "$1.pid")" 2>/dev/null || true
    wait "$(cat "$1.pid")" 2>/dev/null || true
}

at() {
    list=
    for name in "$@"; do list="$list,$(cat "$name.at")"; done
    echo "${list#,}"
}

counter() {
    "$n" sim --counters "$(sed 's/^udp:..//' "$1.at")" --json | sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p"
}

# on RANKS OPTIONS...: a short run; an epoch is 10 steps
on() {
    ranks=$1
    shift
    mpirun -np "$ranks" "$n" train --data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5 --format e5m2 --scale aps-tight "$@"
}

checksum() { sed -n 's/^weights checksum //p' "$1"; }

# by_card LOG: prints "N of M": steps through cards and all steps
by_card() { echo "$(grep -c '"kind":"step".*"offload":true' "$1") of $(grep -c '"kind":"step"' "$1")"; }

same() {
    if [ -z "$3" ] || [ "$(checksum "$2")" != "$3" ]; then
        fail "$1: checksum '$(checksum "$2")', wanted '$3': $(tail -n 3 "$2" stderr)"
    fi
}

hidden_cards() {
    for pid in $(pgrep -f '^narrowcast-sim --fd'); do
        ! { tr '\0' '\n' <"/proc/$pid/environ"; } 2>/dev/null | grep -qxF "CARD_NET_DIR=$dir" || echo "$pid"
    done
}

end_cards() {
    for pid in $cards; do kill "$pid" 2>/dev/null || true; done
    wait || true
}

machine_kind() { "$n" info | sed -n 's/^\(CBLAS\|CPU features\)  *//p' | paste -sd ';'; }
machine_key() { printf '%s' "$(machine_kind)" | sha256sum | cut -c 1-8; }

steps() {
    if [ -s "$1" ]; then grep -c '"kind":"step"' "$1" || true; else echo 0; fi
}
