#!/bin/bash
# test_texts.sh : tests texts from outside: no control character may reach a terminal, no invalid
# UTF-8 JSON or a page.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
command -v python3 >/dev/null || { echo 'skip: no python3'; exit 77; }
export OPENBLAS_NUM_THREADS=1
esc=$'\e[2J\a\x7f\x9b1m\xc2\x9b31m\r'

plain() {
    python3 - "${@:2}" <<'EOF' >why || fail "$1: $(cat why)"
import sys, unicodedata
for name in sys.argv[1:]:
    text = open(name, "rb").read()
    try:
        wrong = {c for c in text.decode() if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"}
    except UnicodeDecodeError as why:
        wrong = why
    if wrong:
        print(name, wrong, text[:300])
        sys.exit(1)
EOF
}
json() {
    python3 - "${@:2}" <<'EOF' >why 2>&1 || fail "$1: $(tail -n 1 why)"
import json, sys
text = open(sys.argv[1], "rb").read()
assert text, "nothing was written"
for line in text.splitlines() if len(sys.argv) > 2 else [text]:
    json.loads(line.decode())
EOF
}

bad_name=$'caf\xe9 \xff\xc3(\xed\xa0\x80\x01"\\'
mkdir "$bad_name"
printf 'to be or not to be, that is the question' >"$bad_name/text"
for _ in $(seq 6); do cat "$bad_name/text" "$bad_name/text" >two && cat two >>"$bad_name/text"; done
"$n" train --model charlstm --data "text:$bad_name/text" --steps 2 --batch 4 --log "$bad_name/log" --stats "$bad_name/stats" \
    --trace "$bad_name/trace" --save "$bad_name/saved" >out 2>err || fail "a training: $(cat err)"
json 'a log' "$bad_name/log" lines
json 'statistics' "$bad_name/stats" lines
json 'a trace' "$bad_name/trace"
"$n" report "$bad_name/log" -o page.html 2>err || fail "report: $(cat err)"
python3 -c 'open("page.html", "rb").read().decode()' 2>why || fail "a report: $(tail -n 1 why)"
NARROWCAST_XCLBIN=$bad_name/none "$n" info --json >info.json 2>/dev/null || fail 'info --json'
json 'info' info.json
XILINX_XRT=$bad_name "$n" doctor --json >doctor.json 2>/dev/null
json 'doctor' doctor.json lines
XILINX_XRT=$bad_name "$n" doctor >doctor.txt 2>&1
[ -s doctor.txt ] || fail 'doctor says nothing'
plain 'doctor' doctor.txt
if [ -x "$B/bench_allreduce" ]; then
    mpirun -np 1 "$B/bench_allreduce" --json --label "$bad_name" --sizes 4k --reps 1 --algo self >rows 2>/dev/null
    json 'bench_allreduce --label' rows lines
fi

for words in "cast --format $esc in out" "plot loss nowhere$esc" "plot $esc x" "report nowhere$esc -o x.html" "xclbin $esc" "$esc" "--$esc" \
    "train --algo $esc" "train --data idx:nowhere$esc" "train --model $esc" "train --offload udp://$esc:1" "train --resume $esc" "sim --counters $esc"; do
    IFS=' ' read -r -d '' -a list <<<"$words"
    "$n" "${list[@]}" >out 2>err && fail "was taken: $words"
    plain "$words" out err
    [ "$(wc -l <err)" = 1 ] || fail "not one line: $words: $(cat err)"
done

python3 - "$bad_name/saved" "$esc" <<'EOF'
import os, struct, sys, zlib
text = open(os.fsencode(sys.argv[1]), "rb").read()[:-4]
at = text.index(b"lr=0.1\n")
odd = os.fsencode(sys.argv[2])
n = struct.unpack_from("<I", text, 12)[0]
text = text[:12] + struct.pack("<I", n + len(odd)) + text[16:at + 6] + odd + text[at + 6:]
open("saved", "wb").write(text + struct.pack("<I", zlib.crc32(text)))
EOF
"$n" train --model charlstm --data "text:$bad_name/text" --steps 2 --batch 4 --resume saved >out 2>err && fail 'resumed'
grep -q "it was made with lr '0.1?" err || fail "a checkpoint: $(cat -v err)"
plain 'a checkpoint' out err
printf '{"kind":"run","codec":"%b"}\n{"kind":"step","step":1,"loss":1}\n{"kind":"stats","step":1,"index":0,"layer":"%b","first":0,"bins_all":[1]}\n' \
    '\x9b\xc2\x9b1m\x1b[2J\x7fx' '\x9b\xc2\x9b1m\x1b[2J\x7fx' >odd.jsonl
for kind in step-loss exponents model-exponents; do
    "$n" plot $kind odd.jsonl >out 2>err || fail "$kind: $(cat err)"
    plain "plot $kind" out err
    "$n" plot $kind odd.jsonl --title "$esc" --out odd.gp 2>err || fail "$kind: $(cat err)"
    plain "plot $kind --out" odd.gp err
done

cat >card.py <<'EOF'
import socket, struct
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
def read(c, n):
    return c.recv(n, socket.MSG_WAITALL)
for _ in range(2):
    c, _ = listener.accept()
    c.sendall(struct.pack("<4I3Q", 1, 0, 0, 0, 3, 0, 0))
    while True:
        head = read(c, 40)
        if len(head) < 40:
            break
        kind, _, n, _ = struct.unpack("<4I", head[:16])
        if kind == 6:
            break
        read(c, n)
        a, answer = 0, b""
        if kind == 8:
            a, answer = n // 8, bytes(n // 2)
        if kind == 11:
            answer = b"odd\x1b[2J\x9b\xc2\x9b 17\nname \x1b[31mred\x7f\xff\n"
        c.sendall(struct.pack("<4I3Q", 7, 0, len(answer), 0, a, 0, 0) + answer)
EOF
python3 card.py >port &
card=$!
while [ ! -s port ] && kill -0 $card 2>/dev/null; do sleep 0.1; done
"$n" sim --counters "127.0.0.1:$(cat port)" >out 2>err || fail "counters: $(cat err)"
grep -q '17$' out || fail "not the card's counters: $(cat -v out)"
plain 'counters' out err
"$n" sim --counters "127.0.0.1:$(cat port)" --json >out 2>err || fail "counters as JSON: $(cat err)"
json 'counters' out
plain 'counters as JSON' out err
kill $card 2>/dev/null
wait $card
exit $bad
