#!/bin/bash
# test_train_maps.sh : trains on label maps. One rank's test results and --predict's maps equal
# those of several. --init takes the layers that another network has.
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
        --schedule const --log "log$ranks" --predict "maps$ranks" >"out$ranks" 2>"err$ranks" || fail "$ranks ranks: $(cat "err$ranks")"
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

diff -r maps1 maps2 >/dev/null || fail "other label maps of 2 ranks: $(diff -r maps1 maps2)"
diff -r maps1 maps4 >/dev/null || fail "other label maps of 4 ranks: $(diff -r maps1 maps4)"
[ "$(cd maps1 && echo *)" = "000000.png 000001.png 000002.png 000003.png 000004.png 000005.png 000006.png" ] || fail "label maps: $(cd maps1 && echo *)"
if command -v python3 >/dev/null; then
    python3 - "$(last log1 test_accuracy)" <<'END' || fail "the label maps have another accuracy than the log: $(last log1 test_accuracy)"
import sys, zlib
right = counted = 0
for i in range(7):
    png, data, at = open(f"maps1/{i:06}.png", "rb").read(), b"", 8
    while at < len(png):
        n = int.from_bytes(png[at:at + 4], "big")
        data += png[at + 8:at + 8 + n] if png[at + 4:at + 8] == b"IDAT" else b""
        at += n + 12
    rows = zlib.decompress(data)
    assert len(rows) == 33 * 32 and all(rows[33 * y] == 0 for y in range(32)) # no filter
    labels = open(f"data/gtFine/val/here/here_{i}_gtFine_labelTrainIds.pgm", "rb").read()[-1024:]
    for y in range(32):
        for x in range(32):
            label = labels[32 * y + x]
            counted += label != 255
            right += label == rows[33 * y + 1 + x]
assert abs(right / counted - float(sys.argv[1])) < 1e-6, right / counted
END
fi
# shellcheck disable=SC2317 # refused calls it
predicts() { "$n" train --data cityscapes:data,32,1 "${fcn[@]}" --batch 1 --steps 1 "$@"; }
refused "cannot write to folder 'maps1': it is not empty: need a new one" predicts --predict maps1
refused "cannot make folder 'no/folder': No such file" predicts --predict no/folder
refused "cannot make folder '/proc/none': No such file" predicts --predict /proc/none
refused "cannot write to folder 'out1': Not a directory" predicts --predict out1
refused "--predict '': need the name of a file" predicts --predict=
refused "--predict writes label maps, but data set 'synthetic:40,1' has one label per sample" "$n" train --device cpu --model mlp --data synthetic:40,1 --batch 8 --steps 1 --predict maps
refused "--predict does not work with --elastic" predicts --predict maps --blocks 1 --elastic 1

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

# a run resumed at its end predicts; emulated ranks predict the same
"$here/../host/ranks.sh" 2 "$n" train "${shapes[@]}" --resume ck --predict real.maps >/dev/null 2>again.err || fail "resumed to predict: $(cat again.err)"
"$n" emulate --ranks 2 "${shapes[@]}" --predict emulated.maps >/dev/null 2>emulated.err || fail "emulated maps: $(cat emulated.err)"
diff -r real.maps emulated.maps >/dev/null || fail "other label maps of emulated ranks"
[ -n "$(ls real.maps)" ] || fail "no label maps"

# --- --init: fcn from a resnet50 of the same width ---
"$n" train --data synthetic:40,1 --model resnet50 --width 0.06 --device cpu --batch 8 --steps 2 --save resnet.ck >resnet.out 2>err || fail "resnet50: $(cat err)"
for run in "fresh" "taken --init resnet.ck"; do
    # shellcheck disable=SC2086
    "$n" train --data shapes:40,2 "${fcn[@]}" --batch 8 --steps 1 --dump-steps 1 --dump-gradients $run >out 2>init.err || fail "$run: $(cat init.err)"
done
"$n" train --data synthetic:40,1 --model resnet50 --width 0.06 --device cpu --batch 8 --steps 1 --lr 0 --init resnet.ck --dump-steps 1 --dump-gradients whole >out 2>whole.err || fail "itself: $(cat whole.err)"
grep -qxE "init: ([0-9]+) of \1 layers from 'resnet.ck'" whole.err || fail "its own layers: $(cat whole.err)"
grep -q "$(grep ^weights resnet.out)" out || fail "its own weights: $(grep ^weights out), not $(grep ^weights resnet.out)"
said=$(grep -c '^s[0-3]b' taken/layers.txt)
line=$(grep "^init: $said of $(wc -l <taken/layers.txt) layers from 'resnet.ck', all but " init.err) || fail "init says $(cat init.err), the blocks have $said layers"
bytes() { tail -c +$((4 * $2 + 1)) "$1/step000000.weights.f32" | head -c $((4 * $3)) | md5sum; }
while read -r name at size _; do
    case $name in
    s[0-3]b*) from="whole $(sed -n "s/^$name \([0-9]*\) .*/\1/p" whole/layers.txt)" ;;
    *)
        from="fresh $at"
        case ", ${line#*all but }," in *", $name,"*) ;; *) fail "init does not say that $name starts anew: $line" ;; esac
        ;;
    esac
    # shellcheck disable=SC2086
    [ "$(bytes taken $at $size)" = "$(bytes $from $size)" ] || fail "--init: $name is not that of $from"
done <taken/layers.txt

refused "network 'resnet8' needs one label per sample: choose one of synthetic[:n,seed], idx:DIR" "$n" train --device cpu --batch 8 --data shapes:40,1 --model resnet8
refused "network 'fcn' needs a label per pixel or time step: choose one of shapes[:n,seed], cityscapes:DIR[,SIDE[,CROPS]]" "$n" train --device cpu --batch 8 --data synthetic:40,1 --model fcn --image 64
refused "leave --image out" "$n" train --device cpu --batch 8 --data shapes:40,1 --model fcn --image 100
refused "cutout is impossible for images with label maps" "$n" train --device cpu --batch 8 --data shapes:40,1 --model fcn --augment cutout
exit $bad
