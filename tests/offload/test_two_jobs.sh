#!/bin/bash
# test_two_jobs.sh : trains two jobs through one card while a third host sends garbage, forged
# keys and replays.
set -eu
. "$(dirname "$0")/../lib/card_net.sh"

two() {
    seconds=$1 rate=$2 steps=$3
    shift 3
    on 3 --steps "$steps" --algo direct >direct1 2>>stderr
    on 2 --steps "$steps" --algo direct --seed 7 --format e4m3 >direct2 2>>stderr
    card shared --pcap shared.pcap "$@"
    on 3 --steps "$steps" --offload "$(at shared)" --log "$dir/log1" >out1 2>err1 &
    first=$!
    while kill -0 $first 2>/dev/null && ! grep -qs '"kind":"step"' log1; do sleep 0.01; done # keys are forged only while a job runs
    "$B/tests/test_attack" "$(sed 's/^udp:..//' shared.at)" shared.pcap "$seconds" "$rate" >attack.out &
    attack=$!
    on 2 --steps "$steps" --offload "$(at shared)" --log "$dir/log2" --seed 7 --format e4m3 >out2 2>err2 || fail "the second run: exit $?"
    wait $first || fail "the first run: exit $?"
    wait $attack || fail "the attack: exit $?"
    cat err1 err2 >>stderr
    same "the first run ($*)" out1 "$(sum_of direct1)"
    same "the second run ($*)" out2 "$(sum_of direct2)"
    for log in log1 log2; do
        [ "$(by_card $log)" = "$steps of $steps" ] || fail "$log: $(by_card $log) steps came through the card ($*)"
    done
    counters=$("$n" sim --counters "$(sed 's/^udp:..//' shared.at)" --json)
    echo "$counters" >>stderr
    # Every frame is in one counter. A slow card gets few frames, maybe none with a forged key.
    echo "$counters" | tr ',{}' '\n' | tr -d '"' | awk -F: '
        /^IN_|^DROP_/ { counted += $2 } $1 == "frames_in" { frames = $2 } $1 == "DROP_KEY" { keys = $2 } /^DROP_(LENGTH|MAGIC|JOB|SOURCE|HEADER_CRC)/ && $2 == 0 { print $1 " is 0"; bad = 1 }
        END { if (frames > 100000 && !keys) { print "no forged key"; bad = 1 }
              if (counted != frames || !frames) { print frames " frames, " counted " counted"; bad = 1 } exit bad }' ||
        fail "the card's counters do not add up ($*): $counters"
    cat attack.out
    uncard shared
    rm -f log1 log2 shared.pcap
}
two 4 200000 60 --engine c
[ -z "$rtl" ] || two 8 200 5 --engine rtl # a frame takes 24 of its 60,000 clocks a second
exit $bad
