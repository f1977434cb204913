#!/bin/bash
# test_install.sh : checks `make install`, packages and the ABI with the programs of
# tests/examples. Only with `long` the package is compressed as users get it, which takes a minute.
set -u
overrides=() # variables of the calling make: others would cause a rebuild
case ${MAKEFLAGS-} in *'-- '*) read -r -a overrides <<<"${MAKEFLAGS#*-- }" ;; esac
unset MAKEFLAGS MFLAGS MAKEOVERRIDES WERROR
. "$(dirname "$0")/../lib/in_folder.sh"
tree=$(dirname "$here")
need_plain "$B/libnarrowcast.so"
make_install() {
    make -C "$tree" -s "${overrides[@]}" B="$B" NVCC= PREFIX="$1" DESTDIR="$2" install >"$dir/said" 2>&1 || {
        fail "make install PREFIX=$1 DESTDIR=$2: $(tail -n 5 "$dir/said")"
        exit 1
    }
}

# all_read LISTING: a line of `ls -l` or `tar -tv` is a link, or readable by all and writable by
# its owner only
all_read() {
    [ -s "$1" ] || fail "$1 is empty"
    ! grep -vE '^(l|-r.[-x]r-[-x]r-[-x]|dr.xr-xr-x)' "$1" >"$dir/private" || fail "files of umask 077 in $1: $(head -n 3 "$dir/private")"
}

umask 077 # installed files must be readable even then
version=$("$n" --version | cut -d ' ' -f 2)
make_install /opt/nc "$dir/root"
(cd "$dir/root" && find ./opt -ls | awk '{ print $3, $NF }') >"$dir/listing"
all_read "$dir/listing"
(cd "$dir/root" && find . ! -type d | LC_ALL=C sort) | grep -v '/libnarrowcast_[a-z]*\.so$' >"$dir/placed"
{
    echo ./opt/nc/bin/narrowcast ./opt/nc/bin/narrowcast-sim ./opt/nc/include/narrowcast.h ./opt/nc/lib/libnarrowcast-pmpi.so ./opt/nc/lib/libnccl-net-narrowcast.so ./opt/nc/lib/libnarrowcast.{a,so,so.0} \
        "./opt/nc/lib/libnarrowcast.so.$version" ./opt/nc/lib/pkgconfig/narrowcast.pc ./opt/nc/share/bash-completion/completions/narrowcast \
        ./opt/nc/share/doc/narrowcast/LICENSE ./opt/nc/share/man/man1/narrowcast.1 ./opt/nc/share/man/man3/narrowcast.3 ./opt/nc/share/narrowcast/python/narrowcast/{__init__.py,_card_layout.py,_gloo.py,_library.py,_link.py,_packet.py,_place.py,card.py,cast.py,ddp.py,fsdp.py,py.typed,selftest.py} \
        "./opt/nc/lib/$(uname -m)-linux-gnu/wireshark/plugins/narrowcast.lua"
    (cd "$tree/tests/conformance/vectors" && printf './opt/nc/share/narrowcast/vectors/%s\n' *.jsonl)
    "$n" --help | awk '/^  [a-z]+ +[^ ]/ && !/narrowcast/ { print "./opt/nc/share/man/man1/narrowcast-" $1 ".1" }'
} | tr ' ' '\n' | LC_ALL=C sort >"$dir/wanted"
diff "$dir/wanted" "$dir/placed" || fail "files: wanted (<), there (>)"
grep -rIl -e "$dir" -e "$tree" "$dir/root" && fail "a text file knows where it was made"
grep -qx 'prefix=/opt/nc' "$dir/root/opt/nc/lib/pkgconfig/narrowcast.pc" || fail "narrowcast.pc says another prefix"
mkdir -p "$dir/tiny/host" "$dir/tiny/kept" && cp "$tree/Makefile" "$dir/tiny/" && touch "$dir/tiny/host/README.md" "$dir/tiny/kept/mine"
for folder in host . kept; do
    make -C "$dir/tiny" -s B=$folder clean >"$dir/said" 2>&1 && fail "make clean takes B=$folder"
    grep -qE "must be a folder for nothing but what is built|is no build folder" "$dir/said" || fail "make clean B=$folder: $(cat "$dir/said")"
done
if [ ! -e "$dir/tiny/host/README.md" ] || [ ! -e "$dir/tiny/kept/mine" ]; then fail 'make clean removed a folder that is none of its own'; fi

make -C "$tree" -s "${overrides[@]}" B="$B" NVCC= PREFIX=nc install >"$dir/said" 2>&1 && fail "a relative PREFIX is taken"
make -C "$tree" -s "${overrides[@]}" B="$B" NVCC= PREFIX='/o p' DESTDIR="$dir/blank" install >"$dir/said" 2>&1 && fail "a PREFIX with a blank is taken"
[ ! -e "$dir/blank" ] || fail "a PREFIX that is refused leaves files"

if command -v dpkg-deb >/dev/null; then
    [ "${1-}" = long ] || export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
    make -C "$tree" -s "${overrides[@]}" B="$B" NVCC= deb >"$dir/said" 2>&1 || fail "make deb: $(tail -n 5 "$dir/said")"
    deb=$(awk '/^deb / { print $2 }' "$dir/said")
    dpkg-deb -x "$deb" "$dir/deb" && (cd "$dir/deb/usr" && find . ! -type d | LC_ALL=C sort) | grep -v '/libnarrowcast_[a-z]*\.so$' >"$dir/packed"
    sed 's,^\./opt/nc,.,' "$dir/wanted" | diff - "$dir/packed" || fail "the package: wanted (<), there (>)"
    { dpkg-deb --ctrl-tarfile "$deb" | tar -tv; dpkg-deb -c "$deb"; ls -l "$deb"; } >"$dir/listing"
    all_read "$dir/listing"
    case $(dpkg-deb -f "$deb" Depends) in *libc6*mpi* | *mpi*libc6*) ;; *) fail "the package depends on '$(dpkg-deb -f "$deb" Depends)'" ;; esac
    [ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "the package has version '$(dpkg-deb -f "$deb" Version)'"
    rm -f "$deb"
else
    echo 'not run: make deb (no dpkg-deb)'
fi
if git -C "$tree" rev-parse HEAD >/dev/null 2>&1; then
    make -C "$tree" -s B="$dir" dist >"$dir/said" 2>&1 || fail "make dist: $(tail -n 5 "$dir/said")"
    { tar -tvzf "$dir/narrowcast-$version.tar.gz"; ls -l "$dir/narrowcast-$version.tar.gz"; } >"$dir/listing"
    all_read "$dir/listing"
    tar tzf "$dir/narrowcast-$version.tar.gz" | grep -qx "narrowcast-$version/Makefile" || fail "make dist has no Makefile"

    # --- only one object has the commit ---
    said_commit=$("$n" info | sed -n 's/^commit  *//p')
    [ "$said_commit" = "$(git -C "$tree" describe --always --dirty --abbrev=12 --exclude='*')" ] || fail "info: built of commit '$said_commit'"
    mkdir "$dir/outer" && git -C "$dir/outer" init -q && tar xzf "$dir/narrowcast-$version.tar.gz" -C "$dir/outer"
    unpacked=$dir/outer/narrowcast-$version
    built() {
        make -C "$unpacked" -s B="$dir/of" OPT=-O0 VERILATOR= CXX= NVCC= "$dir"/of/o/host/{app/main,base/text}.o 2>"$dir/said" |
            sed -n 's/^cc *//p' | LC_ALL=C sort | tr '\n' ' ' && cat "$dir/of/commit"
    }
    commit() { git -C "$unpacked" -c user.name=n -c user.email=n@localhost commit -q --allow-empty -m "$1" && git -C "$unpacked" rev-parse --short=12 HEAD; }
    git -C "$dir/outer" -c user.name=n -c user.email=n@localhost commit -q --allow-empty -m outer
    is() { [ "$2" = "$3" ] || fail "the commit, $1: '$2', not '$3': $(cat "$dir/said")"; }
    is 'of a tarball in a repository' "$(built)" 'host/app/main.c host/base/text.c unknown'
    is 'built again' "$(built)" unknown
    git -C "$unpacked" init -q && git -C "$unpacked" add -A && first=$(commit first)
    is 'the first' "$(built)" "host/app/main.c $first"
    is 'the first again' "$(built)" "$first"
    second=$(commit second)
    is 'the second' "$(built)" "host/app/main.c $second"
    echo >>"$unpacked/LICENSE"
    is 'a changed file' "$(built)" "host/app/main.c $second-dirty"
    cp "$dir/of/o/host/app/main.o" "$dir/main.o" && rm "$dir/of/o/host/app/main.o"
    is 'compiled anew' "$(built)" "host/app/main.c $second-dirty"
    cmp "$dir/main.o" "$dir/of/o/host/app/main.o" || fail 'the commit: the same one makes another object'
    mkdir "$dir/refuses" && printf '#!/bin/sh\nexit 128\n' >"$dir/refuses/git" && chmod +x "$dir/refuses/git"
    is 'when git refuses' "$(PATH=$dir/refuses:$PATH built)" "$second-dirty"
else
    echo 'not run: make dist (no git here)'
fi

umask 022

# --- programs outside the tree ---
make_install "$dir/nc" ''
export PKG_CONFIG_PATH=$dir/nc/lib/pkgconfig LD_LIBRARY_PATH=$dir/nc/lib
cp "$here"/examples/* "$dir/"
if command -v pkg-config >/dev/null; then
    flags=$(pkg-config --cflags --libs narrowcast) static=$(pkg-config --cflags --libs --static narrowcast)
    [ "$(pkg-config --modversion narrowcast)" = "$version" ] || fail "pkg-config knows version $(pkg-config --modversion narrowcast)"
else
    echo 'not run: pkg-config (not installed): flags by hand'
    flags="-I$dir/nc/include -L$dir/nc/lib -lnarrowcast" static="$flags $(sed -n 's/^Libs.private: //p' "$PKG_CONFIG_PATH/narrowcast.pc")"
fi
read -r -a flags <<<"$flags"
read -r -a static <<<"${static/-lnarrowcast/-l:libnarrowcast.a}"
# built_and_runs NAME LINE COMMAND...: 4 ranks print the line
built_and_runs() {
    "${@:3}" >"$dir/said" 2>&1 || { fail "$1 is not built: $(head -n 5 "$dir/said")" && return; }
    runs "$1" "$2" "./$1"
}
runs() {
    said=$(timeout 60 mpirun -np 4 "${@:3}" 2>&1) || fail "$1 ends with $?"
    [ "$said" = "$2" ] || fail "$1 says '$said', not '$2'"
}
mean='mean 2.5 of 4 ranks, 1016 bytes of codes, 4040 in fp32'
strict=(-Wall -Wextra -Wshadow -Werror)
built_and_runs mean "$mean" "${CC:-cc}" -std=c11 "${strict[@]}" mean.c "${flags[@]}" -o mean
if "${CC:-cc}" -std=c11 "${strict[@]}" blocks.c "${flags[@]}" -o blocks >"$dir/said" 2>&1; then
    for p in 1 2 5; do timeout 60 mpirun -np $p ./blocks || echo "blocks ends with $?"; done >"$dir/said" 2>&1
    [ "$(sed 's/.*processes: //' "$dir/said" | sort | uniq -c | sed 's/^ *//; s/ weights [0-9a-f]*$/ checksums/')" = '3 checksums' ] || fail "blocks says $(cat "$dir/said")"
else
    fail "blocks is not built: $(head -n 5 "$dir/said")"
fi
built_and_runs zero '4 ranks with up to 2502 of 10007 weights each: converged' "${CC:-cc}" -std=c11 "${strict[@]}" zero.c "${flags[@]}" -o zero
"${CC:-cc}" -std=gnu11 "${strict[@]}" without_mpi.c "${flags[@]}" -o without_mpi >"$dir/said" 2>&1 || fail "without_mpi is not built: $(head -n 5 "$dir/said")"
said=$(timeout 60 ./without_mpi 2>&1) || fail "without_mpi ends with $?"
[ "$said" = 'mean 2.5 of 4 ranks' ] || fail "without_mpi says '$said'"
built_and_runs mean-static "$mean" "${CC:-cc}" mean.c "${static[@]}" -o mean-static
readelf -d mean-static 2>/dev/null | grep -q 'NEEDED.*narrowcast' && fail "mean-static needs the shared library"
if command -v "${MPICXX:-mpicxx}" >/dev/null && command -v "${CXX:-c++}" >/dev/null; then
    built_and_runs halves 'sum 2 of the even ranks' "${MPICXX:-mpicxx}" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -std=c++17 "${strict[@]}" halves.cpp "${flags[@]}" -o halves
else
    echo 'not run: halves.cpp (no C++ compiler)'
fi
if command -v mpifort >/dev/null && command -v gfortran >/dev/null; then
    built_and_runs mean_of_ranks 'mean 2.5 of 4 ranks' mpifort -Wall mean_of_ranks.f90 "${flags[@]}" -o mean_of_ranks
else
    echo 'not run: mean_of_ranks.f90 (no gfortran)'
fi
if command -v python3 >/dev/null; then
    runs mean_ctypes.py 'mean 2.5 of 4 ranks, 1016 bytes of codes' python3 mean_ctypes.py
else
    echo 'not run: mean_ctypes.py (no python3)'
fi
if command -v python3 >/dev/null; then
    (unset LD_LIBRARY_PATH && PYTHONPATH=nc/share/narrowcast/python python3 -B -m narrowcast.selftest) >"$dir/said" 2>&1 || fail "the installed Python package: $(tail -n 2 "$dir/said")"
fi
nc/bin/narrowcast info 2>/dev/null | grep -q 'nc/bin/narrowcast-sim' || fail "the installed program does not find the simulated card"

# --- names and ABI ---
nm -g --defined-only nc/lib/libnarrowcast.a | awk 'NF == 3 && $3 !~ /^nc_/ { print $3 }' >"$dir/names"
[ ! -s "$dir/names" ] || fail "libnarrowcast.a has other names: $(head -n 3 "$dir/names")"
abi() { CC=${CC:-cc} "$here/repo/abi.sh" "$B/libnarrowcast.so" "$1"; }
if [ "$(uname -m)" = x86_64 ]; then
    abi "$tree/host/include/narrowcast.h" >"$dir/abi" || fail "abi.sh"
    diff "$here/repo/abi.txt" "$dir/abi" || fail "the ABI changes: tests/repo/abi.txt (<), now (>); see tests/repo/abi.sh"
    sed 's/^    const char \*scale;/    int planted;\n&/' "$tree/host/include/narrowcast.h" >"$dir/planted.h"
    abi "$dir/planted.h" | diff -q "$here/repo/abi.txt" - >/dev/null && fail "abi.sh does not see a field that is put in"
else
    echo "not run: the ABI (tests/repo/abi.txt is of x86_64)"
fi

man=nc/share/man/man1
for page in "$man"/narrowcast-*.1; do
    command=${page##*narrowcast-} command=${command%.1}
    "$n" "$command" --help | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p' >"$dir/options"
    [ -s "$dir/options" ] || fail "no options of $command"
    [ "$command" != train ] || [ "$(wc -l <"$dir/options")" -ge 70 ] || fail "train has $(wc -l <"$dir/options") options"
    while read -r option; do
        grep -qF -- "\\-\\-${option//-/\\-}" "$page" || echo "$page: no --$option"
    done <"$dir/options" >"$dir/said"
    [ ! -s "$dir/said" ] || fail "$(cat "$dir/said")"
done
grep -o '^NC_API .*' nc/include/narrowcast.h | grep -o 'nc_[a-z0-9_]*(' | while read -r name; do
    grep -qF "$name" nc/share/man/man3/narrowcast.3 || echo "$name"
done >"$dir/said"
[ ! -s "$dir/said" ] || fail "narrowcast.3 does not name $(cat "$dir/said")"
if command -v man >/dev/null && command -v groff >/dev/null; then
    for page in nc/share/man/man?/*; do man --warnings -l "$page" 2>>"$dir/warned" >/dev/null; done
    [ ! -s "$dir/warned" ] || fail "man: $(head -n 3 "$dir/warned")"
else
    echo 'not run: man --warnings (no man, or no groff)'
fi
completes() { # completes WANTED WORD...: completions of the last word
    # shellcheck disable=SC2016 # the other bash's
    said=$(bash -c '. nc/share/bash-completion/completions/narrowcast; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _narrowcast; echo "${COMPREPLY[*]}"' - "${@:2}")
    [ "$said" = "$1" ] || fail "'${*:2}' becomes '$said', not '$1'"
}
completes 'train' narrowcast tr
completes '--overflow --overlap' narrowcast train --over
completes 'saturate inf' narrowcast train --overflow ''
completes '--json --help' narrowcast info -
completes 'e5m2 e4m3 e4m3fn e3m0' narrowcast train --format e
completes 'e4m3 e4m3fn' narrowcast train --format = e4
completes 'saturate inf' narrowcast cast --overflow =
completes 'resnet110 resnet18 resnet152' narrowcast emulate --model resnet1
completes 'group-master: group-scatter:' narrowcast train --algo gr
completes 'relgrad' narrowcast train --codec r
completes 'synthetic shapes' narrowcast train --data s
completes 'idx: imagefolder:' narrowcast emulate --data i
completes 'const cosine' narrowcast emulate --schedule co
completes 'aps aps-tight' narrowcast train --scale a
completes 'phases predict' narrowcast plot p
completes 'full low' narrowcast emulate --memory ''
completes 'uncast' narrowcast help u
completes 'json' narrowcast info --help j
grep -lE 'build/|ranks\.sh' "$man"/*.1 >"$dir/said" && fail "manual pages show commands of the tree: $(cat "$dir/said")"

plan() {
    make -C "$tree" -n V=1 B="$dir/none" NVCC= CPPFLAGS=-DPRE CFLAGS=-DMINE LDFLAGS=-Wl,-z,now "$@" 2>/dev/null |
    sed ':more; /\\$/ { N; s/\\\n/ /; b more }'
}
plan all >"$dir/plan"
compiles=$(grep -c -- ' -c host/.* -o ' "$dir/plan") links=$(grep -cE -- '-o [^ ]*(/narrowcast|libnarrowcast\.so\.0|/tests/test_[a-z_]*)$' "$dir/plan")
if [ "$compiles" -lt 100 ] || [ "$links" -lt 50 ]; then fail "the plan has $compiles compilations and $links links"; fi
grep -- ' -c host/.* -o ' "$dir/plan" | grep -v -- '-DPRE.*-DMINE' && fail "a compilation without the user's flags"
grep -E -- '-o [^ ]*(/narrowcast|libnarrowcast\.so\.0|/tests/test_[a-z_]*)$' "$dir/plan" | grep -v -- '-z,now' && fail "a link without the user's flags"
grep -q -- '-Werror' "$dir/plan" && fail "-Werror in a build of a user's"
for ours in 'all WERROR=1' check; do
    # shellcheck disable=SC2086 # two words
    plan $ours | grep -- ' -c host/.* -o ' >"$dir/plan"
    [ "$(wc -l <"$dir/plan")" -ge 100 ] || fail "$(wc -l <"$dir/plan") compilations in $ours"
    grep -v -- '-Werror' "$dir/plan" && fail "no -Werror in $ours"
done
exit $bad
