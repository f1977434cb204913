#!/bin/bash
# test_gpu_all.sh : tests bench/gpu/gpu_all.sh and its table with fakes that fail or print
# truncated lines.
set -u
. "$(dirname "$0")/../lib/in_folder.sh"
command -v python3 >/dev/null || { echo 'skip: no python3'; exit 77; }
top=$(dirname "$here")

mkdir -p b
cat >b/bench_train <<'END'
#!/bin/sh
echo "$*" >>"$(dirname "$0")/asked"
echo '{"images_per_s":300}'
END
cat >python <<'END'
#!/bin/sh
case $1 in
*gpu_summary.py) exec python3 "$@" ;;
*torch_casts.py) echo '{"kind": "gpu", "mib": 1024, "name": "torch fp32 -> e5m2", "device": "fake", "gbs": 1.0, "ratio": 0.7}'; exit ;;
-c) echo 2; exit ;;
*ddp_hooks.py)
    [ "$2" = 1 ] || [ "$BROKEN" = hooks ] || printf 'resnet18\nhook%30s\n%-26s     10.0    1.000\n%-26s      8.0    0.800\n' '' fp32 'PowerSGD rank 1'
    [ "$BROKEN" != hooks ]
    exit ;;
esac
case "$* " in
*"--mode $BROKEN "*) echo 'Traceback: no Python.h' >&2; exit 1 ;;
*--mode\ compile\ *) [ "$BROKEN" = fallback ] && echo '{"mode": "cudagraphs", "images_per_s": 200.0}' || echo '{"mode": "compile", "images_per_s": 200.0}' ;;
*) echo '{"mode": "eager", "images_per_s": 200.0}' ;;
esac
END
chmod +x b/bench_train python
part() { (cd "$top/bench/gpu" && BROKEN=$2 EMULATED=1 B=$dir/b PYTHON=$dir/python ./gpu_all.sh "$1") >said 2>&1 || fail "part $1: $(cat said)"; }
row() { grep -q "^| $1 | [^|]*| $2 | [a-zA-Z ]* | ${3-}" b/gpu_all/summary.txt || fail "no '$1' of $2 in: $(cat b/gpu_all/summary.txt)"; }

part 2 compile
row 'resnet18 32 px batch 512 tf32 to eager' 1.5
row 'resnet18 32 px batch 512 tf32 to compile' - 'no figure of PyTorch, compile'
row 'resnet18 32 px batch 512 fp16 to eager' 1.5
[ "$(grep -c 'no Python.h' b/gpu_all/2.txt):$(grep -c images_per_s b/gpu_all/2.txt)" = 2:8 ] || fail "what part 2 said: $(cat b/gpu_all/2.txt)"
[ "$(tr -d '\0' <b/gpu_all/2.txt | wc -c)" = "$(wc -c <b/gpu_all/2.txt)" ] || fail "holes in what part 2 said"
part 3 eager
row 'resnet50 224 px batch 128 fp16 to eager' - 'no figure of PyTorch, eager'
row 'resnet50 224 px batch 128 fp16 to compile' 1.5
part 3 fallback
row 'resnet50 224 px batch 128 fp16 to compile' - 'PyTorch fell back to cudagraphs, 1.50'
[ "$(grep -c 'size 32 .*--classes 10 ' b/asked):$(grep -c 'size 224 .*--classes 1000 ' b/asked)" = 6:6 ] || fail "other classes than PyTorch's: $(cat b/asked)"

# a bench that stops half-way, and a test that fails
cat >b/bench_gpu <<'END'
#!/bin/sh
echo '{"kind":"gpu","mib":1024,"name":"a row","device":"fake","gbs":1.0,"copy_gbs":1.0,"ratio":0.9,"asked":0.5}'
echo '{"kind":"gpu","mib":1024,"name":"a failed row","device":"fake","gbs":0,"copy_gbs":0,"ratio":null,"asked":0.5}'
exit 1
END
printf '#!/bin/sh\n' >b/narrowcast
mkdir b/tests && printf '#!/bin/sh\nexit 1\n' >b/tests/test_gpu_cast_all
chmod +x b/bench_gpu b/narrowcast b/tests/test_gpu_cast_all
MIB=1024 part 1 none
row 'a row, 1024 MiB, to a copy' 0.9
row 'a failed row, 1024 MiB, to a copy' - failed
grep -qF '| torch fp32 -> e5m2, 1024 MiB, to a copy | - | 0.7 |  | 1 GB/s |' b/gpu_all/summary.txt || fail "no row of PyTorch, which has no goal: $(cat b/gpu_all/summary.txt)"
for name in 'rows of 1024 MiB: failures' 'tests of vectors' 'all 2^32 floats, six formats: differences'; do
    grep -qF "| $name | 0 | 1 | BELOW" b/gpu_all/summary.txt || fail "no failure of '$name' in: $(cat b/gpu_all/summary.txt)"
done

part 9 none
row 'DDP step of resnet18, fp32 by PowerSGD rank 1' 1.25
row 'DDP with each hook: failures' 0
part 9 hooks
row 'DDP with each hook: failures' 1

mkdir bin
cat >bin/nvidia-cuda-mps-control <<'END'
#!/bin/sh
[ "$*" != -d ] || { [ -d "$CUDA_MPS_PIPE_DIRECTORY" ] && echo started >"${0%/*}/started"; }
END
chmod +x bin/nvidia-cuda-mps-control
(PATH=$dir/bin:$PATH OUT=$dir/mps && export OUT PATH && part 5 none && exit $bad) || bad=1
[ -e bin/started ] || fail "MPS is not started in a folder: $(cat mps/5.txt)"
for word in 10 --table; do
    OUT=$dir/nothing "$top/bench/gpu/gpu_all.sh" $word >said 2>&1 && fail "gpu_all.sh $word: is taken"
    if [ "$(wc -l <said)" != 1 ] || [ -e nothing ]; then fail "gpu_all.sh $word: $(cat said)"; fi
done

mkdir -p torch/nn && printf 'class Module: pass\n' >torch/nn/__init__.py && echo 'pad = 0' >torch/nn/functional.py
echo 'raise OSError("libcublas.so.13: cannot open")' >torch/__init__.py
for script in peer casts; do
    PYTHONPATH=$dir python3 "$top"/bench/*/"torch_$script.py" >said 2>&1
    [ "$?:$(cat said)" = '77:skip  PyTorch: libcublas.so.13: cannot open' ] || fail "torch_$script.py: $(cat said)"
done
echo >torch/__init__.py
PYTHONPATH=$dir python3 "$top/bench/training/torch_peer.py" --batch 0 >said 2>&1
[ "$?:$(grep -c 'error: --batch, ' said)" = 2:1 ] || fail "torch_peer.py --batch 0: $(cat said)"

printf '{"kind":"gpu_all","name":"tests of vectors","value":1}\n{"kind":"gpu_all","name":"compute-sa' >cut.jsonl
python3 "$top/bench/gpu/gpu_summary.py" cut.jsonl >table || fail "a line that was cut off: no table"
grep -q '^| tests of vectors | 0 | 1 | BELOW' table || fail "the line in front of it is lost: $(cat table)"
grep -q '^| racecheck: findings | 0 | - | not measured' table || fail "what was cut off counts: $(cat table)"
exit $bad
