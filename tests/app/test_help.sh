#!/bin/bash
# test_help.sh : tests help, suggestions for wrong values, and the progress line.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$(dirname "$here")
commands=$("$n" --help | awk '/^  [a-z]+ +[^ ]/ && !/narrowcast/ { print $1 }')

for command in $commands; do
    "$n" "$command" --help >all || fail "$command --help"
    awk 'length > 80 && substr($0, 27) ~ / /' all >wide
    [ ! -s wide ] || fail "$command --help has lines of more than 80 columns: $(cat wide)"
    "$n" help "$command" | cmp -s - all || fail "help $command is not $command --help"
    [ "$(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' all | sort | uniq -d)" = '' ] || fail "$command --help says an option twice"
    while read -r option; do
        # tests train's options with emulate, which does not start MPI
        if [ "$command" = train ]; then from=emulate topic=$option; else from=$command topic=--$option; fi
        "$n" "$from" --help "$topic" >part 2>&1 || fail "$command --help $topic: $(cat part)"
        grep -q "^  --$option\b" part || fail "$command --help $topic lacks it"
        [ "$(grep -c '^  --' part)" = 1 ] || fail "$command --help $topic says more: $(cat part)"
        [ "$(grep -vxcFf all part)" = 0 ] || fail "$command --help $topic says what --help does not"
        ! grep -qE 'Default:|; default' part || ! grep -qF '[none]' part || fail "$command --help $topic names two defaults: $(cat part)"
    done < <(sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' all)
    awk '/^$/ { empty = 1; next } empty && /^[^ ]/ { headline = $0 } !empty && /^  / && headline != "" { print headline } { empty = 0; if (/^  /) headline = "" }' \
        all >headlines
    while read -r headline; do
        "$n" "$command" "--help=$headline" >part 2>&1 || fail "$command --help '$headline': $(cat part)"
        grep -qxF "$headline" part || fail "$command --help '$headline': $(cat part)"
    done <headlines
done
[ -s headlines ] || fail 'no headline was found'
"$n" help | cmp -s - <("$n" --help) || fail 'help alone'
says() {
    if "$n" "${@:2}" >out 2>err; then fail "was taken: ${*:2}"; fi
    case $(cat err) in *"$1") ;; *) fail "${*:2}: did not end in '$1': $(cat err)" ;; esac
    [ "$(wc -l <err)" = 1 ] || fail "${*:2}: not one line: $(cat err)"
}
says "did you mean 'format'?" train --help fromat
says "did you mean 'trace'?" train --help trcae # beyond the first 64 options
says "did you mean 'plot'?" help plto
while read -r topic row; do
    "$n" train --help "$topic" >part 2>&1 || fail "train --help $topic: $(cat part)"
    grep -q -e "^  $row " part || fail "train --help $topic lacks $row: $(cat part)"
    "$n" help train "$topic" | cmp -s - part || fail "help train $topic"
done <<'EOF'
LR --lr
qsgd:B qsgd
QSGD qsgd
group-scatter:2 group-scatter:K
idx:DIR --data
synthetic[:n,seed] --data
cosine --schedule
poly:P --schedule
fp16-pure --precision
saturate --overflow
resnet20 --model
EOF
says "no option, section or row 'the' in 'narrowcast train --help'" train --help the
says "--help 'lr' 'batch': takes one word: an option, a section or a row" train --help lr batch
says "--help 'lr' 'batch': takes one word: an option, a section or a row" help train lr batch
for topic in codec --codec qsgd:4; do
    says "'$topic' is not a command but belongs to train: see 'narrowcast train --help ${topic#--}'" help "$topic"
done
says "'narrowcast cast --help'" cast --help quux
# README.md's emulate commands on generated images may fail only at writing the output file
while read -r _ words; do
    # shellcheck disable=SC2086  # words
    if "$n" $words --save none/x >out 2>err; then fail "was taken: $words"; fi
    [ "$(tail -n 1 err)" = "narrowcast: cannot write 'none/x': No such file or directory" ] || fail "README.md's $words: $(cat err)"
done < <(sed -n 's/#.*//; /^build\/narrowcast emulate/p' "$tree/README.md" | grep -v DIR)
"$n" train --help algo | grep -q '^  ring  ' || fail 'help of --algo without its algorithms'
"$n" train --help qsgd | grep -q '^  qsgd  ' || fail 'help of a row'
"$n" cast --help --format e4m3 | grep -q '^usage: ' || fail '--help before other options'

[ "$("$n" emulate --help | sed -n 's/^  --\([a-z-]*\).*/\1/p' | tr '\n' ' ')" = 'ranks memory ' ] || fail 'emulate --help'
"$n" emulate --help lr | grep -q '^  --lr X' || fail 'emulate --help lr'
"$n" emulate --help | sed '/^emulated ranks/,$d' | grep -oE -e '--[a-z-]+' >excepted
while read -r option; do
    if [ "$option" = shard ]; then value=all; else value=8; fi
    "$n" emulate "--$option" $value --model nosuch >out 2>&1
    [ "$(grep -c 'has no effect on emulated ranks' out)" = "$(grep -cx -e "--$option" excepted)" ] ||
        fail "emulate --help and --$option: $(cat out)"
done < <("$n" train --help | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p')

mkdir -p root/bin
cp "$n" root/bin/narrowcast
for command in '' $commands; do
    # shellcheck disable=SC2086 # none
    root/bin/narrowcast $command --help >out 2>&1 || fail "installed: $command --help"
    ! grep -nE 'build/|ranks\.sh' out || fail "installed: $command --help shows what is not there"
done
root/bin/narrowcast train --help examples | grep -q '^  mpirun -np 4 narrowcast train$' || fail 'installed: no example'
"$n" train --help examples | grep -q '^  host/ranks.sh 4 build/narrowcast train$' || fail 'in the tree: no example'

# --- wrong values ---

says ": did you mean 'e5m2'?" emulate --format E5M2
says "need e4m3fn (to 448, other programs' E4M3) or e4m3 (to 240)" emulate --format E4M3
says ": did you mean 'bf16'?" emulate --out-format bf61
says ": did you mean 'resnet32'?" emulate --model resnet34
says ": did you mean 'resnet50'?" predict --network ResNet50
says ": did you mean 'idx:DIR'?" emulate --data mnist
says ": did you mean 'idx:DIR'?" emulate --data fashion-mnist:/x
says ": did you mean 'cifar10:DIR'?" emulate --data cifar
says ": did you mean 'idx:/none/fashion-mnist'?" emulate --data /none/fashion-mnist
says ": did you mean 'idx:./Fashion-MNIST//'?" emulate --data ./Fashion-MNIST//
says ": did you mean 'cifar10:../cifar10'?" emulate --data ../cifar10
says ": did you mean 'an4:x/an4'?" emulate --data x/an4
says ": did you mean 'aps-tight'?" emulate --scale aps-tigth
says ": did you mean 'exact'?" emulate --sum exat
says ": did you mean 'ring'?" emulate --algo rings
says ": did you mean 'relgrad'?" emulate --codec relgard
says ": did you mean 'cosine'?" emulate --schedule cosin
says ": did you mean 'large'?" emulate --quantise Large
says ": did you mean 'saturate'?" cast --overflow Saturate x y
says ": did you mean 'nearest'?" cast --round nearst x y
says ": did you mean 'lars'?" emulate --optimizer LARS
says "or eXmYf (no inf, no nan)" emulate --format zzzzzz

if command -v python3 >/dev/null; then
    cat >on_terminal.py <<'EOF'
import os, pty, subprocess, sys
mine, theirs = pty.openpty()
run = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
said = b""
while True:
    try:
        part = os.read(mine, 4096)
    except OSError:
        break
    if not part:
        break
    said += part
print(run.wait())
for line in said.decode().replace("\x1b[K", "").split("\r"):
    if " step " in line:
        print(line)
EOF
    for ranks in '' "$tree/host/ranks.sh 2"; do
        # shellcheck disable=SC2086 # words
        python3 on_terminal.py $ranks "$n" train --model mlp --steps 2000 --batch 40 >lines
        [ "$(head -n 1 lines)" = 0 ] || fail "a training on a terminal, $ranks: $(head lines)"
        [ "$(grep -cE '^epoch [0-9]+  step [0-9]+/2000  [0-9]+ (s|min [0-9]+ s) left  [0-9]+ images/s' lines)" -ge 2 ] ||
            fail "no progress on a terminal, $ranks: $(cat lines)"
    done
    mpirun -np 2 "$n" train --model mlp --steps 20 --batch 40 2>err >/dev/null || fail "a training: $(cat err)"
    ! grep -q $'\e' err || fail 'a file got a line that is rewritten'
else
    echo 'not run: progress on a terminal (no python3)'
fi

for script in "$tree"/bench/*.sh "$tree"/bench/*/*.sh; do
    case $script in */trainings.sh | */usage.sh | */json.sh) continue ;; esac
    for word in --help -h; do
        case $script$word in */netlab.sh-h) continue ;; esac
        (cd "${script%/*}" && timeout 20 bash "./${script##*/}" $word) >out 2>&1 </dev/null || fail "${script##*/} $word: $(head -n 3 out)"
        grep -q 'usage: ' out || fail "${script##*/} $word says no usage: $(head -n 3 out)"
    done
done
exit $bad
