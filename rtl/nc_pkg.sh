#!/bin/sh
# nc_pkg.sh : writes the SystemVerilog package nc_pkg from its template and lists in hls/card, for
# the Makefile and, as a generator of narrowcast.core, for FuseSoC.
# usage: nc_pkg.sh FILE.sv
#        nc_pkg.sh FILE.yml    (FuseSoC's question) writes nc_pkg.sv and nc_pkg.core into this folder
set -eu
case $1 in /*) file=$1 ;; *) file=$PWD/$1 ;; esac
case $file in
*.yml)
    vlnv=$(sed -n 's/^vlnv: *//p' "$file" | tr -d "'\"")
    file=$(dirname "$file")/nc_pkg.sv
    cat >"${file%.sv}.core" <<CORE
CAPI=2:
name: "$vlnv"
filesets:
  package: {files: [nc_pkg.sv], file_type: systemVerilogSource}
targets:
  default: {filesets: [package]}
CORE
    ;;
esac
cd "$(dirname "$0")/.."
lists=hls/card
${CC:-cc} -E -P -undef -x c -I. "$lists/nc_pkg.sv.in" >"$file.c"
sed "s/0x\([0-9a-f]\{4\}\);/16'h\1;/; s/0x\([0-9a-f]\{3\}\);/12'h\1;/; s/0x\([0-9a-f]\{2\}\);/12'h0\1;/; s/0x/32'h/" "$file.c" >"$file"
rm "$file.c"
