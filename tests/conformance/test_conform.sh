#!/bin/bash
# test_conform.sh : tests `narrowcast conform`: this project's cards and library pass, planted faults
# are named with their rules, and anything except a free card or a library is refused in one line. A
# line of the list of faults: file in sim/, vector, its rule, text of the failure, sed command.
set -eu
. "$(dirname "$0")/../lib/card_net.sh"
tree=$(dirname "$here")
vectors=$here/conformance/vectors
conform() { "$n" conform --vectors "$vectors" "$@"; }

card plain --engine c
plain=$(at plain)
all=$(cat "$vectors"/{card,control,step}.jsonl | grep -cE '"op":"(card|step|stream)"')
# passes CARD DEADLINE: all vectors but card/disabled, which a shared card cannot run, and
# card/narrow, for a card with other formats
passes() {
    conform --card "$(at "$1")" --deadline "$2" >"$1.said" 2>stderr || fail "card $1: $(grep -v '^passed' "$1.said") $(cat stderr)"
    [ "$(tail -n 1 "$1.said")" = "$((all - 2)) vectors passed, 0 failed, 2 not run" ] || fail "card $1: $(tail -n 1 "$1.said")"
    grep -q '^not run  card/disabled .*R119' "$1.said" || fail "card $1: card/disabled: $(grep disabled "$1.said")"
    grep -q '^not run  card/narrow .*CAP_FORMATS is 00012e07, not 00031002$' "$1.said" || fail "card $1: card/narrow: $(grep narrow "$1.said")"
}
passes plain 2
passes plain 2 # again: counters, SEEN_* and keys are others now
# in_readme LINE: the sample outputs are up to date
in_readme() { grep -qxF "$1" "$tree/host/app/README.md" || fail "host/app/README.md does not say '$1'"; }
in_readme "$(grep '^not run  card/disabled' plain.said)"
in_readme "$(grep '^not run  card/narrow' plain.said)"
in_readme "$(tail -n 1 plain.said)"
card narrow --engine narrow
conform --card "$(at narrow)" --only card/narrow >out || true
grep -q '^passed   card/narrow ' out || fail "a narrow card: $(cat out)"
uncard narrow
if [ -n "$rtl" ]; then
    card verilated
    passes verilated 10
    uncard verilated
fi

conform --card "$plain" --only card/disabled --json >out || fail 'a vector that is not run is a failure'
[ "$(cat out)" = '{"kind":"vector","id":"card/disabled","rules":"R98 R99 R112","result":"not run","why":"the card is shared and stays enabled (R119)"}
{"kind":"conform","passed":0,"failed":0,"not_run":1}' ] || fail "--json: $(cat out)"
mkdir -p root/bin root/share/narrowcast bare/bin
cp "$n" root/bin && cp "$n" bare/bin && cp -r "$vectors" root/share/narrowcast
root/bin/narrowcast conform --card "$plain" --only card/max >out || fail "installed: $(cat out)"
[ "$(head -n 1 out)" = 'passed   card/max               R92 R94 R104 R105' ] || fail "installed: $(cat out)"

# --- planted faults ---
faults() {
    cat <<'END'
card_model.c card/sum-e4m3         R94  RESULT.to.rank.[01]:.payload.byte.3:.received.a0,.wanted.a1      s/card->sums->emit(.*/&\nv->slot->kept[3] ^= 1;/
card_model.c card/sum-8-to-16      R94  payload_crc                                                     s/kept_crc = card/kept_crc = 1 ^ card/
card_model.c card/sum-e5m2-inf     R95  status:.received.00000000,.wanted.00000003                      s/h.status = v->slot->kept_status/h.status = 0/
card_model.c card/nak              R96  NAK.to.rank.1:.datagram:.received.none.in.1.5.s,.wanted.64      s/send(card, v->job, h, v->payload, 0, CNT_OUT_NAK)/count(card, CNT_OUT_NAK)/
card_model.c card/nak              R96  tag:.received.00000000,.wanted.51000000                         s/h.tag = v->h.tag;//
card_model.c card/nak-job-formats  R102 counter:.received.DROP_DUPLICATE,.wanted.DROP_FORMAT            s/(in_allowed && in_allowed != h->in_fmt) ||//
card_model.c card/ping             R97  PONG.to.rank.1:.op:.received.04,.wanted.06                      s/answer(v, PKT_OP_PONG)/answer(v, PKT_OP_RESULT)/
card_model.c card/drop             R98  counter:.received.IN_ADDED,.wanted.DROP_PAYLOAD_CRC             s/ != v->h.payload_crc/ == 1/
card_model.c card/drop             R100 counter:.received.IN_ADDED,.wanted.DROP_SOURCE                  s/v->ip != v->job->ip\[h->rank\] ||//
card_model.c card/duplicate        R106 unexpected.RESULT.to.rank.0:.datagram                           s/case SLOT_DUPLICATE:/case 99:/
card_model.c card/resend           R108 unexpected.RESULT.to.rank.1:.datagram                           s/count(card, CNT_DROP_STALE);/&\nresult(card, v, h->rank);/
card_model.c card/bad-desc         R109 unexpected.RESULT.to.rank.0:.datagram                           s/h->tag | (uint64_t)h->count << 32}/h->count}/
card_model.c card/group            R111 RESULT.to.the.group:.key                                        s/rank == PKT_TO_GROUP ? 0 : h.key/h.key/
card_regs.c  card/registers        R113 JOB_KEY_LO:.received                                            s/access == WO ? 0 : //
card_regs.c  card/start            R114 STATUS:.received.00000000,.wanted.00000002                      s/|| !may_start(card)//
card_regs.c  card/stop             R103 chunk:.received.00000001,.wanted.ffffffff                       s/card->slot.job->base + i..s = slot_registered();//
card_regs.c  card/counters         R117 COUNTER_LO:.received.00000001,.wanted.00000000                  s/card->latched\[/card->live[/
card_model.c card/seen             R118 SEEN_PORT:.received.00000000                                    s/card->regs.seen_port = v->port;//
card_model.c step/four-ranks       R107 unexpected.RESULT.to.rank.0:.datagram                           s/case SLOT_RESEND:/case 99:/
END
}
# compile WORD...: with the build's flags, not optimised
compile() {
    # shellcheck disable=SC2046 # flags are words
    OMPI_CC=${CC:-cc} ${MPICC:-mpicc} $(sed 's/^[^ ]* [^ ]* //; s/-lopenblas.*//' "$B/flags") -O0 -g0 -w -I"$tree" -I"$tree/host" "$@" </dev/null >said 2>&1
}
# mutant SED FILE: starts a card whose sim/FILE is changed
mutant() {
    sed "$1" "$tree/sim/$2" >mutant.c
    ! cmp -s mutant.c "$tree/sim/$2" || fail "changes nothing: $2: $1"
    # The mutant's object precedes the library, so the library's own is not linked.
    compile mutant.c shell_none.o shell_eth_none.o "$B/o/sim/narrowcast_sim.o" "$B/libsim.a" "$B/libnarrowcast.a" -lz -lm -ldl -lpthread -o mutant ||
        fail "does not compile: $2: $1: $(tail -n 3 said)"
    rm -f mutant.out
    ./mutant --listen 127.0.0.1:0 --engine c >mutant.out 2>mutant.err &
    cards="$cards $!"
    echo $! >mutant.pid
    while ! grep -qs '^listening on ' mutant.out && kill -0 $! 2>/dev/null; do sleep 0.05; done
    sed -n 's/^listening on /udp:\/\//p' mutant.out >mutant.at
}
compile -c "$tree"/sim/rtl/shell_{none,eth_none}.c || fail "shell_none.c: $(tail -n 3 said)" # no Verilated card
named=0
while read -r file vector rule text change; do
    mutant "$change" "$file"
    if conform --card "$(at mutant)" --only "$vector" --deadline 1.5 >said 2>stderr; then
        fail "is not found: $vector: $change"
    fi
    grep "^FAILED   $vector .*\<$rule\>.*: event [0-9]*, " said | grep -q "$text" || fail "$change: $(cat said stderr)"
    uncard mutant KILL
    named=$((named + 1))
done < <(faults)
echo "$named faults are named"

# --- anything except a free card: one line each ---
mutant 's/^    struct card_shape shape;/&\nif (n) return;/' card_model.c
refused 'does not count a frame sent to 127.0.0.1:' conform --card "$(at mutant)" --deadline 0.3
kill -STOP "$(cat mutant.pid)"
refused 'accepts the connection but does not answer' conform --card "$(at mutant)"
uncard mutant KILL
refused 'cannot reach card' conform --card "$(at mutant)"
refused 'needs either a card' conform
refused 'needs either a card' conform --card "$plain" --library "$B/libnarrowcast.so"
refused 'is not a card' conform --card 127.0.0.1:4711
refused 'need udp://HOST:PORT' conform --card eth://127.0.0.1:4711
refused 'need udp://HOST:PORT' conform --card sim:c
refused 'from 0.001 to 3600' conform --card "$plain" --deadline 0
refused "no vector of a card in '$vectors' begins with 'sum/'" conform --card "$plain" --only sum/
refused "cannot open 'none/card.jsonl'" "$n" conform --card "$plain" --vectors none
refused 'cannot find the vectors' bare/bin/narrowcast conform --card "$plain"
mkdir bad
for line in '{"id":"a","op":"card"}' '{"id":"a","op":"card","job":7,"events":[]}' "$(sed -n '1s/"ranks":2/"ranks":3/p' "$vectors/card.jsonl")" \
    "$(sed -n '1s/"frame":"6e/"frame":"6/p' "$vectors/card.jsonl")" "$(sed -n '1s/IN_ADDED/IN_NONE/p' "$vectors/card.jsonl")" \
    "$(sed -n '1s/"write":\["/&x/; 1p' "$vectors/control.jsonl")" '{"id":"a","op":"stream","events":[{"host":"00"}]}'; do
    echo "$line" >bad/card.jsonl
    refused "line 1: not a vector of FORMAT.md" "$n" conform --card "$plain" --vectors bad
done
"$n" conform --vectors "$vectors" --card "$plain" --only card/counters --deadline 60 >/dev/null & # waits with its job
holds=$!
jobs() { "$n" sim --counters "${plain#udp://}" --json | sed -n 's/.*"jobs":\([0-9]*\).*/\1/p'; }
while kill -0 $holds && [ "$(jobs)" = 0 ]; do sleep 0.05; done
refused 'conform needs a card without other jobs' conform --card "$plain" --only card/max
kill $holds
wait $holds || true
while [ "$(jobs)" != 0 ]; do sleep 0.05; done
conform --card "$plain" --only card/max >said || fail "the card stays in use: $(cat said)"
if command -v python3 >/dev/null; then
    # a server that sends what is no message
    python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
print("udp://127.0.0.1:%d" % s.getsockname()[1], flush=True)
while True:
    s.accept()[0].sendall(b"x" * 40)' >garbage.at &
    garbage=$!
    while [ ! -s garbage.at ]; do sleep 0.05; done
    refused 'no card of this version answers' conform --card "$(at garbage)"
    kill $garbage
else
    echo 'not run: a server that is no card (no python3)'
fi

# --- a library ---
library() { conform --library "$@"; }
library "$B/libnarrowcast.so" >said 2>stderr || fail "the library: $(grep FAILED said) $(cat stderr)"
in_readme "$(grep -c ' quantile/step' said) vectors passed, 0 failed, 0 not run"
grep -vq '^not run\|^passed' said || fail "the library: $(tail -n 1 said)"
[ "$(cat "$vectors"/*.jsonl | grep -cvE '"op":"(card|stream|lease)"')" = "$(grep -c '^passed\|^not run' said)" ] || fail "the library: $(tail -n 1 said)"
for vector in format/e4m3 format/no-e1m0 cast/e2m1f/nearest cast/trunc/shift uncast/e8m0/-150 scale/e3m0/aps scale/e5m2/const:1024 settle/e6m9/none/2 \
    sum/exact/e4m3-e4m3-16-4-saturate sum/kahan/e4m3-e5m7-e4m3-saturate mean/e4m3/121/12 group/e6m9/aps/0 block/e5m2-e3m4:16/126 \
    qsgd/value-2 onebit/3/encode ternary/clip-3 ternary/1/sum quantile/step-2 quantile/step-3 step/four-ranks; do
    grep -q "^passed   $vector  *R" said || fail "the library: $(grep "$vector" said)"
done
grep -q '^not run  onebit/0/sum .*: no call of narrowcast.h takes its residuals$' said || fail "not run: $(grep onebit/0/sum said)"
root/bin/narrowcast conform --library "$B/libnarrowcast.so" --only step/ --json >out || fail "installed: $(cat out)"
grep -q '^{"kind":"vector","id":"step/four-ranks","rules":"R23 [^"]*","result":"passed"}$' out || fail "--json: $(cat out)"

# A library without faster kernels, in which FAULT selects a fault.
sed 's/i <= (int)isa; i++/i < 0; i++/' "$tree/host/vec/vec_cpu.c" >faulty_cpu.c
sed '/^static void cast_block/i #include <stdlib.h>\n#include <unistd.h>\nstatic int fault(const char *name) { const char *f = getenv("FAULT"); return f \&\& !strcmp(f, name); }
    /^static void plain_encode/,/^{/s/^{/{\nif (fault("crash")) abort();\nwhile (fault("hang")) pause();/
    s/shift, cast->round, cast->overflow, 0)/shift, fault("halves") \&\& !cast->round ? MF_STOCHASTIC : cast->round, fault("saturation") ? MF_INF : cast->overflow, 0x7fffffff)/
    s/mf_dec(fmt, block\[j\], q.shift)/(fault("subnormals") \&\& !(&\& 0x7f800000) ? 0 : &)/
    s/((const uint64_t \*)acc)\[i + j\]/(fault("sticky") | &)/
    s/^ *sum->overflow)$/fault("inf") ? MF_SATURATE : &/
    s/^ *acc\[i\] += float_of/acc[i] += (fault("order") ? 1.0000001f : 1) * float_of/' "$tree/host/vec/vec_plain.c" >faulty_plain.c
compile -fPIC -fvisibility=hidden -shared faulty_cpu.c faulty_plain.c "$B"/o/host/job/nc*.o -Wl,--version-script="$tree/host/include/narrowcast.map" \
    "$B/libnarrowcast.a" -lm -ldl -lpthread -o faulty.so || fail "does not compile: $(tail -n 5 said)"
for vector in cast/e4m3/nearest cast/e5m2/nearest uncast/e4m3/-150 sum/exact/e5m2-e5m2-3-2 sum/exact/e5m2-e5m2-4-0-inf sum/fp32/fp32; do
    library "$PWD/faulty.so" --only $vector >said 2>&1 || fail "without a fault: $(cat said)"
done
named=0
while read -r fault vector rule text; do
    if FAULT=$fault library "$PWD/faulty.so" --only "$vector" --deadline "$([ "$fault" = hang ] && echo 3 || echo 60)" >said 2>stderr; then
        fail "is not found: $fault"
    fi
    grep "^FAILED   $vector.*\<$rule\>.*: " said | grep -q ": $text" || fail "$fault: $(cat said stderr)"
    named=$((named + 1))
done <<'END'
halves     cast/e4m3/nearest              R8  nc_cast:.element.[0-9]*:.received.000000[0-9a-f]*,.wanted.000000
saturation cast/e5m2/nearest              R12 nc_cast:.element.7:.received.0000007c,.wanted.0000007b
subnormals uncast/e4m3/-150               R17 nc_uncast:.element.[0-9]*:.received.00000000,.wanted
sticky     sum/exact/e5m2-e5m2-3-2        R37 nc_allreduce,.rank.0.of.3:.element.[0-9]*:.received.47a00000,.wanted.47800000
inf        sum/exact/e5m2-e5m2-4-0-inf    R37 nc_allreduce,.rank.0.of.4:.element.[0-9]*:.received.47600000,.wanted.7f800000
order      sum/fp32/fp32                  R42 nc_allreduce,.rank.0.of.[0-9]*:.element
crash      cast/e4m3/nearest              R8  the.library:.process:.received.signal.6
hang       cast/e4m3/nearest              R8  the.library:.process:.received.no.end.in.3.s
END
echo "$named faults of a library are named"
echo 'int nc_version_number(void) { return 100; }' >lacks.c
echo 'int nc_version_number(void) { return 10000; } void *nc_options_init, *nc_cast, *nc_uncast, *nc_open_over, *nc_set_step, *nc_allreduce, *nc_close;' >later.c
for name in lacks later; do compile -fPIC -fvisibility=default -shared $name.c -o $name.so || fail "does not compile: $(cat said)"; done
refused "has no nc_options_init()" library "$PWD/lacks.so"
refused "has the interface of version 1.x; conform knows 0.x" library later.so
refused "cannot load --library 'none.so': cannot open shared object file" library none.so
refused "cannot load --library 'later.c': invalid ELF header" library later.c
refused "no vector of a library in '$vectors' begins with 'card/'" library "$B/libnarrowcast.so" --only card/
exit $bad
