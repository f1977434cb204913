#!/bin/bash
# test_collnet_symbols.sh : libnccl-net-narrowcast.so exports only the tables of NCCL 2.18 to 2.30
# and loads without other libraries.
set -u
B=${B:-build}
plugin=$B/libnccl-net-narrowcast.so
case $(nm -D "$plugin") in *__asan* | *__tsan*) echo 'skip: a library with sanitizers needs a program that has them'; exit 77 ;; esac
wanted=$(for v in 6 7 8 9 10 11 12; do echo "ncclCollNetPlugin_v$v"; echo "ncclNetPlugin_v$v"; done | LC_ALL=C sort)
found=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | LC_ALL=C sort)
[ "$wanted" = "$found" ] || { echo "FAIL symbols: wanted (<), there (>)"; diff <(echo "$wanted") <(echo "$found"); exit 1; }
missing=$(ldd -r "$plugin" 2>&1 | grep -E 'not found|undefined')
[ -z "$missing" ] || { echo "FAIL $missing"; exit 1; }
