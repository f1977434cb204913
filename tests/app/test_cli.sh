#!/bin/bash
# test_cli.sh : tests the subcommands. Bad input gives one line, a non-zero exit status and no
# partial file.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
ranks=$here/../host/ranks.sh

same() { cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"; }

hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }


# --- values of every kind, little endian ---
# 1.0 -2.0 0.5 1000.0 inf nan -0.0 2^-9
printf '\000\000\200\077\000\000\000\300\000\000\000\077\000\000\172\104\000\000\200\177\000\000\300\177\000\000\000\200\000\000\000\073' >x.f32
"$n" cast --format e4m3 x.f32 x.e4m3
[ "$(hex x.e4m3)" = 38c03077777f8001 ] || fail "e4m3 codes are $(hex x.e4m3)"
"$n" cast --format e4m3 --overflow inf x.f32 x.inf
[ "$(hex x.inf | cut -c1-10)" = 38c0307878 ] || fail "e4m3 codes with --overflow inf are $(hex x.inf)"
"$n" cast --format fp16 x.f32 x.fp16
[ "$(hex x.fp16 | cut -c1-16)" = 003c00c00038d063 ] || fail "fp16 codes are $(hex x.fp16)"
head -c 16 x.f32 >finite.f32
"$n" cast --format=fp32 finite.f32 same.f32
"$n" uncast --format fp32 same.f32 back.f32
same "fp32 both ways" finite.f32 back.f32

i=0
while [ $i -lt 12 ]; do
    cat "$n" >>big
    i=$((i + 1))
done
head -c 1500004 big | tr '\177\377' '\060\261' >big.f32   # no inf or nan: the top byte of a float is never 7f or ff
[ "$(wc -c <big.f32)" -eq 1500004 ] || fail "big.f32 is too short"
values=375001
for format in fp32 fp16 bf16 e5m2 e4m3 e4m3fn e3m0 e2m3 e5m6 e8m3 e2m1f e2m3f e2m5f e5m2fn; do
    "$n" cast --format $format big.f32 codes
    "$n" uncast --format $format --count $values codes once.f32
    "$n" cast --format $format once.f32 codes2
    same "$format: a second cast" codes codes2
    [ "$(wc -c <once.f32)" -eq 1500004 ] || fail "$format: uncast does not give as many values back"
    "$n" reduce --format $format --count $values --out-format $format codes sum
    "$n" uncast --format $format --count $values sum once2.f32
    [ "$(wc -c <sum)" -eq "$(wc -c <codes)" ] || fail "$format: the sum of one file has another size"
done
"$n" cast --format e3m0 big.f32 codes
[ "$(wc -c <codes)" -eq 187501 ] || fail "375001 codes of 4 bits take $(wc -c <codes) bytes"
"$n" uncast --format e3m0 codes once.f32
[ "$(wc -c <once.f32)" -eq 1500008 ] || fail "without --count, a file of 4-bit codes holds as many as fit"

"$n" cast --scale const:1024 x.f32 scaled >printed
[ "$(cat printed)" = "shift 10" ] || fail "const:1024 printed '$(cat printed)'"
"$n" cast --scale aps --format e5m2 finite.f32 scaled >printed
[ "$(cat printed)" = "shift 5" ] || fail "aps of 1000 in e5m2 printed '$(cat printed)'"
"$n" uncast --shift 5 --format e5m2 scaled back.f32
"$n" cast --format e5m2 back.f32 plain
"$n" cast --format e5m2 finite.f32 plain2
same "a power of two changes nothing that is representable" plain plain2
"$n" cast --scale aps-tight --format e4m3 big.f32 scaled >printed
grep -qE '^shift -?[0-9]+$' printed || fail "aps-tight printed '$(cat printed)'"
# of the largest value, whichever block holds it
head -c 279988 /dev/zero >zeros
for files in 'finite.f32 zeros' 'zeros finite.f32'; do
    # shellcheck disable=SC2086
    cat $files >long.f32
    "$n" cast --scale aps --format e5m2 long.f32 scaled >printed
    [ "$(cat printed)" = "shift 5" ] || fail "aps of $files printed '$(cat printed)'"
done
"$n" cast --round stochastic --seed 7 big.f32 codes
"$n" cast --round stochastic --seed 7 big.f32 codes2
same "the same seed" codes codes2
"$n" cast --round stochastic --seed 8 big.f32 codes2
if cmp -s codes codes2; then fail "another seed gives the same codes"; fi
head -c 262144 big.f32 >block   # the program reads this many values at a time
cat block block | "$n" cast --round stochastic /dev/stdin codes
head -c 65536 codes >first
tail -c 65536 codes >second
if cmp -s first second; then fail "every block is cast by the same random bits"; fi

printf '\070\060\300\001' >a # 1 0.5 -2 2^-9
printf '\070\060\100\001' >b # 1 0.5 2 2^-9
"$n" reduce --format e4m3 --sum exact a b sum
[ "$(hex sum)" = 40380002 ] || fail "a + b is $(hex sum)"
"$n" reduce --format e4m3 --sum exact --out-shift 1 a b sum
[ "$(hex sum)" = 38300001 ] || fail "(a + b) / 2 is $(hex sum)"
"$n" reduce --format e4m3 --out-format fp16 a b sum
[ "$(hex sum)" = 0040003c0000001c ] || fail "a + b in fp16 is $(hex sum)"
cp b b2
"$n" reduce --format e4m3 a b2 b2
"$n" reduce --format e4m3 a b sum
same "the sum may replace a file that it is made from" b2 sum
head -c 200000 big >r0
head -c 400000 big | tail -c 200000 >r1
head -c 600000 big | tail -c 200000 >r2
for rule in exact fp32 nearest kahan trunc; do
    "$n" reduce --format e5m2 --sum $rule r0 r1 r2 "sum.$rule"
    "$n" reduce --format e5m2 --sum $rule --on cpu r0 r1 r2 sum.cpu
    same "$rule: reference and cpu" "sum.$rule" sum.cpu
done
"$n" reduce --format e5m2 --overflow inf --sum nearest --acc-format e8m23 r0 r1 r2 sum   # inf: saturation at each step differs from saturation at the end
"$n" reduce --format e5m2 --overflow inf --sum fp32 r0 r1 r2 sum.cpu
same "nearest in fp32 is the rule fp32" sum sum.cpu
"$n" reduce --format e5m2 --sum nearest --acc-format e5m2 r0 r1 r2 sum
same "nearest in the addends' own format" sum sum.nearest
for rule in nearest kahan; do
    "$n" reduce --format e5m2 --sum $rule --acc-format e6m9 r0 r1 r2 sum.acc
    "$n" reduce --format e5m2 --sum $rule --acc-format e6m9 --on cpu r0 r1 r2 sum.cpu
    same "$rule in e6m9: reference and cpu" sum.acc sum.cpu
done
if cmp -s sum.acc sum.kahan; then fail "--acc-format changes nothing"; fi
for format in e5m2 e4m3 e4m3fn e3m4 e2m5 e6m1 e3m0 e2m1 e1m2 e2m5f e3m4f e2m1f e3m4fn; do   # every byte is valid
    for overflow in saturate inf; do
        "$n" reduce --format $format --overflow $overflow --on ref r0 r1 r2 sum.ref
        for isa in scalar avx2 avx512 avx512vbmi avx512fp16 neon; do
            NARROWCAST_ISA=$isa "$n" info >/dev/null 2>&1 || continue
            NARROWCAST_ISA=$isa "$n" reduce --format $format --overflow $overflow --on cpu r0 r1 r2 sum.cpu
            same "$format $overflow: reference and $isa" sum.ref sum.cpu
        done
    done
done
head -c 65536 r0 >block   # the program reads this many codes at a time
cat block block >twice
"$n" reduce --format e5m2 twice twice sum
head -c 65536 sum >first
tail -c 65536 sum >second
same "every block is added up by itself" first second
"$n" reduce --format e5m2 --sum exact r2 r0 r1 sum
same "an exact sum has no order" sum sum.exact
if cmp -s sum.exact sum.nearest; then fail "exact and nearest sums are the same"; fi
"$n" uncast --format e4m3 a /dev/stdout | "$n" cast --format e4m3 /dev/stdin /dev/stdout | cat >piped
same "through pipes" a piped

refused "unknown option '--formt': did you mean '--format'?" "$n" cast --formt e4m3 x.f32 out
refused "unknown command 'cats': did you mean 'cast'?" "$n" cats
refused "unknown command 'frobnicate': see" "$n" frobnicate
refused "too few arguments" "$n" cast x.f32
ln -s x.f32 x.link
refused "cannot write 'x.link': it is the input 'x.f32': need another file" "$n" cast --format e4m3 x.f32 x.link
refused "it is the input" "$n" uncast --format e4m3 x.e4m3 x.e4m3
refused "one argument too many" "$n" cast x.f32 out out2
refused "must be one of saturate|inf" "$n" cast --overflow wrap x.f32 out
refused "must be one of nearest|stochastic|zero" "$n" cast --round up x.f32 out
refused "e9m2" "$n" cast --format e9m2 x.f32 out
refused "const" "$n" cast --scale const:3 x.f32 out
refused "holds inf or nan" "$n" cast --scale aps x.f32 out
refused "cannot cast 'x.f32' to e2m1f, which has no inf and no nan" "$n" cast --format fp4 x.f32 out
refused 'cannot use --quant "e2m1f", which has no nan' "$n" emulate --quant act=e2m1f
refused 'cannot use --gemm "e3m2f", which has no nan' "$n" emulate --gemm e3m2f
refused "cannot open 'missing'" "$n" cast missing out
refused "cannot read '.'" "$n" cast . out
head -c 10 x.f32 >cut.f32
refused "cannot cast 'cut.f32': 10 bytes" "$n" cast cut.f32 out
refused "not a regular file" sh -c "cat x.f32 | '$n' cast --scale aps /dev/stdin out"
refused "cannot write 'no/folder/out'" "$n" cast x.f32 no/folder/out
# limited file sizes, exceeded in mid-file and in the last flush
# shellcheck disable=SC2016 # the other shell's
limited() { refused "File too large" sh -c 'ulimit -f "$0"; exec "$@"' "$@"; }
head -c 12000 big.f32 >small.f32
limited 8 "$n" cast big.f32 out
limited 1 "$n" cast small.f32 out
limited 8 "$n" uncast --format e4m3 big out
limited 1 "$n" uncast --format e4m3 r0 out
limited 8 "$n" reduce --format e4m3 big big out
limited 1 "$n" reduce --format fp32 small.f32 small.f32 out
printf '{"kind":"step","step":1,"loss":1}\n' >steps
for i in 1 2 3 4 5 6 7 8 9; do sed "s/:1,/:1$i,/" steps >next && cat next steps >both && mv both steps; done
refused 'no space for temporary files' sh -c "ulimit -f 1; exec '$n' plot step-loss steps --out out.gp"
if command -v gnuplot >/dev/null; then
    refused 'gnuplot stopped midway' sh -c "ulimit -f 30; exec '$n' plot step-loss steps --out out.svg"
    refused 'gnuplot stopped midway' sh -c "ulimit -f 4; exec '$n' plot step-loss steps --out out.png"
    refused 'gnuplot stopped midway' sh -c "ulimit -f 30; exec '$n' report steps --out out"
fi
for what in '--help' 'emulate --help' "info --json" 'predict --json' 'sim --help'; do
    rm -f out
    # shellcheck disable=SC2086 # words
    said=$(sh -c 'ulimit -f 0; "$@" 2>&1 >out; echo "ends with $?"' - "$n" $what)
    case $said in
    "narrowcast: cannot write "*'
ends with 1') ;;
    *) fail "a file that may not grow: $what: $said" ;;
    esac
done
mkfifo pipe
timeout 10 cat pipe >piped &
"$n" cast --format e4m3 finite.f32 pipe
wait $! || true
if [ ! -p pipe ] || [ "$(wc -c <piped)" -ne 4 ]; then
    fail "a pipe was replaced by a file: so would be /dev/full"
    exit 1
fi
timeout 20 cat pipe >piped &
"$n" report steps --out pipe || fail "a page into a pipe, which is checked first"
wait $! || true
grep -q '</html>' piped || fail "no page came through the pipe: $(head -c 200 piped)"
ln -s place dangling
"$n" cast --format e4m3 finite.f32 dangling
if [ ! -L dangling ] || [ "$(wc -c <place)" -ne 4 ]; then fail "a link to no file was replaced"; fi
refused "No space left" "$n" cast big.f32 /dev/full
refused "No space left" "$n" uncast big /dev/full
refused "No space left" "$n" reduce r0 r1 /dev/full
refused "standard output" sh -c "'$n' info >/dev/full"
refused "standard output" sh -c "'$n' --version >/dev/full"

# --- closed descriptors 0, 1, 2: no file takes their place, where it would receive a message ---
emulate="$n emulate --ranks 2 --data synthetic:240,3 --model lenet5 --batch 24 --steps 2 --save shut.ck --log shut.jsonl"
$emulate >/dev/null 2>&1
open=$(wc -c <shut.ck)
for shut in '0<&-' '1>&-' '2>&-' '0<&- 1>&-' '0<&- 2>&-' '1>&- 2>&-' '0<&- 1>&- 2>&-'; do
    rm -f shut.*
    code=0
    (eval "exec $emulate $shut") >stdout 2>stderr || code=$?
    case $shut in *1*) want=1 ;; *) want=0 ;; esac
    [ $code = $want ] || fail "$shut: exit $code: $(cat stderr)"
    grep -qv '^{.*}$' shut.jsonl && fail "$shut: lines in the log"
    tail -n 1 shut.jsonl | grep -q '"kind":"end"' || fail "$shut: the log has no end"
    [ "$(wc -c <shut.ck)" = "$open" ] || fail "$shut: $(wc -c <shut.ck) bytes of --save, not $open"
done
refused "cannot write" sh -c "'$n' cast --format e4m3 x.f32 /dev/stdout >&-"
head -c 7 x.fp16 >cut.fp16
refused "'cut.fp16' is truncated" "$n" uncast --format fp16 cut.fp16 out
refused "too short" "$n" uncast --format e3m0 --count 17 a out
refused "too long" "$n" uncast --format e3m0 --count 6 a out
refused "--shift '500'" "$n" uncast --shift 500 a out
refused "differ in length" "$n" reduce a r1 out
refused "differ in length" "$n" reduce r1 a out
refused "cannot open 'missing'" "$n" reduce a missing out
refused "must be one of ref|cpu" "$n" reduce --on moon a b out
refused "exact" "$n" reduce --format bf16 --sum exact a b out
refused "e5m2" "$n" reduce --format e4m3 --sum trunc a b out
refused "--out-shift 1 needs --sum exact" "$n" reduce --sum fp32 --out-shift 1 a b out
refused "unknown --sum" "$n" reduce --sum most a b out
if [ "$(id -u)" -ne 0 ]; then
    mkdir shut
    chmod 555 shut
    refused "cannot write 'shut/out'" "$n" cast x.f32 shut/out
fi
echo before >kept
if "$n" cast cut.f32 kept 2>stderr; then fail "cut.f32 was taken"; fi
[ "$(cat kept)" = before ] || fail "a failed cast touched the file that was there"

"$n" --help >help
for command in train cast uncast reduce info; do
    grep -q "^  $command " help || fail "--help lacks $command"
    "$n" $command --help >help.$command
    grep -q "^usage: narrowcast $command" help.$command || fail "$command --help lacks its usage"
done
for option in data model epochs steps batch lr momentum weight-decay schedule warmup seed format scale sum algo bucket-bytes \
    device threads log save resume; do
    grep -q "^  --$option " help.train || fail "train --help lacks --$option"
done
models=$("$n" train --model nosuch 2>&1 | sed -n "s/^narrowcast: unknown model 'nosuch': need one of //p")
"$n" train --help | tr -s ' \n' ' ' | grep -qF -- "--model NAME One of $models. [" || fail "train --help has not the models '$models'"
for algo in $("$n" train --algo nosuch 2>&1 | sed -n 's/^narrowcast: no algorithm "nosuch": need one of auto offload//p'); do
    grep -q "^  $algo  *[a-zA-Z]" help.train || fail "train --help lacks algorithm $algo"
done
"$n" train --algo ofload 2>&1 | grep -qF "did you mean 'offload'?" || fail "--algo ofload: no suggestion"
grep -q "^  native  *MPI's own" help.train || fail "train --help does not say what native is"
"$n" --version | grep -q '^narrowcast [0-9]' || fail "--version"
if "$n" 2>stderr; then fail "no command at all was taken"; fi
"$n" info >about
for key in commit compiler "vec backend" MPI CBLAS zlib CUDA CPU cores memory; do
    grep -q "^$key " about || fail "info lacks $key"
done
grep -q '^and with CUDA .*means with --reduce-in fp32$' about || fail "cut: $(grep '^and with' about)"
for isa in scalar avx2 avx512 avx512vbmi avx512fp16 neon; do
    if NARROWCAST_ISA=$isa "$n" info >about 2>/dev/null; then
        grep -q "^vec backend *$isa\$" about || fail "info does not show that NARROWCAST_ISA=$isa is used"
    fi
done
NARROWCAST_ISA='' "$n" info >/dev/null || fail "an empty NARROWCAST_ISA was refused"
NARROWCAST_ISA=scalar "$n" info >/dev/null || fail "NARROWCAST_ISA=scalar was refused"
refused 'unknown NARROWCAST_ISA "mmx"' env NARROWCAST_ISA=mmx "$n" info
refused 'unknown NARROWCAST_ISA "mmx"' env NARROWCAST_ISA=mmx "$n" cast x.f32 out
"$n" info --json >info.json
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["kind"] == "info" and d["MPI"]' <info.json ||
        fail "info --json is no JSON"
fi
for number in x 0 -1 ''; do
    refused "ranks.sh: '$number': must be a number of ranks, from 1 on" "$ranks" "$number" true
done
for nothing in ./nosuch "$dir" ./x.f32; do
    refused "ranks.sh: there is no command '$nothing'" "$ranks" 2 "$nothing"
done
mkdir 'a=b c' # not an assignment, though env would read one
cp "$n" 'a=b c/'
[ "$("$ranks" 1 './a=b c/narrowcast' --version)" = "$("$n" --version)" ] || fail "a command with '=' in its path does not start"
for signal in KILL ILL HUP; do
    if "$ranks" 2 sh -c "kill -$signal \$\$" >stderr 2>&1; then fail "a rank with SIG$signal is no failure"; fi
    grep -qxE "ranks.sh: a rank was ended by SIG$signal|YOUR APPLICATION .* \(signal $(kill -l $signal)\)" stderr ||
        fail "a rank with SIG$signal: $(cat stderr)"
done

# --- NARROWCAST_MPS=1 starts the service for its ranks and ends it; a fake writes what it is told ---
refused "NARROWCAST_MPS 'yes': must be 0 or 1" env NARROWCAST_MPS=yes "$ranks" 2 true
command -v nvidia-cuda-mps-control >/dev/null || refused 'needs nvidia-cuda-mps-control' env NARROWCAST_MPS=1 "$ranks" 2 true
mkdir mps
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$CUDA_MPS_PIPE_DIRECTORY $*" >>%s/mps/log\n[ "$1" = -d ] || cat >>%s/mps/log\n' "$dir" "$dir" >mps/nvidia-cuda-mps-control
chmod +x mps/nvidia-cuda-mps-control
# shellcheck disable=SC2016
PATH=$dir/mps:$PATH NARROWCAST_MPS=1 "$ranks" 2 sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"; exit 3' >out 2>&1 && fail 'a status is lost'
code=$?
at=$(grep '^/' out | sort -u) # Open MPI 5 also says that ranks have failed
[ "$code $(cat mps/log)" = "3 $at -d
$at 
quit" ] || fail "the service of ranks at '$at', status $code: $(cat mps/log)"
[ ! -e "$at" ] || fail "left $at"

for left in ./*.tmp; do
    [ ! -e "$left" ] || fail "left $left"
done
exit $bad
