#!/bin/bash
# test_xclbin.sh : tests `narrowcast xclbin`.
set -eu
. "$(dirname "$0")/../lib/in_folder.sh"
shows() { grep -qE -- "$2" "$1" || fail "$1 has no line '$2': $(cat "$1")"; }

"$n" xclbin --make a.xclbin
cmp a.xclbin "$B/narrowcast.sim.xclbin" || fail "another container than make's"
"$n" xclbin --check a.xclbin >shown
shows shown '^uuid +[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
shows shown '^platform +narrowcast_sim_1$'
shows shown '^mode +hw$'
shows shown '^kernel +reduce_mm_1 +reduce_mm at 0x1810000, ap_ctrl_hs$'
shows shown '^ +1 +out +0x01c, 8 bytes, memory HBM0$'
shows shown '^check +a card of this version$'
"$n" xclbin --json a.xclbin >json
shows json '^\{"kind":"argument","unit":"reduce_mm_1","index":8,"name":"saturate","offset":88,"bytes":4,"type":"value","memory":null\}$'
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <json || fail "no JSON"
fi

head -c 300000 /dev/urandom >bits
"$n" xclbin --make b.xclbin --bitstream bits --mode hw_emu --platform some_board_1 --uuid 00112233-4455-6677-8899-aabbccddeeff
"$n" xclbin --check b.xclbin >shown
shows shown '^uuid +00112233-4455-6677-8899-aabbccddeeff$'
shows shown '^mode +hw_emu$'
shows shown '^section +bitstream +300000 bytes at 656$'
tail -c +657 b.xclbin | head -c 300000 | cmp - bits || fail "another bitstream"

"$n" xclbin --kernel-xml nic_core >nic.xml
shows nic.xml '<arg name="M_AXIS" addressQualifier="4" id="2" port="M_AXIS"'
shows nic.xml '<port name="s_axi_control" mode="slave" range="0x10000"'
if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.etree.ElementTree as e; [e.parse(f) for f in sys.argv[1:]]' nic.xml || fail "kernel.xml is no XML"
fi

# shellcheck disable=SC2317 # refused calls it
xclbin() { timeout 20 "$n" xclbin "$@"; }
refused 'xclbin needs a FILE' xclbin
refused 'xclbin needs a FILE' xclbin --make c.xclbin a.xclbin
refused '--check needs a FILE' xclbin --make c.xclbin --check
refused "unknown kernel 'reduce': need one of nic_core, reduce_mm, " xclbin --kernel-xml reduce
refused '--mode needs --make' xclbin --mode hw_emu a.xclbin
refused "cannot read 'none'" xclbin none
refused 'not a regular file' xclbin /dev/zero
refused 'not a regular file' xclbin .
refused "it is not an xclbin" xclbin bits
head -c 9000 b.xclbin >short
refused "cannot read 'short': it is truncated: 9000 bytes of" xclbin short
sed 's/reduce_mm:/reduce_nn:/' a.xclbin >other
if "$n" xclbin --check other >shown 2>said; then fail 'another card is taken for this one'; fi
grep -qF "'other' does not match this version of narrowcast: it has no kernel 'reduce_mm'" said || fail "--check other: $(cat said)"
"$n" xclbin other >shown || fail "a sound container of another card is not shown"
refused 'hexadecimal digits' xclbin --make c.xclbin --uuid 123
refused "cannot read 'none'" xclbin --make c.xclbin --bitstream none
refused '1 to 63 letters' xclbin --make c.xclbin --platform ''
refused "cannot write '/nowhere/c.xclbin'" xclbin --make /nowhere/c.xclbin
refused 'hw|hw_emu' xclbin --make c.xclbin --mode sw
[ ! -e c.xclbin ] || fail "a file is there although it was refused"
mkfifo pipe
refused 'not a regular file' xclbin pipe
if [ -w /dev/full ]; then refused 'No space left' xclbin --make /dev/full; fi
exit $bad
