#!/bin/bash
# papers.sh : tables and figures of the papers beside ours, on real data and emulated ranks: one command each.
# usage: NARROWCAST_DATA=DIR bench/papers/papers.sh [--table] WHICH [MORE]      (DIR/cifar10 holds the binary batches)
#   4 5 6 7 8       APS paper: accuracy by format, with and without APS; under LARS; on 256 ranks; in fp32's last layer; by the size of groups
#   9 [EPOCHS]      its round-off by the size of groups, behind so many epochs ("0 2 5")
#   fig1 fig2       its distributions of gradients, by network and by layer
#   fig6 fig10      its curves of accuracy, of tables 4 and 6
#   fig11           its time of an all-reduce: fp16 beside 8 bits with APS, layers one by one and together
#   oyama11         fp8 paper, Fig. 11: one all-reduce in trunc instead of two stages, on 2 and 8 nodes
# What was measured stands in $TABLES (bench/data) and is not measured again; --table prints what is there.
set -eu
# shellcheck source=bench/usage.sh
. "$(dirname "$0")/../usage.sh"
cd "$(dirname "$0")/../.."
table=''
[ "${1-}" != --table ] || { table=--table && shift; }
case ${1-} in
4 | 5 | 6 | 7 | 8 | fig6 | fig10 | oyama11) part=trained ;;
9) part=round_off ;;
fig1 | fig2) part=seen ;;
fig11) part=phases ;;
*)
    echo "papers.sh: '${1-}': must be 4 5 6 7 8 9 fig1 fig2 fig6 fig10 fig11 or oyama11" >&2
    exit 2
    ;;
esac
exec bash "bench/papers/$part.sh" $table "$@"
