#!/bin/bash
# test_core_files.sh : rtl/narrowcast.core (FuseSoC) and rtl/Bender.yml list every rtl/*.sv, and no
# other file; the cores' version is the library's.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0
# listed FILE: prints the .sv files that it lists, one per line
listed() { sed -n 's,^ *- \([a-z_0-9]*\.sv\)$,\1,p' "$1" | sort; }
# compare FOLDER: prints each file that one list lacks
compare() {
    local list
    for list in narrowcast.core Bender.yml; do
        diff <(cd "$1" && printf '%s\n' *.sv | sort) <(listed "$1/$list") | sed -n "s,^< ,$list lacks ,p; s,^> ,$list has no such file: ,p"
    done
}
said=$(compare rtl)
[ -z "$said" ] || { echo "$said" && bad=1; }
version=$(sed -n 's/^#define NC_VERSION  *"\(.*\)"/\1/p' host/include/narrowcast.h)
for core in rtl/narrowcast.core tests/narrowcast_bench.core; do
    grep -qE "^name: narrowcast::[a-z]*:$version\$" $core || { echo "$core is not of version $version" && bad=1; }
done

# planted: a file that no list has, and one that only the lists have
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp rtl/*.sv rtl/narrowcast.core rtl/Bender.yml "$tree" && mv "$tree/skid.sv" "$tree/skid2.sv"
wanted='narrowcast.core lacks skid2.sv
narrowcast.core has no such file: skid.sv
Bender.yml lacks skid2.sv
Bender.yml has no such file: skid.sv'
[ "$(compare "$tree")" = "$wanted" ] || { echo "planted, but it said: $(compare "$tree")" && bad=1; }
exit $bad
