#!/bin/bash
# test_doctor.sh : runs `narrowcast doctor` on this machine.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
card=
trap '[ -z "$card" ] || kill "$card" 2>/dev/null; rm -rf "$dir"' EXIT
ends() {
    local want=$1 status
    shift
    "$@" >out 2>said
    status=$?
    [ "$status" = "$want" ] || fail "ended with $status, not $want: $*: $(cat out said)"
    grep -vE '^(ok  |warn|fail)  [a-zA-Z ]{13} [^ ].*$' out && fail "a line of another form: $*"
    [ "$(grep -c '^fail' out)" = "$want" ] || fail "failed checks: $*: $(cat out)"
    ! grep -E '^(warn|fail)' out | grep -v '; fix: .' || fail "a finding that nothing mends: $*"
}
has() { grep -qE -- "$1" out || fail "no '$1': $(cat out)"; }

ends 0 "$n" doctor
has '^ok    launcher      1 process'
has "^ok    program       version $("$n" --version | cut -d' ' -f2), build [0-9a-f]{8}$"
has '^ok    cards         none named'
lines=$(wc -l <out)
ends 0 mpirun -np 3 "$n" doctor
has '^ok    launcher      3 ranks on 1 machine$'
has '^ok    clocks        within '
[ "$(wc -l <out)" = "$lines" ] || fail "3 ranks say $(wc -l <out) lines, one says $lines"
"$n" doctor --json >out || fail '--json'
if [ -n "$(command -v python3)" ]; then
    python3 - "$lines" <<'END' || fail "its JSON: $(cat out)"
import json, sys
rows = [json.loads(line) for line in open('out')]
assert len(rows) == int(sys.argv[1]) and len({row['check'] for row in rows}) == len(rows)
for row in rows:
    assert row['kind'] == 'finding' and row['grade'] in ('ok', 'warn', 'fail') and row['what']
    assert (row['mend'] is None) == (row['grade'] == 'ok'), row
END
fi
NARROWCAST_ISA=scalar ends 0 "$n" doctor
if [ "$(uname -m)" = x86_64 ]; then has '^warn  instructions  .*NARROWCAST_ISA=scalar is set; fix: unset NARROWCAST_ISA'; fi
# another MPI's launcher: each process is its own job
env -u OMPI_COMM_WORLD_SIZE PMI_SIZE=4 PMI_RANK=0 "$n" doctor >out 2>said && fail 'another launcher: ended with 0'
has '^fail  launcher      4 processes were started, but MPI sees only 1 of them'
# two builds (Debian 13's mpirun crashes with two programs)
cp "$n" other && printf 'x' >>other
# shellcheck disable=SC2016 # for the ranks
ends 0 mpirun -np 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exec ./other doctor; exec "$0" doctor' "$n"
has '^warn  program       rank 1 on .* runs another build'

"$B/narrowcast-sim" --listen 127.0.0.1:0 --engine c >card.out 2>&1 &
card=$!
for _ in $(seq 100); do
    port=$(sed -n 's/^listening on 127.0.0.1://p' card.out)
    [ -n "$port" ] && break
    sleep 0.05
done
ends 0 mpirun -np 2 "$n" doctor --offload "127.0.0.1:$port"
has '^ok    cards         offload through 1 card .*; one step went through$'
NARROWCAST_OFFLOAD=udp://127.0.0.1:$port ends 0 "$n" doctor
has '^ok    cards         offload through 1 card'
kill "$card" && wait "$card" 2>/dev/null
card=
ends 0 mpirun -np 17 "$n" doctor --offload sim:c # 17 is no e4m3 number
has '^ok    cards         offload through 1 card'
ends 1 mpirun -np 2 "$n" doctor --offload "udp://127.0.0.1:$port" --card-deadline 0.5
has '^fail  cards         cannot reach card udp://127.0.0.1:.*; fix: '

ranks=$here/../host/ranks.sh
# in_room SHM TMPDIR COMMAND...: runs it with these sizes of /dev/shm and TMPDIR, and a time
# limit, as mpirun may hang
in_room() {
    mkdir -p small
    # shellcheck disable=SC2016 # for the other shell
    TMPDIR=$PWD/small timeout -s KILL 100 unshare "${apart[@]}" sh -ec 'mount -t tmpfs -o size=$1 none /dev/shm
        mount -t tmpfs -o size=$2 none "$TMPDIR"; shift 2; exec "$@"' sh "$@"
}
apart=(--mount)
[ "$(id -u)" = 0 ] || apart+=(--map-root-user)
if in_room 1m 1m true 2>/dev/null; then
    train=(train --data 'synthetic:400,1' --model mlp --steps 2)
    "$ranks" 4 "$n" "${train[@]}" 2>/dev/null | grep checksum >wanted
    for room in '1m 64m' '9m 64m' '1g 64k' '1m 64k'; do
        # shellcheck disable=SC2086 # two words
        in_room $room "$ranks" 4 "$n" "${train[@]}" >out 2>said || fail "training with room of $room: $(cat out said)"
        grep checksum out | cmp -s - wanted || fail "room of $room: $(cat out), not $(cat wanted)"
    done
    ends 0 in_room 1m 64m "$ranks" 4 "$n" doctor
    has '^warn  shared memory /dev/shm of .* has 1.0 MiB free, but 4 ranks need'
    ends 0 in_room 1g 1m "$ranks" 2 "$n" doctor
    has "^warn  TMPDIR        '$PWD/small' on .* has [01].[0-9] MiB free"
    in_room 1g 64k "$n" doctor >out 2>said
    grep -q "^narrowcast: TMPDIR: '$PWD/small' .* free: mpirun without host/ranks.sh may hang" said || fail "a full TMPDIR: $(cat said)"
else
    echo 'not run: small /dev/shm and TMPDIR (unshare --mount is not allowed)'
fi
"$ranks" 2 env OMPI_MCA_btl=self "$n" doctor >out 2>said && fail 'ranks that cannot reach each other'
# Open MPI 4 sometimes loses its text when both ranks fail at once, and says so (show_help.c).
grep -q 'unable to reach\|show_help' said || fail "no reason of MPI: $(cat said)"

for words in '--offload nonsense' '--fabric nothing --offload 127.0.0.1:9' '--card-deadline 0' '--fabric udp' '--card-deadline 1' 'x'; do
    # shellcheck disable=SC2086 # several words
    if "$n" doctor $words >out 2>said; then fail "was taken: $words"; fi
    if [ "$(wc -l <said)" != 1 ] || [ -s out ]; then fail "did not say one line: $words: $(cat out said)"; fi
done
for json in '' --json; do
    # shellcheck disable=SC2086 # no word, or one
    "$n" doctor $json >/dev/full 2>said && fail 'a full disk'
    case $(cat said) in *$'\n'* | '') fail "a full disk: $(cat said)" ;; *'No space left on device') ;; *) fail "a full disk: $(cat said)" ;; esac
done
exit $bad
