#!/bin/bash
# test_gpu_none.sh : with an unusable GPU, one line gives the reason, --device auto uses the CPU,
# --device cuda ends.
set -u
. "$(dirname "$0")/../../host/ranks.sh"
. "$(dirname "$0")/../lib/script.sh"
emulated=$B/emu/libnarrowcast_cuda.so
cd "$dir" || exit 1
export -n NARROWCAST_CUDA
train=(train --data 'synthetic:240,3' --batch 24 --model mlp --steps 2)

none() {
    local what=$1 pattern=$2
    shift 2
    env "$@" "$n" info >about 2>err || fail "$what: info ended with $?"
    grep -q "^CUDA  *no: .*$pattern" about || fail "$what: info says: $(grep '^CUDA' about)"
    [ -s err ] && fail "$what: info printed: $(cat err)"
    env "$@" mpirun -np 2 "$n" "${train[@]}" --device auto >out 2>err ||
        fail "$what: --device auto ended with $?: $(cat err)"
    grep -q "$pattern" err && fail "$what: --device auto complains: $(cat err)"
    env "$@" mpirun -np 2 "$n" "${train[@]}" --device cuda >out 2>err && fail "$what: --device cuda was taken"
    [ "$(grep -c '^narrowcast:' err)" = 1 ] || fail "$what: not one line: $(cat err)"
    grep -q "$pattern" err || fail "$what: --device cuda says: $(cat err)"
}

none "no such file" 'NARROWCAST_CUDA names "/no/where.so"' NARROWCAST_CUDA=/no/where.so
echo text >text.so
none "no library" 'text.so" does not load: .*' NARROWCAST_CUDA="$dir/text.so"
cc -shared -fPIC -x c - -o other.so <<<'const int other = 1;' 2>/dev/null &&
    none "another library" 'other.so" is not libnarrowcast_cuda.so: it lacks the symbol' NARROWCAST_CUDA="$dir/other.so"
cc -shared -fPIC -x c - -o old.so <<<'const struct { int version; void *tables[5]; } narrowcast_cuda = {999, {0}};' &&
    none "another version" 'old.so" belongs to another build (version 999' NARROWCAST_CUDA="$dir/old.so"
if cc -shared -fPIC -x c - -o libgone.so -Wl,-soname,libgone.so <<<'int gone(void) { return 1; }' &&
    cc -shared -fPIC -x c - -o libalso.so -Wl,-soname,libalso.so <<<'int also(void) { return 1; }' &&
    cc -shared -fPIC -x c - -o libold.so -Wl,-soname,libneeds.so <<<'int older(void) { return 1; }' &&
    cc -shared -fPIC -x c - -o libneeds.so -Wl,-soname,libneeds.so -L. -lgone -lalso <<<'int gone(void), also(void); int needs(void) { return gone() + also(); }' &&
    cc -shared -fPIC -x c - -o lacks.so -Wl,--no-as-needed -L. -lneeds -lgone <<<'int needs(void); int (*uses)(void) = needs;'; then
    site=$dir/home/.local/lib/python3.11/site-packages/nvidia
    mkdir -p "$site/needs/lib" "$site/gone/lib" && mv libneeds.so "$site/needs/lib" && mv libgone.so libalso.so "$site/gone/lib"
    none "a library lacks another" 'lacks.so" does not load: libneeds.so' NARROWCAST_CUDA="$dir/lacks.so" HOME=/none
    # the loaded file is Python's, not ours
    none "the user's packages" 'lacks.so" is not libnarrowcast_cuda.so: it lacks the symbol' NARROWCAST_CUDA="$dir/lacks.so" HOME="$dir/home"
    none "PYTHONPATH" 'lacks.so" is not libnarrowcast_cuda.so: it lacks the symbol' NARROWCAST_CUDA="$dir/lacks.so" HOME=/none PYTHONPATH="/none::${site%/nvidia}"
    none "an environment" 'lacks.so" is not libnarrowcast_cuda.so: it lacks the symbol' NARROWCAST_CUDA="$dir/lacks.so" HOME=/none VIRTUAL_ENV="$dir/home/.local"
    mkdir -p 'own [1]/lib/python3.9/site-packages/nvidia/needs/lib' 'own [1]/lib/python3.12/site-packages/nvidia/needs/lib'
    cp -r home/.local/lib/python3.11 'own [1]/lib' && cp libold.so 'own [1]/lib/python3.9/site-packages/nvidia/needs/lib/libneeds.so'
    mkfifo 'own [1]/lib/python3.12/site-packages/nvidia/needs/lib/libneeds.so'
    none "several Pythons" 'lacks.so" is not libnarrowcast_cuda.so: it lacks the symbol' NARROWCAST_CUDA="$dir/lacks.so" HOME=/none VIRTUAL_ENV="$dir/own [1]"
    mv "$site/gone" "$dir"
    none "half of them" 'lacks.so" does not load: libneeds.so' NARROWCAST_CUDA="$dir/lacks.so" HOME="$dir/home"
    mkdir -p "$site/gone/lib" && echo damaged >"$site/gone/lib/libgone.so"
    none "a damaged one" 'lacks.so" does not load: libneeds.so' NARROWCAST_CUDA="$dir/lacks.so" HOME="$dir/home"
fi
if [ ! -f "$B/libnarrowcast_cuda.so" ]; then # an empty value counts as unset
    none "not built" 'no libnarrowcast_cuda.so beside this program' NARROWCAST_CUDA=
fi
if [ -f "$emulated" ]; then
    none "no GPU" 'no GPU on this machine' NARROWCAST_CUDA="$emulated" EMU_DEVICES=0
    none "an old driver" 'the driver is too old' NARROWCAST_CUDA="$emulated" EMU_OLD_DRIVER=1
    env NARROWCAST_CUDA="$emulated" "$n" info >about || fail "info with the emulator"
    grep -q '^GPU  *emulated' about || fail "info does not show the emulator: $(grep '^GPU\|^CUDA' about)"
else
    echo "skip: no $emulated: what a driver says was not tested"
fi
[ $bad = 0 ] && echo "ok"
exit $bad
