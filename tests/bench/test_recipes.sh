#!/bin/bash
# test_recipes.sh : tests bench/recipes. With fake Slurm commands, the script resumes and requeues
# itself; systemd accepts the service file.
# shellcheck disable=SC2015 # fail() where either is not so
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
recipes=$here/../bench/recipes
mkdir bin
# srun records its arguments and trains on 2 ranks, or ends with STATUS
cat >bin/srun <<'EOF2'
#!/bin/bash
echo "$*" >>srun.said
while [ "${1:0:2}" = -- ]; do shift; done
case $2 in doctor) exit 0 ;; esac
[ -z "$STATUS" ] || { touch narrowcast.7.ckpt; exit "$STATUS"; }
exec mpirun -np 2 "$@"
EOF2
printf '#!/bin/sh\necho "$*" >scontrol.said\n' >bin/scontrol
chmod +x bin/srun bin/scontrol
job() {
    rm -f srun.said scontrol.said
    PATH=$dir/bin:$PATH NARROWCAST=$n SLURM_JOB_ID=7 STATUS=$1 bash "$recipes/train.sbatch" "${@:2}" >out 2>&1
    echo $?
}
[ "$(job 138 --model mlp --steps 3)" = 0 ] || fail "stopped as asked: $(cat out)"
[ "$(cat scontrol.said)" = 'requeue 7' ] || fail 'not put back into the queue'
[ "$(grep -c -- '--mpi=pmix' srun.said)" = 2 ] && ! grep -q resume srun.said || fail "the first time: $(cat srun.said)"
grep -q 'train --model mlp --steps 3 --save narrowcast.7.ckpt --log narrowcast.7.jsonl$' srun.said || fail "its words: $(cat srun.said)"
[ "$(job 3)" = 3 ] && [ ! -e scontrol.said ] || fail 'a training that failed'
grep -q -- '--resume narrowcast.7.ckpt$' srun.said || fail 'not resumed'
rm narrowcast.7.ckpt
[ "$(job '' --model mlp --data synthetic:240,1 --steps 3)" = 0 ] && [ -s narrowcast.7.ckpt ] && [ ! -e scontrol.said ] || fail "to the end: $(cat out)"
[ "$(job '' --model mlp --data synthetic:240,1 --steps 3)" = 0 ] && grep -q '^weights checksum' out || fail "resumed at its end: $(cat out)"
[ "$(grep -c '"kind":"step"' narrowcast.7.jsonl)" = 3 ] || fail "its log: $(cat narrowcast.7.jsonl)"
env -u SLURM_JOB_ID bash "$recipes/train.sbatch" 2>said && fail 'without Slurm'
grep -q 'this is for sbatch' said || fail "without Slurm: $(cat said)"

# Goyal's recipe: the options, then a training on made pictures
printf '#!/bin/sh\necho "$*"\n' >bin/mpirun
chmod +x bin/mpirun
says() { PATH=$dir/bin:$PATH NARROWCAST=n bash "$recipes/imagenet.sh" "$@"; }
[ "$(says /pictures 256 --format e5m2)" = '-np 256 n train --data imagefolder:/pictures,224,8 --augment crop+flip --model resnet50 --block zero-gamma --batch 8192 --epochs 90 --lr 3.2 --warmup 5 --warmup-from 0.1 --schedule step:0.333333333,0.666666666,0.888888888 --momentum 0.9 --nesterov --weight-decay 1e-4 --log imagenet.jsonl --save imagenet.ckpt --save-every 5000 --format e5m2' ] ||
    fail "imagenet.sh: $(says /pictures 256 --format e5m2)"
PER_RANK=16 says /pictures 4 | grep -q -- '--batch 64 --epochs 90 --lr 0.025 --warmup 5 --warmup-from 0.025 ' || fail "a small batch: $(PER_RANK=16 says /pictures 4)"
refused "imagenet.sh: no DIR: need DIR RANKS [OPTIONS]" says
refused "imagenet.sh: RANKS '': must be a whole number, from 1 to 999999999" says /pictures
refused "imagenet.sh: RANKS 'none': must be a whole number, from 1 to 999999999" says /pictures none
PER_RANK=0 refused "imagenet.sh: PER_RANK '0': must be a whole number, from 1 to 999999999" says /pictures 2
rm bin/mpirun
mkdir pictures
"$B/tests/test_imagefolder" make pictures || fail 'no pictures'
goyal() { PER_RANK=4 THREADS=2 NARROWCAST=$n bash "$recipes/imagenet.sh" pictures 2 --data imagefolder:pictures,32,2 --model resnet8 --device cpu "$@" >out 2>&1; }
goyal --epochs 9 --lr 0.4 || fail "imagenet.sh: $(cat out)"
# 2 steps an epoch: 10 of warm-up to 0.4, then a tenth, and tenths from the 13th and 17th
awk -F'"lr":' '/"kind":"step"/ { split($2, v, ","); n++; lr[n] = v[1] }
    END { exit !(n == 18 && lr[1] < 0.05 && lr[10] == 0.4 && lr[12] / 0.04 > 0.99 && lr[13] < lr[12] / 9 && lr[16] == lr[13] && lr[17] < lr[16] / 9) }' imagenet.jsonl || fail "its rates: $(grep -o '"lr":[^,]*' imagenet.jsonl | tr '\n' ' ')"
goyal --epochs 9 --lr 0.4 && grep -q '^weights checksum' out || fail "imagenet.sh resumed at its end: $(cat out)"

if [ -n "$(command -v systemd-analyze)" ]; then
    sed "s|/usr/local/bin/narrowcast |$n |" "$recipes/narrowcast-card.service" >narrowcast-card.service
    systemd-analyze verify ./narrowcast-card.service >said 2>&1 || fail "the service: $(cat said)"
    grep -q narrowcast-card said && fail "the service: $(cat said)"
else
    echo 'skip  the service: no systemd-analyze'
fi
exit $bad
