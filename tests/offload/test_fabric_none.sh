#!/bin/bash
# test_fabric_none.sh : only --fabric loads libfabric; a missing, unreadable or foreign library
# gives one line.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
library=$B/libnarrowcast_fabric.so
train=("$n" train --data 'synthetic:240,3' --batch 24 --model mlp --steps 2 --offload sim:c --fabric)

loads() { rm -f loaded.*; LD_DEBUG=files LD_DEBUG_OUTPUT=$dir/loaded "$@" >out 2>err && grep -qs 'libfabric\.so' "$dir"/loaded.*; }
ldd "$n" "$B/libnarrowcast.so" >out 2>&1
grep -q libopenblas out || fail "ldd said: $(cat out)"
if ldd "$(awk '/libmpi\./ { print $3; exit }' out)" | grep -q libfabric; then
    echo 'skip  not loaded where nobody asks: MPI itself is linked with libfabric here'
else
    for command in --help info "cast --help"; do
        # shellcheck disable=SC2086
        if loads "$n" $command; then fail "$command loads libfabric"; fi
    done
    if grep libfabric out; then fail "linked with libfabric"; fi
fi
if [ -f "$library" ]; then
    "$n" info | grep -qF "$library" || fail "info says: $("$n" info | grep '^libfabric')"
    loads "${train[@]}" udp || fail "--fabric udp does not load libfabric: $(cat err)"
fi

ranks=(mpirun -np 2)
none() {
    local code
    env "${@:3}" "$n" info >out 2>err || fail "$1: info ended with $?"
    grep -q "^libfabric  *none: .*$2" out || fail "$1: info says: $(grep '^libfabric' out)"
    [ -s err ] && fail "$1: info printed: $(cat err)"
    code=0
    timeout 60 env "${@:3}" "${ranks[@]}" "${train[@]}" udp >out 2>err || code=$?
    { [ $code -gt 0 ] && [ $code -lt 124 ]; } || fail "$1: --fabric udp: exit $code"
    sed -i "$mpiruns_lines; /^prterun/,\$d" err
    [ "$(grep -c '' err)" = 1 ] || fail "$1: not one line: $(cat err)"
    grep -q "^narrowcast: no provider 'udp', only socket: .*$2" err || fail "$1: said: $(cat err)"
}
none "no such file" 'NARROWCAST_FABRIC names "/no/where.so"' NARROWCAST_FABRIC=/no/where.so
ranks=()
echo text >text.so
none "no library" 'text.so" does not load: [^/]*$' NARROWCAST_FABRIC="$dir/text.so"
mkfifo pipe.so
none "a pipe" 'pipe.so", which cannot be read (it is not a regular file)' NARROWCAST_FABRIC="$dir/pipe.so"
cc=${CC:-cc}
$cc -shared -fPIC -x c - -o other.so <<<'const int other = 1;' || fail "no other.so"
none "another library" 'other.so" is not libnarrowcast_fabric.so: it lacks the symbol' NARROWCAST_FABRIC="$dir/other.so"
$cc -shared -fPIC -x c - -o old.so <<<'const struct { int version; void *calls[2]; } narrowcast_fabric = {999, {0}};' || fail "no old.so"
none "another version" 'old.so" belongs to another build (version 999' NARROWCAST_FABRIC="$dir/old.so"
none "a name without a folder" 'old.so" belongs to another build (version 999' NARROWCAST_FABRIC=old.so
$cc -shared -fPIC -x c - -o libgone.so <<<'int gone(void) { return 1; }' &&
    $cc -shared -fPIC -x c - -o lacks.so -L. -lgone <<<'int gone(void); int (*uses)(void) = gone;' && rm libgone.so
none "a library lacks another" 'lacks.so" does not load: libgone.so' NARROWCAST_FABRIC="$dir/lacks.so"

mkdir bin && cp "$n" "$B/narrowcast-sim" bin/ && n=$dir/bin/narrowcast && train[0]=$n
none "not built" 'no libnarrowcast_fabric.so beside this program' NARROWCAST_FABRIC=
"${train[@]}" socket >out 2>err || fail "--fabric socket without the library: $(cat err)"
grep -q 'offload through 1 card' err || fail "--fabric socket: not through a card: $(cat err)"
if [ -f "$library" ]; then
    cp "$library" bin/
    "${train[@]}" udp >out 2>err || fail "a library beside the program: $(cat err)"
    rm bin/*.so && mkdir path && cp "$library" path/
    LD_LIBRARY_PATH=$dir/path "${train[@]}" udp >out 2>err || fail "a library on the loader's path: $(cat err)"
    LD_LIBRARY_PATH=$dir/path "$n" info | grep -q '^libfabric *by libnarrowcast_fabric.so' || fail "info does not find it on the loader's path"
else
    echo "skip: built without libfabric: where the library is found was not tested"
fi
exit $bad
