#!/bin/bash
# deb.sh : makes a Debian package of the files of `make install` under /usr, only with dpkg-deb.
# The package depends on the packages that own the required libraries on this machine.
# usage: deb.sh BUILD VERSION     writes BUILD/narrowcast_VERSION_ARCHITECTURE.deb from BUILD/deb
set -eu
umask 022 # like install_files.sh
[ $# = 2 ] || { echo "usage: deb.sh BUILD VERSION" >&2; exit 2; }
build=$1 version=$2 root=$1/deb
command -v dpkg-deb >/dev/null || { echo "deb.sh: there is no dpkg-deb" >&2; exit 1; }
architecture=$(dpkg --print-architecture)

# needed FILE...: print the packages of the libraries that these files need, except our own
needed() {
    local lib path
    for lib in $(readelf -d "$@" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort -u); do
        path=$(ldconfig -p | awk -v lib="$lib" '$1 == lib { print $NF; exit }')
        [ -n "$path" ] || continue
        { dpkg -S "$path" || dpkg -S "$(realpath "$path")" || dpkg -S "${path#/usr}"; } 2>/dev/null | head -n 1
    done | sed 's/:.*//' | sort -u
}
depends=$(needed "$root"/usr/bin/* "$root"/usr/lib/*.so | paste -sd , | sed 's/,/, /g')
mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: narrowcast
Version: $version
Architecture: $architecture
Maintainer: ${DEBFULLNAME:-root} <${DEBEMAIL:-root@localhost}>
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $depends
Suggests: openmpi-bin, pkg-config
Section: libs
Priority: optional
Description: all-reduce of gradients as narrow floats, over MPI
 The program narrowcast, the library with its header, and
 libnarrowcast-pmpi.so, which narrows the sums of MPI programs as they are.
END
printf '#!/bin/sh\nldconfig\n' >"$root/DEBIAN/postinst"
chmod 755 "$root/DEBIAN/postinst"
dpkg-deb --root-owner-group --build "$root" "$build/narrowcast_${version}_$architecture.deb" >/dev/null
echo "deb   $build/narrowcast_${version}_$architecture.deb"
