#!/bin/bash
# imagenet.sh : trains ResNet-50 on ImageNet by the recipe of Goyal and others (arXiv:1706.02677):
# a rate of 0.1 for 256 images in proportion to the batch, 5 epochs of warm-up from 0.1, a tenth after
# 30, 60 and 80 of 90 epochs, Nesterov momentum 0.9, decay 1e-4, gamma 0 at the ends of blocks, random
# parts and flips of pictures.
# usage: [NARROWCAST=build/narrowcast] [PER_RANK=32] [THREADS=8] bench/recipes/imagenet.sh DIR RANKS
#        [OPTIONS of narrowcast train]
#   DIR       has train/CLASS/*.JPEG and val/CLASS/*.JPEG (narrowcast train --help, imagefolder)
#   PER_RANK  images of a rank in a step
#   THREADS   that decode pictures for a rank
# Later options win. It resumes imagenet.ckpt if that is here.
set -eu
here=$PWD
. "$(dirname "$0")/../usage.sh"
cd "$here"
folder=${1-} ranks=${2-} per_rank=${PER_RANK:-32} threads=${THREADS:-8}
[ -n "$folder" ] || refuse "no DIR: need DIR RANKS [OPTIONS]"
whole RANKS "$ranks"
whole PER_RANK "$per_rank"
whole THREADS "$threads"
shift 2
batch=$((ranks * per_rank))
lr=$(awk -v n="$batch" 'BEGIN { print 0.1 * n / 256 }')
from=$(awk -v lr="$lr" 'BEGIN { print lr < 0.1 ? lr : 0.1 }')
resume=()
[ ! -e imagenet.ckpt ] || resume=(--resume imagenet.ckpt)
exec mpirun -np "$ranks" "${NARROWCAST:-narrowcast}" train --data "imagefolder:$folder,224,$threads" --augment crop+flip \
    --model resnet50 --block zero-gamma --batch "$batch" --epochs 90 --lr "$lr" --warmup 5 --warmup-from "$from" \
    --schedule step:0.333333333,0.666666666,0.888888888 --momentum 0.9 --nesterov --weight-decay 1e-4 \
    --log imagenet.jsonl --save imagenet.ckpt --save-every 5000 "${resume[@]}" "$@"
