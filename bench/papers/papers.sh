#!/bin/bash
# papers.sh : measures the papers' tables and figures on real data with emulated ranks.
# usage: NARROWCAST_DATA=DIR bench/papers/papers.sh [--table] WHICH [MORE]
# DIR/cifar10 holds the binary batches. Results in $TABLES (bench/data) are not measured again;
# --table prints them. WHICH, of the APS paper unless it says otherwise:
#   4 5 6 7 8       accuracy by format, with and without APS; with LARS; on 256 ranks; with the last
#                   layer in fp32; by group size
#   resnet18        Table 4's second column, at a quarter of the width
#   cpd             sums narrower than what travels, and Kahan's sums
#   9 [EPOCHS]      round-off by group size, after EPOCHS epochs ("0 2 5")
#   fig1 fig2       distributions of gradients, by network and by layer
#   fig6 fig9 fig10 accuracy over epochs, for tables 4, 5 and 6
#   fig11           time of an all-reduce in fp16 and in 8 bits with APS, one by one and fused
#   oyama3 oyama4   fp8 paper, Fig. 3, 4: time of an all-reduce by size and by number of nodes
#   oyama5          fp8 paper, Fig. 5, 6: a step of CaffeNet and GoogLeNet by number of nodes
#   oyama11         fp8 paper, Fig. 11: one all-reduce in trunc instead of two stages, 2 and 8 nodes
#   oyama13         fp8 paper, Fig. 13, 14: GoogLeNet's accuracy by time, in fp32 and relgrad
set -eu
. "$(dirname "$0")/../usage.sh"
table=''
[ "${1-}" != --table ] || { table=--table && shift; }
case ${1-} in
4 | 5 | 6 | 7 | 8 | resnet18 | cpd | fig6 | fig9 | fig10 | oyama11) part=accuracy_tables ;;
9) part=round_off ;;
fig1 | fig2) part=gradient_ranges ;;
fig11) part=fused_layers ;;
oyama3 | oyama4 | oyama5 | oyama13) part=by_nodes ;;
*) refuse "'${1-}': must be 4 5 6 7 8 resnet18 cpd 9 fig1 fig2 fig6 fig9 fig10 fig11 oyama3 oyama4 oyama5 oyama11 or oyama13" ;;
esac
exec bash "bench/papers/$part.sh" $table "$@"
