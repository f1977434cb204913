#!/bin/bash
# gpu_pack.sh : packs gpu_all.sh and its needs on a machine with a GPU and little else into less
# than 50 MiB: programs and the GPU library for one architecture, tests, benches, Open MPI and
# OpenBLAS.
# usage: bench/gpu/gpu_pack.sh [ARCHIVE.tar.gz]   (build/gpu_pack.tar.gz) after make GPU_ARCHS=sm_90
#        there: tar xf gpu_pack.tar.gz; gpu_pack/go            all of gpu_all.sh
#               gpu_pack/go bench/gpu/gpu_all.sh 1                 a part
#               gpu_pack/go host/ranks.sh 2 build/narrowcast train --device cuda
set -eu
. "$(dirname "$0")/../usage.sh"
out=${1:+$(cd "$OLDPWD" && realpath -m "$1")} # relative to where it is called
out=${out:-$B/gpu_pack.tar.gz}
if [ -d "$out" ] || [ ! -d "$(dirname "$out")" ]; then refuse "'$out': must be a file in a folder that is there"; fi
library=$B/libnarrowcast_cuda.so
mib_most=50
[ -f "$library" ] || refuse "no $library: make GPU_ARCHS=sm_90"
components=$(ompi_info --parsable --path pkglibdir 2>/dev/null | sed -n 's/^path:pkglibdir://p')
[ -d "$components" ] || refuse 'no Open MPI: ompi_info names no folder of components'
dir=$(mktemp -d)
trap 'rm -rf "$dir" "$out.new"' EXIT
to=$dir/gpu_pack
mkdir -p "$to/build/tests" "$to/build/logs" "$to/lib" "$to/components" "$to/bin" "$to/device/run"

cp "$B/narrowcast" "$library" "$B/bench_gpu" "$B/bench_train" "$to/build/"
for file in "$B/narrowcast-sim" "$B/libnccl-net-narrowcast.so" "$B/libnarrowcast.so.0"; do # for parts 8 and 9
    [ ! -f "$file" ] || cp -L "$file" "$to/build/"
done
cp "$B"/tests/test_gpu_* "$B/tests/test_gemm_low_gpu" "$to/build/tests/"
rm -f "$to"/build/tests/*.*
cp -r --parents host/ranks.sh host/python/narrowcast/*.py "$to/"
cp device/run/libs.sh "$to/device/run/"
cp -r --parents bench/*.sh bench/*/*.sh bench/*/*.py bench/*/*.gp tests/*.sh tests/*/*.sh "$to/"
# run.sh reads the number of ranks there.
grep -lZ '/\* RANKS: ' tests/*/test_gpu_*.c | xargs -0 cp --parents -t "$to"
cp "$(readlink -f "$(command -v mpirun)")" "$to/bin/mpirun"
cp "$(readlink -f "$(command -v orted)")" "$to/bin/orted"
# Open MPI's components, except those that need a network vendor's libraries.
for c in "$components"/mca_*.so; do
    case $c in *ofi* | *ucx* | *psm* | *openib* | *usnic* | *monitoring* | *libfabric* | *slurm* | *rdma*) ;; *) cp "$c" "$to/components/" ;; esac
done
# Shared libraries, except those of any Linux and NVIDIA's.
find "$to" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' _ {} \; -exec ldd {} + >"$dir/needs" 2>/dev/null || true
absent=$(awk '/=> not found/ && $1 !~ /^lib(cu|nccl|nv)/ { print $1 }' "$dir/needs" | sort -u | paste -sd ' ')
[ -z "$absent" ] || refuse "libraries that the programs need are not here: $absent"
awk '$2 == "=>" && $3 ~ /^\// { print $3 }' "$dir/needs" | sort -u |
    while read -r file; do
        case ${file##*/} in
        libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | ld-linux* | libgcc_s.so* | libstdc++.so* | libz.so*) ;;
        libcu* | libnccl* | libnv*) ;;
        *) cp -L "$file" "$to/lib/" ;;
        esac
    done
find "$to" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' _ {} \; -exec strip --strip-unneeded {} + 2>"$dir/said" ||
    refuse "strip failed: $(tail -n 1 "$dir/said")"

cat >"$to/python" <<'END'
#!/bin/sh
# python : runs PyTorch with its own NVIDIA libraries.
export LD_LIBRARY_PATH="$(cd "$(dirname "$0")" && pwd)/lib${OWN_LIBRARY_PATH:+:$OWN_LIBRARY_PATH}"
exec "${OWN_PYTHON:-python3}" "$@"
END
cat >"$to/go" <<'END'
#!/bin/bash
# go [COMMAND...] : runs a command (bench/gpu/gpu_all.sh) with the libraries of this
# archive and NVIDIA's of this machine.
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")")
paths=$here/lib
for name in cudnn cublas nccl; do
    found=$(device/run/libs.sh $name "$cuda") && [[ $found == *rpath=* ]] && paths+=:${found##*rpath=} # system folders: no rpath
done
export OWN_LIBRARY_PATH=${LD_LIBRARY_PATH-} OWN_PYTHON=${PYTHON-}
export LD_LIBRARY_PATH=$paths${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} PATH=$here/bin:$PATH PYTHON=$here/python B=build
export OMPI_MCA_mca_base_component_path=$here/components OPAL_PREFIX=$here PMIX_MCA_pcompress_base_silence_warning=1
[ ! -e /dev/nvidiactl ] || export NARROWCAST_CUDA=$here/build/libnarrowcast_cuda.so # needs a driver
# mpirun needs a remote shell even on one machine
[ -n "$(command -v ssh)" ] || export OMPI_MCA_plm_rsh_agent=/bin/false
[ $# -gt 0 ] || set -- bench/gpu/gpu_all.sh
exec "$@"
END
chmod +x "$to/python" "$to/go"
tar -C "$dir" -czf "$out.new" gpu_pack
mv "$out.new" "$out"
bytes=$(stat -c %s "$out")
echo "$out: $((bytes >> 10)) KiB; on the other machine: tar xf ${out##*/} && gpu_pack/go"
[ "$bytes" -lt $((mib_most << 20)) ] || refuse "that is more than $mib_most MiB"
