# torch_python.sh : finds a Python with PyTorch for a test, or skips the test.
#     . torch_python.sh [STATEMENT]     which must work in Python after `import torch`, such as the import of a part of it
# Sets $python: $NARROWCAST_TORCH_PYTHON, else python3, also the distribution's if another one hides it. Sets what a
# test of the package needs in its environment; $B is the build folder.
# shellcheck shell=bash
python=''
for p in ${NARROWCAST_TORCH_PYTHON:-python3 /usr/bin/python3}; do
    [ "$python" ] || ! "$p" -c "import torch, torch.distributed as d; assert d.is_available(); ${1-}" 2>/dev/null || python=$p
done
[ "$python" ] || { echo "skip: no PyTorch${1:+ with \"$1\"} (python3-torch; NARROWCAST_TORCH_PYTHON names another Python)"; exit 77; }
if nm -D "$B/libnarrowcast.so" 2>/dev/null | grep -q __asan; then
    echo 'skip: the library has sanitizers, which Python has not'
    exit 77
fi
export NARROWCAST_LIBRARY=$B/libnarrowcast.so.0 OMP_NUM_THREADS=1
