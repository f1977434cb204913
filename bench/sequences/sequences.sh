#!/bin/bash
# sequences.sh : measures codecs on networks of sequences: lstm's character error rate on AN4, and
# charlstm's and chargpt's bits per character on tiny Shakespeare.
# usage: NARROWCAST_DATA=DIR bench/sequences/sequences.sh [--table] [an4|text|gpt [SEEDS]]
# DIR/an4/an4 has etc/ and wav/; DIR/tinyshakespeare has input.txt. Appends to $TABLES/an4.tsv,
# text.tsv or gpt.tsv (bench/data); --table prints it. SEEDS: 1. With TABLES, another folder: EPOCHS
# instead of 20, 8 and 8.
set -eu
. "$(dirname "$0")/../usage.sh"
only=''
[ "${1-}" != --table ] || { only=1 && shift; }
kind=${1:-an4} seeds=${2:-1}
tsv=${TABLES:-bench/data}/$kind.tsv
LOGS=$B/sequences/$kind

# name, then options
base=fp32
rows="fp32      --format fp32 --scale none
qsgd:2    --codec qsgd:2
qsgd:4    --codec qsgd:4
onebit    --codec onebit:64
e4m3,aps  --format e4m3 --scale aps"
case $kind in
an4)
    figure=CER figure_is='test CER'
    ranks=2
    data=an4:${NARROWCAST_DATA-}/an4/an4
    common="--model lstm --width 0.25 --batch 16 --epochs ${EPOCHS:-20} --optimizer lars --trust 1 --lr 0.002 --schedule linear --warmup 1"
    ;;
text)
    figure=bits figure_is='bits a character' figure_unit='' figure_times=1
    ranks=4
    data=text:${NARROWCAST_DATA-}/tinyshakespeare/input.txt
    common="--model charlstm --width 0.25 --batch 16 --epochs ${EPOCHS:-8} --lr 0.2 --schedule cosine --warmup 1 --weight-decay 0"
    ;;
gpt)
    figure=bits figure_is='bits a character' figure_unit='' figure_times=1
    ranks=4
    data=text:${NARROWCAST_DATA-}/tinyshakespeare/input.txt
    rows+="
e3m0,tight    --format e3m0 --scale aps-tight --out-format e4m3
e2m1f         --format e2m1f --scale aps-tight --out-format e2m1f
e2m1f:32      --format e2m1f --scale aps-tight:32 --out-format e2m1f:32"
    common="--model chargpt --width 0.5 --batch 16 --epochs ${EPOCHS:-8} --optimizer adamw --lr 0.012 --schedule cosine --warmup 1 --weight-decay 0.1"
    ;;
*) refuse "'$kind': must be an4, text or gpt" ;;
esac

another=EPOCHS
. bench/trainings.sh

if [ -z "$only" ]; then
    need_data 'an4/ and tinyshakespeare/'
    # shellcheck disable=SC2086
    launch_rows $ranks --data "$data" $common
fi
cut -d " " -f 1 <<<"$rows" | table_of codec "$base"
