#!/bin/bash
# test_sim_cli.sh : tests `narrowcast sim` on the command line.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT

"$n" sim --help >help
for option in listen engine drop dup reorder delay seed wave pcap tap ip counters json; do
    grep -q -- "--$option " help || fail "--help does not know --$option"
done
refused '--listen 127.0.0.1' timeout 20 "$n" sim
refused '--counters' timeout 20 "$n" sim --json
refused 'leave --listen out' timeout 20 "$n" sim --counters 127.0.0.1:1 --listen 127.0.0.1:0 --engine c
refused 'leave --drop out' timeout 20 "$n" sim --counters 127.0.0.1:1 --json --drop 0
refused 'cannot reach a card at 127.0.0.1:1' timeout 20 "$n" sim --counters 127.0.0.1:1
refused 'HOST:PORT' timeout 20 "$n" sim --counters here
refused 'cannot reach card eth://127.0.0.1:1' timeout 20 "$n" sim --counters eth://127.0.0.1:1
refused 'is not a card' timeout 20 "$n" sim --counters eth://here
refused "did you mean '--listen'" timeout 20 "$n" sim --lisen 127.0.0.1:0
refused '--drop' timeout 20 "$n" sim --listen 127.0.0.1:0 --drop 1.5
cp "$n" alone
refused 'make sim' timeout 20 env PATH=/nowhere ./alone sim --listen 127.0.0.1:0

refused 'cannot write' timeout 20 "$n" sim --listen 127.0.0.1:0 --engine c --pcap /nowhere/file
refused 'no clock' timeout 20 "$n" sim --listen 127.0.0.1:0 --engine c --wave card.fst
refused 'HOST:PORT' timeout 20 "$n" sim --listen here
for group in 255.255.255.255 127.255.255.255 224.0.0.5; do refused 'need an address of this machine' timeout 20 "$n" sim --engine c --listen $group:0; done
refused '--fd 0 is not a connected socket' timeout 20 "$n" sim --engine c --fd 0
refused '--fd 0 is not a connected socket' timeout 20 "$n" sim --listen 127.0.0.1:0 --engine c --fd 0
refused "both name 'one': need two files" timeout 20 "$n" sim --listen 127.0.0.1:0 --wave one --pcap ./one
if ! grep -q 'built without Verilator' "$B/narrowcast-sim"; then
    echo text >target
    ln -s target link
    mkfifo pipe
    mknod device c 1 3 2>/dev/null || rm -f device # needs root; never one of /dev: a fault deletes it
    for file in link pipe device; do
        [ -e $file ] || continue
        before=$(stat -c '%F %i' $file)
        refused "'$file': waves need a regular file" timeout 20 "$n" sim --listen 127.0.0.1:0 --wave $file
        [ "$(stat -c '%F %i' $file)" = "$before" ] || fail "--wave has replaced the $before $file"
    done
fi
refused '--tap' timeout 20 "$n" sim --listen 127.0.0.1:0 --ip 10.0.0.1
on_tap() { refused "$1" timeout 20 "$n" sim --listen 127.0.0.1:0 --engine c --tap "$2" --ip "$3" --mac "$4"; }
for ip in 10.0.0.256 0.0.0.1 127.0.0.1 224.0.0.1 255.255.255.255; do on_tap "'$ip'" nc0 $ip 2:2:2:2:2:2; done
for mac in 00:00:00:00:00:00 01:00:5e:00:00:01 2:3 ' +2:-2: 2:2:2:0x'; do on_tap "'$mac'" nc0 10.0.0.9 "$mac"; done
for name in '' 'nc%d' a-name-that-is-too-long 'nc/0'; do on_tap "interface '$name'" "$name" 10.0.0.9 2:2:2:2:2:2; done
refused 'both are at port 20777' timeout 20 "$n" sim --shell --listen 127.0.0.1:20777 --tap nc0 --ip 10.0.0.9 --control 20777
"$n" sim --listen 127.0.0.1:0 --engine c >out 2>err &
card=$!
while ! grep -qs '^listening on ' out && kill -0 $card; do sleep 0.1; done
at=$(sed -n 's/^listening on //p' out)
refused 'cannot listen' timeout 20 "$n" sim --listen "$at" --engine c
"$B/tests/test_sim_listen" "$at" || fail 'no sums through the card'
"$n" sim --counters "$at" >table || fail 'no counters'
"$n" sim --counters "$at" --json >json || fail 'no counters as JSON'
[ "$(grep -cE '^(IN|DROP|OUT|LOST)_[A-Z_]+ +[0-9]+  [a-zA-Z]' table)" -eq 25 ] || fail "not 25 counters: $(cat table)"
grep -qE '^IN_ADDED +480 ' table || fail "IN_ADDED: $(cat table)"
tr ',{}' '\n' <json | tr -d '"' | awk -F: '/^IN_|^DROP_/ { sum += $2 } $1 == "frames_in" { frames = $2 } $1 == "jobs" && $2 { bad = 1 }
    END { exit bad || !frames || sum != frames }' || fail "the counters do not add up: $(cat json)"
[ "$(wc -l <json)" -eq 1 ] || fail 'not one line of JSON'
kill -INT "$card"
wait "$card" || fail "it ended with $?: $(cat err)"
[ ! -s err ] || fail "it said: $(cat err)"

# start WORDS...: starts a card, with stderr to err, and finds its port.
start() {
    rm -f out
    "$n" sim --listen 127.0.0.1:0 --engine c "$@" >out 2>err &
    card=$!
    while ! grep -qs '^listening on ' out && kill -0 $card; do sleep 0.1; done
    port=$(sed -n 's/^listening on .*://p' out)
}
# send N: sends N datagrams of 1000 bytes to the card.
send() {
    for _ in $(seq "$1"); do head -c 1000 /dev/zero >"/dev/udp/127.0.0.1/$port"; done
}
# ends WORDS: the card ends with status 1 after one line with WORDS.
ends() {
    local code=0
    kill -TERM $card || true
    wait $card || code=$?
    { [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF "$1" err; } || fail "not '$1', but $code: $(cat err)"
}
limit=$(ulimit -Sf)
ulimit -Sf 8
start --pcap full.pcap
ulimit -Sf "$limit"
send 20
ends "cannot write 'full.pcap': File too large"

mkfifo ff
head -c 2000 ff >part &
start --pcap ff
send 20
sleep 1.2 # a flush
send 1
ends "cannot write 'ff': Broken pipe"
[ "$(wc -c <part)" -eq 2000 ] || fail "the pipe had $(wc -c <part) bytes"

# Its port cannot be printed.
"$n" sim --listen 127.0.0.1:0 --engine c >/dev/full 2>err &
card=$!
for _ in $(seq 100); do [ -s err ] || sleep 0.1; done
kill $card
wait $card || fail "it ended with $?: $(cat err)"
grep -q '^narrowcast: warning: cannot print that the card listens on 127.0.0.1:[0-9]*$' err || fail "it said: $(cat err)"
! "$B/narrowcast-sim" --help >/dev/full 2>err || fail 'a lost --help is no error'

# No socket takes the place of descriptors 0, 1 and 2.
"$n" sim --listen 127.0.0.1:0 --engine c 0<&- 1>&- 2>&- &
card=$!
while [ "$(find "/proc/$card/fd" -lname 'socket:*' | wc -l)" -lt 2 ] && kill -0 $card; do sleep 0.1; done
for fd in 0 1 2; do
    case $(readlink "/proc/$card/fd/$fd") in *:*) fail "descriptor $fd is $(readlink "/proc/$card/fd/$fd")" ;; esac
done
sleep 0.3
kill -TERM "$card" || fail 'it has ended'
wait "$card" || fail "it ended with $?"
exit $bad
