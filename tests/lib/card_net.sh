# card_net.sh : starts and ends simulated cards, runs trainings and reads their checksums. Source it
# first, under `set -eu`. Provides in_folder.sh's names, and rtl (empty without Verilator).
# shellcheck shell=bash disable=SC2034  # some names are for those who source this

. "$(dirname "${BASH_SOURCE[0]}")/in_folder.sh"
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
codec='--format e5m2 --scale aps-tight'
short='--data synthetic:240,3 --batch 24 --lr 0.05 --model lenet5'
on() {
    ranks=$1
    shift
    # shellcheck disable=SC2086
    mpirun -np "$ranks" "$n" train $short $codec "$@"
}

# wanted RANKS OPTIONS...: prints the checksum of the same run with emulated ranks, without cards
# and MPI; empty if it fails
wanted() {
    # shellcheck disable=SC2086
    "$n" emulate --ranks "$1" --algo direct $short $codec "${@:2}" 2>>stderr | sum_of
}

# by_card LOG: prints "N of M": steps through cards and all steps
by_card() { echo "$(grep -c '"kind":"step".*"offload":true' "$1") of $(grep -c '"kind":"step"' "$1")"; }

same() {
    if [ -z "$3" ] || [ "$(sum_of "$2")" != "$3" ]; then
        fail "$1: checksum '$(sum_of "$2")', wanted '$3': $(tail -n 3 "$2" stderr)"
    fi
}

# through NAME WANTED RANKS WHERE OPTIONS...: all steps through cards, checksum WANTED
through() {
    what=$1 wanted=$2 ranks=$3 where=$4
    shift 4
    rm -f log
    on "$ranks" --offload "$where" --log log "$@" >out 2>>stderr || fail "$what: exit $?"
    same "$what" out "$wanted"
    case "$(by_card log)" in
    "0 of"*) fail "$what: no step came through the card: $(tail -n 3 stderr)" ;;
    *) [ "$(by_card log | sed 's/ of.*//')" = "$(by_card log | sed 's/.*of //')" ] || fail "$what: $(by_card log) steps came through cards" ;;
    esac
}

partly=0 # runs whose card died while it was needed
beside=''
algo=auto # for sums that the card does not make
processes=4 blocks=''
seed=4711
RANDOM=$seed
# killed MOMENT STEPS LAST CARD-OPTIONS...: kills it at a random moment before step LAST has ended
killed() {
    moment=$1 n_steps=$2 wanted=$((1 + RANDOM % $3))
    shift 3
    echo "moment $moment: the card is killed after step $wanted (seed $seed)"
    card mortal "$@"
    rm -f log
    # shellcheck disable=SC2086
    on $processes $blocks --steps "$n_steps" --algo $algo --offload "$(at mortal $beside)" --card-deadline 3 --log "$dir/log" >out 2>err &
    run=$!
    while kill -0 $run 2>/dev/null && [ "$(steps log)" -lt $wanted ]; do sleep 0.01; done
    sleep 0.0$((RANDOM % 10))
    uncard mortal KILL
    wait $run || fail "moment $moment: the run failed: $(cat err)"
    cat err >>stderr
    [ "$(grep -c 'warning' err)" -le 1 ] || fail "moment $moment (step $wanted): $(grep -c warning err) warnings: $(cat err)"
    case "$(by_card log)" in
    "0 of"* | "$n_steps of"*) ;;
    *)
        partly=$((partly + 1))
        [ "$(grep -c 'warning' err)" -eq 1 ] || fail "moment $moment (step $wanted): said nothing: $(cat err)"
        ;;
    esac
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

# without features that matrix products in fp32 do not use
machine_kind() { "$n" info | sed -n 's/ \(avx512cd\|avx512vnni\|avx512fp16\|avx512_bf16\|amx_bf16\)//g; s/^\(CBLAS\|CPU features\)  *//p' | paste -sd ';'; }
machine_key() { printf '%s' "$(machine_kind)" | sha256sum | cut -c 1-8; }

steps() {
    if [ -s "$1" ]; then grep -c '"kind":"step"' "$1" || true; else echo 0; fi
}
