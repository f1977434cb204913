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

if [ -n "$(command -v systemd-analyze)" ]; then
    sed "s|/usr/local/bin/narrowcast |$n |" "$recipes/narrowcast-card.service" >narrowcast-card.service
    systemd-analyze verify ./narrowcast-card.service >said 2>&1 || fail "the service: $(cat said)"
    grep -q narrowcast-card said && fail "the service: $(cat said)"
else
    echo 'skip  the service: no systemd-analyze'
fi
exit $bad
