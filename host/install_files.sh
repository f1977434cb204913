#!/bin/sh
# install_files.sh : copies files to their places for `make install`.
# usage: install_files.sh BUILD PREFIX DESTDIR VERSION MPI_LINK     MPI_LINK: MPI's link options
set -eu
umask 022 # everyone may read and run, also if the installing user's own files are private
[ $# = 5 ] || { echo "usage: install_files.sh BUILD PREFIX DESTDIR VERSION MPI_LINK" >&2; exit 2; }
build=$1 prefix=$2 root=$3$2 version=$4
case $prefix in *[[:space:]]* | *[\'\"\\$]*) echo "install_files.sh: PREFIX '$prefix': has a blank, quote, backslash or \$, which pkg-config would not survive" >&2; exit 2 ;; esac
case $prefix in /*) ;; *) echo "install_files.sh: PREFIX '$prefix': must begin with /" >&2; exit 2 ;; esac

# put MODE FOLDER FILE...: install files under their own names
put() {
    mode=$1 folder=$root/$2
    shift 2
    mkdir -p "$folder"
    install -m "$mode" "$@" "$folder"
}

put 755 bin "$build/narrowcast" "$build/narrowcast-sim"
put 644 include host/include/narrowcast.h
put 644 lib "$build/pic/libnarrowcast.a"
install -m 755 "$build/libnarrowcast.so.0" "$root/lib/libnarrowcast.so.$version"
ln -sf "libnarrowcast.so.$version" "$root/lib/libnarrowcast.so.0"
ln -sf libnarrowcast.so.0 "$root/lib/libnarrowcast.so"
put 755 lib "$build/libnarrowcast-pmpi.so" "$build/libnccl-net-narrowcast.so"
for plugin in mpi cuda xrt fabric xdp dnnl; do # loaded on demand
    [ ! -f "$build/libnarrowcast_$plugin.so" ] || put 755 lib "$build/libnarrowcast_$plugin.so"
done
put 644 share/doc/narrowcast LICENSE
put 644 share/narrowcast/python/narrowcast host/python/narrowcast/*.py host/python/narrowcast/py.typed "$build/_card_layout.py"
put 644 share/narrowcast/vectors tests/conformance/vectors/*.jsonl # of `narrowcast conform` and Python's self-test
put 644 "lib/$(uname -m)-linux-gnu/wireshark/plugins" "$build/narrowcast.lua" # Debian's place
put 644 share/man/man1 "$build"/man/*.1
put 644 share/man/man3 "$build"/man/*.3
mkdir -p "$root/share/bash-completion/completions"
install -m 644 "$build/man/narrowcast.bash" "$root/share/bash-completion/completions/narrowcast"

mpi=
for word in $5; do # a compiler's name may stand before them
    case $word in -*) mpi="$mpi $word" ;; esac
done
mkdir -p "$root/lib/pkgconfig"
cat >"$root/lib/pkgconfig/narrowcast.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: narrowcast
Description: all-reduce of gradients as narrow floats, over MPI
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lnarrowcast
Libs.private: -lm -ldl -lpthread$mpi
END
