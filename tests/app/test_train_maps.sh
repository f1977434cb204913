#!/bin/bash
# test_train_maps.sh : trains on label maps. One rank's test results equal those of several.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"

# picture FILE KIND SEED: a PPM (6) or a label map in PGM (5) of 32 x 32: patches of classes, some
# without effect
picture() {
    LC_ALL=C awk -v kind="$2" -v seed="$3" 'BEGIN {
        printf "P%d 32 32 255\n", kind
        for (i = 0; i < 32 * 32; i++) {
            class = (int(i / 32 / 7) * 3 + int(i % 32 / 9) + seed) % 6 + 1
            if (kind == 5) printf "%c", class == 6 ? 255 : class
            for (c = 0; c < 3 && kind == 6; c++) printf "%c", 1 + (class * 37 + c * 50 + (i * 7919 + seed * 104729) % 61) % 250
        } }' >"$1"
}
city() {
    mkdir -p "data/leftImg8bit/$1/here" "data/gtFine/$1/here"
    picture "data/leftImg8bit/$1/here/here_$2_leftImg8bit.ppm" 6 "$3"
    picture "data/gtFine/$1/here/here_$2_gtFine_labelTrainIds.pgm" 5 "$3"
}
# With equal training images and a tiny rate, any number of ranks tests the same network.
for i in 0 1 2 3; do city train "$i" 1; done
for i in 0 1 2 3 4 5 6; do city val "$i" "$i"; done
fcn=(--model fcn --width 0.06 --device cpu)
last() { sed -n "s/^{\"kind\":\"epoch\",.*\"$2\":\"*\\([^,}\"]*\\).*/\\1/p" "$1" | tail -n 1; }
for ranks in 1 2 4; do
    "$here/../host/ranks.sh" "$ranks" "$n" train --data cityscapes:data,32,1 "${fcn[@]}" --batch "$ranks" --steps 1 --lr 1e-30 --weight-decay 0 \
        --schedule const --log "log$ranks" >"out$ranks" 2>"err$ranks" || fail "$ranks ranks: $(cat "err$ranks")"
    for key in test_accuracy test_miou test_macc; do
        [ "$(last "log$ranks" $key)" = "$(last log1 $key)" ] || fail "$key of $ranks ranks: $(last "log$ranks" $key), of one $(last log1 $key)"
    done
done
awk -v i="$(last log1 test_miou)" -v a="$(last log1 test_accuracy)" 'BEGIN { exit !(i > 0 && i < a && a < 1) }' ||
    fail "mIoU $(last log1 test_miou), accuracy $(last log1 test_accuracy): nothing was compared"
grep -q "test_top5" log1 && fail "top-5 of pixels"
printf -v said 'of 7 test images with label maps, by pixels; mIoU %.2f %%, mAcc %.2f %%' "$(awk -v v="$(last log1 test_miou)" 'BEGIN { print 100 * v }')" \
    "$(awk -v v="$(last log1 test_macc)" 'BEGIN { print 100 * v }')"
grep -q "^accuracy .* $said\$" out1 || fail "the table does not say '$said': $(grep ^accuracy out1)"

touch data/leftImg8bit/train/list.txt
"$n" train --data cityscapes:data,32,1 "${fcn[@]}" --batch 1 --steps 1 >out 2>err || fail "a file beside the cities: $(cat err)"
for file in data/gtFine/train/here/*; do { printf 'P5 32 32 255\n' && head -c 1024 /dev/zero | tr '\0' '\377'; } >"$file"; done
"$n" train --data cityscapes:data,32,1 "${fcn[@]}" --batch 1 --steps 1 >out 2>err || fail "no label counts: $(cat err)"
grep -qxF 'narrowcast: warning: nothing was learned in the last epoch: no label of its images counts' err || fail "no label counts: $(cat err)"

shapes=(--data "shapes:40,2" "${fcn[@]}" --batch 8 --epochs 2 --lr 0.05 --warmup 0 --augment crop+flip)
"$here/../host/ranks.sh" 2 "$n" train "${shapes[@]}" --save ck --log real >/dev/null 2>real.err || fail "2 ranks: $(cat real.err)"
"$n" emulate --ranks 2 "${shapes[@]}" --log emulated >/dev/null 2>emulated.err || fail "emulated: $(cat emulated.err)"
for key in checksum loss test_loss test_miou test_macc; do
    [ "$(last real $key)" = "$(last emulated $key)" ] || fail "$key of 2 ranks: $(last real $key), emulated $(last emulated $key)"
done
"$here/../host/ranks.sh" 2 "$n" train "${shapes[@]}" --resume ck --log again >/dev/null 2>again.err || fail "resumed: $(cat again.err)"
[ "$(last real test_miou)" = "$(last again test_miou)" ] || fail "mIoU $(last real test_miou), tested again $(last again test_miou)"

refused "network 'resnet8' needs one label per sample: choose one of synthetic[:n,seed], idx:DIR" "$n" train --device cpu --batch 8 --data shapes:40,1 --model resnet8
refused "network 'fcn' needs a label per pixel or time step: choose one of shapes[:n,seed], cityscapes:DIR[,SIDE[,CROPS]]" "$n" train --device cpu --batch 8 --data synthetic:40,1 --model fcn --image 64
refused "leave --image out" "$n" train --device cpu --batch 8 --data shapes:40,1 --model fcn --image 100
refused "cutout is impossible for images with label maps" "$n" train --device cpu --batch 8 --data shapes:40,1 --model fcn --augment cutout
exit $bad
