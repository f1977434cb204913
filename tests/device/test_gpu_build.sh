#!/bin/bash
# test_gpu_build.sh : nvcc compiles device/ without a warning. Its PTX fuses no multiplication and
# addition where hls/arith/level.h promises bits. With `long` also: the machine code of kernels that
# should run at memory speed has their loads in flight, and two planted errors are found. This needs
# nvdisasm (NVDISASM=PATH; else Python's package nvidia-cuda-nvdisasm is installed below the build
# folder).
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here/.." || exit 1
B=${B:-build}
nvcc=${NVCC-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo 'skip: no nvcc'; exit 77; }
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
found=$(device/run/libs.sh cudnn "$cuda") || { echo 'skip: no cuDNN'; exit 77; }
words=${found%%|*}
if found=$(device/run/libs.sh nccl "$cuda"); then words+=" ${found%%|*} -DHAVE_NCCL"; fi
read -ra flags <<<"-std=c++17 -O3 -I. -Werror all-warnings $words"
own() { find "$(realpath "$B")/sass" "$(dirname "$(readlink -f "$nvcc")")" -name nvdisasm -type f 2>/dev/null | head -n 1; }
nvdisasm=${NVDISASM-$(command -v nvdisasm || own)}
long=${1-} dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ "$long" ] && [ ! -x "$nvdisasm" ]; then
    mkdir -p "$B/logs"
    timeout 100 python3 -m pip install -q --no-input --require-hashes --no-deps --target "$B/sass" -r /dev/stdin >"$B/logs/sass.pip" 2>&1 <<'END'
nvidia-cuda-nvdisasm==13.5.37 \
    --hash=sha256:d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca \
    --hash=sha256:a3a8248074edb9fba63b74c38a5416b712a91ab09e70b8ab37186c3d293fc605
END
    nvdisasm=$(own)
fi
bad=0

# --- products and sums ----------------------------------------------------------------------------
exact=(device/vec/signs.cu device/vec/counts.cu ${long:+device/vec/levels.cu})
echo '__global__ void planted(float *x) { x[0] = x[0] * x[1] + x[2]; }' >"$dir/planted.cu"
files=(device/*/*.cu)
# with an up-to-date library, only the files below are compiled
[ -f "$B/libnarrowcast_cuda.so" ] && [ -z "$(find device hls -newer "$B/libnarrowcast_cuda.so" -name '*.*')" ] && files=("${exact[@]}")
# ptx FILE OPTION...
ptx() { "$nvcc" "${flags[@]}" "${@:2}" -arch=compute_90 -ptx "$1" -o "$dir/$(basename "$1").ptx" >"$dir/log" 2>&1; }
# fused FILE: number of fma that are not in the source
fused() {
    local all asked
    all=$(grep -c 'fma\.' "$dir/${1##*/}.ptx")
    ptx "$1" -fmad=false
    asked=$(grep -c 'fma\.' "$dir/${1##*/}.ptx")
    echo $((all - asked))
}
for f in "${files[@]}"; do
    only=(-fdevice-syntax-only) && [[ " ${exact[*]} " != *" $f "* ]] || only=()
    [ "$long" ] && [ "${only[*]}" ] && grep -qF "${f##*/} k_" "$0" && [ -x "$nvdisasm" ] && continue # below
    ptx "$f" "${only[@]}" || { echo "FAIL $f"; head -n 20 "$dir/log"; bad=1; }
done
echo '__global__ void warns(float *x) { int unused; x[0] = 1; }' >"$dir/warns.cu"
ptx "$dir/warns.cu" -fdevice-syntax-only && { echo 'FAIL a warning is not seen'; bad=1; }
ptx "$dir/planted.cu"
[ "$(fused "$dir/planted.cu")" = 1 ] || { echo 'FAIL a joined product is not seen'; bad=1; }
for f in "${exact[@]}"; do
    grep -q 'mul\.' "$dir/${f##*/}.ptx" || { echo "FAIL $f: no machine code with a product"; bad=1; }
    [ "$(fused "$f")" = 0 ] || { echo "FAIL $f: a product is joined with an addition"; bad=1; }
done

# --- loads ----------------------------------------------------------------------------------------
[ "$long" ] || exit $bad
[ -x "$nvdisasm" ] || { echo 'skip: no nvdisasm: pip install nvidia-cuda-nvdisasm, and NVDISASM=PATH'; exit $bad; }
look() {
    "$nvcc" "${flags[@]}" -arch=sm_90 -cubin -Xptxas -v "$1" -o "$dir/cubin" >"$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
    "$nvdisasm" -c "$dir/cubin" | python3 "$here/device/sass_loads.py" "$dir/log"
}

# holds FILE KERNEL SIXTEEN EIGHT REGISTERS [SPILT [FOUR LENGTH]]: at least SIXTEEN parallel loads of
# 16 bytes, EIGHT of 8 or 16 and FOUR of 4 to 16; at most REGISTERS registers, SPILT bytes spilt
# (none) and LENGTH instructions. A multiprocessor has 65,536 registers: 64 per thread leave room for
# four blocks of 256 threads or one of 1024, 80 for three, 128 for two.
holds() {
    awk -F '\t' -v file="$1" -v kernel="$2" -v sixteen="$3" -v eight="$4" -v registers="$5" -v spilt="${6-0}" -v four="${7-0}" -v length_="${8-99999}" '
        $1 == kernel {
            fine = $2 >= sixteen && $3 >= eight && $4 >= four && $5 <= length_ && $6 <= registers && $7 <= spilt
            printf "%s %s: %s: %d loads of 16 bytes at once (%d asked), %d of 8 or more (%d), %d of 4 or more (%d), %d registers (%d allowed), %d bytes spilt (%d), %d instructions (%d)\n",
                   fine ? "ok  " : "FAIL", file, kernel, $2, sixteen, $3, eight, $4, four, $6, registers, $7, spilt, $5, length_
            found = 1; fails += !fine }
        END { if (!found) print "FAIL " file ": no kernel " kernel
              exit !found || fails }' <<<"$seen"
}

seen=$'k\t0\t4\t4\t9\t32\t0\nk\t4\t4\t4\t9\t32\t0'
holds none k 4 4 64 >"$dir/planted" && echo 'FAIL of two kernels with one name the last alone counts' && bad=1

file=
while read -r name kernel; do
    numbers=${kernel#*: }
    if [ "$name" != "$file" ]; then
        file=$name
        seen=$(look device/*/"$file") || bad=1
    fi
    # shellcheck disable=SC2086  # three numbers to six
    holds "$file" "${kernel%%: *}" $numbers || bad=1
done <<'END'
sum_exact.cu k_sum_exact<8, exact_single>: 4 4 80
sum_exact.cu k_sum_exact<8, exact_e4m3>: 0 8 64
sum_exact.cu k_sum_exact<8, exact_e5m2>: 0 8 64
sum_exact.cu k_sum_exact<4, exact_single>: 0 4 80
sum_exact.cu k_sum_exact<16, exact_double>: 4 4 128
sum_add.cu k_add_e5m2<false>: 2 2 40
sum_add.cu k_add_codes<8>: 2 2 64
sum_add.cu k_add_codes<16>: 4 4 64
feed.cu k_feed<__half, 8>: 0 2 64
cast.cu k_encode<8, false, as_is>: 4 4 64 20
cast.cu k_encode<16, false, as_is>: 4 4 64 20
cast.cu k_encode<8, true, as_is>: 4 4 80 0 8 6500
cast.cu k_encode<16, true, as_is>: 4 4 80
uncast.cu k_uncast_all<8, as_it_is>: 0 4 40
uncast.cu k_uncast_all<16, as_it_is>: 0 4 40
uncast.cu k_uncast_all<7, as_it_is>: 0 4 40 0 8 2000
uncast.cu k_uncast_all<32, as_it_is>: 0 4 64 0 20 2000
uncast.cu k_uncast<7>: 0 0 40 0 8 1600
uncast.cu k_uncast<32>: 0 0 64 0 20 1600
signs.cu k_signs_decode: 0 0 48 0 4
levels.cu k_levels_decode<32, 4, false>: 0 0 40 8
levels.cu k_levels_encode<32, false, 4, false>: 4 4 64 16 4 3200
levels.cu k_levels_encode<32, false, 8, false>: 4 4 64 16 4 3200
levels.cu k_levels_encode<256, false, 16, false>: 8 8 80 20 8 2900
groups.cu k_uncast_all<7, from_groups>: 0 4 48 0 8 2400
ratio.cu k_uncast_all<7, ratio_back>: 0 4 48 0 8 2400
absmax.cu k_absmax: 4 4 32
batch_norm_forward.cu k_norm_apply<__half, 8, (norm_form)0>: 4 4 64
batch_norm_forward.cu k_norm_apply<__half, 8, (norm_form)1>: 8 8 80
batch_norm_forward.cu k_norm_apply<__half, 8, (norm_form)2>: 8 8 128
batch_norm_backward.cu k_norm_sums<__half, 8, (norm_gate)1>: 4 4 80
batch_norm_backward.cu k_norm_sums<__half, 8, (norm_gate)2>: 3 3 80
batch_norm_backward.cu k_norm_sums<__half, 8, (norm_gate)3>: 6 6 128
batch_norm_backward.cu k_norm_sums<__half, 8, (norm_gate)4>: 6 6 128
batch_norm_backward.cu k_norm_dx<__half, 8, (norm_gate)1>: 4 4 80
sgd.cu k_optim<sgd_rule, float, float>: 6 6 80
sgd.cu k_optim<sgd_rule, __half, __half>: 3 3 80
sgd.cu k_optim<lars_rule, float, float>: 8 8 80
sgd.cu k_optim<lars_rule, __half, __half>: 8 8 80
adamw.cu k_optim<adamw_rule, float, float>: 8 8 80
adamw.cu k_optim<adamw_rule, __half, __half>: 4 4 80
END

cp -r device hls "$dir"
# plant WHAT SED_SCRIPT: makes sum_exact.cu's loads wait for each other
plant() {
    sed "$2" device/vec/sum_exact.cu >"$dir/device/vec/sum_exact.cu"
    cmp -s device/vec/sum_exact.cu "$dir/device/vec/sum_exact.cu" && { echo "FAIL nothing was planted: $1"; bad=1; }
    seen=$(cd "$dir" && look device/vec/sum_exact.cu) || { echo "FAIL $1: does not compile"; bad=1; }
    if holds planted 'k_sum_exact<8, exact_e5m2>' 0 8 255 9999 >"$dir/planted"; then
        echo "FAIL $1: not seen: $(cat "$dir/planted")"
        bad=1
    elif ! grep -q 'loads of 16 bytes' "$dir/planted"; then
        cat "$dir/planted"
        bad=1
    fi
}
plant 'alignment is asked of each part' 's/pack_fetch(near\[i\] + at, &part\[i\])/pack_load(near[i] + at, W, PACK_CODES, \&part[i])/'
plant 'pointers from the near list or the far one, as they once were' '
    s/exact_parts(const/exact_parts(const struct sum_job \&job, int p, const/
    s/exact_parts<W, \([124]\|ACC::PARTS\)>(/exact_parts<W, \1>(job, p, /
    s/pack_fetch(near\[i\] + at, &part\[i\])/pack_load((p + i < PARTS_NEAR ? near[i] : job.parts[p + i]) + at, W, PACK_CODES, \&part[i])/'
exit $bad
