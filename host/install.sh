#!/bin/sh
# install.sh : installs the build's dependencies with apt-get, as root or with sudo. If something is
# missing afterwards, prints the command to type and fails. Silent if all is present. Called by the
# Makefile.
# usage: install.sh needs|tools     needs: required packages; tools: optional ones
# shellcheck disable=SC2086,SC2317 # lists are words; needs and tools are called by name
set -eu
cc=${CC:-cc}

# need PACKAGES TEST...: print the packages if the test fails
need() {
    wanted=$1
    shift
    "$@" >/dev/null 2>&1 || printf '%s\n' "$wanted"
}
tool() { command -v "$1"; }
xrt() { for at in /opt/xilinx/xrt/include /usr/include/xrt; do "$cc" -E -x c -I"$at" -include xrt/xrt_device.h /dev/null && return; done; }
links() { printf '#include <%s>\nint main(void) { return 0; }\n' "$1" | "$cc" -x c -include stdio.h - ${2+"$2"} -o /dev/null; }

needs() {
    need 'gcc libc6-dev' links stdio.h
    need 'libopenmpi-dev openmpi-bin' tool "${MPICC:-mpicc}"
    need openmpi-bin tool mpirun
    need libopenblas-dev links cblas.h -lopenblas
    need zlib1g-dev links zlib.h -lz
    need libpng-dev links png.h -lpng
    need libjpeg-dev links jpeglib.h -ljpeg
    need libssl-dev links openssl/evp.h -lcrypto
}
tools() {
    need g++ tool "${CXX:-g++}"
    need verilator tool verilator
    need libfabric-dev links rdma/fabric.h -lfabric
    need libxdp-dev links xdp/xsk.h -lxdp
    need libdnnl-dev links dnnl.h -ldnnl
    need yosys tool yosys
    need iverilog tool iverilog
    need gnuplot-nox tool gnuplot
    need 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross' tool aarch64-linux-gnu-gcc # test_aarch64.sh
    need qemu-user tool qemu-aarch64
    need python3 tool python3
    need python3-venv python3 -c 'import ensurepip' # for packages in no archive: LiteEth, nextpnr
    need procps tool pgrep
    need iproute2 tool ip
    need 'libxrt-dev uuid-dev' xrt # its headers need uuid-dev, undeclared
}
# XRT is not in every archive.
in_archive() {
    case $1 in libxrt-dev | uuid-dev) ;; *) return 0 ;; esac
    command -v apt-cache >/dev/null || return 0
    case $(LC_ALL=C apt-cache policy libxrt-dev 2>/dev/null) in
    *'Candidate: (none)'*) return 1 ;;
    *Candidate:*) ;;
    *) return 1 ;;
    esac
}
# missing: print the missing packages of the list on one line
missing() {
    packages=$("$list" | tr ' ' '\n' | sort -u | tr '\n' ' ')
    printf '%s' "${packages% }"
}
# nvidia: if its driver is present, report missing NVIDIA software, which Debian lacks; do not fetch
# it
nvidia() {
    tool nvidia-smi >/dev/null || return 0
    nvcc=${NVCC-$(tool nvcc || echo /usr/local/cuda/bin/nvcc)}
    [ -n "$nvcc" ] || return 0 # left out
    if ! tool "$nvcc" >/dev/null; then
        echo "no nvcc, which is not fetched: NVIDIA's CUDA toolkit has it; without it the GPU library is left out"
        return 0
    fi
    cuda=$(readlink -f "$(tool "$nvcc")") lacks=''
    for library in cublas cudnn nccl; do
        case $library in cublas) folder=${CUBLAS-find} ;; cudnn) folder=${CUDNN-find} ;; *) folder=${NCCL-find} ;; esac
        [ -n "$folder" ] || continue # left out
        "${0%/*}/../device/run/libs.sh" $library "${cuda%/bin/nvcc}" "${folder#find}" >/dev/null || lacks="$lacks $library"
    done
    [ -z "$lacks" ] || echo "no$lacks, which is not fetched: NVIDIA's archive has it, or pip (nvidia-cudnn-cu13 and its like); what needs it is left out"
}
case ${1-} in
needs) nvidia ;;
tools) ;;
*) echo "usage: install.sh needs|tools" >&2 && exit 2 ;;
esac
list=$1
wanted=$(missing)
[ -n "$wanted" ] || exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# install PACKAGES: install after printing one line. On failure the log has apt-get's output
install() {
    $apt install --assume-no --no-install-recommends $1 >"$log" 2>&1 </dev/null || true
    size=$(sed -n 's/^Need to get \(.*\) of archives.*/\1 to load/p; s/^After this operation, \(.*\) of additional.*/, \1 on disk/p' "$log" | tr -d '\n')
    [ -n "$size" ] || return 1
    echo "installing $1: $size"
    $apt install -y --no-install-recommends $1 >"$log" 2>&1 </dev/null
}
apt='env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get'
advice='as root, type: apt-get update && apt-get install -y --no-install-recommends'
if ! command -v apt-get >/dev/null; then
    apt='' advice='install these Debian packages, or what they are called here:'
elif [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null; then apt="sudo $apt"; else apt=''; fi
fi
[ -z "$apt" ] || $apt update -qq >/dev/null 2>&1 </dev/null || true
# had PACKAGES: print the available ones, and a warning for each other one
had() {
    for package in $1; do
        if in_archive "$package"; then printf '%s ' "$package"; else echo "no $package in this system's archive: what needs it is left out" >&2; fi
    done
}
wanted=$(had "$wanted")
wanted=${wanted% }
[ -n "$wanted" ] || exit 0
[ -z "$apt" ] || install "$wanted" || true
wanted=$(had "$(missing)" 2>/dev/null)
wanted=${wanted% }
[ -n "$wanted" ] || exit 0
if [ "$wanted" = libssl-dev ]; then # the program can do without
    echo "narrowcast: no libssl-dev: train --receipts is left out; $advice libssl-dev" >&2
    exit 0
fi
tail -n 5 "$log" >&2
echo "narrowcast: missing: $wanted$([ "$list" = needs ] || echo '; what needs it is left out'); $advice $wanted" >&2
exit 1
