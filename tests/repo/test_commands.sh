#!/bin/bash
# test_commands.sh : runs every command that a README or --help shows, from the top of the tree.
#
# A command is a line of a code block that begins (after `$ `) with make, mpirun, printf, variables,
# or a file of build/, host/, bench/ or tests/; # begins a remark. A block's commands run in turn in
# one folder. Each must exit with 0; a card must listen. The test prints its changes of a command:
#   sizes    options that make it short, added or replaced (`shorter`)
#   places   idx:DIR is synthetic images, with `long` Fashion-MNIST; 10.0.0.9 is 127.0.0.1
#   cards    `sim --listen` or `card` runs until the next card or the end of the block
# `not_here` lists commands that do not run, with the reason. `long`: all run again as an ordinary
# user.
set -u
cd "$(dirname "$0")/../.." || exit 1
tree=$PWD B=${B:-build} long=${1-}
case $B in /*) ;; *) B=$PWD/$B ;; esac

# The printed ports may be in use.
if [ -z "${COMMANDS_INSIDE-}" ]; then
    enter=(unshare --net) && [ "$(id -u)" = 0 ] || enter=(unshare --net --user --map-current-user)
    if "${enter[@]}" ip link set lo up 2>/dev/null; then exec "${enter[@]}" env COMMANDS_INSIDE=1 bash "$tree/tests/repo/test_commands.sh" "$@"; fi
fi
ip link set lo up 2>/dev/null
dir=$(mktemp -d)
card=
trap '[ -z "$card" ] || kill "$card" 2>/dev/null; rm -rf "$dir"' EXIT
bad=0 n_run=0 n_again=0 n_left=0

# Links to the tree, so that output to build/ stays here.
mkdir -p "$dir/build" && cd "$dir" || exit 1
for entry in "$tree"/*; do [ "$entry" = "$B" ] || [ "${entry##*/}" = build ] || ln -s "$entry" .; done
for entry in "$B"/*; do
    case $entry in *.json | *.svg | *.tsv | */dump* | */logs | */tmp) ;; *) ln -s "$entry" build/ ;; esac
done
for file in {grad,weights}.f32:4004 rank{0,1,2}.e5m2:1001 rank{0,1}.e4m3:1001 {a,b,grad}.e3m0:501 grad.e5m2:1001; do
    tr '\177\377' '\060\261' <"$B/narrowcast" | head -c "${file#*:}" >"${file%:*}"
done

not_here() {
    case $1 in
    *' -H '*) echo 'several machines' ;;
    *'--with-ft ulfm'*) echo 'test_elastic.sh does it' ;;
    *NARROWCAST_RESTARTS=*) echo 'test_restart.sh does it' ;;
    'make tools'* | 'make shell'* | 'make cocotb'*) echo 'it installs' ;;
    'make bitstream'*) echo 'test_bitstream.sh does a part of it' ;;
    openFPGALoader*) echo 'no board' ;;
    *ecp5/pieces.py*) echo 'it routes for minutes' ;;
    *' --tap '* | host/ranks.sh*'://10.77.0.'*) echo 'test_shell_tap.sh does it' ;;
    *' ./program'*) echo "the reader's program" ;;
    'make install'* | 'make deb'* | 'make dist'*) echo 'test_install.sh does it' ;;
    'make wheel'* | pip\ install* | python*narrowcast.selftest*) echo 'test_wheel.sh does it' ;;
    make\ test* | make\ check* | 'make all'* | 'make formal'* | 'make synth'* | 'make lint'* | make | 'make bench'* | *GPU_ARCHS*) echo 'a whole build or all tests' ;;
    tests/*.sh* | *build/tests/test_nc_table_mpi* | build/tests/test_shell_* | 'build/tests/test_mf_floats long'*) echo 'a test of its own' ;;
    */train_peer.sh\ cpu* | *predict_check.sh* | */arm.sh*) echo 'it measures for minutes' ;;
    *'--device cuda'* | */bench_gpu* | */train_peer.sh* | */davidnet.sh*) [ -e /dev/nvidiactl ] || echo 'no GPU' ;;
    *NARROWCAST_CUDA=*) [ -e build/emu/libnarrowcast_cuda.so ] || echo 'no emulator' ;;
    *'--on rtl'* | *'--offload sim' | *'sim --listen'*)
        case $1 in *'--engine c'*) ;; *) ! grep -q 'built without Verilator' build/narrowcast-sim || echo 'no Verilator' ;; esac
        ;;
    *bench/recipes/imagenet.sh*) echo 'test_recipes.sh does it' ;;
    *'card --xrt '*@10.0.0.9*) echo 'no such card' ;;
    *XILINX_XRT=*) [ -e build/xrt/lib/libxrt_core.so.2 ] || echo 'no XRT' ;;
    bench/codec_accuracy/accuracy.sh* | *\ bench/codec_accuracy/accuracy.sh*) [ -n "$long" ] && [ -n "${NARROWCAST_DATA-}" ] || echo '30 trainings' ;;
    *predict_rates.json*) echo 'of predict_check.sh' ;;
    *ddp_hooks.sh*) [ -n "$long" ] && "${PYTHON:-/usr/bin/python3}" -c 'import torch' 2>/dev/null || echo 'long, and needs PyTorch' ;;
    *breakeven.sh* | *transports.sh* | *netlab.sh* | *bench_native.sh* | *bench_train*'--conv gemm'*) [ -n "$long" ] || echo 'long' ;;
    'bench/'*'.sh --table'*) ;;
    *bench/allreduce/tradeoff.sh* | *bench/codec_accuracy/codec_accuracy.sh* | *bench/codec_accuracy/relgrad_*.sh* | *bench/papers/papers.sh* | *bench/pure_fp16/pure_fp16.sh*) echo 'many trainings' ;;
    *bench/loss_scale/loss_scale.sh* | *bench/segmentation/segmentation.sh* | *bench/sequences/sequences.sh*) echo 'many trainings' ;;
    esac
    case $1 in *gnuplot* | *plot\ *--out*) command -v gnuplot >/dev/null || echo 'no gnuplot' ;; esac
}

data=synthetic:240,3
[ -z "$long" ] || [ -z "${NARROWCAST_DATA-}" ] || data=idx:$NARROWCAST_DATA/fashion-mnist
shorter() {
    local small=' --steps 2' && [[ $1 == *--data* ]] || small=' --data synthetic:240,3 --batch 24 --steps 2'
    local c=${1//10.0.0.9/127.0.0.1}
    c=${c#timeout -s KILL 8 }
    c=${c/idx:DIR\/fashion-mnist/$data}
    c=${c/idx:DIR/$data}
    c=${c/cifar10:DIR/$data}
    [[ $data != synthetic* ]] || c=${c/ --train-samples 20000/}
    c=${c//--sizes 4M:64M --reps 11/--sizes 4k --reps 2}
    c=${c//--sizes 4M:64M/--sizes 4k --reps 2}
    c=${c/--sizes 1k:256k --reps 60/--sizes 1k --reps 2}
    c=${c/median.sh 5/median.sh 1}
    c=${c/bench_blocks --blocks 16/bench_blocks --blocks 4 --size 1M}
    c=${c/--model resnet50 --width 0.25/--model resnet50 --width 0.06}
    c=${c/--data shapes --model fcn --width 0.25/--data shapes:40,2 --batch 20 --model fcn --width 0.06}
    c=${c/--model alexnet --image 64/--model alexnet --image 64 --width 0.1}
    c=${c/synthetic:2400,1 --batch 24/synthetic:40,1 --batch 4}
    c=${c/--model caffenet --image 64/--model caffenet --image 40}
    c=${c/caffenet --batch 32 --size 64/caffenet --batch 1 --size 40}
    c=${c//--layers 1048576,2359296,1048576/--layers 4096,8192,4096}
    c=${c/RATES=\"100mbit:4*none:4\" bench\/breakeven.sh 16M/RATES=none:2 bench\/breakeven.sh 16k --reps 2}
    case $c in
    *narrowcast\ train\ --help) ;;
    *narrowcast\ emulate*'--dump-gradients'*) c="$c --ranks 4 --data synthetic:240,3 --train-samples 240 --batch 24 --dump-first 0 --dump-steps 2 --steps 2" ;;
    *narrowcast\ emulate*) c=${c/--ranks 256/--ranks 8} && c=${c/--ranks 64/--ranks 8} && c=${c/ --train-samples 5000 --epochs 2/} && c="${c/:16/:4} --data synthetic:240,3 --batch 24 --steps 2" ;;
    *narrowcast\ train*'--receipts'*) c="$c --data synthetic:240,3 --batch 24 --steps 12" ;;
    *narrowcast\ train*'--epochs 5'*) c=${c/--epochs 5/--epochs 1} ;;
    *narrowcast\ train*'--resume'*) c="$c --data synthetic:240,3 --batch 24 --steps 2" ;;
    *narrowcast\ train*'--dump-gradients'*) c="${c/--dump-first 100/--dump-first 0} --dump-steps 2 --steps 2" ;;
    *narrowcast\ train*) c=$c$small ;;
    'make run ARGS='*) c=${c/ARGS=\'/ARGS=\'${small# } } ;;
    'make run'*) c="$c ARGS='${small# }'" ;;
    bench/netlab.sh*) c=${c/build\/bench_nc/build\/bench_nc --layers 5 --elements 1000 --ms 5} ;;
    bench/allreduce/ddp_hooks.sh*) c="$c 2 1gbit 32 2 2" ;;
    bench/training/emulate.sh*) c=${c/-n 3 256 --model resnet20/-n 1 2 --model mlp} ;;
    *bench_allreduce*) c=${c/ --sizes 1M:64M/} && c=${c/bench_allreduce/bench_allreduce --sizes 4k --reps 2 --mpi ring} ;;
    bench/allreduce/bench_native.sh*) c="ROUNDS=1 ${c/--reps 15/--reps 1 --mib 1}" ;;
    *build/bench_cast*) c=${c/bench_cast/bench_cast --mib 1 --reps 1} ;;
    *build/bench_codecs*) c=${c/ --mib 256/} && c=${c/bench_codecs build\/dump/bench_codecs build\/dump --mib 1 --reps 1 --draws 10} ;;
    *build/bench_train*) c="${c/--batch 128/--batch 1}" ;;
    esac
    echo "$c"
}

# end_card: interrupts the card, which must exit with 0
end_card() {
    [ -n "$card" ] || return 0
    kill -INT "$card"
    wait "$card" || { echo "FAIL a card ended with $?: $(cat card.err)" && bad=1; }
    card=
}

declare -A ran=() # commands that ended well, with the card of that time
one() {
    local command=${2#\$ } why
    why=$(not_here "$command")
    if [ -n "$why" ]; then
        echo "not run ($why)  $1: $command"
        n_left=$((n_left + 1))
        return
    fi
    local run rc=0 since=$SECONDS
    run=$(shorter "$command")
    if [ "${ran[$run]-}" = "on card $card" ]; then
        echo "ok  as above  $1: $run"
        n_run=$((n_run + 1)) n_again=$((n_again + 1))
        return
    fi
    if [[ ($run == *'narrowcast sim --listen'* || $run == *'narrowcast card '*) && $run != bench/* ]]; then
        end_card
        rm -f card.out
        bash -c "exec env ${run%&}" >card.out 2>card.err &
        card=$!
        while ! grep -qs '^listening on ' card.out && kill -0 $card 2>/dev/null; do sleep 0.1; done
        grep -qs '^listening on ' card.out || { echo "FAIL $1: $run: $(cat card.err)" && bad=1; }
    elif bash -c "$run" >out 2>err </dev/null || rc=$? && [ $rc = 77 ]; then
        echo "not run ($(cat err))  $1: $command"
        n_left=$((n_left + 1))
        return
    elif [ $rc != 0 ]; then
        echo "FAIL $1: $run: $(grep -h '^narrowcast:' out err || tail -n 5 out err)" && bad=1
        return
    fi
    n_run=$((n_run + 1))
    ran[$run]="on card $card"
    [ "$run" = "$command" ] || run+="    (for: $command)"
    echo "ok  $((SECONDS - since)) s  $1: $run"
}

# commands: reads a text; a line that ends in \ or within quotes continues
commands() {
    awk '
        function quotes(s) { return gsub(/\047/, "", s) }
        /^```/ { inside = !inside; if (inside) print "---"; next }
        !inside && !/^    / && !/^  [a-z]+\// { next }
        !inside && !block { print "---" }
        { block = !inside }
        {
            line = $0
            sub(/^ +/, "", line); sub(/^\$ /, "", line)
            if (!held && line !~ /^((([A-Z_]+=("[^"]*"|[^ ]+) )*((build|host|bench|tests)\/[a-z0-9_\/.]+( |$)|make( |$)))|mpirun |printf |python3 |timeout )/) next
            sub(/[ \t]+#.*$/, "", line)
            line = held line
            if (quotes(line) % 2) { if (!sub(/\\$/, "", line)) line = line "; "; held = line; next }
            if (line ~ /\\$/) { sub(/\\$/, "", line); held = line; next }
            held = ""
            print line
        }'
}

all_of() {
    local line
    while IFS= read -r line <&3; do
        if [ "$line" = --- ]; then end_card; else one "$1" "$line"; fi
    done 3< <(commands)
    end_card
}
for readme in README.md */README.md */*/README.md; do
    # shellcheck disable=SC2094  # nobody writes it
    case $readme in build/*) ;; *) all_of "$readme" <"$readme" ;; esac
done
# shellcheck disable=SC2016  # commands in the sentences of the root's README
grep -o '`make run [^`]*`' README.md | tr '`' ' ' | sed 's/^/   /' >inline
all_of 'README.md (text)' <inline
mapfile -t words < <(build/narrowcast --help | awk '/^  [a-z]+ +[^ ]/ && !/narrowcast/ { print $1 }')
[ ${#words[@]} -ge 14 ] || { echo "FAIL narrowcast --help lists only ${words[*]}" && bad=1; }
for help in narrowcast "${words[@]/#/narrowcast }" narrowcast-sim bench_{allreduce,cast,codecs,error,shares}; do
    help+=' --help'
    [ -x "build/${help%% *}" ] || continue
    # shellcheck disable=SC2086  # a program and its word
    build/$help >help.txt || { echo "FAIL $help" && bad=1; }
    all_of "$help" <help.txt
done
echo "$n_run commands ran, $n_again of them before, $n_left did not"
[ $((n_run - n_again)) -ge 40 ] || { echo "FAIL only $n_run commands were found" && bad=1; }

if [ -n "$long" ] && [ "$(id -u)" = 0 ]; then
    if command -v setpriv >/dev/null; then
        chmod 755 "$dir" && mkdir -p "$dir/copy/build" "$dir/tmp"
        for entry in "$tree"/*; do case $entry in "$B" | */build) ;; *) cp -a "$entry" "$dir/copy/" ;; esac; done
        for entry in "$B"/*; do case $entry in */tmp | */logs | */san | */parts | */mutate*) ;; *) cp -a "$entry" "$dir/copy/build/" ;; esac; done
        chown -R 65534:65534 "$dir/copy" "$dir/tmp"
        env -u COMMANDS_INSIDE TMPDIR="$dir/tmp" HOME="$dir/tmp" B="$dir/copy/build" setpriv --reuid=65534 --regid=65534 --clear-groups \
            bash "$dir/copy/tests/repo/test_commands.sh" >user.log 2>&1 || { echo 'FAIL for an ordinary user:' && bad=1; }
        grep -v '^ok' user.log
    else
        echo 'skip: no setpriv: not tried by an ordinary user'
    fi
fi
exit $bad
